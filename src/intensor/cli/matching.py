"""Files held against a model: labels become the model's indices, or an error says which do not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from intensor.cli.options import Columns
from intensor.data.labels import check_same_kind, look_up
from intensor.data.readers import read_table
from intensor.data.readers.kinds import TABLES, TENSORS, find_kind
from intensor.errors import LabelError, UnseenIndexError
from intensor.problem.vertex import mode_offsets

if TYPE_CHECKING:
    from intensor._arrays import AnyArray, FloatArray, IndexArray
    from intensor.fitting.record import Fit

__all__ = ["check_readable", "known_cells", "observations_of"]


def check_readable(fit: Fit, path: Path, kind: str | None) -> None:
    """Raise if a file has indices only and the model has labels, which must not be mixed up."""
    found = find_kind(path, kind)
    if found in TENSORS and not fit.labels.plain:
        raise LabelError(
            f"{path}: a .{found} file has indices only, but the modes of the model have labels; "
            "give a table (.csv, .tsv or .parquet) with the labels of the cells"
        )


def known_cells(
    fit: Fit, columns: Sequence[AnyArray], *, path: Path, unseen: str
) -> tuple[IndexArray, int]:
    """Return (n, p) indices of cells given by labels, and how many have a label unseen.

    A label that the model does not know gets the first index beyond its mode.

    Raises
    ------
    UnseenIndexError
        Saying which row has a label without observations, unless ``unseen`` is "mean".
    """
    labels, shape = fit.labels, fit.shape
    coords = labels.encode(columns)
    for mode, name in enumerate(labels.modes):
        known, column = labels.indices[mode], columns[mode]
        check_same_kind(known, column, coords[:, mode], name=name, what=f"{path}: column")
    coords = np.where(coords < 0, np.array(shape), coords)
    inside = coords < np.array(shape)
    places = np.where(inside, coords, 0) + mode_offsets(shape)[:-1]
    strange = ~(inside & (fit.predictor.counts[places] > 0))
    count = int(strange.any(axis=1).sum())
    if count and unseen == "error":
        row, mode = (int(place) for place in np.argwhere(strange)[0])
        label = columns[mode][row]
        raise UnseenIndexError(
            f"{path}, row {row + 1}: the model has no observation of {labels.modes[mode]} "
            f"{str(label)!r}, and {count} of {len(coords)} rows have such a label; leave them "
            "out, or average over that mode with --unseen mean"
        )
    return coords, count


def observations_of(
    fit: Fit, path: Path, columns: Columns
) -> tuple[IndexArray, FloatArray, FloatArray | None]:
    """Return the observations in a file by the model's indices: coordinates, values, weights.

    Raises
    ------
    LabelError
        When the file has labels that the model does not know: it was fitted to other data.
    """
    labels = fit.labels
    check_readable(fit, path, columns.kind)
    table = read_table(
        path,
        value=_value_column(fit, path, columns),
        modes=labels.modes,
        weight=columns.weight,
        kind=columns.kind,
        one_based=columns.one_based,
        like=labels,
    )
    coords, values, weights = table.observed()
    for mode, (ours, theirs) in enumerate(zip(labels.indices, table.labels.indices, strict=True)):
        places = look_up(ours, theirs)
        used = coords[:, mode]
        coords[:, mode] = places[used]
        strange = coords[:, mode] < 0
        if strange.any():
            label = theirs[used[int(np.argmax(strange))]]
            raise LabelError(
                f"{path}: the model does not know {labels.modes[mode]} {str(label)!r}, so that "
                f"model and data do not fit together ({int(strange.sum())} of {len(values)} "
                "observations have such a label); give the data that it was fitted to"
            )
    return coords, values, weights


def _value_column(fit: Fit, path: Path, columns: Columns) -> str | None:
    """Return the name of the values: what was asked for, else what the model remembers."""
    if columns.value is not None or find_kind(path, columns.kind) not in TABLES:
        return columns.value
    return fit.labels.value
