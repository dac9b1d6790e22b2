"""Labelled arrays: an xarray.DataArray, whose dimensions are modes and coordinates labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FloatArray
from intensor.containers.base import Container, InnerContainer, is_a
from intensor.containers.coo import CooContainer
from intensor.containers.dense import DenseContainer
from intensor.data.labels import Labels, as_labels
from intensor.errors import LabelError, ValuesError


class DataArrayContainer(InnerContainer):
    """A DataArray that holds a NumPy array or a ``sparse.COO``."""

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
        super().__init__(inner)
        self._data = data

    def fill(self, predicted: FloatArray) -> Any:
        """Return a DataArray with the same name, coordinates and attributes."""
        if self.n_missing == 0:
            return self._data
        return self._data.copy(data=self.inner.fill(predicted))


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
