"""Images: a photograph of which three pixels in four are lost.

What one learns: a picture is a tensor of rows, columns and colours like any other. Boxes know
nothing of neighbours, so that plain interpolation is hard to beat on natural pictures, and
a kriged remainder, which learns from the boxes which rows and columns are alike, helps a lot.
Needs Pillow, with which scikit-learn opens its sample pictures.
"""

import numpy as np
from scipy.interpolate import griddata
from sklearn.datasets import load_sample_image

import intensor

SIDE = 20
BOXES = {"components": "boxes", "transform": "none", "baseline": "none"}
"""Options of a fit of boxes to the colours as they are."""


def main() -> None:
    """Complete a small photograph and compare with interpolation."""
    photo = load_sample_image("china.jpg")[100:420, 100:420].astype(float)
    block = photo.shape[0] // SIDE
    picture = photo.reshape(SIDE, block, SIDE, block, 3).mean(axis=(1, 3))
    lost = np.random.default_rng(0).permutation(SIDE**2).reshape(SIDE, SIDE) < 0.75 * SIDE**2
    gaps = picture.copy()
    gaps[lost] = np.nan
    print(f"{lost.mean():.0%} of the pixels of a {SIDE} x {SIDE} picture are lost")

    true = picture[lost]
    report("mean colour", np.broadcast_to(picture[~lost].mean(axis=0), true.shape), true)
    where = np.argwhere(~lost)
    nearest = griddata(where, picture[~lost], np.argwhere(lost), method="nearest")
    linear = griddata(where, picture[~lost], np.argwhere(lost), method="linear")
    report("boxes", fill(gaps, remainder="none", **BOXES)[lost], true)
    report("boxes and kriging", fill(gaps, remainder="kriging", **BOXES)[lost], true)
    report("everything chosen", fill(gaps)[lost], true)
    report("linear interpolation", np.where(np.isnan(linear), nearest, linear), true)


def fill(gaps: np.ndarray, **options: str) -> np.ndarray:
    """Return the completed picture, in the range of colours."""
    completed, _ = intensor.complete(gaps, exact="off", **options)
    return np.clip(completed, 0.0, 255.0)


def report(name: str, predicted: np.ndarray, true: np.ndarray) -> None:
    """Print the peak signal-to-noise ratio over the lost pixels."""
    error = np.mean((predicted - true) ** 2)
    print(f"{name:22s} {10.0 * np.log10(255.0**2 / error):5.2f} dB")


if __name__ == "__main__":
    main()
