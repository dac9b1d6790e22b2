"""One scorer for all methods: errors recomputed from predictions and nothing else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def score(truth: NDArray, predicted: NDArray, *, peak: float | None = None) -> dict[str, float]:
    """Return the errors of predictions.

    Parameters
    ----------
    truth, predicted
        (m,) values; predictions must be finite, as a method that returns no number has failed.
    peak
        Largest value a pixel can have; with it, the PSNR in dB is there too.

    Returns
    -------
    rmse, mae, mape (a fraction, over values that are not 0), nmse (squared error over squared
    values), relative_error (its root).
    """
    if predicted.shape != truth.shape:
        raise ValueError(f"{predicted.shape} predictions for {truth.shape} cells")
    if not np.isfinite(predicted).all():
        raise ValueError(f"{np.count_nonzero(~np.isfinite(predicted))} predictions are no numbers")
    error = predicted - truth
    square = float(np.mean(error**2))
    size = float(np.mean(truth**2))
    some = truth != 0.0
    found = {
        "rmse": square**0.5,
        "mae": float(np.mean(np.abs(error))),
        "nmse": square / size if size else float("inf"),
        "relative_error": (square / size) ** 0.5 if size else float("inf"),
    }
    if some.any():
        found["mape"] = float(np.mean(np.abs(error[some]) / np.abs(truth[some])))
    if peak is not None:
        found["psnr"] = 10.0 * float(np.log10(peak**2 / square)) if square else float("inf")
    return found
