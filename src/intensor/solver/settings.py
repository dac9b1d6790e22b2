"""The settings of a solve, checked once."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from intensor.backends.select import CPU, Device, find_device
from intensor.options import declared


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The options of ``solve`` by the same names, as values that have been checked."""

    radius: float
    tol: float = declared.TOL.default
    rtol: float = declared.SOLVE_RTOL.default
    max_iterations: int | None = declared.MAX_ITERATIONS.default
    time_limit: float | None = declared.TIME_LIMIT.default
    seed: int = declared.SEED.default
    threads: int | None = declared.THREADS.default
    signed: bool = declared.SIGNED.default
    device: Device = CPU

    def tolerance(self, mean_square: float) -> float:
        """Return the gap to reach, given the mean square of the values; it is always finite."""
        return min(max(self.tol, self.rtol * mean_square), sys.float_info.max)


def check_settings(*, device: Any = declared.DEVICE.default, **given: Any) -> Settings:
    """Return settings that are in range, or raise what is wrong with them."""
    checked = {
        option.name: option.check(given.get(option.name, option.default))
        for option in declared.SOLVE_OPTIONS
        if option.name in Settings.__slots__ and option is not declared.DEVICE
    }
    return Settings(**checked, device=find_device(device))
