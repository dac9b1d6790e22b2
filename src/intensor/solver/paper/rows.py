"""Active vertices as rows over the observed cells: dense or sparse (technique "Sparse")."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from intensor._arrays import AnyArray, FlagArray, FloatArray

if TYPE_CHECKING:
    from scipy import sparse


class Rows(Protocol):
    """A growing 0-1 matrix: a row per active vertex, a column per cell."""

    bytes_per_cell: ClassVar[int]
    """Bytes that the rows of the first vertices take per cell, for estimates of memory."""

    def __init__(self, n_cells: int) -> None: ...

    def append(self, inside: FlagArray) -> None:
        """Add a vertex, given which cells it contains."""

    def keep(self, chosen: AnyArray) -> None:
        """Keep the rows where ``chosen`` is true."""

    def products(self, cells: FloatArray) -> FloatArray:
        """Return the (k,) sums of ``cells`` over each vertex."""

    def combine(self, weights: FloatArray) -> FloatArray:
        """Return the (u,) weighted sum of the vertices."""

    def row(self, index: int) -> FloatArray:
        """Return one vertex as (u,) zeros and ones; do not write to it."""


class DenseRows:
    """A float64 array that doubles when it is full, so that BLAS does the products."""

    FIRST_CAPACITY: ClassVar[int] = 16
    bytes_per_cell: ClassVar[int] = 8 * FIRST_CAPACITY

    def __init__(self, n_cells: int) -> None:
        self._rows = np.empty((self.FIRST_CAPACITY, n_cells))
        self._count = 0

    def append(self, inside: FlagArray) -> None:
        """Add a vertex."""
        if self._count == len(self._rows):
            grown = np.empty((2 * self._count, self._rows.shape[1]))
            grown[: self._count] = self._rows
            self._rows = grown
        self._rows[self._count] = inside
        self._count += 1

    def keep(self, chosen: AnyArray) -> None:
        """Keep the chosen rows."""
        kept = np.flatnonzero(chosen)
        for position, row in enumerate(kept.tolist()):
            if position != row:
                self._rows[position] = self._rows[row]
        self._count = kept.size

    def products(self, cells: FloatArray) -> FloatArray:
        """Return the sums of ``cells`` over each vertex."""
        result: FloatArray = self._rows[: self._count] @ cells
        return result

    def combine(self, weights: FloatArray) -> FloatArray:
        """Return the weighted sum of the vertices."""
        return weights @ self._rows[: self._count]

    def row(self, index: int) -> FloatArray:
        """Return one vertex."""
        view: FloatArray = self._rows[index]
        return view


class SparseRows:
    """A SciPy sparse matrix, rebuilt from the rows' column lists when they have changed."""

    bytes_per_cell: ClassVar[int] = 16

    def __init__(self, n_cells: int) -> None:
        self._n_cells = n_cells
        self._columns: list[AnyArray] = []
        self._matrix: sparse.csr_array | None = None

    def append(self, inside: FlagArray) -> None:
        """Add a vertex."""
        self._columns.append(np.flatnonzero(inside))
        self._matrix = None

    def keep(self, chosen: AnyArray) -> None:
        """Keep the chosen rows."""
        self._columns = [c for c, keep in zip(self._columns, chosen, strict=True) if keep]
        self._matrix = None

    def products(self, cells: FloatArray) -> FloatArray:
        """Return the sums of ``cells`` over each vertex."""
        result: FloatArray = self._as_matrix() @ cells
        return result

    def combine(self, weights: FloatArray) -> FloatArray:
        """Return the weighted sum of the vertices."""
        result: FloatArray = self._as_matrix().T @ weights
        return result

    def row(self, index: int) -> FloatArray:
        """Return one vertex."""
        dense = np.zeros(self._n_cells)
        dense[self._columns[index]] = 1.0
        return dense

    def _as_matrix(self) -> sparse.csr_array:
        if self._matrix is None:
            from scipy import sparse  # noqa: PLC0415

            sizes = [columns.size for columns in self._columns]
            indices = np.concatenate(self._columns)
            self._matrix = sparse.csr_array(
                (np.ones(indices.size), indices, np.concatenate(([0], np.cumsum(sizes)))),
                shape=(len(sizes), self._n_cells),
            )
        return self._matrix
