"""Validation at the boundary: what passes here is trusted everywhere inside."""

from __future__ import annotations

import math
import numbers
import operator
import os
import re
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from intensor._arrays import FloatArray, IndexArray, Shape
from intensor.errors import (
    CoordinateError,
    EmptyDataError,
    NegativeValueError,
    RadiusError,
    RadiusWarning,
    SettingError,
    ShapeError,
    ValuesError,
)
from intensor.runtime.threads import Workers, blocks_of

__all__ = [
    "EXTREME",
    "MOST_UNEVEN",
    "check_at_least",
    "check_cells",
    "check_coords",
    "check_dense",
    "check_memory",
    "check_not_tiny",
    "check_positive",
    "check_radius",
    "check_shape",
    "check_values",
    "check_weights",
    "warn_above_radius",
    "warn_largest_above_radius",
]


MOST_INDICES = 2**31 - 1
"""Of all modes together: a vertex has a flag for each."""
EXTREME = 1e70
"""Data and radius must stay below this, and the radius above its inverse: squares of them and of
their quotient are then far from the ends of float64."""

MOST_UNEVEN = 1e100
"""Largest ratio of two sample weights that are not 0: products of a share and squares of values
are then far from the ends of float64."""
TINY_WEIGHTS = 1e-30
"""Sample weights that are all below this are scaled up."""


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
    if sum(lengths) > MOST_INDICES:
        raise ShapeError(
            f"the modes of shape {lengths} have more than {MOST_INDICES:.3g} indices together; "
            "a model needs room for every index, so encode large labels as 0, 1, 2, ... first"
        )
    return lengths


def check_coords(
    coords: ArrayLike, shape: Iterable[int] | None, workers: Workers | None = None
) -> tuple[IndexArray, Shape]:
    """Return (n, p) coordinates as int64 and the shape, taken from the data when None."""
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
    """Return (n, p) integers to predict for: any index from -1, which stands for not known."""
    array = _cells(coords)
    if array.shape[1] != n_modes:
        raise CoordinateError(
            f"coords has {array.shape[1]} column(s) and the model {n_modes} mode(s); "
            "expected a column per mode"
        )
    if array.min() < -1:
        row, mode = (int(place) for place in np.argwhere(array < -1)[0])
        raise CoordinateError(
            f"coords[{row}, {mode}] is {array[row, mode]}; indices count from 0 (and -1 stands "
            "for one that is not known)"
        )
    if array.max() > MOST_INDICES:
        array = np.minimum(array, MOST_INDICES)
    result: IndexArray = array.astype(np.int64, copy=False)
    return result


def _cells(coords: ArrayLike) -> Any:
    """Return (n, p) integers, of any size."""
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


def check_values(values: ArrayLike, n: int, *, allow_negative: bool) -> FloatArray:
    """Return n finite float64 values, nonnegative unless told otherwise."""
    array = _as_array(values, "values", ValuesError)
    if array.ndim != 1 or array.shape[0] != n:
        raise ValuesError(
            f"values has shape {array.shape}; expected ({n},), one value per row of coords"
        )
    if array.dtype.kind not in "biuf":
        raise ValuesError(f"values has dtype {array.dtype}; expected real numbers")
    with np.errstate(over="ignore"):  # what float64 cannot hold becomes infinite
        result: FloatArray = array.astype(np.float64, copy=False)
    lowest, highest = result.min(initial=0.0), result.max(initial=0.0)  # NaN if there is one
    if (-EXTREME if allow_negative else 0.0) <= lowest and highest <= EXTREME:
        return result
    finite = np.isfinite(result)
    if not finite.all():
        row = int(np.argmin(finite))
        raise ValuesError(
            f"values[{row}] is {result[row]}; expected finite numbers "
            "(leave missing cells out: every row given is an observation)"
        )
    huge = np.abs(result) > EXTREME
    if huge.any():
        row = int(np.argmax(huge))
        raise ValuesError(
            f"values[{row}] is {result[row]}; expected numbers of at most {EXTREME:g} in size "
            "(rescale the data)"
        )
    row = int(np.argmax(result < 0.0))
    raise NegativeValueError(
        f"values[{row}] is {result[row]}; expected values >= 0, since the model is nonnegative "
        "(clip or shift the data, or pass allow_negative=True to fit it as it is)"
    )


def check_dense(tensor: ArrayLike) -> tuple[FloatArray, Shape]:
    """Return the entries of a dense nonnegative tensor, in their order, and its shape."""
    dense = _as_array(tensor, "the tensor", ValuesError)
    if dense.ndim == 0 or dense.size == 0:
        raise ShapeError(
            f"the tensor has shape {dense.shape}; expected an array with at least one entry"
        )
    entries = check_values(dense.reshape(-1), dense.size, allow_negative=False)
    check_not_tiny(entries)
    return entries, check_shape(dense.shape)


def check_not_tiny(values: FloatArray) -> None:
    """Refuse data whose errors would vanish when they are squared; all zeros are fine."""
    largest = max(float(values.max()), -float(values.min()))
    if 0.0 < largest < 1.0 / EXTREME:
        raise ValuesError(
            f"the largest of the values is {largest:g} in size; expected at least one of at least "
            f"{1.0 / EXTREME:g}, since errors are squared, or all of them 0 (rescale the data)"
        )


def check_weights(weights: ArrayLike, n: int) -> FloatArray:
    """Return n sample weights: finite, at least 0, and at most ``MOST_UNEVEN`` apart.

    Only their ratios matter. They are scaled to 1 where all are the same, and by a power of two
    where they are so small that products with squared values could vanish.
    """
    array = _as_array(weights, "sample_weight", ValuesError)
    if array.ndim != 1 or array.shape[0] != n:
        raise ValuesError(
            f"sample_weight has shape {array.shape}; expected ({n},), one weight per observation"
        )
    if array.dtype.kind not in "biuf":
        raise ValuesError(f"sample_weight has dtype {array.dtype}; expected real numbers")
    result: FloatArray = array.astype(np.float64)
    wrong = ~((result >= 0.0) & (result <= EXTREME))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValuesError(
            f"sample_weight[{row}] is {result[row]}; expected numbers >= 0 of at most {EXTREME:g} "
            "(only their ratios matter: rescale them)"
        )
    largest = float(result.max())
    if largest == 0.0:
        raise EmptyDataError("every sample_weight is 0: there is no observation left to fit")
    if bool(((result == largest) | (result == 0.0)).all()):
        return result / largest
    positive = result > 0.0
    if largest / MOST_UNEVEN > float(result.min(where=positive, initial=largest)):
        row = int(np.argmin(np.where(positive, result, np.inf)))
        raise ValuesError(
            f"sample_weight[{row}] is {result[row]} and the largest is {largest}; expected weights "
            f"that are 0 or at least {1.0 / MOST_UNEVEN:g} times the largest (set the smaller ones "
            "to 0, which leaves those observations out)"
        )
    if largest < TINY_WEIGHTS:
        result = np.ldexp(result, -math.frexp(largest)[1])
    return result


def check_radius(radius: Any) -> float:
    """Return the radius as a positive finite float."""
    if isinstance(radius, bool) or not isinstance(radius, numbers.Real):
        raise RadiusError(f"radius is {radius!r}; expected a positive number")
    number = _as_float(radius)
    if not (math.isfinite(number) and number > 0.0):
        raise RadiusError(
            f"radius is {number}; expected a positive finite number "
            "(the largest value of the data is a sensible lower end)"
        )
    if not 1.0 / EXTREME <= number <= EXTREME:
        raise RadiusError(
            f"radius is {number}; expected a number from {1.0 / EXTREME:g} to {EXTREME:g} "
            "(rescale the data)"
        )
    return number


def check_memory(limit: int | str | None) -> int:
    """Return a number of bytes, given as one, in words, or not at all.

    Examples
    --------
    >>> check_memory("1.5 GiB"), check_memory("200MB"), check_memory(10**9)
    (1610612736, 200000000, 1000000000)
    """
    if limit is None:
        try:
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
        except (AttributeError, ValueError):  # not on every system
            return 4 << 30
    found = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]i?)?B?\s*", str(limit), re.IGNORECASE)
    try:
        amount = float(found[1]) if found and not isinstance(limit, bool) else math.nan
    except ValueError:
        amount = math.nan
    if not amount > 0.0:
        raise SettingError(
            f"memory_limit is {limit!r}; expected a number of bytes, or words like '4 GiB'"
        )
    unit = (found[2] or "").lower() if found else ""
    base = 1024 if unit.endswith("i") else 1000
    return int(amount * base ** " kmgt".index(unit[0] if unit else " "))


def warn_above_radius(values: FloatArray, radius: float) -> None:
    """Warn when some values lie above what any model of this radius can predict."""
    above = int((values > radius).sum())
    if above:
        warnings.warn(
            f"{above} of {values.size} values lie above the radius {radius:g} (largest "
            f"{float(values.max()):g}); no prediction can exceed the radius, so they cannot be "
            "fitted; a larger radius would allow it",
            RadiusWarning,
            stacklevel=4,
        )


def warn_largest_above_radius(largest: float, radius: float) -> None:
    """Warn like ``warn_above_radius`` where only the largest value is known."""
    if largest > radius:
        warnings.warn(
            f"there are values above the radius {radius:g} (largest {largest:g}); no prediction "
            "can exceed the radius, so they cannot be fitted; a larger radius would allow it",
            RadiusWarning,
            stacklevel=4,
        )


def check_at_least(name: str, value: Any, low: float, *, integer: bool = False) -> Any:
    """Return a number that is finite and at least ``low``."""
    wanted: Any = numbers.Integral if integer else numbers.Real
    if isinstance(value, bool) or not isinstance(value, wanted):
        raise SettingError(
            f"{name} is {value!r}; expected {'an integer' if integer else 'a number'} >= {low:g}"
        )
    number = int(value) if integer else _as_float(value)
    if not (integer or math.isfinite(number)) or not number >= low:
        raise SettingError(f"{name} is {number}; expected a finite number >= {low:g}")
    return number


def check_positive(name: str, value: Any) -> float:
    """Return a number that is above zero (infinity means no limit)."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real or not _as_float(value) > 0.0:
        raise SettingError(f"{name} is {value!r}; expected a positive number of seconds, or None")
    return _as_float(value)


def _as_float(number: Any) -> float:
    """Return a real number as a float, infinite when it is too large for one."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _column_extremes(array: Any, workers: Workers) -> tuple[Any, Any]:
    """Return the least and the largest of each column.

    Rows are taken together in bundles of 64: NumPy reduces few long rows much faster than many
    short ones.
    """
    whole = array.shape[0] // 64 * 64
    extremes = [array[whole:]]
    if whole:
        blocks = blocks_of(whole)
        bundled = array[:whole].reshape(-1, 64 * array.shape[1])
        found = np.empty((2, len(blocks), bundled.shape[1]), dtype=array.dtype)

        def look(block: int) -> None:
            part = bundled[blocks[block][0] // 64 : blocks[block][1] // 64]
            np.min(part, axis=0, out=found[0, block])
            np.max(part, axis=0, out=found[1, block])

        workers.run(look, len(blocks))
        extremes.append(found.reshape(-1, array.shape[1]))
    rows = np.concatenate(extremes)
    return rows.min(axis=0), rows.max(axis=0)


def _as_array(data: ArrayLike, name: str, error: type[CoordinateError] | type[ValuesError]) -> Any:
    if np.ma.is_masked(data):
        raise error(
            f"{name} is a masked array with masked entries; expected every entry to be data "
            "(leave missing cells out: every row given is an observation)"
        )
    try:
        return np.asarray(data)
    except ValueError as problem:
        raise error(f"{name} cannot be read as an array, expected equal rows: {problem}") from None
