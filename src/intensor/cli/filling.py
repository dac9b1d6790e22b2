"""A table with a fit becomes a table without holes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from intensor.data.readers.kinds import TABLES, find_kind
from intensor.errors import UnseenIndexError

if TYPE_CHECKING:
    from intensor._arrays import AnyArray, FloatArray, IndexArray
    from intensor.cli.options import Columns
    from intensor.data.table import Table
    from intensor.fitting.record import Fit

__all__ = ["Filled", "check_seen", "fill_all", "fill_missing"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Filled:
    """Cells that all have a value.

    Attributes
    ----------
    coords
        (n, p) indices.
    values
        (n,) observed or predicted values.
    predicted
        (n,) which of them are predictions.
    named
        Columns of the output in their order.
    """

    coords: IndexArray
    values: FloatArray
    predicted: AnyArray
    named: Mapping[str, AnyArray]

    @property
    def count(self) -> int:
        """How many values were predicted."""
        return int(self.predicted.sum())

    def columns(self, mark: str | None) -> dict[str, AnyArray]:
        """Return the columns, with one of that name that tells where values come from."""
        if mark is None:
            return dict(self.named)
        source = np.where(self.predicted, "predicted", "observed").astype(object)
        return {**self.named, mark: source}


def check_seen(table: Table, path: Path, *, everything: bool) -> None:
    """Raise if a cell to be filled has a label without a single observation."""
    observed = ~np.isnan(table.values)
    for mode, codes in enumerate(table.codes):
        length = table.shape[mode]
        seen = np.bincount(codes[observed], minlength=length) > 0
        if seen.all():
            continue
        index = int(np.argmin(seen))
        listed = np.bincount(codes, minlength=length) > 0
        if everything or (listed & ~seen).any():
            index = index if everything else int(np.argmax(listed & ~seen))
            label = table.labels.indices[mode][index]
            raise UnseenIndexError(
                f"{path}: there is no value for {table.labels.modes[mode]} {str(label)!r} to "
                "learn from; leave it out, or average over that mode with --unseen mean"
            )


def fill_missing(table: Table, fit: Fit, path: Path, *, columns: Columns, unseen: str) -> Filled:
    """Return the rows of the table in their order, with predictions where there was no value."""
    missing = np.isnan(table.values)
    values = table.values.copy()
    values[missing] = fit.predict(table.missing(), unseen=unseen)
    coords = table.coords()
    labels = table.labels
    named = dict(zip(labels.modes, labels.decode(coords), strict=True))
    named[labels.value] = values
    if columns.weight is not None and table.weights is not None:
        named[columns.weight.strip()] = table.weights
    order = [name for name in _header(path, columns.kind) if name in named] or list(named)
    return Filled(
        coords=coords,
        values=values,
        predicted=missing,
        named={name: named[name] for name in order},
    )


def fill_all(table: Table, fit: Fit, *, unseen: str) -> Filled:
    """Return every combination of labels, with observed means where there are observations."""
    shape = table.shape
    coords = np.indices(shape, dtype=np.int64).reshape(len(shape), -1).T
    observed, numbers, weights = table.observed()
    places = np.ravel_multi_index(tuple(observed.T), shape)
    total = len(coords)
    heavy = np.ones(numbers.size) if weights is None else weights
    counted = np.bincount(places, heavy, minlength=total)
    sums = np.bincount(places, heavy * numbers, minlength=total)
    predicted = counted == 0.0
    values = np.divide(sums, counted, out=np.zeros(total), where=~predicted)
    values[predicted] = fit.predict(coords[predicted], unseen=unseen)
    labels = table.labels
    named = dict(zip(labels.modes, labels.decode(coords), strict=True))
    return Filled(
        coords=coords,
        values=values,
        predicted=predicted,
        named={**named, labels.value: values},
    )


def _header(path: Path, kind: str | None) -> list[str]:
    """Return the names of a table's columns in their order; none for tensors."""
    found = find_kind(path, kind)
    if found not in TABLES:
        return []
    if found == "parquet":
        from pyarrow import parquet  # noqa: PLC0415

        return [name.strip() for name in parquet.read_schema(path).names]
    from intensor.data.readers.csv_rows import read_header  # noqa: PLC0415

    return list(read_header(path, "\t" if found == "tsv" else None)[0])
