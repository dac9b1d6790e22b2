"""Streams, text, JSON, messages and exit codes."""

import errno
import sys
import warnings

import numpy as np
import pytest

from cli.commands import closed, full, left, run, run_with
from fuzz.seeds import model_of
from intensor.cli.console import ReaderGoneError, guard, printable, rows, say, shortened, write_json
from intensor.data.labels import Labels
from intensor.errors import DenseTooLargeError, RadiusWarning, SettingError
from intensor.fitting.model_file import load

EVIL = "\x1b[2J\x1b]0;owned\x07\u202e[red]\x9b31m"


# Messages and exit codes


def failing(problem):
    def work():
        raise problem

    return work


@pytest.mark.parametrize(
    ("problem", "code", "message"),
    [
        (SettingError("radius is\n bad"), 2, "radius is bad"),
        (DenseTooLargeError("too many"), 2, "too many"),
        (MemoryError(), 2, "not enough memory"),
        (OSError(errno.ENOSPC, "No space left on device", "out.csv"), 2, "out.csv: No space left"),
        (PermissionError(errno.EACCES, "not allowed", "a.csv"), 2, "a.csv: not allowed"),
        (ZeroDivisionError("oops"), 3, "--debug"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_exceptions_become_messages_and_exit_codes(capsys, problem, code, message):
    assert guard(failing(problem), debug=False) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert printed.err.startswith("error: ")
    assert message in printed.err


def test_a_reader_that_left_is_no_news(capsys):
    assert guard(failing(ReaderGoneError()), debug=False) == 141
    assert capsys.readouterr().err == ""


def test_warnings_are_lines(capsys):
    def work():
        warnings.warn("values above\nthe radius", RadiusWarning, stacklevel=1)
        return 0

    assert guard(work, debug=False) == 0
    assert capsys.readouterr().err == "warning: values above the radius\n"


def test_debug_keeps_the_traceback(capsys):
    assert guard(failing(ZeroDivisionError("oops")), debug=True) == 3
    assert "ZeroDivisionError: oops" in capsys.readouterr().err


# Labels and names from files cannot command a terminal, nor flood it


def odd(text):
    return {letter for letter in text if not letter.isprintable()} - {"\n"}


def test_characters_that_a_terminal_obeys_are_spelt_out(capsys):
    assert printable("żółw [red]") == "żółw [red]"
    assert printable("a\x1b[31m\n") == "a\\x1b[31m\\n"
    assert printable("a\tb\x1bc\ud800", keep="\t") == "a\tb\\x1bc\\ud800"
    assert odd(printable(EVIL)) == set()
    assert shortened("x" * 60) == "x" * 60
    assert shortened("x" * 61) == "x" * 57 + "..."
    assert rows([("n\x1b", "t\n")]) == "n\\x1b  t\\n\n"
    say("error", "a\x1b[2Jb\u202e")
    assert capsys.readouterr().err == "error: a\\x1b[2Jb\\u202e\n"


@pytest.fixture
def evil_model(tmp_path):
    """A model whose labels and names all hold escape sequences."""
    labels = Labels(
        modes=(f"a{EVIL}", f"b{EVIL}"),
        indices=(np.array([f"x{EVIL}", "y" * 10**6, "z"], dtype=object), np.arange(3)),
        value=f"v{EVIL}",
    )
    path = tmp_path / "model.npz"
    model_of(labels, validated=True).save(path)
    return path


def test_info_shows_no_escape_sequence_and_no_megabyte(evil_model, capsys):
    assert run("info", evil_model) == 0
    shown = capsys.readouterr().out
    assert odd(shown) == set()
    assert "\\x1b[2J" in shown
    assert "[red]" in shown  # unchanged: nobody reads it as markup
    assert len(shown) < 5000


def test_errors_and_tracebacks_show_none(evil_model, tmp_path, capsys):
    cells = tmp_path / "cells.csv"
    cells.write_text("c\x1b[2J,d\n1,2\n")
    for more in ([], ["--debug"]):
        assert run("predict", evil_model, cells, *more) == 2
        said = capsys.readouterr().err
        assert odd(said) == set()
        assert "\\x1b[2J" in said
        assert len(said.splitlines()[-1]) < 2500


@pytest.mark.parametrize("terminal", [False, True])
def test_a_terminal_gets_printable_labels(evil_model, tmp_path, capsys, monkeypatch, terminal):
    cells = tmp_path / "cells.csv"
    cells.write_text(f'"a{EVIL}","b{EVIL}"\n"x{EVIL}",0\n', encoding="utf-8")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
    assert run("predict", evil_model, cells) == 0
    shown = capsys.readouterr().out
    assert (EVIL in shown) is not terminal  # a pipe gets the labels as they are
    assert (odd(shown) == set()) is terminal
    assert shown.count("\n") == 2


def test_labels_are_written_as_they_are(tmp_path):
    """A formula in a label stays one: files are data, and changing labels would break them."""
    table = tmp_path / "data.csv"
    table.write_text('a,value\n"=1+1",1\n@x,2\n=1+1,3\n')
    output = tmp_path / "full.csv"
    assert run("complete", table, "-o", output, "--radius 5 --exact off -q --cells all") == 0
    assert [line.split(",")[0] for line in output.read_text().splitlines()] == ["a", "=1+1", "@x"]


# JSON


def test_json_has_no_infinity(capsys):
    write_json({"a": float("inf"), "b": [float("nan"), 1.5], "c": {"d": (1, None, True)}})
    assert '"a": null' in (printed := capsys.readouterr().out)
    assert "NaN" not in printed
    assert "Infinity" not in printed


def test_json_takes_long_doubles(capsys):
    write_json({"a": np.longdouble(1.5), "b": [np.float32(0.5)], "c": EVIL})
    shown = capsys.readouterr().out
    assert '"a": 1.5' in shown
    assert odd(shown) == set()


# Streams that are closed, full or no longer read: the work is done all the same


@pytest.fixture
def commands(table, model, tmp_path, monkeypatch):
    """Every command, with the file that it writes; what is on the page does not matter here."""
    monkeypatch.setattr("intensor.report.render", lambda *data, **more: "<p>page</p>")
    cells = tmp_path / "cells.csv"
    cells.write_text("user,item,week\nann,x,1\n")
    fit = [table, "--value", "rating", "--radius", "6"]
    return {
        "fit": (["fit", *fit], tmp_path / "out.npz"),
        "complete": (["complete", *fit], tmp_path / "out.csv"),
        "predict": (["predict", model, cells], tmp_path / "out.csv"),
        "report": (["report", model, table], tmp_path / "out.html"),
    }


@pytest.mark.parametrize(
    ("command", "gone"),
    [
        ("fit", ["stdin"]),
        ("fit", ["stdout"]),
        ("fit", ["stderr"]),
        *(
            (command, ["stdin", "stdout", "stderr"])
            for command in ("complete", "predict", "report")
        ),
    ],
)
def test_closed_streams_do_no_harm(commands, command, gone, monkeypatch):
    arguments, output = commands[command]
    assert run_with(monkeypatch, [*arguments, "-o", output], **dict.fromkeys(gone)) == 0
    assert output.stat().st_size > 0


@pytest.mark.parametrize(
    ("command", "make", "more"),
    [
        ("fit", full, []),
        ("fit", left, ["--json"]),
        ("complete", full, ["--json"]),
        ("complete", left, []),
        ("predict", full, []),
        ("predict", left, ["--json"]),
        ("report", full, ["--json"]),
        ("report", left, []),
    ],
)
def test_a_failing_stdout_loses_no_file(commands, command, make, more, monkeypatch, capfd):
    arguments, output = commands[command]
    code = 2 if make is full else 141
    assert run_with(monkeypatch, [*arguments, "-o", output, *more], stdout=make()) == code
    assert output.stat().st_size > 0
    said = capfd.readouterr().err
    assert ("error: stdout cannot be written to" in said) == (make is full)


@pytest.mark.parametrize(
    ("command", "make"), [("fit", full), ("complete", left), ("predict", full), ("report", left)]
)
def test_a_failing_stderr_is_ignored(commands, command, make, monkeypatch):
    arguments, output = commands[command]
    assert run_with(monkeypatch, [*arguments, "-o", output], stderr=make()) == 0
    assert output.stat().st_size > 0


def test_output_to_a_closed_stdout_is_an_error(commands, model, monkeypatch, capfd):
    for command in ("predict", "complete"):
        arguments, _ = commands[command]
        assert run_with(monkeypatch, [*arguments, "-o", "-"], stdout=None) == 2
        assert "stdout is closed" in capfd.readouterr().err
    assert run_with(monkeypatch, ["info", model], stdout=None) == 2
    assert "stdout is closed" in capfd.readouterr().err
    arguments, output = commands["fit"]
    assert run_with(monkeypatch, [*arguments, "-o", output, "--json"], stdout=None) == 2
    assert "the JSON object is lost" in capfd.readouterr().err
    assert load(output).n == 7


def test_a_check_tells_its_finding_by_its_exit_code(model, table, monkeypatch, tmp_path):
    assert run_with(monkeypatch, ["verify", model, table], stdout=None, stderr=None) == 0
    other = tmp_path / "other.csv"
    other.write_text(table.read_text().replace("3.5", "1.5"))
    assert run_with(monkeypatch, ["verify", model, other], stdout=None, stderr=None) == 1
    assert run_with(monkeypatch, ["verify", model, "nowhere.csv"], stdout=None, stderr=None) == 2


@pytest.mark.parametrize("make", [closed, full])
def test_help_and_usage_survive_broken_streams(make, monkeypatch):
    for arguments in (["--help"], ["fit", "--help"], ["--version"], ["nothing"]):
        code = run_with(monkeypatch, arguments, stdout=make(), stderr=make())
        assert code in ((0, 2) if make is full or arguments == ["nothing"] else (0,))
