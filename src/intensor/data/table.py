"""A table of observations with labels: what every reader and container turns its data into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.data.labels import Labels


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source:
    """The file that a table was read from.

    Attributes
    ----------
    path
        The file, for messages.
    columns
        Names of all columns in the order of the file; empty for files of indices.
    weight
        Name of the column of weights, or None.
    """

    path: Any
    columns: tuple[str, ...] = ()
    weight: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """Rows of labels and a value; a row without a value is a cell to be filled.

    Attributes
    ----------
    labels
        Names of the modes, of every index, and of the column of values.
    codes
        p arrays of n indices into the labels of each mode. Tables from files and data frames use
        the smallest unsigned type that holds them.
    values
        (n,) values, NaN where there is none.
    weights
        (n,) how much each row counts, or None if all count the same.
    source
        The file that the table was read from, or None.
    predicted
        (n,) which values are predictions, in a completed table; None in all others.

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
    codes: tuple[AnyArray, ...]
    values: FloatArray
    weights: FloatArray | None = None
    source: Source | None = None
    predicted: AnyArray | None = None

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
