"""Columns of tables: labels become numbers, values become floats, whatever they are kept as."""

from __future__ import annotations

import contextlib
import difflib
import numbers
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray
from intensor.data.labels import check_same_kind, factorise, look_up
from intensor.errors import InputError, LabelError, ValuesError

if TYPE_CHECKING:
    import narwhals as nw

__all__ = ["ModeColumn", "encode", "encode_known", "find_column", "numbers_of"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModeColumn:
    """A column of labels as numbers.

    Attributes
    ----------
    codes
        (n,) index of each row's label.
    labels
        (k,) the distinct labels, in order.
    first
        (k,) a row that has that label.
    """

    codes: IndexArray
    labels: AnyArray
    first: IndexArray


def find_column(name: Any, columns: Iterable[Any], *, role: str) -> Any:
    """Return the column of that name, or say which is meant.

    Names are compared as they are, then as text, so that a column called 0 is also "0".
    """
    known = list(columns)
    for column in known:
        if column == name:
            return column
    for column in known:
        if str(column) == str(name):
            return column
    near = difflib.get_close_matches(str(name), list(map(str, known)), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise LabelError(
        f"there is no column {name!r} for the {role}; {hint}the columns are "
        f"{', '.join(repr(column) for column in known)}"
    )


def encode(series: nw.Series[Any]) -> ModeColumn:
    """Return a column of labels as numbers; ordered categories keep their order."""
    import narwhals as nw  # noqa: PLC0415

    places, distinct = _distinct(series)
    used = np.zeros(distinct.size, dtype=bool)  # categories may not occur at all
    used[places] = True
    codes, labels = (np.cumsum(used) - 1)[places], distinct[used]
    if series.dtype != nw.Enum:
        ranks, labels = _factorise(labels, series)
        codes = ranks[codes]
    first = np.empty(labels.size, dtype=np.int64)
    first[codes[::-1]] = np.arange(codes.size)[::-1]
    return ModeColumn(codes=codes, labels=labels, first=first)


def encode_known(series: nw.Series[Any], known: AnyArray) -> IndexArray:
    """Return the place of each row's label among known ones, -1 for labels that are not."""
    places, distinct = _distinct(series)
    codes = look_up(known, distinct)
    check_same_kind(known, distinct, codes, name=series.name)
    return codes[places]


def numbers_of(series: nw.Series[Any], *, role: str) -> FloatArray:
    """Return a column of numbers as float64, NaN where there is none."""
    import narwhals as nw  # noqa: PLC0415

    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        import pyarrow as pa  # noqa: PLC0415

        # Arrow does not know every type of numbers: those of polars with 128 bits, for one
        with contextlib.suppress(pa.ArrowException):
            column = series.to_arrow()
            if pa.types.is_boolean(column.type):
                column = column.cast(pa.uint8())
            column = column.cast(pa.float64(), safe=False)
            return np.array(column.to_numpy(zero_copy_only=False), dtype=np.float64)
    result = np.full(len(series), np.nan)
    gone = series.is_null().to_numpy()
    for row, item in enumerate(series.to_list()):
        if isinstance(item, (numbers.Real, Decimal)):
            result[row] = float(item)
        elif not gone[row]:
            raise ValuesError(
                f"row {row} of the {role} column {series.name!r} is {item!r}, in a column of type "
                f"{dtype}; expected numbers"
            )
    return result


def _distinct(series: nw.Series[Any]) -> tuple[IndexArray, AnyArray]:
    """Return each row's place among distinct labels, and those, without a missing one.

    Arrow finds them, since it does so quickly and turns what any package calls a string or a
    date into the same thing. Columns of Python objects of several kinds stay what they are.
    """
    import narwhals as nw  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415

    _check_no_null(series)
    try:
        column = series.to_arrow()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return _factorise(series.to_list(), series)
    if series.dtype == nw.Object and not _is_text(column.type):
        return _factorise(series.to_list(), series)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not pa.types.is_dictionary(column.type):
        try:
            column = column.dictionary_encode()
        except pa.ArrowNotImplementedError:
            return _factorise(series.to_list(), series)
    kind = column.dictionary.type
    if pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType):
        # Arrow would make dictionaries of them; pandas' intervals, for one, are labels as they are
        return _factorise(series.to_list(), series)
    places = column.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return places, _as_array(column.dictionary)


def _check_no_null(series: nw.Series[Any]) -> None:
    """Raise for labels that are null or NaN."""
    gone = series.is_null()
    if series.dtype.is_float():
        gone = gone | series.is_nan()
    if gone.any():
        row = int(np.argmax(gone.to_numpy()))
        raise LabelError(
            f"row {row} has no label in column {series.name!r}; expected one in every row (drop "
            "such rows, or give them a label of their own)"
        )


def _as_array(labels: Any) -> AnyArray:
    """Return Arrow values as NumPy's numbers, dates and times, or as Python's objects."""
    import pyarrow as pa  # noqa: PLC0415

    kind = labels.type
    typed = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    dated = pa.types.is_date(kind) or pa.types.is_duration(kind)
    local = pa.types.is_timestamp(kind) and kind.tz is None
    if typed or dated or local:
        array: AnyArray = labels.to_numpy(zero_copy_only=False)
        return array
    objects = np.empty(len(labels), dtype=object)
    objects[:] = labels.to_pylist()
    return objects


def _is_text(kind: Any) -> bool:
    import pyarrow as pa  # noqa: PLC0415

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _factorise(labels: Any, series: nw.Series[Any]) -> tuple[IndexArray, AnyArray]:
    """Call ``factorise``, and name the column in what it complains of."""
    if isinstance(labels, list):
        objects = np.empty(len(labels), dtype=object)
        objects[:] = labels
        labels = objects
    try:
        return factorise(labels)
    except InputError as problem:
        raise LabelError(f"column {series.name!r}: {problem}") from None
    except (TypeError, ValueError):
        raise LabelError(
            f"column {series.name!r} of type {series.dtype} cannot be used as labels; expected "
            "numbers, text, dates or other simple values"
        ) from None
