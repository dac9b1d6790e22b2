"""Statistics and Markdown of the paper's tables, against numbers worked out by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from benchmarks.paper.published import published_rows, published_runs, published_sets, task_name
from benchmarks.paper.tables import (
    agreement_lines,
    agreements,
    chance_outside,
    collect,
    describe,
    number,
    overview,
    row_table,
)
from tiny_paper import ledger_of, run_row, write_paper

TASK = "4^3 n=60"


def test_describe_by_hand() -> None:
    told = describe([1.0, 2.0, 4.0])
    assert told == pytest.approx(
        {
            "mean": 7.0 / 3.0,
            "gmean": 2.0,
            "min": 1.0,
            "median": 2.0,
            "max": 4.0,
            "se": math.sqrt(7.0) / 3.0,
        }
    )
    assert "se" not in describe([3.0])


def test_chance_of_being_outside_in_closed_form() -> None:
    # Student's t with one degree of freedom is Cauchy's; with two it is algebraic.
    assert chance_outside(2) == pytest.approx(1.0 - 2.0 * math.atan(3.0) / math.pi)
    assert chance_outside(3) == pytest.approx(1.0 - 3.0 / math.sqrt(11.0))
    assert chance_outside(10_000) == pytest.approx(0.0027, abs=1e-4)


def test_names_of_rows() -> None:
    assert task_name("10x10x10x10x10x10", 1000) == "10^6 n=1000"
    assert task_name("100x100x100", 500) == "100^3 n=500"


def test_published_tables_are_read_whole(tmp_path: Path) -> None:
    paper = write_paper(tmp_path)
    assert published_sets(paper) == {1: [("4x4x4", 60)], 2: [("3x3x3x3", 80)], 3: [("3x3x3x3", 80)]}
    row = published_rows(paper)["4x4x4", 60, 2]
    assert set(row) == {"nmse_mean", "nmse_se"} | {
        f"time_{name}" for name in ("mean", "se", "gmean", "min", "median", "max")
    }
    assert row["time_max"] == 10.0
    assert published_runs(paper)["4x4x4", 60, 2, 2] == 0.2
    assert published_runs(paper, "time_s")["4x4x4", 60, 2, 2] == 12.0


def found_with(tmp_path: Path, sample: list[float]) -> list:
    """Return agreements of version 1 on the first row for three of our NMSE."""
    paper = write_paper(tmp_path / "paper")
    rows = [run_row(TASK, 1, rep, nmse=nmse) for rep, nmse in enumerate(sample)]
    ours = collect(ledger_of(tmp_path / "runs.csv", rows))
    return agreements(ours, published_rows(paper), published_runs(paper))


def test_agreement_by_hand(tmp_path: Path) -> None:
    (one,) = found_with(tmp_path, [0.1, 0.2, 0.3])
    assert (one.shape, one.n, one.version, one.reps) == ("4x4x4", 60, 1, 3)
    assert (one.ours, one.theirs, one.published) == pytest.approx((0.2, 0.4 / 3.0, 0.2))
    # Differences 0, 0.1, 0.1: mean 0.2 / 3, standard error 0.1 / 3.
    assert one.paired == pytest.approx(2.0)
    assert one.table == pytest.approx(0.0, abs=1e-12)
    # Theirs: standard error 0.1 / 3; published: 0.01.
    assert one.authors_table == pytest.approx((0.4 / 3.0 - 0.2) / math.hypot(0.1 / 3.0, 0.01))
    assert one.agrees


def test_repetitions_are_paired_not_sorted(tmp_path: Path) -> None:
    (one,) = found_with(tmp_path, [0.2, 0.1, 0.1])
    assert one.paired == pytest.approx(0.0, abs=1e-12)
    assert one.ours == pytest.approx(one.theirs)


def test_a_difference_that_never_varies_is_outside(tmp_path: Path) -> None:
    (one,) = found_with(tmp_path, [0.1 + 2**-5, 0.1 + 2**-5, 0.2 + 2**-5])
    assert one.paired > 1e6
    assert not one.agrees


def test_equal_runs_agree(tmp_path: Path) -> None:
    (one,) = found_with(tmp_path, [0.1, 0.1, 0.2])
    assert one.paired == 0.0
    assert one.table == one.authors_table


def test_one_repetition_is_not_judged(tmp_path: Path) -> None:
    assert found_with(tmp_path, [0.1]) == []
    assert "cannot be judged" in agreement_lines([])[0]


def test_runs_that_failed_do_not_count(tmp_path: Path) -> None:
    paper = write_paper(tmp_path / "paper")
    rows = [
        run_row(TASK, 1, 0),
        run_row(TASK, 1, 1),
        {**run_row(TASK, 1, 2), "status": "timeout", "nmse": "", "seconds": ""},
    ]
    ours = collect(ledger_of(tmp_path / "runs.csv", rows))
    (one,) = agreements(ours, published_rows(paper), published_runs(paper))
    assert one.reps == 2


def test_the_sentence_counts_inside_outside_and_chance(tmp_path: Path) -> None:
    paper = write_paper(tmp_path / "paper")
    rows = [run_row(TASK, 0, rep, nmse=nmse) for rep, nmse in enumerate((0.1, 0.1, 0.2))]
    rows += [run_row(TASK, 1, rep, nmse=nmse) for rep, nmse in enumerate((0.1, 0.1, 0.2))]
    rows += [run_row(TASK, 2, rep, nmse=nmse) for rep, nmse in enumerate((0.7, 0.701, 0.8))]
    rows += [run_row("3^4 n=80", 2, rep, nmse=nmse) for rep, nmse in enumerate((0.1, 0.1, 0.2))]
    ours = collect(ledger_of(tmp_path / "runs.csv", rows))
    text = "\n".join(
        agreement_lines(agreements(ours, published_rows(paper), published_runs(paper)))
    )
    assert "**3 of 4 rows and versions agree" in text
    assert "(3 repetitions)" in text
    assert "1 are outside against the authors' runs" in text
    assert f"{4 * chance_outside(3):.1f} are expected" in text
    assert "3 results are different, 1 of them outside" in text
    outside = text[text.index("Outside:") :]
    assert "| 4^3, n = 60 | 2 | 3 | 0.7337 | 0.1333 | 0.2 |" in outside
    assert "| 1 |" not in outside


def test_a_table_has_ours_beside_theirs(tmp_path: Path) -> None:
    paper = write_paper(tmp_path / "paper")
    rows = [run_row(TASK, 1, rep, seconds=s, nmse=0.1) for rep, s in enumerate((1.0, 2.0, 4.0))]
    rows += [run_row(TASK, "fast", 0, seconds=0.25, nmse=1e-9)]
    rows += [{**run_row(TASK, 2, 0), "status": "timeout", "seconds": "", "nmse": ""}]
    rows += [{**run_row(TASK, 3, 0), "status": "failed", "seconds": "", "nmse": ""}]
    ours = collect(ledger_of(tmp_path / "runs.csv", rows))
    lines = row_table(ours, published_rows(paper), "4x4x4", 60)
    table = {line.split(" | ")[0].strip("| "): line.split(" | ")[1:] for line in lines[3:-1]}
    assert list(table) == [*map(str, range(11)), "fast"]
    assert table["1"][:5] == ["3", "0.1 ± 0", "0.2 ± 0.01", "2.33 ± 0.88", "2 ± 0.5"]
    assert table["1"][5:] == ["2", "1.9", "1", "1.1", "2", "1.8", "4", "9 |"]
    assert table["fast"][:4] == ["1", "1e-09", "-", "0.25"]
    assert [table[version][0] for version in "023"] == ["not run", "over 300 s", "failed"]
    assert len({line.count("|") for line in lines[1:-1]}) == 1


def test_overview_has_best_version_and_ratios(tmp_path: Path) -> None:
    paper = write_paper(tmp_path / "paper")
    seconds = {0: 9.0, 1: 3.0, 5: 2.0, "fast": 0.5}
    rows = [run_row(TASK, version, 0, seconds=s) for version, s in seconds.items()]
    ours = collect(ledger_of(tmp_path / "runs.csv", rows))
    line = overview(ours, published_rows(paper), [("4x4x4", 60)])[2]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[1:7] == ["3", "2", "-", "9", "2 (5)", "0.5"]
    assert cells[7:11] == ["3", "0.5", "-", "0.889"]


def test_numbers_keep_three_digits() -> None:
    assert [number(x) for x in (None, 0.012345, 1234.5, 1e-25, 12.0)] == [
        "-",
        "0.0123",
        "1234",
        "1e-25",
        "12",
    ]
