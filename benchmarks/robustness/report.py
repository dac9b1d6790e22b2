"""The report: how near the default is to the best candidate, and to the error it reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.ledger import JsonLedger, Row
from benchmarks.robustness.candidates import SIMPLE, SINGLES

__all__ = ["Compared", "compare", "write_report"]

NEAR = 1.03
"""Largest ratio of the default's RMSE to the least one that counts as equally good."""
SHARE_GOAL, WORST_GOAL = 0.95, 1.1
HONEST = 0.15
"""Largest relative difference between reported and true error that counts as honest."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The default call and the candidates of one sub-task, all of which are done."""

    default: Row
    others: dict[str, Row]

    def best(self, column: str = "rmse", names: Iterable[str] | None = None) -> tuple[str, float]:
        """Return the candidate with the least error, and that error."""
        allowed = self.others if names is None else [name for name in names if name in self.others]
        name = min(allowed, key=lambda one: self.others[one][column])
        return name, float(self.others[name][column])

    def ratio(self, column: str = "rmse", names: Iterable[str] | None = None) -> float:
        """Return the default's error over the least one; 1 if both are 0."""
        error, (_, least) = float(self.default[column]), self.best(column, names)
        if least > 0.0:
            return error / least
        return 1.0 if error == 0.0 else float("inf")

    @property
    def honesty(self) -> float | None:
        """Reported error over true error; None where no error is reported."""
        true = float(self.default.get(self.default.get("metric", "rmse"), 0.0))
        reported = self.default.get("reported")
        return None if reported is None or true == 0.0 else float(reported) / true


def compare(ledger: JsonLedger, section: str, *, label: str) -> list[Compared]:
    """Return the sub-tasks of a section for which the default and some candidate are done."""
    found = []
    rows: dict[str, dict[str, Row]] = {}
    for row in ledger.rows(section=section, status="done"):
        rows.setdefault(row["task"], {})[row["method"]] = row
    for _, methods in sorted(rows.items()):
        others = {name: row for name, row in methods.items() if name in SINGLES or name in SIMPLE}
        if label in methods and set(others) & set(SINGLES):
            found.append(Compared(default=methods[label], others=others))
    return found


def write_report(ledger: JsonLedger, path: Path, *, label: str, command: str) -> list[str]:
    """Write the report of all sections of a ledger, and return its lines."""
    sections = sorted({row["section"] for row in ledger.rows()})
    lines = [
        f"# Robustness: `{command}`\n",
        "Sub-tasks are drawn by a seed from the data sets of the real section, digits, flights and "
        "three graphs: a random part of a tensor (a contiguous range of ordered modes), of which "
        "20 to 95 % is hidden at random, in fibres or in blocks. The default call chooses "
        "everything by itself; a single candidate has transform, baseline, kind of terms and "
        "remainder fixed, and the same rule for all else. Means, main effects and linear "
        "interpolation along each mode count as candidates too. The least error is found by "
        "looking at hidden cells, which no rule can do.",
        "",
    ]
    for section in sections:
        lines += [f"## {section}", "", *_section(ledger, section, label)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return lines


def _section(ledger: JsonLedger, section: str, label: str) -> list[str]:
    compared = compare(ledger, section, label=label)
    n_tasks = len({row["task"] for row in ledger.rows(section=section)})
    bad = [row for row in ledger.rows(section=section) if row["status"] in ("failed", "timeout")]
    lines = [f"{len(compared)} of {n_tasks} sub-tasks have all that is needed."]
    if compared:
        lines += ["", *summarise(compared), "", *_table(compared)]
    if bad:
        lines += ["", "Runs without a result:", ""]
        lines += [f"- {row['task']}, {row['method']}: {row.get('message', '')}" for row in bad]
    return [*lines, ""]


def summarise(compared: Sequence[Compared]) -> list[str]:
    """Return the figures over all sub-tasks as a table of two columns."""
    ratios = np.array([one.ratio() for one in compared])
    fits = np.array([one.ratio(names=SINGLES) for one in compared])
    absolute = np.array([one.ratio("mae") for one in compared])
    seconds = np.array([float(one.default["seconds"]) for one in compared])
    rows = [
        (
            f"RMSE within {NEAR - 1:.0%} of the best single candidate",
            f"{np.mean(ratios <= NEAR):.1%} (goal {SHARE_GOAL:.0%})",
        ),
        ("worst ratio", f"{ratios.max():.3f} (goal {WORST_GOAL:g})"),
        ("median ratio", f"{np.median(ratios):.3f}"),
        (
            f"beside fits alone: within {NEAR - 1:.0%}, worst, median",
            f"{np.mean(fits <= NEAR):.1%}, {fits.max():.3f}, {np.median(fits):.3f}",
        ),
        (
            "MAE over the least MAE: worst, median",
            f"{absolute.max():.3f}, {np.median(absolute):.3f}",
        ),
        *_simple_rows(compared),
        ("seconds of the default: median, most", f"{np.median(seconds):.1f}, {seconds.max():.1f}"),
    ]
    told = [one for one in compared if one.honesty is not None]
    if told:
        honesty = np.array([one.honesty for one in told])
        points = np.quantile(honesty, QUANTILES)
        rows += [
            (
                "reported over true error, quantiles "
                + ", ".join(f"{100 * one:g}" for one in QUANTILES)
                + " %",
                ", ".join(f"{one:.2f}" for one in points),
            ),
            (
                f"reported error within {HONEST:.0%} of the true one",
                f"{np.mean(np.abs(honesty - 1.0) <= HONEST):.1%} of {len(told)}",
            ),
        ]
    return ["| | |", "|---|---|", *(f"| {name} | {figure} |" for name, figure in rows)]


def _simple_rows(compared: Sequence[Compared]) -> list[tuple[str, str]]:
    """Return how often the default is worse than a simple prediction."""
    lost = {
        name: sum(
            name in one.others and float(one.default["rmse"]) > float(one.others[name]["rmse"])
            for one in compared
        )
        for name in SIMPLE
    }
    words = ", ".join(f"{name} {count}" for name, count in lost.items() if count) or "none"
    return [("sub-tasks where a simple prediction is better", words)]


def _table(compared: Sequence[Compared]) -> list[str]:
    heads = ("sub-task", "shape", "hidden", "known", "RMSE", "best single", "ratio")
    heads += ("reported / true", "spread", "s", "chosen")
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for one in compared:
        row, (name, least) = one.default, one.best()
        ratio, honesty = one.ratio(), one.honesty
        cells = (
            f"{row['task']} {row['source']}",
            " x ".join(map(str, row["shape"])),
            f"{row['rate']:.0%}, {row['kind']}",
            str(row["known"]),
            f"{row['rmse']:.4g}",
            f"{least:.4g} ({name})",
            f"{ratio:.3f}" if ratio <= NEAR else f"**{ratio:.3f}**",
            "" if honesty is None else f"{honesty:.2f}",
            "" if row.get("spread") is None else f"{row['spread']:.3g}",
            f"{row['seconds']:.1f}",
            row.get("chosen", ""),
        )
        lines.append("| " + " | ".join(cells) + " |")
    return lines
