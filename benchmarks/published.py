"""The paper's figures: its tables and the authors' records of each repetition."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

__all__ = ["Row", "Run", "published_rows", "published_runs"]

Row = tuple[str, int, int]
"""Shape, n, version."""
Run = tuple[str, int, int, int]
"""Shape, n, version, repetition."""


def published_rows(paper: Path) -> dict[Row, dict[str, float]]:
    """Return the rows of the paper's tables, with means and standard errors by name."""
    with (paper / "tables.csv").open() as stream:
        return {
            (row["shape"], int(row["n"]), int(row["version"])): {
                name: float(row[name]) for name in ("nmse_mean", "nmse_se", "time_mean")
            }
            for row in csv.DictReader(stream)
        }


def published_runs(paper: Path) -> dict[Run, float]:
    """Return the NMSE of each of the authors' runs."""
    with gzip.open(paper / "reference_runs.csv.gz", "rt") as stream:
        return {
            (row["shape"], int(row["n"]), int(row["version"]), int(row["rep"])): float(row["nmse"])
            for row in csv.DictReader(stream)
        }
