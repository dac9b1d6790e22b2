"""The table of runs: what is written is read again, whatever happened in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.ledger import FIELDS, JsonLedger, Ledger, values


def row(task: str = "a", rep: int = 0, **columns: object) -> dict:
    """Return a small row."""
    return {"section": "s", "task": task, "method": "m", "rep": rep, "status": "done", **columns}


def test_rows_are_read_again_with_their_types(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "runs.csv"
    Ledger(path).add(row(seconds=0.123456789012, nmse=1e-25, chosen="8", limit=150.0, rep=3))
    found = Ledger(path).find("s", "a", "m", 3)
    assert found is not None
    assert found["seconds"] == pytest.approx(0.123456789012, rel=1e-9)
    assert found["nmse"] == 1e-25
    assert (found["rep"], found["chosen"], found["limit"]) == (3, "8", 150.0)
    assert found["rmse"] == ""


def test_the_newest_row_wins_and_the_old_line_stays(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    ledger = Ledger(path)
    ledger.add(row(status="failed", message="once"))
    ledger.add(row(seconds=2.0))
    for one in (ledger, Ledger(path)):
        assert [found["status"] for found in one.rows(task="a")] == ["done"]
    assert len(path.read_text().splitlines()) == 3


def test_a_line_cut_off_by_a_kill_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    ledger = Ledger(path)
    for rep in range(3):
        ledger.add(row(rep=rep, seconds=float(rep)))
    text = path.read_text()
    path.write_text(text[:-9])
    again = Ledger(path)
    assert [("s", "a", "m", rep) in again for rep in range(3)] == [True, True, False]
    again.add(row(rep=2, seconds=2.0))
    assert path.read_text() == text


def test_a_header_cut_off_by_a_kill_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("section,ta")
    Ledger(path).add(row())
    assert path.read_text().splitlines()[0] == ",".join(FIELDS)
    assert len(list(Ledger(path).rows())) == 1


def test_hostile_text_survives(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    message = "ValueError: a, \"b\", 'c';\r\n| d\n\n=1+1 ü \N{SNOWMAN}"
    ledger = Ledger(path)
    ledger.add(row(message=message, task='x, "y"'))
    ledger.add(row(task="after"))
    again = Ledger(path)
    found = again.find("s", 'x, "y"', "m", 0)
    assert found is not None
    assert found["message"] == " ".join(message.split())
    assert again.find("s", "after", "m", 0) is not None
    # One line a row, so that a line cut off is a row cut off.
    assert len(path.read_text(encoding="utf-8").split("\n")) == 4


def test_unknown_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"unknown columns \['speed'\]"):
        Ledger(tmp_path / "runs.csv").add(row(speed=1.0))
    assert not (tmp_path / "runs.csv").exists()


def test_rows_are_chosen_by_their_columns(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "runs.csv")
    for task in "ab":
        for rep in range(2):
            ledger.add(row(task, rep))
    assert len(list(ledger.rows(task="b"))) == 2
    assert [found["task"] for found in ledger.rows(rep=1)] == ["a", "b"]


def test_values_are_those_of_runs_that_are_done_by_repetition(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    ledger = Ledger(path)
    ledger.add(row(rep=10, seconds=3.0))
    ledger.add(row(rep=2, seconds=1.0))
    ledger.add(row(rep=1, status="timeout"))
    ledger.add(row(rep=0, status="failed", seconds=9.0))
    ledger.add(row(rep=3))
    for one in (ledger, Ledger(path)):
        assert values(one.rows(), "seconds") == [1.0, 3.0]


def test_json_lines_hold_any_column_and_are_read_again(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "lines.jsonl"
    ledger = JsonLedger(path)
    ledger.add(row(shape=[3, 4], spread=0.5))
    ledger.add(row("b"))
    ledger.add(row("b", shape=[5]))
    with path.open("a") as stream:
        stream.write('{"section": "cut o')
    again = JsonLedger(path)
    assert again.find("s", "a", "m", 0) == row(shape=[3, 4], spread=0.5)
    assert [found["shape"] for found in again.rows(task="b")] == [[5]]
    assert len(path.read_text().splitlines()) == 3
