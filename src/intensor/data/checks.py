"""Checks of data at the boundary: coordinates, values and weights that pass are trusted inside.

There is one check of values and one of weights, whatever the data comes from. They return the first
bad row, and whoever knows where it is from raises the error.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from intensor._arrays import FloatArray, IndexArray, Shape
from intensor.errors import (
    CoordinateError,
    EmptyDataError,
    InputError,
    NegativeValueError,
    RadiusWarning,
    ShapeError,
    ValuesError,
)
from intensor.options.ranges import LARGEST_MAGNITUDE
from intensor.runtime.threads import Workers, blocks_of

MAX_INDICES = 2**31 - 1
"""Largest number of indices of all modes together; a vertex has a flag for each."""
MAX_WEIGHT_RATIO = 1e100
"""Largest ratio of two positive sample weights. Products of a weight's share and a squared value
then stay far from the ends of float64."""
MIN_SCALED_WEIGHT = 1e-30
"""Weights are scaled up if all of them are below this."""
ROWS_PER_BUNDLE = 64
"""Rows that are reduced together; NumPy reduces few long rows faster than many short ones."""


class BadRow(Exception):  # noqa: N818  (never leaves the library)
    """A row that cannot be used, counted from 0; ``text`` such as "is -1.0; expected ..."."""

    def __init__(self, row: int, text: str, error: type[InputError]) -> None:
        super().__init__(text)
        self.row, self.text, self.error = row, text, error

    def within(self, first_row: int, subject: str) -> BadRow:
        """Return the same for a batch that begins at some row, with a subject."""
        return BadRow(first_row + self.row, f"{subject} {self.text}", self.error)


def check_shape(shape: Iterable[int]) -> Shape:
    """Return the mode lengths as a tuple of positive ints."""
    try:
        lengths = tuple(map(operator.index, shape))
    except TypeError:
        raise ShapeError(
            f"shape is {shape!r}; expected one positive integer per mode, e.g. shape=(10, 10, 10)"
        ) from None
    if not lengths:
        raise ShapeError("shape is empty; expected one positive integer per mode")
    for mode, length in enumerate(lengths):
        if length < 1:
            raise ShapeError(
                f"mode {mode} has length {length}; every mode needs at least one index"
            )
    if sum(lengths) > MAX_INDICES:
        raise ShapeError(
            f"the modes of shape {lengths} have more than {MAX_INDICES:.3g} indices together; "
            "a model needs room for every index, so encode large labels as 0, 1, 2, ... first"
        )
    return lengths


def check_coords(
    coords: ArrayLike, shape: Iterable[int] | None, workers: Workers | None = None
) -> tuple[IndexArray, Shape]:
    """Return (n, p) coordinates as int64, and the shape, by default the smallest that fits."""
    array = _cells(coords)
    known = None if shape is None else check_shape(shape)
    if known is not None and len(known) != array.shape[1]:
        raise CoordinateError(
            f"coords has {array.shape[1]} column(s) but shape {known} has {len(known)} mode(s); "
            "expected a column per mode"
        )
    lowest, highest = _column_extremes(array, Workers(1) if workers is None else workers)
    for mode, (low, high) in enumerate(zip(lowest.tolist(), highest.tolist(), strict=True)):
        limit = None if known is None else known[mode]
        if low < 0 or (limit is not None and high >= limit):
            column = array[:, mode]
            wrong = column < 0 if limit is None else (column < 0) | (column >= limit)
            row = int(np.argmax(wrong))
            allowed = "at least 0" if limit is None else f"from 0 to {limit - 1}"
            raise CoordinateError(
                f"coords[{row}, {mode}] is {column[row]}; mode {mode} allows indices {allowed}"
                " (indices count from 0; enlarge shape if the data is right)"
            )
    found = check_shape(high + 1 for high in highest.tolist()) if known is None else known
    return array.astype(np.int64, copy=False), found


def check_cells(coords: ArrayLike, n_modes: int) -> IndexArray:
    """Return (n, p) cells to predict as int64; -1 stands for an index that is not known."""
    array = _cells(coords)
    if array.shape[1] != n_modes:
        raise CoordinateError(
            f"coords has {array.shape[1]} column(s) and the model {n_modes} mode(s); "
            "expected a column per mode"
        )
    if array.min() < -1:
        row, mode = np.argwhere(array < -1)[0].tolist()
        raise CoordinateError(
            f"coords[{row}, {mode}] is {array[row, mode]}; indices count from 0 (and -1 stands "
            "for one that is not known)"
        )
    if array.max() > MAX_INDICES:
        array = np.minimum(array, MAX_INDICES)
    result: IndexArray = array.astype(np.int64, copy=False)
    return result


def _cells(coords: ArrayLike) -> Any:
    """Return an (n, p) array of integers, with at least one entry."""
    array = _as_array(coords, "coords", CoordinateError)
    if array.size == 0:
        raise EmptyDataError(
            f"coords has shape {array.shape}: there is no observation; "
            "give at least one (cell, value) pair"
        )
    if array.ndim != 2:
        raise CoordinateError(
            f"coords has {array.ndim} dimension(s), shape {array.shape}; expected an (n, p) array "
            "with a row per observation and a column per mode"
        )
    if array.dtype.kind not in "iu":
        raise CoordinateError(
            f"coords has dtype {array.dtype}; expected integers counted from 0 "
            "(encode labels first, or convert whole numbers with coords.astype(int))"
        )
    return array


def find_bad_value(
    values: FloatArray, *, allow_negative: bool = False, allow_missing: bool = True
) -> BadRow | None:
    """Return the first value that is infinite, negative or too large, or None.

    NaN is a missing value if that is allowed, and a bad one otherwise.
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
    """Raise the error for a bad number; ``subject`` names its row: "the value at (0, 1)"."""
    if bad is not None:
        raise bad.error(f"{subject(bad.row)} {bad.text}")


def check_values(values: ArrayLike, n: int, *, allow_negative: bool) -> FloatArray:
    """Return n finite values as float64; negative ones are refused unless they are allowed."""
    result = _as_column(values, "values", n, "one value per row of coords")
    bad = find_bad_value(result, allow_negative=allow_negative, allow_missing=False)
    raise_bad(bad, lambda row: f"values[{row}]")
    return result


def check_dense(tensor: ArrayLike) -> tuple[FloatArray, Shape]:
    """Return the entries of a dense nonnegative tensor, in C order, and its shape."""
    dense = _as_array(tensor, "the tensor", ValuesError)
    if dense.ndim == 0 or dense.size == 0:
        raise ShapeError(
            f"the tensor has shape {dense.shape}; expected an array with at least one entry"
        )
    entries = check_values(dense.reshape(-1), dense.size, allow_negative=False)
    check_not_tiny(entries)
    return entries, check_shape(dense.shape)


def check_not_tiny(values: FloatArray) -> None:
    """Refuse data that is so small that squared errors would be 0; all zeros are fine."""
    largest = max(float(values.max()), -float(values.min()))
    if 0.0 < largest < 1.0 / LARGEST_MAGNITUDE:
        raise ValuesError(
            f"the largest of the values is {largest:g} in size; expected at least one of at least "
            f"{1.0 / LARGEST_MAGNITUDE:g}, since errors are squared, or all of them 0 (rescale the "
            "data)"
        )


def check_weights(weights: ArrayLike, n: int) -> FloatArray:
    """Return n sample weights >= 0 as float64, whose ratios are at most MAX_WEIGHT_RATIO.

    Only ratios matter. Weights that are all equal become 1. Weights that are all tiny are scaled by
    a power of two, because their products with squared values could otherwise become 0.
    """
    result = np.array(_as_column(weights, "sample_weight", n, "one weight per observation"))
    raise_bad(find_bad_weight(result), lambda row: f"sample_weight[{row}]")
    largest = float(result.max())
    if largest == 0.0:
        raise EmptyDataError("every sample_weight is zero: there is no observation left to fit")
    if bool(((result == largest) | (result == 0.0)).all()):
        return result / largest
    positive = result > 0.0
    if largest / MAX_WEIGHT_RATIO > float(result.min(where=positive, initial=largest)):
        row = int(np.argmin(np.where(positive, result, np.inf)))
        raise ValuesError(
            f"sample_weight[{row}] is {result[row]} and the largest is {largest}; expected weights "
            f"that are 0 or at least {1.0 / MAX_WEIGHT_RATIO:g} times the largest (set the smaller "
            "ones to 0, which leaves those observations out)"
        )
    if largest < MIN_SCALED_WEIGHT:
        result = np.ldexp(result, -math.frexp(largest)[1])
    return result


def warn_above_radius(values: FloatArray, radius: float) -> None:
    """Warn if some values lie above the radius, which no prediction can exceed."""
    above = int((values > radius).sum())
    if above:
        _warn(f"{above} of {values.size} values lie above", float(values.max()), radius)


def warn_largest_above_radius(largest: float, radius: float) -> None:
    """Warn as ``warn_above_radius`` does, for data of which only the largest value is known."""
    if largest > radius:
        _warn("there are values above", largest, radius)


def _warn(start: str, largest: float, radius: float) -> None:
    warnings.warn(
        f"{start} the radius {radius:g} (largest {largest:g}); no prediction can exceed the "
        "radius, so they cannot be fitted; a larger radius would allow it",
        RadiusWarning,
        stacklevel=5,
    )


def _column_extremes(array: Any, workers: Workers) -> tuple[Any, Any]:
    """Return the smallest and the largest entry of each column."""
    size = ROWS_PER_BUNDLE
    n_bundled = array.shape[0] // size * size
    extremes = [array[n_bundled:]]
    if n_bundled:
        blocks = blocks_of(n_bundled)
        bundled = array[:n_bundled].reshape(-1, size * array.shape[1])
        found = np.empty((2, len(blocks), bundled.shape[1]), dtype=array.dtype)

        def reduce_block(block: int) -> None:
            part = bundled[blocks[block][0] // size : blocks[block][1] // size]
            np.min(part, axis=0, out=found[0, block])
            np.max(part, axis=0, out=found[1, block])

        workers.run(reduce_block, len(blocks))
        extremes.append(found.reshape(-1, array.shape[1]))
    rows = np.concatenate(extremes)
    return rows.min(axis=0), rows.max(axis=0)


def _as_column(data: ArrayLike, name: str, n: int, meaning: str) -> FloatArray:
    """Return n real numbers as float64; those too large for it become infinite."""
    array = _as_array(data, name, ValuesError)
    if array.ndim != 1 or array.shape[0] != n:
        raise ValuesError(f"{name} has shape {array.shape}; expected ({n},), {meaning}")
    if array.dtype.kind not in "biuf":
        raise ValuesError(f"{name} has dtype {array.dtype}; expected real numbers")
    with np.errstate(over="ignore"):
        result: FloatArray = array.astype(np.float64, copy=False)
    return result


def _as_array(data: ArrayLike, name: str, error: type[CoordinateError] | type[ValuesError]) -> Any:
    """Return data as an array; masked entries and rows of different lengths are refused."""
    if np.ma.is_masked(data):
        raise error(
            f"{name} is a masked array with masked entries; expected every entry to be data "
            "(leave missing cells out: every row given is an observation)"
        )
    try:
        return np.asarray(data)
    except ValueError as problem:
        raise error(f"{name} cannot be read as an array, expected equal rows: {problem}") from None
