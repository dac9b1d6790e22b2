"""The paper's figures: its tables and the authors' records of each repetition."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

__all__ = ["Row", "Run", "published_rows", "published_runs", "published_sets", "task_name"]

Row = tuple[str, int, int]
"""Shape, n, version."""
Run = tuple[str, int, int, int]
"""Shape, n, version, repetition."""


def task_name(shape: str, n: int) -> str:
    """Return the name of a row of the tables: "10^6 n=1000" for "10x10x10x10x10x10" and 1000."""
    lengths = shape.split("x")
    return f"{lengths[0]}^{len(lengths)} n={n}"


def published_rows(paper: Path) -> dict[Row, dict[str, float]]:
    """Return the rows of the paper's tables: NMSE and time by the names of their columns."""
    with (paper / "tables.csv").open() as stream:
        return {
            (row["shape"], int(row["n"]), int(row["version"])): {
                name: float(text)
                for name, text in row.items()
                if name.startswith(("nmse_", "time_"))
            }
            for row in csv.DictReader(stream)
        }


def published_sets(paper: Path) -> dict[int, list[tuple[str, int]]]:
    """Return the shapes and n of each set of instances, in the paper's order."""
    found: dict[int, list[tuple[str, int]]] = {}
    with (paper / "tables.csv").open() as stream:
        for row in csv.DictReader(stream):
            rows = found.setdefault(int(row["set"]), [])
            if (row["shape"], int(row["n"])) not in rows:
                rows.append((row["shape"], int(row["n"])))
    return found


def published_runs(paper: Path, column: str = "nmse") -> dict[Run, float]:
    """Return the NMSE, or another column ("time_s"), of each of the authors' runs."""
    with gzip.open(paper / "reference_runs.csv.gz", "rt") as stream:
        return {
            (row["shape"], int(row["n"]), int(row["version"]), int(row["rep"])): float(row[column])
            for row in csv.DictReader(stream)
        }
