"""Columns of data frames, through narwhals: labels become indices, numbers become float64.

Labels that Arrow cannot hold as plain values, such as pandas' intervals, are encoded as Python
objects.
"""

from __future__ import annotations

import contextlib
import numbers
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from intensor._arrays import AnyArray, FloatArray
from intensor.data.checks import BadRow
from intensor.data.encoding import LabelEncoder, drop_unused, label_type
from intensor.data.labels import NO_LABEL, Encoded, factorise, object_array
from intensor.errors import InputError, LabelError, ValuesError


def open_frame(data: Any) -> nw.DataFrame[Any] | None:
    """Return the narwhals view of a pandas, polars or pyarrow table, or None for anything else."""
    try:
        frame = nw.from_native(data, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise LabelError(
            "two columns of the table have the same name; expected distinct names"
        ) from None
    return frame if isinstance(frame, nw.DataFrame) else None


def encode_series(series: nw.Series[Any]) -> Encoded:
    """Encode a column of a data frame; ordered categories keep their order."""
    _check_no_null(series)
    column = _as_arrow(series)
    if column is None:
        return _encode_objects(series.to_list(), series)
    if series.dtype == nw.Enum and pa.types.is_dictionary(column.type):
        codes = column.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return drop_unused(codes, _as_array(column.dictionary))
    if _is_encodable(column.type):
        encoder = LabelEncoder(series.name, blanks_matter=True)
        try:
            encoder.add(column)
            return encoder.finish()
        except BadRow as problem:
            raise problem.error(f"row {problem.row} {problem.text}") from None
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return _encode_objects(_as_array(column), series)


def _as_arrow(series: nw.Series[Any]) -> Any:
    """Return a column as one Arrow array of plain values, or None if Arrow cannot hold it.

    Arrow turns what any package calls a string or a date into the same thing. Columns of Python
    objects of several kinds stay what they are.
    """
    try:
        column = series.to_arrow()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    if isinstance(column, pa.ChunkedArray):
        try:
            column = column.unify_dictionaries().combine_chunks()
        except pa.ArrowException:
            return None
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if series.dtype == nw.Object and label_type(kind) != pa.string():
        return None
    # Arrow would make dictionaries of nested values; pandas' intervals are labels as they are.
    odd = pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType)
    return None if odd or pa.types.is_run_end_encoded(kind) or pa.types.is_union(kind) else column


def _is_encodable(kind: pa.DataType) -> bool:
    """Say whether the encoder keeps the labels of a type exactly as they are."""
    if pa.types.is_dictionary(kind):
        return _is_encodable(kind.value_type)
    wanted = label_type(kind)
    return wanted == kind or (wanted == pa.string() and not pa.types.is_temporal(kind))


def _check_no_null(series: nw.Series[Any]) -> None:
    """Raise for labels that are null or NaN."""
    missing = series.is_null()
    if series.dtype.is_float():
        missing = missing | series.is_nan()
    if missing.any():
        row = int(np.argmax(missing.to_numpy()))
        raise LabelError(f"row {row} " + NO_LABEL.format(column=f" in column {series.name!r}"))


def _as_array(labels: Any) -> AnyArray:
    """Return Arrow values as NumPy's numbers, dates and times, or as Python's objects."""
    kind = labels.type
    typed = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    dated = pa.types.is_date(kind) or pa.types.is_duration(kind)
    local = pa.types.is_timestamp(kind) and kind.tz is None
    if typed or dated or local:
        array: AnyArray = labels.to_numpy(zero_copy_only=False)
        return array
    return object_array(labels.to_pylist())


def _encode_objects(labels: Any, series: nw.Series[Any]) -> Encoded:
    """Encode NumPy's or Python's objects; errors name the column."""
    try:
        return factorise(object_array(labels) if isinstance(labels, list) else labels)
    except InputError as problem:
        raise LabelError(f"column {series.name!r}: {problem}") from None
    except (TypeError, ValueError):
        raise LabelError(
            f"column {series.name!r} of type {series.dtype} cannot be used as labels; expected "
            "numbers, text, dates or other simple values"
        ) from None


def read_numbers(series: nw.Series[Any], *, role: str) -> FloatArray:
    """Return a column of a data frame as float64, with NaN where there is no number."""
    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        # Arrow lacks some types of numbers, such as the 128-bit integers of polars.
        with contextlib.suppress(pa.ArrowException):
            column = series.to_arrow()
            if pa.types.is_boolean(column.type):
                column = column.cast(pa.uint8())
            column = column.cast(pa.float64(), safe=False)
            return np.array(column.to_numpy(zero_copy_only=False), dtype=np.float64)
    result = np.full(len(series), np.nan)
    missing = series.is_null().to_numpy()
    for row, item in enumerate(series.to_list()):
        if isinstance(item, (numbers.Real, Decimal)):
            result[row] = float(item)
        elif not missing[row]:
            raise ValuesError(
                f"row {row} of the {role} column {series.name!r} is {item!r}, in a column of type "
                f"{dtype}; expected numbers"
            )
    return result
