"""Dense arrays: NumPy arrays with NaN, and masked arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray
from intensor.containers.base import check_exact, check_observed
from intensor.data.labels import Labels, number_labels
from intensor.data.table import Table
from intensor.errors import EmptyDataError, ShapeError, ValuesError

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
        self._gone = _missing_flags(data)
        self._missing = np.flatnonzero(self._gone)
        there = np.nonzero(~self._gone)
        raw = np.asarray(np.ma.getdata(data))

        def subject(row: int) -> str:
            return f"the value at {tuple(int(axis[row]) for axis in there)}"

        self.table = Table(
            labels=number_labels(data.shape) if labels is None else labels,
            codes=there,
            values=check_observed(raw[there], subject),
        )
        if self.n_missing and data.dtype.kind in "iu":
            check_exact(self.table.values)

    @property
    def n_missing(self) -> int:
        """Number of cells that are NaN or masked."""
        return int(self._missing.size)

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


def check_real(data: AnyArray) -> None:
    """Raise if an array does not hold real numbers."""
    if data.dtype.kind not in "biuf":
        raise ValuesError(
            f"data has dtype {data.dtype}; expected real numbers, with NaN or a mask for what is "
            "missing"
        )


def _missing_flags(data: AnyArray) -> AnyArray:
    """Return which entries are NaN or masked."""
    gone: AnyArray = np.array(np.ma.getmaskarray(data), copy=True)
    if data.dtype.kind == "f":
        gone |= np.isnan(np.asarray(np.ma.getdata(data)))
    return gone


def fitting_dtype(dtype: np.dtype[Any], predicted: FloatArray) -> np.dtype[Any]:
    """Return the type of the data if it is floating and holds the predictions, else float64."""
    if dtype.kind != "f":
        return np.dtype(np.float64)
    largest = float(np.finfo(dtype).max)
    if predicted.size and not float(predicted.max()) <= largest and not math.isinf(largest):
        return np.dtype(np.float64)
    return dtype
