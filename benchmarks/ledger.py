"""The flat table of runs: one CSV file, a line per run, written as each run ends.

A benchmark that was killed goes on where it was: a run whose line is there is not run again.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

KEY = ("section", "task", "method", "rep")
"""What names a run."""
FIELDS = (
    *KEY,
    "status",
    "seconds",
    "nmse",
    "rmse",
    "mae",
    "mape",
    "psnr",
    "relative_error",
    "objective",
    "gap",
    "iterations",
    "boxes",
    "limit",
    "chosen",
    "message",
    "threads",
    "version",
    "machine",
    "date",
)
"""Columns, in their order. ``status`` is "done", "failed" or "timeout"; ``seconds`` is the time
of the method itself; ``chosen`` says in words what it chose; ``message`` why it failed."""
NUMBERS = frozenset(FIELDS[5:13]) | {"gap", "iterations", "boxes", "limit", "threads", "rep"}

Row = dict[str, Any]


class Ledger:
    """The table on disk, and in memory for look-up."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows: dict[tuple[str, ...], Row] = {}
        if path.exists():
            for row in self._parse(_whole_lines(path)):
                self._rows[_key(row)] = row

    def _parse(self, text: str) -> Iterator[Row]:
        """Yield the rows of the file, the oldest first."""
        yield from map(_read, csv.DictReader(io.StringIO(text)))

    def __contains__(self, key: tuple[Any, ...]) -> bool:
        return tuple(map(str, key)) in self._rows

    def find(self, *key: Any) -> Row | None:
        """Return the newest row of a run: section, task, method, repetition."""
        return self._rows.get(tuple(map(str, key)))

    def rows(self, **wanted: Any) -> Iterator[Row]:
        """Yield the newest row of every run whose columns have the wanted values."""
        for row in self._rows.values():
            if all(str(row.get(name)) == str(value) for name, value in wanted.items()):
                yield row

    def add(self, row: Row) -> None:
        """Append a row and see it on disk before returning."""
        unknown = set(row) - set(FIELDS)
        if unknown:
            raise ValueError(f"unknown columns {sorted(unknown)}; expected some of {FIELDS}")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = not self.path.exists() or self.path.stat().st_size == 0
        with self.path.open("a", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
            if fresh:
                writer.writeheader()
            writer.writerow({name: _write(row.get(name, "")) for name in FIELDS})
            stream.flush()
            os.fsync(stream.fileno())
        self._rows[_key(row)] = dict(row)


class JsonLedger(Ledger):
    """The same with one JSON object per line, which may have any columns besides those of KEY."""

    def _parse(self, text: str) -> Iterator[Row]:
        yield from map(json.loads, text.splitlines())

    def add(self, row: Row) -> None:
        """Append a row and see it on disk before returning."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        self._rows[_key(row)] = dict(row)


def values(rows: Iterable[Row], column: str) -> list[float]:
    """Return one column of the rows that are done, in the order of their repetitions."""
    kept = [row for row in rows if row["status"] == "done" and row.get(column) not in ("", None)]
    return [float(row[column]) for row in sorted(kept, key=lambda row: int(row["rep"]))]


def _whole_lines(path: Path) -> str:
    """Return the text up to the last line end; a line cut off by a kill is taken out."""
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        other = path.with_suffix(".part")
        other.write_text(whole, encoding="utf-8")
        other.replace(path)
    return whole


def _key(row: Row) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in KEY)


def _read(row: Row) -> Row:
    return {
        name: float(text) if name in NUMBERS and text != "" else text
        for name, text in row.items()
        if name in FIELDS and text is not None
    } | {"rep": int(float(row["rep"]))}


def _write(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.10g}"
    return " ".join(value.split()) if isinstance(value, str) else value
