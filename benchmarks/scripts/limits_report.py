"""The report on time limits, from the lines that ``benchmarks.scripts.limits`` has written."""

from __future__ import annotations

from pathlib import Path

from benchmarks.ledger import JsonLedger, Row

__all__ = ["allowance", "over_by", "write_report"]

SECONDS, SHARE = 1.0, 0.05
"""By how much a call may exceed its limit: so many seconds, or a share of it if that is more."""


def allowance(asked: float) -> float:
    """Return the seconds by which a limit may be exceeded."""
    return max(SECONDS, SHARE * asked)


def over_by(row: Row, floors: dict[tuple[str, str, str], float]) -> float:
    """Return the seconds beyond the limit, without what a command takes in any case."""
    floor = floors.get((row["task"], row["face"], row["load"]), 0.0)
    return float(row["seconds"]) - float(row["asked"]) - floor


def write_report(ledger: JsonLedger, path: Path, *, busy: int, floor: float) -> list[str]:
    """Write the tables and what they come to; return the lines.

    Parameters
    ----------
    busy
        Number of processes beside the measured one.
    floor
        Limit of the commands that tell what starting, reading and writing take alone.
    """
    rows = [row for row in ledger.rows(section="limits") if row["status"] == "done"]
    least = [row for row in rows if row["asked"] == floor]
    floors = {(row["task"], row["face"], row["load"]): float(row["seconds"]) for row in least}
    kept = [row for row in rows if row["asked"] != floor]
    lines = [
        "# Time limits: `python -m benchmarks.scripts.limits`\n",
        "Planted tensors with noise. Seconds from a call to its end, alone (idle) and with "
        f"{busy} computing processes beside it (busy). A command is timed as a whole process; what "
        "it takes with a limit of a millisecond (starting Python, loading kernels, reading and "
        'writing) is not counted in "over by". RMSE is that of cells that were not observed, '
        "beside that of predicting the mean of the observed ones.",
        "",
        *_summary(kept, floors),
        "",
        "| data | call | load | asked, s | taken, s | over by, s | RMSE | of the mean | terms "
        "| warnings |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(_line(row, floors) for row in sorted(kept, key=_order)),
    ]
    if least:
        lines += ["", "Commands with a limit of a millisecond:", "", "| data | load | taken, s |"]
        lines += ["|---|---|---|"]
        lines += [
            f"| {row['task']} | {row['load']} | {row['seconds']:.2f} |"
            for row in sorted(least, key=_order)
        ]
    bad = [row for row in ledger.rows(section="limits") if row["status"] != "done"]
    if bad:
        lines += ["", "Runs without a result:", ""]
        lines += [f"- {row['task']}, {row['method']}: {row.get('message', '')}" for row in bad]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return lines


def _summary(rows: list[Row], floors: dict[tuple[str, str, str], float]) -> list[str]:
    if not rows:
        return ["There are no measurements yet."]
    late = [row for row in rows if over_by(row, floors) > allowance(row["asked"])]
    worst = max(rows, key=lambda row: over_by(row, floors))
    poor = [row for row in rows if row["rmse"] >= row["rmse_of_mean"]]
    silent = [row for row in poor if not row["warned"]]
    return [
        f"- {len(rows) - len(late)} of {len(rows)} calls ended within {SECONDS:g} s or "
        f"{SHARE:.0%} of their limit, whichever is more; the largest excess is "
        f"{over_by(worst, floors):.2f} s ({worst['task']}, {worst['method']}).",
        f"- {len(poor)} of {len(rows)} models are no better than the mean, {len(silent)} of them "
        "without a warning.",
    ]


def _line(row: Row, floors: dict[tuple[str, str, str], float]) -> str:
    over = over_by(row, floors)
    told = f"{over:+.2f}" if over <= allowance(row["asked"]) else f"**{over:+.2f}**"
    rmse = f"{row['rmse']:.4g}"
    cells = (
        row["task"],
        row["face"],
        row["load"],
        f"{row['asked']:g}",
        f"{row['seconds']:.2f}",
        told,
        rmse if row["rmse"] < row["rmse_of_mean"] else f"**{rmse}**",
        f"{row['rmse_of_mean']:.4g}",
        str(row["terms"]),
        ", ".join(row["warned"]),
    )
    return f"| {' | '.join(cells)} |"


def _order(row: Row) -> tuple:
    return row["task"], row["face"], row["asked"], row["load"] != "idle"
