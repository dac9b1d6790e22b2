"""A table of observations with labels: what every reader and container turns its data into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.data.labels import Labels


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source:
    """The file that a table was read from."""

    path: Any
    columns: tuple[str, ...] = ()  # names of all columns of the file; empty for files of indices
    weight: str | None = None  # name of the column of weights


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """Rows of labels and a value; a row without a value is a cell to be filled.

    Examples
    --------
    >>> labels = Labels(modes=("city",), indices=(np.array(["Oslo", "Rome"], dtype=object),))
    >>> codes = (np.array([1, 0, 1], dtype=np.uint8),)
    >>> table = Table(labels=labels, codes=codes, values=np.array([3.0, np.nan, 5.0]))
    >>> len(table), table.shape
    (3, (2,))
    >>> table.missing().tolist()
    [[0]]
    """

    labels: Labels
    codes: tuple[AnyArray, ...]  # p arrays of n indices into the labels of each mode
    values: FloatArray  # (n,) values, NaN where there is none
    weights: FloatArray | None = None  # (n,) how much each row counts, None if all count the same
    source: Source | None = None
    predicted: AnyArray | None = None  # (n,) which values are predictions, in a completed table

    def __len__(self) -> int:
        return int(self.values.size)

    @property
    def shape(self) -> Shape:
        """Lengths of the modes."""
        return self.labels.shape

    def observed(self) -> tuple[IndexArray, FloatArray, FloatArray | None]:
        """Return (n, p) coordinates, values and weights of the rows that have a value."""
        rows = ~np.isnan(self.values)
        if rows.all():
            return self.coords(), self.values, self.weights
        weights = None if self.weights is None else self.weights[rows]
        return self.coords(rows), self.values[rows], weights

    def missing(self) -> IndexArray:
        """Return (k, p) coordinates of the rows that have no value."""
        return self.coords(np.isnan(self.values))

    def coords(self, rows: AnyArray | None = None) -> IndexArray:
        """Return (n, p) coordinates of all rows, or of some, in the order of the table."""
        chosen = self.codes if rows is None else [column[rows] for column in self.codes]
        coords = np.empty((chosen[0].size, len(self.codes)), dtype=np.int64)
        for mode, column in enumerate(chosen):
            coords[:, mode] = column
        return coords

    def mode_labels(self, mode: int) -> AnyArray:
        """Return the label of every row in one mode."""
        return self.labels.indices[mode][self.codes[mode]]

    def columns(self) -> dict[str, AnyArray]:
        """Return labels, values and weights by column name, in the order of the file."""
        named: dict[str, AnyArray] = {
            name: self.mode_labels(mode) for mode, name in enumerate(self.labels.modes)
        }
        named[self.labels.value] = self.values
        if self.source is None:
            return named
        if self.source.weight is not None and self.weights is not None:
            named[self.source.weight] = self.weights
        order = [name for name in self.source.columns if name in named] or list(named)
        return {name: named[name] for name in order}


def smallest_unsigned(length: int) -> np.dtype[np.unsignedinteger]:
    """Return the smallest unsigned type that holds the indices of a mode of this length."""
    return np.min_scalar_type(max(length - 1, 0))


def join_chunks(chunks: list[AnyArray]) -> AnyArray:
    """Return chunks of a column as one array and empty the list, which frees their memory."""
    column: AnyArray = chunks[0] if len(chunks) == 1 else np.concatenate(chunks)
    chunks.clear()
    return column
