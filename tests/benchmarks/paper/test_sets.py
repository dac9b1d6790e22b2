"""The section on the paper's sets: what is run, in which order, and what is told of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import intensor
from benchmarks.ledger import Ledger
from benchmarks.paper import sets as paper_sets
from benchmarks.sections import Options
from tiny_paper import ledger_of, run_row, write_paper

FIRST, SECOND = "4^3 n=60", "3^4 n=80"


@pytest.fixture
def options(tmp_path: Path) -> Options:
    """Return options with a small paper of two rows."""
    return Options(
        paper=write_paper(tmp_path / "paper"),
        out=tmp_path,
        sets=(1, 2, 3),
        versions=(0, 1, "fast"),
        reps=2,
    )


def test_runs_are_cheap_first_and_complete_a_repetition_before_the_next(options: Options) -> None:
    found = [(run.task, run.method, run.rep) for run in paper_sets.runs(options)]
    assert found == [
        (task, method, rep)
        # The second is in two sets and is run once; Index and Pattern pay there.
        for task, methods in [(FIRST, ("0", "fast", "1")), (SECOND, ("fast", "1", "0"))]
        for rep in range(2)
        for method in methods
    ]


def test_sets_and_versions_are_chosen(options: Options) -> None:
    chosen = Options(paper=options.paper, out=options.out, sets=(3,), versions=(8,), reps=1)
    (run,) = paper_sets.runs(chosen)
    assert (run.task, run.method, run.arguments["shape"]) == (SECOND, "8", (3, 3, 3, 3))


@pytest.mark.parametrize("version", [0, 8, "fast"])
def test_a_run_solves_the_instance_of_the_paper(version: int | str) -> None:
    row = paper_sets.solve_once((4, 4, 4), 60, version, 3, 1, 60.0)
    data = intensor.planted((4, 4, 4), 60, 3)
    result = intensor.solve(
        data.coords, data.values, shape=(4, 4, 4), radius=1.0, version=version, tol=1e-4, rtol=0.0
    )
    assert row["nmse"] == intensor.nmse(result.model, data.truth)
    assert row["objective"] == result.objective
    assert row["gap"] <= 1e-4
    assert row["boxes"] == len(result.model)
    assert row["seconds"] > 0.0
    assert row["threads"] == 1


def test_a_run_out_of_time_says_so() -> None:
    with pytest.raises(TimeoutError, match="gap"):
        paper_sets.solve_once((20, 20, 20), 500, 0, 0, 1, 1e-6)


@pytest.mark.parametrize(("again", "calls"), [(False, 1), (True, 2)])
def test_a_quick_solve_is_timed_when_all_is_loaded(again: bool, calls: int) -> None:
    made: list[int] = []

    def solve() -> int:
        made.append(len(made))
        return len(made)

    result, seconds = paper_sets.timed(solve, again=again)
    assert (result, len(made)) == (calls, calls)
    assert seconds >= 0.0


def test_a_long_solve_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper_sets, "QUICK", 0.0)
    made: list[int] = []
    paper_sets.timed(lambda: made.append(1), again=True)
    assert made == [1]


def test_what_takes_too_long_is_not_repeated(tmp_path: Path, options: Options) -> None:
    runs = {(run.task, run.method, run.rep): run for run in paper_sets.runs(options)}
    ledger = ledger_of(
        tmp_path / "runs.csv",
        [
            run_row(FIRST, 0, 0, seconds=121.0),
            run_row(FIRST, 1, 0, seconds=119.0),
            {**run_row(FIRST, "fast", 0), "status": "timeout", "seconds": "", "nmse": ""},
        ],
    )
    for one in (ledger, Ledger(ledger.path)):
        told = {method: paper_sets.skip(one, runs[FIRST, method, 1]) for method in ("0", "1")}
        assert told == {"0": "the first repetition took 121 s", "1": None}
        assert "more than" in str(paper_sets.skip(one, runs[FIRST, "fast", 1]))
        assert paper_sets.skip(one, runs[FIRST, "0", 0]) is None
        assert paper_sets.skip(one, runs[SECOND, "0", 1]) is None


def test_what_is_hopeless_is_not_tried(tmp_path: Path) -> None:
    options = Options(
        paper=write_paper(tmp_path, slow=2000.0), sets=(2,), versions=(0, 1, "fast"), reps=1
    )
    told = {
        run.method: paper_sets.skip(Ledger(tmp_path / "runs.csv"), run)
        for run in paper_sets.runs(options)
    }
    assert told == {"fast": None, "1": None, "0": "expected to take 333 s"}


def test_missing_tables_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no tables.csv in .*--paper"):
        paper_sets.needs(Options(paper=tmp_path))


def test_a_report_of_some_runs(
    tmp_path: Path, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []

    def draw_set(number: int, *others: object) -> list[str]:
        drawn.extend([f"set{number}_all.svg", f"set{number}_best.svg"])
        return drawn[-2:]

    monkeypatch.setattr(paper_sets, "draw_set", draw_set)
    rows = [run_row(SECOND, 1, rep, nmse=0.1 + 0.1 * (rep == 2)) for rep in range(3)]
    text = "\n".join(paper_sets.report(ledger_of(tmp_path / "runs.csv", rows), options))
    assert "**1 of 1 rows and versions agree" in text
    first, second, third = (text.index(f"### Set {number}") for number in (1, 2, 3))
    assert "Not run." in text[first:second]
    for part in (text[second:third], text[third:]):
        assert "| 3^4, n = 80 | 1 | 61 |" in part
        assert "**3^4, n = 80**" in part
    for name in drawn:
        assert f"(figures/{name})" in text
    assert len(drawn) == 4


def test_a_report_says_what_was_not_run_and_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paper_sets, "draw_set", lambda *arguments: [])
    paper = write_paper(tmp_path / "paper", slow=2000.0, records=False)
    rows = [
        run_row(FIRST, 1, 0, seconds=130.0),
        {**run_row(FIRST, 2, 0), "status": "timeout", "seconds": "", "nmse": ""},
    ]
    options = Options(paper=paper, out=tmp_path)
    text = "\n".join(paper_sets.report(ledger_of(tmp_path / "runs.csv", rows), options))
    assert "3^4 n=80 version 0 (333 s)" in text
    assert "s: 4^3 n=60 version 2." in text
    assert "4^3 n=60 version 1 (130 s)." in text
    assert "there is no reference_runs.csv.gz" in text


def test_losses_are_found_on_common_repetitions(tmp_path: Path, options: Options) -> None:
    rows = [run_row(FIRST, "fast", rep, seconds=0.1, nmse=0.1) for rep in range(2)]
    rows += [run_row(FIRST, 1, 0, seconds=1.0, nmse=0.05), run_row(FIRST, 8, 0, nmse=0.07)]
    # Repetition 5 was not made by fast, and would count for version 2.
    rows += [run_row(FIRST, 2, 5, seconds=0.01, nmse=0.001)]
    rows += [run_row(SECOND, "fast", 0, seconds=2.0, nmse=0.1), run_row(SECOND, 4, 0, nmse=0.1)]
    told = paper_sets.losses(ledger_of(tmp_path / "runs.csv", rows), options)
    assert len(told) == 2
    assert f"in 1 of 2 rows: {SECOND} (2, version 4 1)." in told[0]
    assert f"in 1 of 2 rows: {FIRST} (0.1, version 1 0.05)." in told[1]


def test_no_losses_where_fast_is_best(tmp_path: Path, options: Options) -> None:
    rows = [run_row(FIRST, "fast", 0, seconds=0.1, nmse=0.01), run_row(FIRST, 1, 0)]
    assert paper_sets.losses(ledger_of(tmp_path / "runs.csv", rows), options) == []
