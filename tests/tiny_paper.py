"""A paper of two rows: its tables and records, and a table of runs to go with them."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

from benchmarks.ledger import Ledger, Row

ROWS = {1: [("4x4x4", 60)], 2: [("3x3x3x3", 80)], 3: [("3x3x3x3", 80)]}
"""Shapes and n by set; two sets share a row, as in the real one."""
NMSE, ERROR = 0.2, 0.01
"""Published in every row."""


def write_paper(folder: Path, *, slow: float = 60.0, records: bool = True) -> Path:
    """Write ``tables.csv`` and, for repetitions 0-2, ``reference_runs.csv.gz``.

    Version v takes ``1 + v`` seconds on the first row and ``slow + v`` on the second. The
    authors' NMSE is 0.1, 0.1, 0.2.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = "time_mean,time_se,time_gmean,time_min,time_median,time_max"
    lines = [f"set,shape,n,version,nmse_mean,nmse_se,{names}"]
    for number, rows in ROWS.items():
        for shape, n in rows:
            for version in range(11):
                mean = (1.0 if number == 1 else slow) + version
                lines.append(
                    f"{number},{shape},{n},{version},{NMSE},{ERROR},{mean},0.5,"
                    f"{mean - 0.1},{mean - 0.9},{mean - 0.2},{mean + 7}"
                )
    (folder / "tables.csv").write_text("\n".join(lines) + "\n")
    if records:
        lines = ["shape,n,version,rep,nmse,time_s"]
        for shape, n in {row for rows in ROWS.values() for row in rows}:
            for version in range(11):
                for rep, nmse in enumerate((0.1, 0.1, 0.2)):
                    lines.append(f"{shape},{n},{version},{rep},{nmse},{10 + rep}")
        with gzip.open(folder / "reference_runs.csv.gz", "wt") as stream:
            stream.write("\n".join(lines) + "\n")
    return folder


def run_row(task: str, method: Any, rep: int, **columns: Any) -> Row:
    """Return a row of the table of runs; done, with figures, unless it is told otherwise."""
    return {
        "section": "paper_sets",
        "task": task,
        "method": str(method),
        "rep": rep,
        "status": "done",
        "seconds": 1.0,
        "nmse": 0.1,
        "limit": 300.0,
        "chosen": "optimal",
        "machine": "a machine",
        "version": "1",
        "date": "2026-01-01",
        **columns,
    }


def ledger_of(path: Path, rows: list[Row]) -> Ledger:
    """Write rows to a table and return it."""
    ledger = Ledger(path)
    for row in rows:
        ledger.add(row)
    return ledger
