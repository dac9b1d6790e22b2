"""Dense arrays: NumPy arrays with NaN, and masked arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray
from intensor.containers.base import Observed, check_exact, check_observed
from intensor.data.labels import Labels, number_labels
from intensor.errors import EmptyDataError, ShapeError, ValuesError

__all__ = ["DenseContainer", "fitting_dtype", "missing_flags"]

MOST_MODES = 63
"""NumPy takes no more arrays than this to index with."""


class DenseContainer:
    """A NumPy array whose missing cells are NaN or masked."""

    def __init__(self, data: AnyArray, *, labels: Labels | None = None) -> None:
        if data.ndim == 0:
            raise ShapeError("data is a single number, without a mode; expected an array")
        if data.ndim > MOST_MODES:
            raise ShapeError(f"data has {data.ndim} modes; expected at most {MOST_MODES}")
        if data.size == 0:
            raise EmptyDataError(f"data has shape {data.shape}: there is no cell; expected some")
        self._data = data
        self._gone = missing_flags(data)
        self._places = np.flatnonzero(self._gone)
        places = np.nonzero(~self._gone)
        raw = np.ma.getdata(data)

        def where(row: int) -> str:
            return f"at {tuple(int(axis[row]) for axis in places)}"

        self.observed = Observed(
            coords=np.stack(places, axis=1),
            values=check_observed(np.asarray(raw)[places], where),
            labels=number_labels(data.shape) if labels is None else labels,
        )
        if self.n_missing and data.dtype.kind in "iu":
            check_exact(self.observed)

    @property
    def n_missing(self) -> int:
        """Number of cells that are NaN or masked."""
        return int(self._places.size)

    def missing(self, part: slice) -> IndexArray:
        """Return some of the missing cells, in the order of the array."""
        return np.stack(np.unravel_index(self._places[part], self._data.shape), axis=1)

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


def missing_flags(data: AnyArray) -> AnyArray:
    """Return which entries are NaN or masked, for arrays of real numbers."""
    if data.dtype.kind not in "biuf":
        raise ValuesError(
            f"data has dtype {data.dtype}; expected real numbers, with NaN or a mask for what is "
            "missing"
        )
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
