import json

import pytest
from pyarrow import csv, parquet

from cli.commands import run

QUICK = "--value rating --radius 6 -q"


def test_rows_without_a_value_are_filled(table, tmp_path):
    output = tmp_path / "full.csv"
    assert run("complete", table, "-o", output, QUICK) == 0
    before = csv.read_csv(table).to_pylist()
    after = csv.read_csv(output).to_pylist()
    assert list(after[0]) == ["user", "item", "week", "rating"]
    assert len(after) == 8
    for old, new in zip(before, after, strict=True):
        assert new["rating"] is not None
        if old["rating"] is not None:
            assert new == old
    assert 0.0 <= after[3]["rating"] <= 6.0


def test_columns_keep_their_order(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("w,value,b, a ,other\n1,3,x,1,p\n2,,y,1,q\n1,4,y,2,r\n")
    output = tmp_path / "full.csv"
    assert run("complete", path, "-o", output, "--weight w --mode a --mode b --radius 6 -q") == 0
    written = csv.read_csv(output)
    assert written.column_names == ["w", "value", "b", "a"]
    assert written["w"].to_pylist() == [1, 2, 1]
    assert written["b"].to_pylist() == ["x", "y", "y"]


def test_every_combination_is_filled_and_marked(tmp_path, capsys):
    path = tmp_path / "data.csv"
    path.write_text("a,b,value\np,x,2\np,x,4\nq,y,1\n")
    output = tmp_path / "full.csv"
    assert run("complete", path, "-o", output, "--radius 6 --mark --json -q") == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["rows"] == 4
    assert figures["predicted"] == 2
    written = csv.read_csv(output).to_pylist()
    assert [row["a"] + row["b"] for row in written] == ["px", "py", "qx", "qy"]
    assert written[0]["value"] == 3.0
    assert written[3]["value"] == 1.0
    assert [row["source"] for row in written] == ["observed", "predicted", "predicted", "observed"]


def test_repeated_cells_get_their_weighted_mean(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b,value,w\np,x,2,3\np,x,4,1\nq,y,1,1\n")
    output = tmp_path / "full.parquet"
    assert run("complete", path, "-o", output, "--weight w --radius 6 -q --cells all") == 0
    assert parquet.read_table(output)["value"].to_pylist()[0] == 2.5


def test_all_cells_can_be_asked_for(table, tmp_path):
    output = tmp_path / "full.csv"
    assert run("complete", table, "-o", output, QUICK, "--cells all") == 0
    assert csv.read_csv(output).num_rows == 12


def test_stdout_gets_the_table(table, capsys):
    assert run("complete", table, "-o -", QUICK) == 0
    assert len(capsys.readouterr().out.splitlines()) == 9


def test_tensors_come_back_as_tensors(tmp_path):
    path = tmp_path / "data.tns"
    path.write_text("1 1 2.0\n2 2 3.0\n1 2 1.0\n")
    output = tmp_path / "full.tns"
    assert run("complete", path, "-o", output, "--radius 4 -q") == 0
    lines = [line.split() for line in output.read_text().splitlines()]
    assert [line[:2] for line in lines] == [["1", "1"], ["1", "2"], ["2", "1"], ["2", "2"]]
    assert float(lines[3][2]) == 3.0


def test_too_many_combinations_are_refused(tmp_path, refused):
    path = tmp_path / "data.csv"
    rows = "".join(f"{number},{number},{number},1\n" for number in range(300))
    path.write_text("a,b,c,value\n" + rows)
    assert "27000000 cells" in refused("complete", path, "-o", tmp_path / "full.csv")


def test_a_table_without_missing_values_is_refused(tmp_path, refused):
    path = tmp_path / "data.csv"
    path.write_text("a,value\nx,1\n")
    arguments = ("-o", tmp_path / "full.csv", "--cells missing")
    assert "--cells all" in refused("complete", path, *arguments)


def test_predictions_are_clipped_and_observations_are_not(tmp_path):
    path, output = tmp_path / "data.csv", tmp_path / "full.csv"
    path.write_text("a,b,value\np,x,2\nq,y,9\np,y,\nq,x,\n")
    assert run("complete", path, "-o", output, "--radius 9 -q --clip 4 5") == 0
    values = [row["value"] for row in csv.read_csv(output).to_pylist()]
    assert values[:2] == [2, 9]
    assert all(4 <= value <= 5 for value in values[2:])


@pytest.mark.parametrize("cells", ["missing", "all"])
def test_labels_without_a_value_warn_or_raise(tmp_path, refused, cells, capsys):
    path, output = tmp_path / "data.csv", tmp_path / "full.csv"
    path.write_text("a,b,value\np,x,2\nq,y,1\nr,x,\n")
    arguments = ("complete", path, "-o", output, f"--radius 6 -q --cells {cells}")
    message = refused(*arguments, "--unseen error")
    assert "data.csv: no observation has the label 'r' in mode 'a'" in message
    assert run(*arguments, "--unseen warn") == 0
    said = capsys.readouterr().err
    assert said.startswith("warning: ")
    assert said.count("no observation has the label 'r' in mode 'a'") == 1
    assert run(*arguments) == 0
    assert capsys.readouterr().err == ""
    assert all(row["value"] is not None for row in csv.read_csv(output).to_pylist())


def test_marks_need_a_free_name_and_a_table(tmp_path, refused):
    path = tmp_path / "data.csv"
    path.write_text("source,value\n0,1\n1,2\n")
    assert "'source'" in refused("complete", path, "-o", tmp_path / "full.csv", "--mark")
    assert "marks" in refused("complete", path, "-o", tmp_path / "full.tns", "--mark")
