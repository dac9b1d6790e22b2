"""Radius path: how the one number that matters is chosen, on made-up data and on flights.

What one learns: too small a radius cannot reach the data and too large a one follows its noise;
held-out cells say where to stop, and the path is cheap, since each fit starts from the last. Where
the boxes do not use up the radius, larger ones change nothing and the path ends.
"""

import numpy as np

import intensor
from intensor.datasets import flights

BOXES = {"components": "boxes", "baseline": "none", "remainder": "none", "exact": "off"}
"""Options of a fit of boxes alone, of which validation chooses nothing but the radius."""


def main() -> None:
    """Walk two paths; the second is on air times of flights from New York."""
    data = intensor.planted((20, 20, 20), 2000, noise=0.05)
    completer = intensor.TensorCompleter(transform="none", **BOXES).fit(data.coords, data.values)
    print("planted tensor of radius 1, noise 0.05:")
    report(completer.path_)
    error = intensor.nmse(completer.model_, data.truth)
    print(f"normalised error against the true tensor {error:.3f}\n")

    table = flights()
    coords, values = table.coords(), table.values
    hidden = np.random.default_rng(0).uniform(size=len(table)) < 0.1
    completer = intensor.TensorCompleter(
        transform="sqrt", shape=table.shape, unseen="mean", **BOXES
    )
    completer.fit(coords[~hidden], values[~hidden])
    print(f"air times by {', '.join(table.labels.modes)}, fitted as square roots:")
    report(completer.path_)
    difference = completer.predict(coords[hidden]) - values[hidden]
    rmse = np.sqrt(np.mean(difference**2))
    print(f"RMSE {rmse:.2f} minutes on {hidden.sum()} hidden cells, mean {values.mean():.1f}")


def report(path: intensor.RadiusPath) -> None:
    """Print the path, a line per radius."""
    print("  radius   held-out RMSE   boxes")
    for step, (radius, error, boxes) in enumerate(
        zip(path.radii, path.errors, path.boxes, strict=True)
    ):
        mark = "  <- taken" if step == path.best else ""
        print(f"  {radius:6.2f} {error:15.4f} {boxes:7.0f}{mark}")


if __name__ == "__main__":
    main()
