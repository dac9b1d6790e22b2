"""The settings of a solve, checked once."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from intensor.backends.select import CPU, Device, find_device
from intensor.options.declared import (
    DEVICE,
    MAX_ITERATIONS,
    SEED,
    SIGNED,
    SOLVE_RADIUS,
    SOLVE_RTOL,
    THREADS,
    TIME_LIMIT,
    TOL,
)

CHECKED = (SOLVE_RADIUS, TOL, SOLVE_RTOL, MAX_ITERATIONS, TIME_LIMIT, SEED, THREADS, SIGNED)
"""Options that are fields of the settings and are checked by their declarations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The options of ``solve`` by the same names, as values that have been checked."""

    radius: float
    tol: float = TOL.default
    rtol: float = SOLVE_RTOL.default
    max_iterations: int | None = MAX_ITERATIONS.default
    time_limit: float | None = TIME_LIMIT.default
    seed: int = SEED.default
    threads: int | None = THREADS.default
    signed: bool = SIGNED.default
    device: Device = CPU

    def tolerance(self, mean_square: float) -> float:
        """Return the gap to reach, given the mean square of the values; it is always finite."""
        return min(max(self.tol, self.rtol * mean_square), sys.float_info.max)


def check_settings(*, device: Any = DEVICE.default, **given: Any) -> Settings:
    """Return settings that are in range, or raise what is wrong with them."""
    checked = {one.name: one.check(given.get(one.name, one.default)) for one in CHECKED}
    return Settings(**checked, device=find_device(device))
