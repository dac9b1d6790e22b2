"""Sparse arrays: stored entries are data, even zeros; all other cells are missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.containers.base import InnerContainer, check_exact, check_observed
from intensor.containers.dense import check_real, fitting_dtype
from intensor.containers.tabular import TableContainer
from intensor.data.labels import Labels, number_labels
from intensor.data.table import Table
from intensor.errors import EmptyDataError, ShapeError, ValuesError


class StoredEntries(InnerContainer):
    """Stored entries of a sparse array, each cell at most once.

    Parameters
    ----------
    coords
        (n, p) stored cells.
    data
        (n,) their values; NaN is missing.
    every
        Whether cells that are not stored are filled, too.
    """

    def __init__(
        self, coords: IndexArray, data: AnyArray, shape: Shape, *, every: bool, labels: Labels
    ) -> None:
        if not shape:
            raise ShapeError("data is a single number, without a mode; expected an array")
        if data.size == 0:
            raise EmptyDataError(
                f"data of shape {shape} stores no entry; expected at least one (what is not "
                "stored is missing, whatever the fill value)"
            )
        check_real(data)

        def subject(row: int) -> str:
            return f"the value at {tuple(coords[row].tolist())}"

        values = check_observed(data, subject)
        table = Table(labels=labels, codes=tuple(coords.T), values=values)
        super().__init__(TableContainer(table, every=every))
        self._dtype = data.dtype
        if self.n_missing and data.dtype.kind in "iu":
            check_exact(values)

    def filled(self, predicted: FloatArray) -> tuple[IndexArray, AnyArray]:
        """Return cells and values with predictions where there were none."""
        table = self.inner.fill(predicted)
        return table.coords(), table.values.astype(fitting_dtype(self._dtype, predicted))


class CooContainer(StoredEntries):
    """A ``sparse.COO``."""

    def __init__(self, data: Any, *, every: bool, labels: Labels | None = None) -> None:
        super().__init__(
            np.ascontiguousarray(data.coords.T, dtype=np.int64),
            data.data,
            data.shape,
            every=every,
            labels=number_labels(data.shape) if labels is None else labels,
        )
        self._array = data

    def fill(self, predicted: FloatArray) -> Any:
        """Return a ``sparse.COO`` with the same fill value."""
        if self.n_missing == 0:
            return self._array
        cells, values = self.filled(predicted)
        return type(self._array)(
            cells.T,
            values,
            shape=self._array.shape,
            has_duplicates=False,
            fill_value=values.dtype.type(self._array.fill_value),
        )


class ScipyContainer(StoredEntries):
    """A SciPy sparse array or matrix in COO, CSR or CSC format."""

    def __init__(self, data: Any, *, every: bool) -> None:
        if data.format not in ("coo", "csr", "csc"):
            raise ValuesError(
                f"data is a SciPy array in the format {data.format!r}; expected 'coo', 'csr' or "
                "'csc' (convert it with data.tocoo())"
            )
        merged = data.copy()
        merged.sum_duplicates()  # in SciPy, entries of the same cell add up
        listed = merged.tocoo()
        axes = getattr(listed, "coords", None) or (listed.row, listed.col)
        super().__init__(
            np.stack([np.asarray(axis, dtype=np.int64) for axis in axes], axis=1),
            listed.data,
            data.shape,
            every=every,
            labels=number_labels(data.shape),
        )
        self._array, self._kind = data, type(listed)

    def fill(self, predicted: FloatArray) -> Any:
        """Return a sparse array of the same class."""
        if self.n_missing == 0:
            return self._array
        cells, values = self.filled(predicted)
        listed = self._kind((values, tuple(cells.T)), shape=self._array.shape)
        return listed.asformat(self._array.format)
