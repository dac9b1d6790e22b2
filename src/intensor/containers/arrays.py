"""Arrays: dense ones with NaN or a mask, sparse ones, and labelled ones of xarray."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.containers.base import Container, TableContainer, check_exact, check_observed
from intensor.data.labels import Labels, as_labels, number_labels
from intensor.data.table import Table
from intensor.errors import EmptyDataError, LabelError, ShapeError, ValuesError

MAX_MODES = 63
"""Largest number of arrays that NumPy takes to index with."""


class DenseContainer:
    """A NumPy array whose missing cells are NaN or masked."""

    def __init__(self, data: AnyArray, *, labels: Labels | None = None) -> None:
        if data.ndim == 0:
            raise ShapeError("data is a single number, without a mode; expected an array")
        if data.ndim > MAX_MODES:
            raise ShapeError(f"data has {data.ndim} modes; expected at most {MAX_MODES}")
        if data.size == 0:
            raise EmptyDataError(f"data has shape {data.shape}: there is no cell; expected some")
        self._data = data
        check_real(data)
        raw = np.asarray(np.ma.getdata(data))
        self._gone = np.ma.getmaskarray(data) | np.isnan(raw)
        self._missing = np.flatnonzero(self._gone)
        self.n_missing = self._missing.size
        there = np.nonzero(~self._gone)

        def subject(row: int) -> str:
            return f"the value at {tuple(int(axis[row]) for axis in there)}"

        self.table = Table(
            labels=number_labels(data.shape) if labels is None else labels,
            codes=there,
            values=check_observed(raw[there], subject),
        )
        if self.n_missing and data.dtype.kind in "iu":
            check_exact(self.table.values)

    def missing(self, part: slice) -> IndexArray:
        """Return some of the missing cells, in the order of the array."""
        return np.stack(np.unravel_index(self._missing[part], self._data.shape), axis=1)

    def fill(self, predicted: FloatArray) -> Any:
        """Return a copy in which every cell has a value."""
        if self.n_missing == 0:
            return self._data
        dtype = fitting_dtype(self._data.dtype, predicted)
        filled = np.ma.getdata(self._data).astype(dtype, copy=True)
        filled[self._gone] = predicted.astype(dtype)
        if not isinstance(self._data, np.ma.MaskedArray):
            return filled
        kept: Any = self._data.fill_value
        return np.ma.MaskedArray(
            filled, mask=np.zeros(filled.shape, dtype=bool), fill_value=dtype.type(kept)
        )


class _StoredEntries(TableContainer):
    """A sparse array: (n, p) stored cells are data, even zeros; all other cells are missing.

    Each cell is stored at most once. NaN is missing.
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
        super().__init__(table, every=every)
        self._dtype = data.dtype
        if self.n_missing and data.dtype.kind in "iu":
            check_exact(values)

    def filled(self, predicted: FloatArray) -> tuple[IndexArray, AnyArray]:
        """Return cells and values with predictions where there were none."""
        table = super().fill(predicted)
        return table.coords(), table.values.astype(fitting_dtype(self._dtype, predicted))


class CooContainer(_StoredEntries):
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


class ScipyContainer(_StoredEntries):
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


class DataArrayContainer:
    """An xarray.DataArray of a NumPy array or a ``sparse.COO``; its dimensions are modes."""

    def __init__(self, data: Any, *, every: bool) -> None:
        labels = _labels(data)
        inner: Container
        if isinstance(data.data, np.ndarray):
            inner = DenseContainer(data.data, labels=labels)
        elif is_a(data.data, "sparse", "COO"):
            inner = CooContainer(data.data, every=every, labels=labels)
        else:
            raise ValuesError(
                f"data is a DataArray that holds a {type(data.data).__name__}; expected a NumPy "
                "array or a sparse.COO (call data.compute() first)"
            )
        self.table, self.n_missing, self.missing = inner.table, inner.n_missing, inner.missing
        self._data, self._inner = data, inner

    def fill(self, predicted: FloatArray) -> Any:
        """Return a DataArray with the same name, coordinates and attributes."""
        if self.n_missing == 0:
            return self._data
        return self._data.copy(data=self._inner.fill(predicted))


def _labels(data: Any) -> Labels:
    """Return the names of dimensions and their coordinates; numbers where there is none."""
    return Labels(
        modes=tuple(map(str, data.dims)),
        indices=tuple(_dimension(data, name) for name in data.dims),
        value="value" if data.name is None else str(data.name),
    )


def _dimension(data: Any, name: Any) -> AnyArray:
    """Return the labels of one dimension, which must be distinct."""
    if name not in data.indexes:
        return np.arange(data.sizes[name])
    index = data.indexes[name]
    if not index.is_unique:
        twice = index[int(np.argmax(index.duplicated()))]
        raise LabelError(
            f"dimension {name!r} has the label {twice!r} more than once; expected each once (make "
            f"them distinct, or drop them with data.drop_vars({name!r}))"
        )
    labels: AnyArray = index.to_numpy()
    if index.nlevels > 1:  # a stacked dimension is named by the labels of its levels
        labels = np.array([" | ".join(map(str, label)) for label in labels], dtype=object)
    try:
        return as_labels(labels)
    except LabelError as problem:
        raise LabelError(f"dimension {name!r}: {problem}; expected a label per index") from None


def is_a(data: Any, package: str, name: str) -> bool:
    """Say whether data is of a class, without importing the package of that class."""
    kind = getattr(sys.modules.get(package), name, None)
    return isinstance(kind, type) and isinstance(data, kind)


def check_real(data: AnyArray) -> None:
    """Raise if an array does not hold real numbers."""
    if data.dtype.kind not in "biuf":
        raise ValuesError(
            f"data has dtype {data.dtype}; expected real numbers, with NaN or a mask for what is "
            "missing"
        )


def fitting_dtype(dtype: np.dtype[Any], predicted: FloatArray) -> np.dtype[Any]:
    """Return the type of the data if it is floating and holds the predictions, else float64."""
    if dtype.kind != "f":
        return np.dtype(np.float64)
    largest = float(np.finfo(dtype).max)
    if predicted.size and not float(predicted.max()) <= largest and not math.isinf(largest):
        return np.dtype(np.float64)
    return dtype
