"""The settings of a solve, checked once."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from intensor.backends.select import CPU, Device, find_device
from intensor.options.checks import check_at_least, check_positive, check_radius

__all__ = ["Settings", "check_settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What to solve for and when to stop.

    Attributes
    ----------
    radius
        Bound on the sum of the weights, in the units of the data.
    tol, rtol
        The gap may be ``max(tol, rtol * mean(values^2))``.
    max_iterations, time_limit
        Limits, None for none; the time limit is in seconds.
    seed
        Of the random starts.
    threads
        At most so many at a time; None for one per core.
    signed
        Whether boxes may count negatively: the polytope is then symmetric.
    device
        Where sums over cells are taken.
    """

    radius: float
    tol: float = 0.0
    rtol: float = 1e-6
    max_iterations: int | None = None
    time_limit: float | None = None
    seed: int = 0
    threads: int | None = None
    signed: bool = False
    device: Device = CPU

    def tolerance(self, mean_square: float) -> float:
        """Return the gap to reach, given the mean square of the values; it is always finite."""
        return min(max(self.tol, self.rtol * mean_square), sys.float_info.max)


def check_settings(
    *,
    radius: object,
    tol: object,
    rtol: object,
    max_iterations: object,
    time_limit: object,
    seed: object,
    threads: object,
    signed: bool = False,
    device: object = "cpu",
) -> Settings:
    """Return settings that are in range, or raise what is wrong with them."""
    return Settings(
        radius=check_radius(radius),
        tol=check_at_least("tol", tol, 0.0),
        rtol=check_at_least("rtol", rtol, 0.0),
        max_iterations=None
        if max_iterations is None
        else check_at_least("max_iterations", max_iterations, 0, integer=True),
        time_limit=None if time_limit is None else check_positive("time_limit", time_limit),
        seed=check_at_least("seed", seed, 0, integer=True),
        threads=None if threads is None else check_at_least("threads", threads, 1, integer=True),
        signed=bool(signed),
        device=find_device(device),
    )
