"""The numbers of a certificate from the raw observations, by other means than the solver's.

Cells are grouped with ``np.unique`` on rows, vertices are evaluated from their index lists and
components from their vectors, sums are taken with ``math.fsum``, and the cheapest vertex is found
by trying every vertex. Memory grows with the observations and with the indices, never with a
product of the two.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray
from intensor.model.model import Model

EPS = float(np.finfo(np.float64).eps)
NUMBERS_AT_ONCE = 1 << 20  # most numbers that are held at a time while all vertices are tried


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grouped:
    """The observations as u unique cells; all means are weighted."""

    cells: IndexArray  # (u, p)
    shares: FloatArray  # (u,) share of each cell in the total weight
    means: FloatArray  # (u,) mean of each cell's observations
    within: float  # mean of the squared deviations from the means of the cells
    mean_square: float  # mean of the squared values


def group(cells: IndexArray, values: FloatArray, weights: FloatArray) -> Grouped:
    """Collapse (n, p) observations of positive weight into unique cells."""
    unique, inverse = np.unique(cells, axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    sums = np.bincount(inverse, weights)
    means = np.bincount(inverse, weights * values) / sums
    # A second pass removes the rounding of the means, so that equal values do not differ from them.
    means += np.bincount(inverse, weights * (values - means[inverse])) / sums
    total = math.fsum(weights)
    apart = values - means[inverse]
    return Grouped(
        cells=unique,
        shares=sums / total,
        means=means,
        within=math.fsum(weights * apart * apart) / total,
        mean_square=math.fsum(weights * values * values) / total,
    )


def evaluate(model: Model, cells: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Return the values of a model on cells, and the sums of the sizes of their terms."""
    values, sizes = np.zeros(len(cells)), np.zeros(len(cells))
    n_vertices = model.vertices.count
    for vertex, weight in enumerate(model.weights[:n_vertices].tolist()):
        inside = np.ones(len(cells), dtype=bool)
        for mode, indices in enumerate(model.vertices.box(vertex)):
            on = np.zeros(model.shape[mode], dtype=bool)
            on[indices] = True
            inside &= on[cells[:, mode]]
        values[inside] += weight
        sizes[inside] += abs(weight)
    for component, weight in enumerate(model.weights[n_vertices:].tolist()):
        terms, start = np.full(len(cells), weight), 0
        for mode, length in enumerate(model.shape):
            entries = model.components.factors[start : start + length, component]
            terms *= entries[cells[:, mode]]
            start += length
        values += terms
        sizes += np.abs(terms)
    return values, sizes


class Point:
    """A model on the grouped observations, its objective, and the bound that its gradient proves.

    ``sizes`` are the (u,) sums of the sizes of the terms of each cell: residuals are known to a
    rounding of these and of the means.
    """

    def __init__(self, model: Model, data: Grouped) -> None:
        values, self.sizes = evaluate(model, data.cells)
        self._data = data
        # Terms that are added up, and the products of a graded one, each with its rounding
        self._roundings = len(model) + (len(model.shape) if len(model.components) else 0)
        self._set_residuals(values - data.means)
        self.objective = data.within + self._square

    def _set_residuals(self, residuals: FloatArray) -> None:
        self._residuals = residuals
        self._square = math.fsum(self._data.shares * residuals * residuals)

    def without_noise(self) -> Point:
        """Return the same point with residuals of 0 where they are no more than rounding.

        Any costs prove a bound. With a radius far above the values, costs that should be 0 and are
        not can hide it.
        """
        noise = (4.0 + self._roundings) * EPS * (self.sizes + np.abs(self._data.means))
        clean = copy.copy(self)
        clean._set_residuals(np.where(np.abs(self._residuals) <= noise, 0.0, self._residuals))
        return clean

    @property
    def gradient(self) -> FloatArray:
        """The (u,) derivatives of the objective."""
        return 2.0 * self._data.shares * self._residuals

    def bound(self, cheapest: float) -> float:
        """Return the bound that the gradient proves, with the best length of step.

        ``cheapest`` is the least of ``<c, z>`` over the polytope.

        For any h >= 0 and any z of the polytope, ``sum w (z - y)^2`` is at least
        ``h <c, z - y> - h^2 sum c^2 / (4 w)``: the difference is a sum of squares. Here w are the
        shares, y the means and c the gradient ``2 w (x - y)`` at this point x; with ``a`` the least
        of ``<c, z - y>`` and ``r = sum w (x - y)^2`` the best h makes it ``a^2 / (4 r)``.
        """
        a = cheapest - math.fsum(self.gradient * self._data.means)
        r = self._square
        return self._data.within + (a * (a / r) / 4.0 if a > 0.0 and r > 0.0 else 0.0)

    def rounding(self, radius: float, *, terms: int) -> float:
        """Return how far rounding may move the bound of a point in or near the polytope.

        The gradient is known to a rounding of its terms, one by one, and so is the cost of a
        vertex; the step h is at most about 1 for a point in or near the polytope. At most ``terms``
        costs are added up one after the other.
        """
        data = self._data
        sizes = (self.sizes + np.abs(data.means)) * (radius + np.abs(data.means))
        return (64.0 + terms + self._roundings) * EPS * math.fsum(data.shares * sizes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """Cells by rows, columns and outer modes, without the indices that never occur.

    The longest mode gives the columns and the next one the rows; a tensor of one mode is a single
    row. Only indices that occur are counted.
    """

    rows: IndexArray  # (u,) index of each cell in the second longest mode
    columns: IndexArray  # (u,) its index in the longest mode
    outer: IndexArray  # (u, p - 2) in the other modes, numbered one mode after the other
    n_rows: int
    n_columns: int
    n_outer: int
    depth: int  # most cells that lie in the same row and column

    @classmethod
    def of(cls, cells: IndexArray) -> Layout:
        """Number the indices that occur in (u, p) cells."""
        numbered = [np.unique(column, return_inverse=True)[1].reshape(-1) for column in cells.T]
        if len(numbered) == 1:
            numbered.append(np.zeros(len(cells), dtype=np.int64))
        lengths = [int(column.max()) + 1 for column in numbered]
        first, second, *others = sorted(range(len(lengths)), key=lambda mode: -lengths[mode])
        outer = np.zeros((len(cells), len(others)), dtype=np.int64)
        n_outer = 0
        for column, mode in enumerate(others):
            outer[:, column] = n_outer + numbered[mode]
            n_outer += lengths[mode]
        _, depths = np.unique(
            numbered[second] * lengths[first] + numbered[first], return_counts=True
        )
        return cls(
            columns=numbered[first],
            rows=numbered[second],
            outer=outer,
            n_columns=lengths[first],
            n_rows=lengths[second],
            n_outer=n_outer,
            depth=int(depths.max()),
        )


def additions_needed(layout: Layout) -> float:
    """Return roughly the number of additions that trying every vertex takes."""
    outer, rows = float(min(layout.n_outer, 400)), float(min(layout.n_rows, 400))
    cells = layout.rows.size * (1.0 + layout.outer.shape[1])
    table = float(layout.n_rows * layout.n_columns)
    return float(2.0**outer * (cells + table * (1.0 + 2.0**rows)))


def cheapest_vertex(
    layout: Layout, costs: FloatArray, *, numbers_at_once: int = NUMBERS_AT_ONCE
) -> float:
    """Return the least cost of any vertex, given the (u,) costs of the cells.

    On-off patterns of the outer modes and of the rows are counted through as binary numbers; the
    columns are read off the signs of their sums.
    """
    entries = layout.rows * layout.n_columns + layout.columns
    order = np.argsort(entries, kind="stable")
    entries, costs, outer = entries[order], costs[order], layout.outer[order]
    starts = np.flatnonzero(np.diff(entries, prepend=-1))
    n_entries = layout.n_rows * layout.n_columns
    at_once = max(1, numbers_at_once // max(costs.size, n_entries))
    cheapest = 0.0
    for first in range(0, 1 << layout.n_outer, at_once):
        patterns = np.arange(first, min(first + at_once, 1 << layout.n_outer))
        inside = np.ones((patterns.size, costs.size), dtype=bool)
        for index in outer.T:
            inside &= (patterns[:, np.newaxis] >> index) & 1 != 0
        sums = np.zeros((patterns.size, n_entries))
        sums[:, entries[starts]] = np.add.reduceat(inside * costs, starts, axis=1)
        tables = sums.reshape(patterns.size, layout.n_rows, layout.n_columns)
        cheapest = min(cheapest, _cheapest_rows(tables, numbers_at_once))
    return cheapest


def _cheapest_rows(tables: FloatArray, numbers_at_once: int) -> float:
    """Return the least cost over all patterns of the rows of some (rows, columns) tables."""
    count, n_rows, n_columns = tables.shape
    at_once = max(1, numbers_at_once // (count * max(n_rows, n_columns)))
    cheapest = 0.0
    for first in range(0, 1 << n_rows, at_once):
        patterns = np.arange(first, min(first + at_once, 1 << n_rows))
        on = ((patterns[:, np.newaxis] >> np.arange(n_rows)) & 1).astype(np.float64)
        sums: AnyArray = on @ tables
        cheapest = min(cheapest, float(np.minimum(sums, 0.0).sum(axis=-1).min()))
    return cheapest
