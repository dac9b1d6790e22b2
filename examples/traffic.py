"""Traffic: counts of passengers by station, day and time, with whole days of a station missing.

What one learns: left alone, ``complete`` tries scales, components, boxes, kriging and smooth fields
on held-out days, since whole days are missing, and blends what is good together. On large data a
``time_limit`` bounds the whole search.
"""

import numpy as np

import intensor

STATIONS, DAYS, SLOTS = 10, 14, 24


def make_counts(seed: int) -> np.ndarray:
    """Draw Poisson counts around a daily profile that depends on station and weekday."""
    rng = np.random.default_rng(seed)
    hours = np.arange(SLOTS)
    morning = np.exp(-(((hours - 8.0) / 1.5) ** 2))
    evening = np.exp(-(((hours - 18.0) / 2.0) ** 2))
    size = rng.uniform(20.0, 120.0, STATIONS)
    commute = rng.uniform(0.0, 1.0, STATIONS)
    weekday = np.where(np.arange(DAYS) % 7 < 5, 1.0, 0.4)
    profile = commute[:, np.newaxis] * morning + (1.0 - commute)[:, np.newaxis] * evening + 0.1
    mean = size[:, np.newaxis, np.newaxis] * weekday[:, np.newaxis] * profile[:, np.newaxis]
    return rng.poisson(mean).astype(float)


def main() -> None:
    """Hide three tenths of the days and compare two fits with the mean of the same hour."""
    counts = make_counts(seed=0)
    off = np.random.default_rng(1).uniform(size=(STATIONS, DAYS)) < 0.3
    gaps = counts.copy()
    gaps[off] = np.nan
    print(f"{off.sum()} of {off.size} station days are missing as a whole")

    profile = np.nanmean(gaps, axis=1, keepdims=True)
    report("mean of station and hour", np.broadcast_to(profile, counts.shape)[off], counts[off])
    plain, fit = intensor.complete(
        gaps, components="boxes", transform="none", baseline="none", remainder="none", exact="off"
    )
    report("boxes as they are", plain[off], counts[off])
    completed, fit = intensor.complete(gaps, exact="off")
    report("everything chosen", completed[off], counts[off])
    found = fit.validation
    print(f"expected                   RMSE {found.expected_error:6.2f} +- {found.spread:.2f}")
    for member in fit.members:
        terms, method = len(member.model), getattr(member.predictor.remainder, "method", "none")
        print(
            f"{member.share:4.0%} of the prediction: {terms} terms, "
            f"transform {member.predictor.transform.name}, remainder {method}"
        )


def report(name: str, predicted: np.ndarray, true: np.ndarray) -> None:
    """Print the error on the missing days."""
    error = predicted - true
    rmse = np.sqrt(np.mean(error**2))
    print(f"{name:26s} RMSE {rmse:6.2f}   MAE {np.abs(error).mean():6.2f}")


if __name__ == "__main__":
    main()
