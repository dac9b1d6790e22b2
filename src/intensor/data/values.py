"""Values and weights: one check for each, whatever the data comes from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from intensor._arrays import AnyArray, FloatArray
from intensor.errors import InputError, NegativeValueError, ValuesError
from intensor.options.ranges import LARGEST_MAGNITUDE


class BadRow(Exception):  # noqa: N818  (never leaves the library)
    """A row that cannot be used; whoever knows where it is from turns it into an error.

    Attributes
    ----------
    row
        Its position, counted from 0.
    text
        What is wrong, without a subject: "is -1.0; expected ...".
    error
        The exception to raise.
    """

    def __init__(self, row: int, text: str, error: type[InputError]) -> None:
        super().__init__(text)
        self.row, self.text, self.error = row, text, error

    def within(self, first_row: int, subject: str) -> BadRow:
        """Return the same for a batch that begins at some row, with a subject."""
        return BadRow(first_row + self.row, f"{subject} {self.text}", self.error)


class NumberColumn:
    """A column of numbers that grows batch by batch; NaN stands for a missing number."""

    def __init__(self) -> None:
        self._chunks: list[AnyArray] = []

    def add(self, batch: AnyArray) -> None:
        """Take in a batch of float64, which may be a view into a larger buffer."""
        self._chunks.append(np.array(batch, dtype=np.float64))

    def finish(self) -> FloatArray:
        """Return all numbers as one array and empty the column."""
        chunks, self._chunks = self._chunks, []
        return chunks[0] if len(chunks) == 1 else np.concatenate([np.empty(0), *chunks])


def find_bad_value(
    values: FloatArray, *, allow_negative: bool = False, allow_missing: bool = True
) -> BadRow | None:
    """Return the first value that is infinite, negative or too large, or None.

    Parameters
    ----------
    allow_missing
        Whether NaN stands for a missing value; otherwise it is a bad one.
    """
    least = -LARGEST_MAGNITUDE if allow_negative else 0.0
    # The extremes are NaN if a value is; clean data costs no more than these two passes.
    if least <= values.min(initial=0.0) and values.max(initial=0.0) <= LARGEST_MAGNITUDE:
        return None
    wrong = ~((values >= least) & (values <= LARGEST_MAGNITUDE))
    if allow_missing:
        wrong &= ~np.isnan(values)
    if not wrong.any():
        return None
    row = int(np.argmax(wrong))
    value = float(values[row])
    if not np.isfinite(value):
        advice = (
            "what is missing must be NaN, masked, null or empty"
            if allow_missing
            else "leave missing cells out: every row given is an observation"
        )
        return BadRow(row, f"is {value}; expected a finite number ({advice})", ValuesError)
    if abs(value) > LARGEST_MAGNITUDE:
        expected = f"expected at most {LARGEST_MAGNITUDE:g} in size (rescale the data)"
        return BadRow(row, f"is {value}; {expected}", ValuesError)
    advice = "clip or shift the data"
    if not allow_missing:  # arrays that are given to solve
        advice += ", or pass allow_negative=True to fit it as it is"
    expected = f"expected values >= 0, since the model is nonnegative ({advice})"
    return BadRow(row, f"is {value}; {expected}", NegativeValueError)


def find_bad_weight(weights: FloatArray) -> BadRow | None:
    """Return the first weight that is missing, negative or too large, or None."""
    wrong = ~((weights >= 0.0) & (weights <= LARGEST_MAGNITUDE))
    if not wrong.any():
        return None
    row = int(np.argmax(wrong))
    expected = (
        f"expected a number >= 0 of at most {LARGEST_MAGNITUDE:g} (only ratios matter: rescale)"
    )
    return BadRow(row, f"is {float(weights[row])}; {expected}", ValuesError)


def raise_bad(bad: BadRow | None, subject: Callable[[int], str]) -> None:
    """Raise the error for a bad number, if there is one.

    Parameters
    ----------
    subject
        From the position of a number to what to call it, such as "the value at (0, 1)".
    """
    if bad is not None:
        raise bad.error(f"{subject(bad.row)} {bad.text}")
