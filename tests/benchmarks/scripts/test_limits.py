"""Limits: planted data, one measurement of every face, company that ends, and the report."""

import subprocess
import time

import numpy as np
import pytest

from benchmarks.ledger import JsonLedger
from benchmarks.scripts import limits
from benchmarks.scripts.limits_report import allowance, write_report

SMALL = limits.Case((9, 8, 7), 300)


def runs_of(*words):
    return limits.make_runs(limits.read_arguments(["--out", "x.jsonl", *words]))


def test_the_planted_table_is_the_same_each_time_and_has_distinct_cells():
    first, again = SMALL.table(), SMALL.table()
    assert first.equals(again)
    assert not first.duplicated(["mode0", "mode1", "mode2"]).any()
    assert (~first["hidden"]).sum() == 300
    assert first["hidden"].sum() == 15
    assert first["value"].min() >= 0.0


def test_all_faces_shapes_limits_and_loads_are_measured():
    runs = runs_of()
    assert len(runs) == len({run.key for run in runs}) == 4 * 4 * 3 * 2 + 4 * 2
    floor = [run for run in runs if run.arguments["limit"] == limits.FLOOR]
    assert {run.arguments["face"] for run in floor} == {limits.COMMAND}


def test_a_face_that_is_not_there_is_named(capsys):
    with pytest.raises(SystemExit):
        runs_of("--faces", "solve,guess")
    assert "--faces has 'guess'" in capsys.readouterr().err


@pytest.mark.parametrize("face", limits.FACES)
def test_a_measurement_of_every_face(face, monkeypatch):
    monkeypatch.setattr(limits, "SMALL", SMALL)
    row = limits.measure(SMALL, face, 5.0, "idle")
    assert row["asked"] == 5.0
    assert row["seconds"] > 0.0
    assert row["rmse"] < row["rmse_of_mean"]
    assert row["terms"] >= 1


def test_company_computes_and_ends(monkeypatch):
    started = []
    usual = subprocess.Popen

    def remember(*words):
        started.append(usual(*words))
        return started[-1]

    monkeypatch.setattr(limits.subprocess, "Popen", remember)
    with limits.company(2):
        time.sleep(0.2)
        assert [one.poll() for one in started] == [None, None]
    assert all(one.poll() is not None for one in started)


@pytest.mark.parametrize(("asked", "allowed"), [(2.0, 1.0), (20.0, 1.0), (60.0, 3.0)])
def test_allowance(asked, allowed):
    assert allowance(asked) == pytest.approx(allowed)


def test_the_report_counts_what_is_late_and_what_is_poor(tmp_path):
    ledger = JsonLedger(tmp_path / "limits.jsonl")

    def add(face, asked, seconds, **columns):
        ledger.add(
            {
                "section": "limits",
                "task": "9 x 9, n = 20",
                "method": f"{face}, {asked:g} s, idle",
                "rep": 0,
                "status": "done",
                "face": face,
                "load": "idle",
                "asked": asked,
                "seconds": seconds,
                "rmse": 1.0,
                "rmse_of_mean": 2.0,
                "terms": 3,
                "warned": [],
                **columns,
            }
        )

    add("solve", 2.0, 2.5)
    add("solve", 10.0, 11.5)
    add("complete", 2.0, 1.0, rmse=2.5)
    add("complete", 10.0, 1.0, rmse=np.inf, warned=["EmptyModelWarning"])
    add("intensor fit", limits.FLOOR, 1.5)
    add("intensor fit", 2.0, 3.25)
    add("solve", 30.0, 0.0, status="timeout", message="killed after 300 s")
    lines = write_report(ledger, tmp_path / "limits.md", busy=4, floor=limits.FLOOR)
    assert any(line.startswith("- 4 of 5 calls ended within 1 s or 5% of") for line in lines)
    assert any("excess is 1.50 s (9 x 9, n = 20, solve, 10 s, idle)" in line for line in lines)
    assert "- 2 of 5 models are no better than the mean, 1 of them without a warning." in lines
    found = next(line for line in lines if "| intensor fit | idle | 2 |" in line)
    assert "| 3.25 | -0.25 | 1 | 2 | 3 |" in found
    assert any("| **+1.50** |" in line for line in lines)
    assert "- 9 x 9, n = 20, solve, 30 s, idle: killed after 300 s" in lines
    assert (tmp_path / "limits.md").read_text().splitlines()[0] == lines[0].strip()
