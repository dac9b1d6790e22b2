import json

from intensor.cli import main


def test_a_page_is_written(model, table, tmp_path, capsys):
    page = tmp_path / "page.html"
    options = ["--value", "rating", "-o", str(page), "--title", "Stars <b>"]
    assert main(["report", str(model), str(table), *options]) == 0
    assert "written" in capsys.readouterr().out
    text = page.read_text()
    assert text.startswith("<!DOCTYPE html>")
    assert "Stars &lt;b&gt;" in text
    assert "OPTIMAL" in text


def test_json(model, table, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["report", str(model), str(table), "-o", str(page), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ok"] is True


def test_other_data_is_refused(model, table, tmp_path, refused):
    table.write_text(table.read_text() + "dan,x,1,3\n")
    refused("report", model, table, "-o", tmp_path / "page.html")
