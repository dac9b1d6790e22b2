"""Plain enumeration for small tensors: every pattern of all modes but one, the last by sign."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from intensor.arrays import FlagArray, FloatArray, Shape
from intensor.budget import Budget
from intensor.data.observations import Observations
from intensor.oracles.base import Answer, Goal
from intensor.oracles.trivial import sum_of_negative, trivial_answer, vertex_cost
from intensor.problem.vertex import mode_slices

__all__ = ["EnumerationOracle", "enumeration_work"]

NUMBERS_AT_ONCE = 1 << 21


def enumeration_work(shape: Shape) -> float:
    """Return how many numbers a call computes: patterns times the length of the free mode."""
    longest = max(shape)
    return math.ldexp(longest, sum(shape) - longest) if sum(shape) - longest < 1000 else math.inf


class EnumerationOracle:
    """Exact minimum by trying everything.

    The longest mode is left free. For each pattern of the others its best flags are the
    indices of negative cost. Costs of all patterns are subset sums, one mode at a time.
    """

    def __init__(self, observations: Observations) -> None:
        self._observations = observations
        shape = observations.shape
        longest_first = sorted(range(len(shape)), key=lambda mode: -shape[mode])
        self._free, self._fixed = longest_first[0], longest_first[1:]

    def minimise(
        self,
        costs: FloatArray,
        *,
        goal: Goal | None = None,
        incumbent: FlagArray | None = None,
        budget: Budget | None = None,
    ) -> Answer:
        """Return the vertex of least cost; goals and incumbents make no difference."""
        cells = self._observations
        length = sum(cells.shape)
        trivial = trivial_answer(costs, length)
        if trivial is not None:
            return trivial
        best, flags = 0.0, np.zeros(length, dtype=np.uint8)
        complete = True
        for first, table in self._tables(costs):
            values = np.minimum(table, 0.0).sum(axis=1)
            place = np.unravel_index(int(np.argmin(values)), values.shape)
            if values[place] < best:
                best = float(values[place])
                flags = self._vertex(first, table, [int(number) for number in place])
            if budget is not None and budget.spent:
                complete = False
                break
        # Each value is a sum of sums, at most sum(shape) additions deep.
        rounding = np.finfo(np.float64).eps * (length + 2) * float(np.abs(costs).sum())
        return Answer(
            flags=flags,
            value=vertex_cost(flags, costs, cells),
            bound=best - rounding if complete else sum_of_negative(costs),
            source="enumeration",
        )

    def _tables(self, costs: FloatArray) -> Iterator[tuple[int, FloatArray]]:
        """Yield (patterns of mode 1, free mode, patterns of mode 2, ...) tables of index costs.

        The patterns of the first fixed mode come in pieces, with the number of the first.
        """
        shape = self._observations.shape
        dense = np.zeros(shape)
        dense[self._observations.coords] = costs
        if not self._fixed:
            yield 0, dense[np.newaxis]
            return
        dense = dense.transpose([*self._fixed, self._free])
        others = [_patterns(0, 1 << shape[mode], shape[mode]) for mode in self._fixed[1:]]
        row = shape[self._free] * math.prod(len(patterns) for patterns in others)
        first_length = shape[self._fixed[0]]
        step = max(1, NUMBERS_AT_ONCE // row)
        for first in range(0, 1 << first_length, step):
            last = min(first + step, 1 << first_length)
            table = np.tensordot(_patterns(first, last, first_length), dense, axes=1)
            for patterns in others:
                table = np.tensordot(table, patterns, axes=(1, 1))
            yield first, table

    def _vertex(self, first: int, table: FloatArray, place: list[int]) -> FlagArray:
        """Return the flags behind one entry of a table's values."""
        shape = self._observations.shape
        slices = mode_slices(shape)
        flags = np.zeros(sum(shape), dtype=np.uint8)
        chosen: tuple[int | slice, ...] = (place[0], slice(None), *place[1:])
        flags[slices[self._free]] = table[chosen] < 0.0
        for mode, number in zip(self._fixed, [first + place[0], *place[1:]], strict=False):
            flags[slices[mode]] = _patterns(number, number + 1, shape[mode])[0]
        return flags


def _patterns(first: int, last: int, length: int) -> FloatArray:
    """Return the binary digits of first..last-1 as rows of zeros and ones."""
    numbers = np.arange(first, last)[:, np.newaxis]
    return ((numbers >> np.arange(length)) & 1).astype(np.float64)
