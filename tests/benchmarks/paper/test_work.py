"""The section on accuracy against work."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.ledger import Ledger
from benchmarks.paper import work
from benchmarks.sections import Options
from tiny_paper import ledger_of, run_row, write_paper

TASK = "4^3 n=60"


@pytest.fixture
def options(tmp_path: Path) -> Options:
    """Return options with a small paper of two rows."""
    return Options(paper=write_paper(tmp_path / "paper"), out=tmp_path, sets=(1, 2, 3), reps=9)


def point(rtol: float, rep: int, **columns: object) -> dict:
    """Return a row of this section."""
    return run_row(TASK, work.method(rtol), rep, section="work", **columns)


def test_runs_go_through_the_tolerances(options: Options) -> None:
    found = work.runs(options)
    assert len(found) == 2 * 3 * len(work.TOLERANCES)
    assert [run.method for run in found[:7]] == [
        "fast rtol=1e-02",
        "fast rtol=1e-03",
        "fast rtol=1e-04",
        "fast rtol=1e-06",
        "fast rtol=1e-08",
        "fast rtol=1e-10",
        "fast rtol=1e-12",
    ]
    assert [run.rep for run in found[:14:7]] == [0, 1]
    assert len({run.key for run in found}) == len(found)


def test_a_smaller_tolerance_gives_a_smaller_gap() -> None:
    rows = [work.solve_to((6, 6, 6), 150, rtol, 0, 1, 20.0) for rtol in (1e-1, 1e-8)]
    assert rows[1]["gap"] < rows[0]["gap"]
    assert rows[1]["nmse"] < rows[0]["nmse"]
    assert rows[1]["chosen"] == "optimal"


@pytest.mark.filterwarnings("ignore::intensor.errors.EmptyModelWarning")
def test_what_a_limit_cuts_off_counts_as_it_is() -> None:
    row = work.solve_to((20, 20, 20), 500, 1e-12, 0, 1, 1e-6)
    assert row["chosen"] == "time_limit"
    assert row["nmse"] > 0.0


def test_tolerances_below_one_out_of_reach_are_skipped(tmp_path: Path, options: Options) -> None:
    ledger = ledger_of(tmp_path / "runs.csv", [point(1e-3, 0), point(1e-4, 0, chosen="time_limit")])
    for one in (ledger, Ledger(ledger.path)):
        told = {
            (run.arguments["rtol"], run.rep): work.skip(one, run)
            for run in work.runs(options)
            if run.task == TASK
        }
        skipped = {key for key, reason in told.items() if reason is not None}
        assert skipped == {(rtol, 0) for rtol in (1e-6, 1e-8, 1e-10, 1e-12)}
        assert "1e-04" in str(told[1e-6, 0])


def test_report_has_medians_of_common_repetitions(tmp_path: Path, options: Options) -> None:
    rows = [
        point(1e-4, rep, seconds=s, nmse=e) for rep, s, e in [(0, 1, 0.3), (1, 5, 0.1), (2, 2, 0.2)]
    ]
    rows += [point(1e-8, 0, seconds=9.0, nmse=1e-20, chosen="stalled")]
    rows += [run_row(TASK, 1, rep, seconds=4.0 + rep, nmse=0.5) for rep in range(3)]
    rows += [run_row(TASK, 1, 7, seconds=1000.0, nmse=0.0)]
    lines = work.report(ledger_of(tmp_path / "runs.csv", rows), options)
    (line,) = [line for line in lines if line.startswith(f"| {TASK} ")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[1:7] == ["0.2", "2", "1e-20", "9", "-", "-"]
    assert cells[7:11] == ["0.5", "5", "-", "-"]
    assert cells[11] == "1e-08: 1 of 1 stalled"
    picture = (options.figures / "work.svg").read_text()
    for words in (TASK, "processor seconds", "NMSE", "version 1", "version 8, the authors"):
        assert f">{words}<" in picture
    assert ">version 8<" not in picture


def test_a_report_without_the_authors_records(tmp_path: Path) -> None:
    paper = write_paper(tmp_path / "paper", records=False)
    ledger = ledger_of(tmp_path / "runs.csv", [point(1e-4, 0)])
    work.report(ledger, Options(paper=paper, out=tmp_path))
    assert "the authors" not in (tmp_path / "figures" / "work.svg").read_text()


def test_losses_compare_the_best_of_fast(tmp_path: Path, options: Options) -> None:
    rows = [point(1e-2, 0, nmse=0.2), point(1e-4, 0, nmse=0.3)]
    rows += [run_row(TASK, 1, 0, nmse=0.25), run_row(TASK, 8, 0, nmse=0.15)]
    (told,) = work.losses(ledger_of(tmp_path / "runs.csv", rows), options)
    assert "version 8 has a median NMSE of 0.15; fast has 0.2 at best (rtol 1e-02" in told
