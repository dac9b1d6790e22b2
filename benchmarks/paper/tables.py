"""The paper's tables in Markdown, ours beside theirs, and how far the two agree."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import scipy.stats

from benchmarks.ledger import Ledger, Row, values
from benchmarks.paper.published import task_name

NAME = "paper_sets"
VERSIONS = (*map(str, range(11)), "fast")
COLUMNS = ("time_mean", "time_gmean", "time_min", "time_median", "time_max")
TITLES = ("mean time (s)", "geometric mean", "min", "median", "max")
MISSING = "-"
Ours = Mapping[tuple[str, str], Sequence[Row]]
"""Rows by task and method, in the order of their repetitions."""
Published = Mapping[tuple[str, int, int], Mapping[str, float]]


def collect(ledger: Ledger) -> Ours:
    """Return the runs of the paper's instances by row and version."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in ledger.rows(section=NAME):
        found.setdefault((row["task"], row["method"]), []).append(row)
    return {key: sorted(rows, key=lambda row: int(row["rep"])) for key, rows in found.items()}


def describe(sample: Sequence[float]) -> dict[str, float]:
    """Return mean, its standard error (with two or more), geometric mean, min, median, max."""
    found = {
        "mean": statistics.fmean(sample),
        "gmean": math.exp(statistics.fmean(math.log(max(one, 1e-300)) for one in sample)),
        "min": min(sample),
        "median": statistics.median(sample),
        "max": max(sample),
    }
    if len(sample) > 1:
        found["se"] = statistics.stdev(sample) / math.sqrt(len(sample))
    return found


def figures(rows: Sequence[Row]) -> dict[str, float]:
    """Return what the paper's tables have, by the names of its columns."""
    found: dict[str, float] = {}
    for prefix, column in [("nmse", "nmse"), ("time", "seconds")]:
        sample = values(rows, column)
        if sample:
            told = describe(sample)
            found |= {f"{prefix}_{name}": told[name] for name in told}
    return found


def row_table(ours: Ours, published: Published, shape: str, n: int) -> list[str]:
    """Return the table of one row of the paper: a line per version, ours and theirs in turn."""
    task = task_name(shape, n)
    titles = ["version", "runs", "NMSE", "paper"]
    titles += [cell for title in TITLES for cell in (title, "paper")]
    lines = [f"**{_power(shape)}, n = {n}**\n", _line(titles), _line(["---"] * len(titles))]
    for version in VERSIONS:
        rows = ours.get((task, version), ())
        mine = figures(rows)
        theirs = published.get((shape, n, int(version)), {}) if version != "fast" else {}
        cells = [version, str(len(values(rows, "seconds")) or _why(rows))]
        for name in ("nmse_mean", *COLUMNS):
            cells += [_with_error(mine, name), _with_error(theirs, name)]
        lines.append(_line(cells))
    return [*lines, ""]


def overview(ours: Ours, published: Published, rows: Sequence[tuple[str, int]]) -> list[str]:
    """Return mean times and NMSE of the paper's best versions and of fast, and the ratios."""
    titles = ["row", "1 (s)", "paper", "8 (s)", "paper", "best of 0-10 (s)", "fast (s)"]
    titles += ["times 0 / 1", "paper", "times 7 / 8", "paper", "NMSE 1", "NMSE 8", "NMSE fast"]
    lines = [_line(titles), _line(["---"] * len(titles))]
    for shape, n in rows:
        task = task_name(shape, n)
        mine = {version: figures(ours.get((task, version), ())) for version in VERSIONS}
        theirs = {str(v): published.get((shape, n, v), {}) for v in range(11)}
        cells = [f"{_power(shape)}, n = {n}"]
        for version in ("1", "8"):
            cells += [number(side[version].get("time_mean")) for side in (mine, theirs)]
        times = {v: mine[v]["time_mean"] for v in VERSIONS[:-1] if mine[v]}
        best = min(times, key=lambda v: times[v]) if times else None
        cells.append(f"{number(times[best])} ({best})" if best else MISSING)
        cells.append(number(mine["fast"].get("time_mean")))
        for slow, quick in [("0", "1"), ("7", "8")]:
            cells += [_ratio(side[slow], side[quick]) for side in (mine, theirs)]
        cells += [number(mine[version].get("nmse_mean")) for version in ("1", "8", "fast")]
        lines.append(_line(cells))
    return [*lines, ""]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far one version is from the paper on one row, NMSE.

    Attributes
    ----------
    reps
        Repetitions that both ran.
    ours, theirs, published
        Means: of our runs, of the authors' runs of the same repetitions, and of their table.
    paired
        ``ours - theirs`` in standard errors of the mean difference.
    table, authors_table
        ``ours - published`` and ``theirs - published`` in standard errors of both means. The
        second says how usual these repetitions are.
    """

    shape: str
    n: int
    version: int
    reps: int
    ours: float
    theirs: float
    published: float
    paired: float
    table: float
    authors_table: float

    @property
    def agrees(self) -> bool:
        """Whether both are within three standard errors."""
        return abs(self.paired) <= 3.0 and abs(self.table) <= 3.0


def agreements(
    ours: Ours, published: Published, theirs: Mapping[tuple[str, int, int, int], float]
) -> list[Agreement]:
    """Compare all versions 0-10 that have two or more repetitions of a row."""
    found = []
    for (shape, n, version), row in published.items():
        runs = [
            (float(run["nmse"]), theirs[shape, n, version, int(run["rep"])])
            for run in ours.get((task_name(shape, n), str(version)), ())
            if run["status"] == "done" and (shape, n, version, int(run["rep"])) in theirs
        ]
        if len(runs) < 2:
            continue
        mine, reference = [one for one, _ in runs], [other for _, other in runs]
        table, authors_table = (
            _in_errors(
                statistics.fmean(sample) - row["nmse_mean"],
                math.hypot(describe(sample)["se"], row["nmse_se"]),
            )
            for sample in (mine, reference)
        )
        differences = [one - other for one, other in runs]
        found.append(
            Agreement(
                shape=shape,
                n=n,
                version=version,
                reps=len(runs),
                ours=statistics.fmean(mine),
                theirs=statistics.fmean(reference),
                published=row["nmse_mean"],
                paired=_in_errors(statistics.fmean(differences), describe(differences)["se"]),
                table=table,
                authors_table=authors_table,
            )
        )
    return found


def chance_outside(reps: int) -> float:
    """Return how often a mean of so many normal pairs is over three standard errors off."""
    return 2.0 * float(scipy.stats.t.sf(3.0, reps - 1))


def agreement_lines(found: Sequence[Agreement]) -> list[str]:
    """Return the sentence on agreement, all distances, and those outside with their figures."""
    if not found:
        return ["No version has two repetitions of a row yet; agreement cannot be judged.", ""]
    outside = [one for one in found if not one.agrees]
    paired = sum(abs(one.paired) > 3.0 for one in found)
    table = sum(abs(one.table) > 3.0 for one in found)
    chance = sum(chance_outside(one.reps) for one in found)
    usual = sum(abs(one.authors_table) > 3.0 for one in found)
    lines = [
        f"**{len(found) - len(outside)} of {len(found)} rows and versions agree with the paper "
        f"within three standard errors on both counts** ({_reps(found)} repetitions). {paired} "
        f"are outside against the authors' runs of the same repetitions and {table} against the "
        f"published means; by chance, {chance:.1f} are expected to be on each count, as the "
        "standard error of so few pairs is itself uncertain (Student's t). The authors' own runs "
        f"of these repetitions are outside their published means {usual} times.\n",
        *_pooled(found),
        "Distance in standard errors: to the authors' runs of the same repetitions / to the "
        "published mean; bold when over three.\n",
        _line(["row", "repetitions", *VERSIONS[:-1]]),
        _line(["---"] * 13),
    ]
    for shape, n in dict.fromkeys((one.shape, one.n) for one in found):
        row = {one.version: one for one in found if (one.shape, one.n) == (shape, n)}
        cells = [_distances(row[v]) if v in row else MISSING for v in range(11)]
        lines.append(_line([f"{_power(shape)}, n = {n}", _reps(row.values()), *cells]))
    if outside:
        titles = ["row", "version", "repetitions", "NMSE", "authors, same repetitions", "published"]
        titles += ["to the authors", "to the table", "authors to the table"]
        lines += ["", "Outside:\n", _line(titles), _line(["---"] * len(titles))]
    for one in outside:
        cells = [f"{_power(one.shape)}, n = {one.n}", str(one.version), str(one.reps)]
        cells += [f"{x:.4g}" for x in (one.ours, one.theirs, one.published)]
        cells += [f"{x:+.2f}" for x in (one.paired, one.table, one.authors_table)]
        lines.append(_line(cells))
    return [*lines, ""]


def _pooled(found: Sequence[Agreement]) -> list[str]:
    """Say how many rows and versions are really different, and how far off they are together."""
    # Versions that differ in how they compute, not in what, take the same steps.
    apart = list({(one.shape, one.n, f"{one.ours:.9g}"): one for one in found}.values())
    outside = sum(not one.agrees for one in apart)
    ratios: dict[tuple[str, int], list[float]] = {}
    for one in apart:
        if one.theirs > 0.0:
            ratios.setdefault((one.shape, one.n), []).append(one.ours / one.theirs - 1.0)
    if len(ratios) < 2:
        return []
    # Versions share the instances of a row, so rows are what is independent.
    told = describe([100.0 * statistics.fmean(row) for row in ratios.values()])
    return [
        "Some versions differ only in how they compute (0 and 1; 2 and 4; 3, 5 and 6; 7 and 8; 9 "
        f"and 10) and take the same steps: {len(apart)} results are different, {outside} of them "
        f"outside. Over {len(ratios)} rows our NMSE is {told['mean']:+.1f} % from the authors' on "
        f"the same repetitions (standard error over rows {told['se']:.1f} %).\n"
    ]


def number(value: float | None) -> str:
    """Write a number with three digits that count."""
    if value is None:
        return MISSING
    return f"{value:.0f}" if 1000.0 <= abs(value) < 1e7 else f"{value:.3g}"


def _with_error(told: Mapping[str, float], name: str) -> str:
    """Write a figure; a mean with its standard error."""
    error = told.get(name.replace("_mean", "_se")) if name.endswith("_mean") else None
    return number(told.get(name)) + (f" ± {error:.2g}" if error is not None else "")


def _why(rows: Sequence[Row]) -> str:
    """Say why there is no figure."""
    if not rows:
        return "not run"
    return f"over {rows[0]['limit']:.0f} s" if rows[0]["status"] == "timeout" else "failed"


def _ratio(slow: Mapping[str, float], quick: Mapping[str, float]) -> str:
    return number(slow["time_mean"] / quick["time_mean"]) if slow and quick else MISSING


def _in_errors(difference: float, error: float) -> float:
    if difference == 0.0:
        return 0.0
    return difference / error if error > 0.0 else math.copysign(math.inf, difference)


def _distances(one: Agreement) -> str:
    told = [f"{x:+.1f}" for x in (one.paired, one.table)]
    pair = zip(told, (one.paired, one.table), strict=True)
    return " / ".join(f"**{text}**" if abs(x) > 3.0 else text for text, x in pair)


def _reps(found: Iterable[Agreement]) -> str:
    counts = sorted({one.reps for one in found})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]}-{counts[-1]}"


def _power(shape: str) -> str:
    return task_name(shape, 0).split()[0]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
