"""RESULTS.md: every section's tables and figures, where intensor loses, and how it was measured."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.ledger import Ledger
from benchmarks.machine import packages
from benchmarks.sections import Options, Section

OPENING = """\
# Results

Written by `python -m benchmarks report` from [runs.csv](runs.csv), which has a line for every run;
`python -m benchmarks run` makes the runs that are missing. Errors are computed by one scorer
from predictions alone.
"""


def write_report(sections: Sequence[Section], ledger: Ledger, options: Options) -> None:
    """Write the report of all sections that have runs."""
    parts = [OPENING]
    losses: list[str] = []
    for section in sections:
        if not any(ledger.rows(section=section.name)):
            command = f"python -m benchmarks run {section.name}"
            parts.append(f"## {section.title}\n\nNot run: `{command}`.\n")
            continue
        parts.append("\n".join([f"## {section.title}\n", *section.report(ledger, options), ""]))
        losses.extend(section.losses(ledger, options))
    told = losses or ["Nowhere in the runs made so far."]
    parts.append("\n".join(["## Where we lose\n", *(f"- {line}" for line in told), ""]))
    parts.append("\n".join(["## How it was measured\n", *_measured(ledger), ""]))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "RESULTS.md").write_text("\n".join(parts), encoding="utf-8")


def _measured(ledger: Ledger) -> list[str]:
    """Return machines, versions and dates of the rows."""
    rows = list(ledger.rows())
    lines = ["| | |", "|---|---|"]
    for name, column in [("machine", "machine"), ("intensor", "version"), ("date", "date")]:
        seen = sorted({str(row[column]) for row in rows})
        lines.append(f"| {name} | {'; '.join(seen)} |")
    failed = sum(row["status"] != "done" for row in rows)
    lines.append(f"| runs | {len(rows)}, of which {failed} failed or took too long |")
    told = ", ".join(f"{name} {number}" for name, number in packages().items())
    lines.append(f"| packages when this was written | {told} |")
    return lines
