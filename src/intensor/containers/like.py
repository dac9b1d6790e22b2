"""New observations for a fit like another one, whose modes they must have.

A table is read by the names of the modes, and has labels of its own. Arrays hold positions: they
keep the labels of the other fit, and its shape at least.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from intensor._arrays import FloatArray, IndexArray, Shape
from intensor.containers import open_container
from intensor.data.any_table import AnyTable, open_any_table
from intensor.data.checks import check_coords, check_values, check_weights
from intensor.data.labels import Labels, number_labels
from intensor.data.lookup import find_mode_columns, read_column
from intensor.errors import CoordinateError, EmptyDataError, LabelError, SettingError, ShapeError


class NewObservations(NamedTuple):
    """Observations with labels; values and weights are still to be checked."""

    labels: Labels
    coords: IndexArray  # (n, p)
    values: FloatArray
    weights: FloatArray | None


def read_like(
    data: Any, values: Any, known: Labels, *, sample_weight: Any = None
) -> NewObservations:
    """Return observations of the modes of another fit, which has the labels ``known``.

    The data is a table with columns named like the modes, an (n, p) array of positions beside
    (n,) values, or any other container that ``complete`` takes. With a table, values and weights
    may be names of columns.
    """
    table = None if _is_wide(data) else open_any_table(data)
    if table is not None:
        return _read_table(table, values, known, sample_weight)
    for name, given in (("values", values), ("sample_weight", sample_weight)):
        if isinstance(given, str):
            raise SettingError(
                f"{name} is {given!r}, the name of a column, but the data is no table; expected "
                "an array of numbers"
            )
    if values is not None:
        return _read_positions(data, values, known, sample_weight)
    if sample_weight is not None:
        raise SettingError(
            "sample_weight goes with a table, or with coords and values; got data without either"
        )
    return _read_container(data, known)


def _is_wide(data: Any) -> bool:
    """Say whether data is a table of pandas that is read as a matrix."""
    if type(data).__name__ != "DataFrame":
        return False
    from intensor.containers.wide import is_wide  # noqa: PLC0415  (imports narwhals)
    from intensor.data.series import open_frame  # noqa: PLC0415  (imports narwhals)

    frame = open_frame(data)
    return frame is not None and is_wide(data, frame)


def _read_table(table: AnyTable, values: Any, known: Labels, sample_weight: Any) -> NewObservations:
    columns = find_mode_columns(table, known)
    if not len(table):
        raise EmptyDataError("the table has no row; expected at least one observation")
    encoded = [table.distinct(name) for name in columns]
    rows, value = np.ones(len(table), dtype=bool), known.value
    if values is None or isinstance(values, str):
        value = values or table.value or known.value
        numbers = read_column(table, value, "value")
        rows = ~np.isnan(numbers)
        if not rows.any():
            raise EmptyDataError("the table has no row with a value; expected at least one")
    else:
        numbers = check_values(values, len(table), allow_negative=False)
    if sample_weight is None:
        sample_weight = table.weight
    weights = None
    if isinstance(sample_weight, str):
        weights = read_column(table, sample_weight, "weight")[rows]
    elif sample_weight is not None:
        weights = check_weights(sample_weight, rows.size)[rows]
    return NewObservations(
        Labels(
            modes=known.modes,
            indices=tuple(column.labels for column in encoded),
            value=str(value),
        ),
        np.stack([column.codes[rows].astype(np.int64) for column in encoded], axis=1),
        numbers[rows],
        weights,
    )


def _read_positions(data: Any, values: Any, known: Labels, sample_weight: Any) -> NewObservations:
    cells, lengths = check_coords(data, None)
    _check_modes(len(lengths), known)
    return NewObservations(_grow(known, lengths), cells, values, sample_weight)


def _read_container(data: Any, known: Labels) -> NewObservations:
    """Return the observations of a container that has no columns."""
    if isinstance(data, (list, tuple)):
        raise SettingError(
            f"data is a {type(data).__name__} without values; expected a table, an array with NaN, "
            "or coords and values"
        )
    table = open_container(data).table
    labels = table.labels
    _check_modes(len(labels.shape), known)
    if labels.plain and labels.modes == number_labels(labels.shape).modes:
        labels = _grow(known, labels.shape)
    elif labels.modes != known.modes:
        raise LabelError(
            f"the modes of the data are {', '.join(map(repr, labels.modes))}; expected those of "
            f"the fit in the same order: {', '.join(map(repr, known.modes))}"
        )
    return NewObservations(labels, *table.observed())


def _check_modes(count: int, known: Labels) -> None:
    if count != len(known.modes):
        names = ", ".join(map(repr, known.modes))
        raise ShapeError(
            f"the data has {count} modes; expected the {len(known.modes)} of the fit ({names}), as "
            "an array with NaN, or as an (n, p) array of positions beside values"
        )


def _grow(known: Labels, lengths: Shape) -> Labels:
    """Return the labels of a fit for positions that may go beyond its shape."""
    shape = tuple(map(max, known.shape, lengths))
    if shape == known.shape:
        return known
    if known.plain:
        return Labels(modes=known.modes, indices=number_labels(shape).indices, value=known.value)
    mode = next(mode for mode, length in enumerate(known.shape) if lengths[mode] > length)
    raise CoordinateError(
        f"position {lengths[mode] - 1} of mode {known.modes[mode]!r} has no label, since the fit "
        f"has {known.shape[mode]} there; give a table with the labels of the observations"
    )
