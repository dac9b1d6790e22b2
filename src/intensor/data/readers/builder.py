"""Puts a table together from batches of Arrow columns, for every format that has columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from intensor._arrays import AnyArray
from intensor.data.checks import find_bad_value, find_bad_weight
from intensor.data.columns import Choice
from intensor.data.encoding import LabelEncoder
from intensor.data.labels import Labels
from intensor.data.table import Source, Table, join_chunks
from intensor.errors import EmptyDataError, LabelError


class TableBuilder:
    """Encodes the labels and gathers the numbers of a table, batch by batch."""

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._encoders = [LabelEncoder(name) for name in choice.modes]
        self._values: list[AnyArray] = []
        self._weights: list[AnyArray] = []
        self.n_rows = 0

    @property
    def names(self) -> list[str]:
        """Names of the columns that ``add`` takes, in their order."""
        numbers = (self._choice.value, self._choice.weight)
        return [*self._choice.modes, *(name for name in numbers if name is not None)]

    def add(self, columns: Sequence[pa.Array]) -> None:
        """Take in a batch: a column per mode, then the values and the weights, if chosen.

        A ``BadRow`` is raised when a label is missing, or when a number cannot be used.
        """
        for encoder, column in zip(self._encoders, columns, strict=False):
            encoder.add(column)
        numbers = [
            column.cast(pa.float64(), safe=False).fill_null(float("nan")).to_numpy()
            for column in columns[len(self._encoders) :]
        ]
        if numbers:
            bad = find_bad_value(numbers[0])
            if bad is not None:
                raise bad.within(self.n_rows, f"{self._choice.value!r}")
        if len(numbers) > 1:
            bad = find_bad_weight(numbers[1])
            if bad is not None:
                raise bad.within(self.n_rows, f"the weight in column {self._choice.weight!r}")
        for column, chunks in zip(numbers, (self._values, self._weights), strict=False):
            chunks.append(column.copy())  # it may be a view into a larger buffer
        self.n_rows += len(columns[0])

    def finish(self, path: Any, columns: Sequence[str]) -> Table:
        """Return the table of all batches; ``columns`` names all columns of the file."""
        if self.n_rows == 0:
            raise EmptyDataError(f"{path}: has columns but no rows")
        choice = self._choice
        values = np.full(self.n_rows, np.nan) if choice.value is None else join_chunks(self._values)
        if choice.value is not None and np.isnan(values).all():
            raise EmptyDataError(f"{path}: column {choice.value!r} has no value at all")
        try:
            encoded = [encoder.finish() for encoder in self._encoders]
        except LabelError as problem:
            raise LabelError(f"{path}: {problem}") from None
        return Table(
            labels=Labels(
                modes=choice.modes,
                indices=tuple(column.labels for column in encoded),
                value=choice.value or "value",
            ),
            codes=tuple(column.codes for column in encoded),
            values=values,
            weights=None if choice.weight is None else join_chunks(self._weights),
            source=Source(path=path, columns=tuple(columns), weight=choice.weight),
        )
