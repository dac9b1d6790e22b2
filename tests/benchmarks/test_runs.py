"""Runs in processes of their own: ends of all kinds, and going on after a kill."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import runs
from benchmarks.ledger import JsonLedger, Ledger
from benchmarks.runs import Run, execute

ROOT = Path(__file__).parents[2]


def make(task: str, rep: int = 0, **columns: object) -> Run:
    """Return a run; without more, one that returns at once."""
    told = {"call": dict, "arguments": {"seconds": 0.5}, "limit": 60.0} | columns
    return Run(section="s", task=task, method="m", rep=rep, **told)


def test_every_end_is_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "START", 4.0)
    monkeypatch.setattr(runs, "MORE", 0.2)
    ledger = Ledger(tmp_path / "runs.csv")
    wanted = [
        make("raises", call=json.loads, arguments={"s": "{"}),
        make("dies", call=os._exit, arguments={"status": 3}),
        make("done"),
        make("hangs", call=signal.pause, arguments={}, limit=0.1),
        make("after"),
    ]
    execute(wanted, ledger, jobs=2)
    found = {row["task"]: row for row in Ledger(ledger.path).rows()}
    assert {task: row["status"] for task, row in found.items()} == {
        "raises": "failed",
        "dies": "failed",
        "done": "done",
        "hangs": "timeout",
        "after": "done",
    }
    assert "JSONDecodeError" in found["raises"]["message"]
    assert "died" in found["dies"]["message"]
    assert "killed after" in found["hangs"]["message"]
    assert found["done"]["seconds"] == 0.5
    assert found["done"]["limit"] == 60.0
    assert found["done"]["machine"]
    assert found["done"]["version"]
    assert found["done"]["threads"] >= 1


def test_a_run_may_say_how_many_threads_it_used(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "runs.csv")
    execute([make("a", arguments={"seconds": 1.0, "threads": 7})], ledger)
    assert [row["threads"] for row in ledger.rows()] == [7]


@pytest.mark.parametrize(("fresh", "processes"), [(False, 1), (True, 3)])
def test_fresh_runs_have_processes_of_their_own(
    tmp_path: Path, fresh: bool, processes: int
) -> None:
    ledger = JsonLedger(tmp_path / "lines.jsonl")
    execute([make("a", rep, call=_tell) for rep in range(3)], ledger, threads=3, fresh=fresh)
    found = list(ledger.rows())
    assert [row["status"] for row in found] == ["done"] * 3
    assert len({row["process"] for row in found}) == processes
    assert {(row["threads"], row["told"]) for row in found} == {(3, "3")}


def _tell(seconds: float) -> dict:
    return {"seconds": seconds, "process": os.getpid(), "told": os.environ["OMP_NUM_THREADS"]}


def test_a_timeout_that_is_raised_is_a_timeout(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "runs.csv")
    execute([make("a", call=_late, arguments={"gap": 0.1})], ledger)
    assert [(row["status"], row["message"]) for row in ledger.rows()] == [("timeout", "gap 0.1")]


def _late(gap: float) -> dict:
    raise TimeoutError(f"gap {gap}")


class Forbidden:
    """Stands for a worker where none may be started."""

    def __init__(self, threads: int, *, once: bool = False) -> None:
        raise AssertionError("a process was started")


def test_what_is_there_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_Worker", Forbidden)
    ledger = Ledger(tmp_path / "runs.csv")
    for rep, status in enumerate(("done", "failed", "timeout")):
        ledger.add({"section": "s", "task": "a", "method": "m", "rep": rep, "status": status})
    wanted = [make("a", rep) for rep in range(3)]
    execute(wanted, Ledger(ledger.path))
    with pytest.raises(AssertionError, match="started"):
        execute(wanted, ledger, retry=True)
    with pytest.raises(AssertionError, match="started"):
        execute([*wanted, make("b")], ledger)


def test_skipped_runs_leave_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_Worker", Forbidden)
    ledger = Ledger(tmp_path / "runs.csv")
    asked: list[str] = []

    def skip(run: Run) -> str:
        asked.append(run.task)
        return "no"

    execute([make("a"), make("b")], ledger, skip=skip)
    assert asked == ["a", "b"]
    assert list(ledger.rows()) == []


def test_skip_sees_the_runs_before(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "runs.csv")

    def skip(run: Run) -> str | None:
        return "repeated" if run.rep and ledger.find("s", run.task, "m", 0) else None

    execute([make("a", rep) for rep in range(3)], ledger, skip=skip)
    assert [row["rep"] for row in ledger.rows()] == [0]


SCRIPT = """
import sys, time
from pathlib import Path
from benchmarks.ledger import JsonLedger, Ledger
from benchmarks.runs import Run, execute

def call(folder, rep):
    time.sleep(0.1)
    with open(Path(folder) / "calls", "a") as stream:
        stream.write(f"{rep}\\n")
    return {"seconds": 0.1, "message": f"repetition {rep}, twice"}

if __name__ == "__main__":
    folder = sys.argv[1]
    wanted = [
        Run(section="s", task="t", method="m", rep=rep, call=call,
            arguments={"folder": folder, "rep": rep})
        for rep in range(20)
    ]
    execute(wanted, Ledger(Path(folder) / "runs.csv"), jobs=2)
"""


def test_a_killed_benchmark_goes_on_where_it_was(tmp_path: Path) -> None:
    script, table = tmp_path / "mini.py", tmp_path / "runs.csv"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (tmp_path / "log").open("wb") as log:
        first = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        until = time.monotonic() + 30.0
        while time.monotonic() < until and (
            not table.exists() or table.read_bytes().count(b"\n") < 5
        ):
            time.sleep(0.01)
        first.kill()
        first.wait()
    before = table.read_bytes()
    done = before.count(b"\n") - 1
    assert 4 <= done < 20
    # What a kill in the middle of a write leaves behind.
    table.write_bytes(before + b"s,t,m,19,do")
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60)
    after = table.read_bytes()
    assert after.startswith(before)
    with table.open(newline="") as stream:
        reps = Counter(int(row["rep"]) for row in csv.DictReader(stream))
    assert reps == Counter(range(20))
    calls = Counter(map(int, (tmp_path / "calls").read_text().split()))
    assert set(calls) == set(range(20))
    assert sum(calls.values()) <= 22, "only what was under way at the kill is run twice"
