"""Streams that are closed, full or no longer read: the work is done all the same."""

import contextlib
import itertools
import os
import subprocess
import sys

import pytest
from rich.console import Console
from rich.live import Live

from intensor.cli import main, progress
from intensor.fitting.model_file import load

STREAMS = ("stdin", "stdout", "stderr")


def closed():
    return None


def full():
    return open("/dev/full", "w")


def left():
    """A pipe whose reader is gone."""
    read, write = os.pipe()
    os.close(read)
    return open(write, "w")


@pytest.fixture
def commands(table, model, tmp_path):
    """Every command, with the file that it writes."""
    cells = tmp_path / "cells.csv"
    cells.write_text("user,item,week\nann,x,1\n")
    paths = {name: tmp_path / f"out-{name}" for name in ("fit.npz", "predict.csv", "report.html")}
    filled = tmp_path / "out-complete.csv"
    return {
        "fit": (["fit", table, "--value", "rating", "--radius", "6"], paths["fit.npz"]),
        "complete": (["complete", table, "--value", "rating", "--radius", "6"], filled),
        "predict": (["predict", model, cells], paths["predict.csv"]),
        "report": (["report", model, table], paths["report.html"]),
    }


def run(monkeypatch, words, **streams):
    """Run a command with other streams, and return its exit code."""
    with monkeypatch.context() as patch:
        for name, stream in streams.items():
            patch.setattr(sys, name, stream)
        code = main(list(map(str, words)))
        for name in streams:
            if name != "stderr":  # whose failures the interpreter ignores at its end
                getattr(sys, name).flush()
            with contextlib.suppress(OSError):
                getattr(sys, name).close()
    return code


@pytest.mark.parametrize("command", ["fit", "complete", "predict", "report"])
@pytest.mark.parametrize("gone", [*itertools.combinations(STREAMS, 1), STREAMS], ids="-".join)
def test_closed_streams(commands, command, gone, monkeypatch):
    words, output = commands[command]
    streams = dict.fromkeys(gone)
    assert run(monkeypatch, [*words, "-o", output], **streams) == 0
    assert output.stat().st_size > 0


@pytest.mark.parametrize("command", ["fit", "complete", "predict", "report"])
@pytest.mark.parametrize(("make", "code"), [(full, 2), (left, 141)])
def test_stdout_that_fails(commands, command, make, code, monkeypatch, capfd):
    words, output = commands[command]
    for more in ([], ["--json"]):
        output.unlink(missing_ok=True)
        assert run(monkeypatch, [*words, "-o", output, *more], stdout=make()) == code
        assert output.stat().st_size > 0
    said = capfd.readouterr().err
    assert ("error: stdout cannot be written to" in said) == (make is full)


@pytest.mark.parametrize("command", ["fit", "complete", "predict", "report"])
@pytest.mark.parametrize("make", [full, left])
def test_stderr_that_fails(commands, command, make, monkeypatch):
    words, output = commands[command]
    stderr = make()
    assert run(monkeypatch, [*words, "-o", output], stderr=stderr) == 0
    assert output.stat().st_size > 0


def test_what_is_asked_for_on_a_closed_stdout_is_an_error(
    commands, model, table, monkeypatch, capfd
):
    for command in ("predict", "complete"):
        words, _ = commands[command]
        assert run(monkeypatch, [*words, "-o", "-"], stdout=None) == 2
        assert "stdout is closed" in capfd.readouterr().err
    assert run(monkeypatch, ["info", model], stdout=None) == 2
    assert "stdout is closed" in capfd.readouterr().err
    words, output = commands["fit"]
    assert run(monkeypatch, [*words, "-o", output, "--json"], stdout=None) == 2
    assert "the JSON object is lost" in capfd.readouterr().err
    assert load(output).n == 7


def test_a_check_says_what_it_found_by_its_exit_code(model, table, monkeypatch, tmp_path):
    assert run(monkeypatch, ["verify", model, table], stdout=None, stderr=None) == 0
    other = tmp_path / "other.csv"
    other.write_text(table.read_text().replace("3.5", "1.5"))
    assert run(monkeypatch, ["verify", model, other], stdout=None, stderr=None) == 1
    assert run(monkeypatch, ["verify", model, "nowhere.csv"], stdout=None, stderr=None) == 2


@pytest.mark.parametrize("words", [["--help"], ["fit", "--help"], ["--version"], ["nothing"]])
@pytest.mark.parametrize("make", [closed, full])
def test_help_and_usage(words, make, monkeypatch):
    code = run(monkeypatch, words, stdout=make(), stderr=make())
    assert code in ((0, 2) if make is full or words == ["nothing"] else (0,))


@pytest.mark.parametrize(("make", "code"), [(closed, 0), (full, 2), (left, 141)])
def test_the_demo_writes_its_page(make, code, monkeypatch, tmp_path):
    """It says something before its work, which must not end there."""
    page = tmp_path / "page.html"
    assert run(monkeypatch, ["demo", "-o", page], stdout=make(), stderr=make()) == code
    assert "Made by intensor" in page.read_text()


def test_a_terminal_that_is_gone_does_not_end_a_fit(monkeypatch):
    def fail(*_, **__):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Live, "start", fail)
    monkeypatch.setattr(Live, "stop", fail)
    monkeypatch.setattr(progress, "_terminal", Console)
    with progress.shown_progress(quiet=False) as watch:
        assert watch is not None


@pytest.mark.parametrize("closing", ["2>&-", ">&-", "<&- >&- 2>&-", ">/dev/full 2>/dev/full"])
def test_true_processes(table, tmp_path, closing):
    model = tmp_path / "new.npz"
    words = ["fit", str(table), "--value", "rating", "--radius", "6", "-o", str(model)]
    shell = f'"$0" -m intensor "$@" {closing}'
    answer = subprocess.run(["sh", "-c", shell, sys.executable, *words], check=False)
    assert answer.returncode == (2 if "full" in closing else 0)
    assert load(model).n == 7
