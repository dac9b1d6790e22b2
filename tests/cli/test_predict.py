import json
from dataclasses import replace

import numpy as np
import pytest
from pyarrow import parquet

from cli.commands import run
from intensor.fitting.model_file import load

CELLS = "week,user,item\n2,ann,y\n1,cat,x\n2,bob,x\n"


@pytest.fixture
def cells(tmp_path):
    path = tmp_path / "cells.csv"
    path.write_text(CELLS)
    return path


@pytest.fixture
def expected(model):
    return load(model).predict(np.array([[0, 1, 1], [2, 0, 0], [1, 0, 1]]))


def read(text):
    lines = [line.replace('"', "").split(",") for line in text.splitlines()]
    return lines[0], lines[1:]


def test_predictions_are_written_to_a_csv_file(model, cells, expected, tmp_path, capsys):
    output = tmp_path / "out.csv"
    assert run("predict", model, cells, "-o", output) == 0
    assert "3 cells predicted" in capsys.readouterr().out
    header, rows = read(output.read_text())
    assert header == ["user", "item", "week", "rating"]
    assert [row[:3] for row in rows] == [["ann", "y", "2"], ["cat", "x", "1"], ["bob", "x", "2"]]
    assert [float(row[3]) for row in rows] == pytest.approx(expected.tolist(), rel=1e-15)


def test_stdout_is_the_default(model, cells, expected, capsys):
    assert run("predict", model, cells) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    _, rows = read(printed.out)
    assert [float(row[3]) for row in rows] == pytest.approx(expected.tolist(), rel=1e-15)


def test_predictions_are_written_to_a_parquet_file(model, cells, expected, tmp_path, capsys):
    output = tmp_path / "out.parquet"
    assert run("predict", model, cells, "-o", output, "--json") == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["n"] == 3
    assert figures["unseen"] == 0
    written = parquet.read_table(output)
    assert written.column_names == ["user", "item", "week", "rating"]
    assert written["rating"].to_pylist() == expected.tolist()
    assert written["week"].to_pylist() == [2, 1, 2]


def test_predictions_are_clipped(model, tmp_path, refused, capsys):
    cells = tmp_path / "cells.csv"
    cells.write_text("user,item,week\nann,x,1\nann,x,2\ncat,x,2\n")

    def predicted(path, *options):
        assert run("predict", path, cells, *options) == 0
        _, rows = read(capsys.readouterr().out)
        return np.array([float(row[3]) for row in rows])

    plain = predicted(model)
    assert np.array_equal(predicted(model, "--clip 2 4"), np.clip(plain, 2, 4))
    assert np.array_equal(predicted(model, "--clip none 4"), np.minimum(plain, 4))
    assert not np.array_equal(predicted(model, "--clip 2 4"), plain)
    clipped = tmp_path / "clipped.npz"
    replace(load(model), clip=(2.0, 4.0)).save(clipped)
    assert np.array_equal(predicted(clipped), np.clip(plain, 2, 4)), "the model remembers it"
    assert np.array_equal(predicted(clipped, "--clip 3 none"), np.maximum(plain, 3))
    assert np.array_equal(predicted(clipped, "--clip none none"), plain)
    assert "low end below" in refused("predict", model, cells, "--clip 4 2")
    assert "clip is ('low', 2)" in refused("predict", model, cells, "--clip low 2")


def test_unseen_labels_warn_or_raise(model, tmp_path, refused, capsys):
    cells = tmp_path / "cells.csv"
    cells.write_text("user,item,week\nann,x,1\ndan,x,1\n")
    output = tmp_path / "out.csv"
    message = refused("predict", model, cells, "-o", output, "--unseen", "error")
    assert "cells.csv, row 2 has the label 'dan' in column 'user'" in message
    assert "1 of 2 cells" in message
    assert "--unseen mean" in message
    assert run("predict", model, cells, "-o", output) == 0
    printed = capsys.readouterr()
    assert "1 of them" in printed.out
    assert printed.err == ""
    quiet = output.read_text()
    _, rows = read(quiet)
    assert float(rows[1][3]) > 0.0
    assert run("predict", model, cells, "--unseen warn -o", output) == 0
    said = capsys.readouterr().err
    assert said.startswith("warning: ")
    assert "row 2 has the label 'dan' in column 'user'" in said
    assert output.read_text() == quiet


def test_indices_beyond_the_model_keep_their_number(tmp_path):
    data, cells, output = (tmp_path / name for name in ("data.tns", "cells.tns", "out.tns"))
    data.write_text("1 1 2.0\n2 2 3.0\n1 2 1.0\n")
    cells.write_text("1 1 0\n7 2 0\n")
    model = tmp_path / "model.npz"
    assert run("fit", data, "--radius 4 -q -o", model) == 0
    assert run("predict", model, cells, "--unseen mean -q -o", output) == 0
    assert [line[:3] for line in output.read_text().splitlines()] == ["1 1", "7 2"]


def test_json_needs_a_file(model, cells, refused):
    assert "-o" in refused("predict", model, cells, "--json")


def test_labels_do_not_fit_into_a_tensor(model, cells, tmp_path, refused):
    assert "labels" in refused("predict", model, cells, "-o", tmp_path / "out.tns")


def test_missing_columns_are_named(model, tmp_path, refused):
    cells = tmp_path / "cells.csv"
    cells.write_text("usr,item,week\nann,x,1\n")
    assert "did you mean 'usr'" in refused("predict", model, cells)


def test_neither_indices_nor_text_are_taken_for_labels(tmp_path, refused):
    """Labels 1 to 3 and indices 0 to 2 overlap: every cell would be another one."""
    data, model = tmp_path / "data.csv", tmp_path / "model.npz"
    data.write_text("user,item,value\n1,1,2.0\n2,2,3.0\n3,2,1.0\n")
    assert run("fit", data, "--radius 4 -q -o", model) == 0
    cells = tmp_path / "cells.tns"
    cells.write_text("1 1 2.0\n2 2 3.0\n3 2 1.0\n")
    assert "indices only" in refused("predict", model, cells, "--unseen mean")
    assert "indices only" in refused("verify", model, cells)
    cells = tmp_path / "cells.csv"
    cells.write_text("user,item\nu1,1\nu2,2\n")
    message = refused("predict", model, cells, "--unseen mean")
    assert "cells.csv: column 'user' holds text (the first is 'u1')" in message
