"""The command on sub-tasks: what it runs, and that it goes on where it was."""

import json
from pathlib import Path

import pytest

from benchmarks.robustness.candidates import SIMPLE, SINGLES
from benchmarks.scripts import robustness

DATA = Path(__file__).parents[4] / "shared" / "data"


@pytest.fixture
def anywhere(monkeypatch):
    """Let the data be where it may."""
    monkeypatch.setattr(robustness, "check_sources", lambda folder: None)


def runs_of(*words):
    return robustness.make_runs(robustness.read_arguments(["--out", "x.jsonl", *words]))


def test_numbers_and_ranges():
    assert robustness.read_numbers("0-2,7") == [0, 1, 2, 7]
    with pytest.raises(ValueError, match="--tasks is '1-x'"):
        robustness.read_numbers("1-x")


def test_runs_of_a_sub_task(anywhere):
    runs = runs_of("--tasks", "3", "--seed", "2", "--single-limit", "5")
    assert len(runs) == len({run.key for run in runs}) == len(SINGLES) + len(SIMPLE) + 1
    single = next(run for run in runs if run.method == "sqrt, none, graded")
    assert single.section == "Seed 2"
    assert single.arguments["options"]["time_limit"] == 5.0
    default = next(run for run in runs if run.method == "default")
    assert default.arguments["options"] == {"random_state": 0}


def test_a_part_of_the_runs_and_options_of_the_default(anywhere):
    assert {run.method for run in runs_of("--only", "singles")} == {*SINGLES, *SIMPLE}
    runs = runs_of("--only", "default", "--options", '{"time_limit": 9}', "--label", "short")
    assert len(runs) == 40
    assert {run.method for run in runs} == {"short"}
    assert runs[0].arguments["options"] == {"random_state": 0, "time_limit": 9}


def test_words_that_do_not_go(anywhere, capsys):
    for words in (["--tasks", "all"], ["--label", "mean"]):
        with pytest.raises(SystemExit):
            runs_of(*words)
    assert "the name of a candidate" in capsys.readouterr().err


@pytest.mark.skipif(not DATA.is_dir(), reason="the real data is not here")
def test_it_goes_on_where_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr(robustness, "SINGLES", {})
    out, report = tmp_path / "lines.jsonl", tmp_path / "report.md"
    words = ["--data", str(DATA), "--out", str(out), "--report", str(report), "--only", "singles"]
    robustness.main([*words, "--tasks", "3"])
    lines = out.read_text().splitlines()
    assert {json.loads(line)["method"] for line in lines} == set(SIMPLE)
    out.write_text("\n".join(lines[:3]) + '\n{"section": "cut o')
    robustness.main([*words, "--tasks", "3"])
    again = out.read_text().splitlines()
    assert again[:3] == lines[:3]
    assert len(again) == len(lines)
    assert "0 of 1 sub-tasks" in report.read_text()
