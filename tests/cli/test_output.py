"""Labels and names from files cannot command a terminal, nor flood it."""

import sys

import numpy as np
import pytest

from fuzz.seeds import model_of
from intensor.cli import main
from intensor.cli.output import printable, rows, shortened, write_json
from intensor.data.labels import Labels

EVIL = "\x1b[2J\x1b]0;owned\x07\u202e[red]\x9b31m"


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


def odd(text):
    return {letter for letter in text if not letter.isprintable()} - {"\n"}


def test_printable_and_shortened():
    assert printable("żółw [red]") == "żółw [red]"
    assert printable("a\tb\x1bc\ud800", keep="\t") == "a\tb\\x1bc\\ud800"
    assert odd(printable(EVIL)) == set()
    assert shortened("x" * 60) == "x" * 60
    assert shortened("x" * 61) == "x" * 57 + "..."
    assert rows([("n\x1b", "t\n")]) == "n\\x1b  t\\n\n"


def test_info_shows_no_escape_sequence_and_no_megabyte(evil_model, capsys):
    assert main(["info", str(evil_model)]) == 0
    shown = capsys.readouterr().out
    assert odd(shown) == set()
    assert "\\x1b[2J" in shown
    assert "[red]" in shown  # as it is: nobody reads it as markup
    assert len(shown) < 5000


def test_errors_and_tracebacks_show_none(evil_model, tmp_path, capsys):
    cells = tmp_path / "cells.csv"
    cells.write_text("c\x1b[2J,d\n1,2\n")
    for more in ([], ["--debug"]):
        assert main(["predict", str(evil_model), str(cells), *more]) == 2
        said = capsys.readouterr().err
        assert odd(said) == set()
        assert "\\x1b[2J" in said
        assert len(said.splitlines()[-1]) < 2500


@pytest.mark.parametrize("terminal", [False, True])
def test_predictions_on_a_terminal(evil_model, tmp_path, capsys, monkeypatch, terminal):
    cells = tmp_path / "cells.csv"
    cells.write_text(f'"a{EVIL}","b{EVIL}"\n"x{EVIL}",0\n', encoding="utf-8")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
    assert main(["predict", str(evil_model), str(cells)]) == 0
    shown = capsys.readouterr().out
    assert (EVIL in shown) is not terminal  # a pipe gets the labels as they are
    assert (odd(shown) == set()) is terminal
    assert shown.count("\n") == 2


def test_json_takes_long_doubles(capsys):
    write_json({"a": np.longdouble(1.5), "b": [np.float32(0.5)], "c": EVIL})
    shown = capsys.readouterr().out
    assert '"a": 1.5' in shown
    assert odd(shown) == set()


def test_labels_are_written_as_they_are(tmp_path, evil_model):
    """A formula in a label stays one: files are data, and changing labels would break them."""
    table = tmp_path / "data.csv"
    table.write_text('a,value\n"=1+1",1\n@x,2\n=1+1,3\n')
    words = ["--radius", "5", "--exact", "off", "-q", "--cells", "all"]
    assert main(["complete", str(table), "-o", str(tmp_path / "full.csv"), *words]) == 0
    assert [line.split(",")[0] for line in (tmp_path / "full.csv").read_text().splitlines()] == [
        "a",
        "=1+1",
        "@x",
    ]
