"""Values and weights as they come out of a file, and what is allowed among them."""

from __future__ import annotations

import numpy as np

from intensor._arrays import AnyArray, FloatArray
from intensor.errors import FileFormatError, NegativeValueError
from intensor.options.ranges import EXTREME

__all__ = ["BadRow", "NumberColumn", "check_values", "check_weights"]


class BadRow(Exception):  # noqa: N818  (never leaves the readers)
    """A row that cannot be used: its place among the rows of data, from 0, and why."""

    def __init__(self, row: int, problem: str, error: type[Exception]) -> None:
        super().__init__(problem)
        self.row = row
        self.problem = problem
        self.error = error


class NumberColumn:
    """The values, or weights, of a growing column of numbers; NaN where there is none."""

    def __init__(self) -> None:
        self._chunks: list[AnyArray] = []

    def add(self, batch: AnyArray) -> None:
        """Take in a batch of float64, which may be a view into a larger buffer."""
        self._chunks.append(np.array(batch, dtype=np.float64))

    def finish(self) -> AnyArray:
        """Return all of it as one array; the column is then empty."""
        chunks, self._chunks = self._chunks, []
        return chunks[0] if len(chunks) == 1 else np.concatenate([np.empty(0), *chunks])


def check_values(name: str, values: FloatArray, first_row: int) -> None:
    """Raise at the first value that is negative or too large; NaN is a missing one."""
    # one comparison that is False for NaN too, so that clean batches cost little
    wrong = ~((values >= 0.0) & (values <= EXTREME))
    wrong &= ~np.isnan(values)
    if not wrong.any():
        return
    row = int(np.argmax(wrong))
    value = float(values[row])
    if np.isinf(value):
        problem, error = f"{name!r} is {value}; expected a finite number", FileFormatError
    elif value < 0.0:
        raise BadRow(
            first_row + row,
            f"{name!r} is {value}; expected values >= 0, since the model is nonnegative",
            NegativeValueError,
        )
    else:
        problem = f"{name!r} is {value}; expected at most {EXTREME:g} (rescale the data)"
        error = FileFormatError
    raise BadRow(first_row + row, problem, error)


def check_weights(name: str, weights: FloatArray, first_row: int) -> None:
    """Raise at the first weight that is missing, negative or too large."""
    wrong = ~((weights >= 0.0) & (weights <= EXTREME))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise BadRow(
            first_row + row,
            f"the weight in column {name!r} is {float(weights[row])}; expected a number >= 0",
            FileFormatError,
        )
