"""What a section of the benchmark is: runs to make, and a part of the report to write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.ledger import Ledger
from benchmarks.runs import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to run the benchmark.

    Attributes
    ----------
    paper
        Folder with ``tables.csv`` and ``reference_runs.csv.gz``.
    data
        Folder with the real data.
    out
        Folder for ``runs.csv``, ``figures/`` and ``RESULTS.md``.
    sets
        Sets of the paper's instances, of 1-4.
    versions
        Of 0-10 and "fast".
    reps
        Repetitions of every row.
    seconds
        Time limit of a fit of real data, choosing included.
    jobs
        Runs side by side.
    only
        Tasks whose names contain one of these words; all when empty.
    """

    paper: Path = Path("../shared/paper")
    data: Path = Path("../shared/data")
    out: Path = Path("benchmarks")
    sets: tuple[int, ...] = (1, 2, 3, 4)
    versions: tuple[int | str, ...] = (*range(11), "fast")
    reps: int = 5
    seconds: float = 150.0
    jobs: int = 1
    only: tuple[str, ...] = ()

    @property
    def figures(self) -> Path:
        """Folder for pictures; in the report they are named ``figures/NAME``."""
        folder = self.out / "figures"
        folder.mkdir(parents=True, exist_ok=True)
        return folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One part of the benchmark.

    Attributes
    ----------
    name, title
        On the command line, and in the report.
    runs
        What there is to run.
    report
        Lines of Markdown from the table alone, without the title; writes its figures to
        ``options.figures``. Works with whatever part of the runs is there, and says what is not.
    losses
        Sentences on where intensor is not the best, from the table, for "Where we lose".
    skip
        Asked before each run, with the table so far: a reason not to make it, or None.
    needs
        Called before the first run; raises FileNotFoundError with a sentence on what is missing.
    """

    name: str
    title: str
    runs: Callable[[Options], list[Run]]
    report: Callable[[Ledger, Options], list[str]]
    losses: Callable[[Ledger, Options], list[str]] = field(default=lambda ledger, options: [])
    skip: Callable[[Ledger, Run], str | None] | None = None
    needs: Callable[[Options], None] | None = None
