"""Tables as text: streamed through pyarrow's parser, with line numbers for what is wrong.

The file is parsed block by block and each block is encoded at once, so that what stays in
memory is indices and values, never the table. pyarrow does not count lines, so a file that it
rejects is read a second time, slowly, to say where the trouble is.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from intensor._arrays import AnyArray
from intensor.data.labels import Labels
from intensor.data.readers.coding import LabelColumn, finish_cells, finish_table, label_type
from intensor.data.readers.csv_rows import MISSING, NUMBER, find_line, read_header, rows
from intensor.data.readers.kinds import at_line, check_unique, open_bytes, pick_columns, pick_modes
from intensor.data.readers.numbers import BadRow, NumberColumn, check_values, check_weights
from intensor.data.table import Table
from intensor.errors import EmptyDataError, FileFormatError

__all__ = ["read", "read_cells"]

BLOCK = 1 << 20
"""Bytes of text that are parsed at once; no row may be longer."""
IN_COLUMN = re.compile(r"In CSV column #(\d+)")


def read(
    path: Any,
    *,
    value: str | None,
    modes: Sequence[str] | None,
    weight: str | None,
    kind: str,
    like: Labels | None,
) -> Table:
    """Read a table; see ``read_table``."""
    file = _File(path, kind)
    chosen, wanted, heavy = pick_columns(path, file.names, value=value, modes=modes, weight=weight)
    numbers = [wanted] if heavy is None else [wanted, heavy]
    labels, columns = file.collect(chosen, numbers, like)
    return finish_table(path, labels, columns, value=wanted)


def read_cells(
    path: Any, *, modes: Sequence[str], kind: str, like: Labels | None
) -> tuple[AnyArray, ...]:
    """Read columns of labels; see ``intensor.data.readers.read_cells``."""
    file = _File(path, kind)
    check_unique(path, file.names)
    labels, _ = file.collect(pick_modes(path, file.names, modes), [], like)
    return finish_cells(path, labels)


class _File:
    """A CSV file whose header was read."""

    def __init__(self, path: Any, kind: str) -> None:
        self.path = path
        header = read_header(path, "\t" if kind == "tsv" else None)
        self.names, self._header_lines, self._delimiter = header

    def collect(
        self, modes: Sequence[str], numbers: Sequence[str], like: Labels | None
    ) -> tuple[list[LabelColumn], list[NumberColumn]]:
        """Encode the columns of labels and gather those of numbers (values, then weights)."""
        types: dict[int, pa.DataType] = {self.names.index(name): pa.float64() for name in numbers}
        for mode, known in zip(like.modes, like.indices, strict=True) if like else ():
            if mode in modes and known.dtype == object:
                types[self.names.index(mode)] = pa.string()
        while True:
            labels = [LabelColumn(name) for name in modes]
            columns = [NumberColumn() for _ in numbers]
            place = self._fill(labels, columns, numbers, types)
            if place is None:
                return labels, columns
            # its first rows looked like something else: strings keep every label as it is
            types[place] = pa.string()

    def _fill(
        self,
        labels: list[LabelColumn],
        columns: list[NumberColumn],
        numbers: Sequence[str],
        types: dict[int, pa.DataType],
    ) -> int | None:
        """Read all rows, or return the place of a column of labels that must be read as text."""
        wanted = [self.names.index(column.name) for column in labels]
        wanted += [self.names.index(name) for name in numbers]
        n_rows = 0
        try:
            for batch in self._batches(wanted, types):
                for place, array in zip(wanted, batch.columns, strict=True):
                    if place not in types and _must_be_text(array):
                        return place
                for label, array in zip(labels, batch.columns, strict=False):
                    label.add(array)
                for number, name, array in zip(
                    columns, numbers, batch.columns[len(labels) :], strict=True
                ):
                    check = check_values if number is columns[0] else check_weights
                    filled = array.fill_null(float("nan")).to_numpy()
                    check(name, filled, n_rows)
                    number.add(filled)
                n_rows += batch.num_rows
        except pa.ArrowInvalid as problem:
            match = IN_COLUMN.match(str(problem))
            place = int(match.group(1)) if match else -1
            if place in wanted[: len(labels)] and place not in types:
                return place
            self._explain(problem, numbers)
        except BadRow as problem:
            line = find_line(self.path, self._delimiter, problem.row)
            raise problem.error(at_line(self.path, line, problem.problem)) from None
        except (EOFError, OSError, zlib.error) as problem:
            raise FileFormatError(f"{self.path}: cannot be unpacked ({problem})") from None
        if n_rows == 0:
            raise EmptyDataError(f"{self.path}: has a header but no rows")
        return None

    def _batches(
        self, wanted: list[int], types: dict[int, pa.DataType]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the wanted columns, block by block, called c0, c1, ... by their place."""
        names = [f"c{place}" for place in range(len(self.names))]
        with open_bytes(self.path) as file:
            reader = arrow_csv.open_csv(
                file,
                read_options=arrow_csv.ReadOptions(
                    block_size=BLOCK, column_names=names, skip_rows=self._header_lines
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self._delimiter, newlines_in_values=True
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types={f"c{place}": kind for place, kind in types.items()},
                    include_columns=[f"c{place}" for place in wanted],
                    null_values=list(MISSING),
                ),
            )
            with reader:
                yield from reader

    def _explain(self, problem: pa.ArrowInvalid, numbers: Sequence[str]) -> NoReturn:
        """Find the row that pyarrow stumbled over, and raise what is wrong with it."""
        places = [self.names.index(name) for name in numbers]
        row = 0
        for row, (line, fields) in enumerate(rows(self.path, self._delimiter)):
            if row == 0:
                continue
            if len(fields) != len(self.names):
                raise FileFormatError(
                    at_line(
                        self.path,
                        line,
                        f"has {len(fields)} fields; expected {len(self.names)}, as in the header",
                    )
                ) from None
            for place in places:
                text = fields[place]
                if text not in MISSING and not NUMBER.fullmatch(text.strip()):
                    raise FileFormatError(
                        at_line(
                            self.path,
                            line,
                            f"column {self.names[place]!r} has {text[:60]!r}; expected a number "
                            "(or nothing, if it is missing)",
                        )
                    ) from None
        words = " ".join(str(problem).split())[:200]
        if row == 0:
            raise EmptyDataError(f"{self.path}: has a header but no rows") from None
        raise FileFormatError(f"{self.path}: cannot be read as a table ({words})") from None


def _must_be_text(labels: pa.Array) -> bool:
    """Say whether a type that pyarrow found would not give the labels back as they are."""
    kind = label_type(labels.type)
    if kind is None or kind == pa.string():
        return bool(labels.type != pa.string())
    if not pa.types.is_floating(kind):
        return False
    # digits too many for whole numbers, which floating point would make equal
    return bool((np.abs(labels.drop_null().to_numpy()) >= 2.0**53).any())
