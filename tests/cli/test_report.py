import json

from cli.commands import run


def test_a_page_is_written(model, table, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert run("report", model, table, "--value rating --title <b>Stars -o", page) == 0
    assert "written" in capsys.readouterr().out
    text = page.read_text()
    assert text.startswith("<!DOCTYPE html>")
    assert "&lt;b&gt;Stars" in text
    assert "WITHIN_TOLERANCE" in text


def test_json_says_whether_the_certificate_holds(model, table, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("intensor.report.render", lambda *data, **more: "<p>page</p>")
    page = tmp_path / "page.html"
    assert run("report", model, table, "-o", page, "--json") == 0
    assert json.loads(capsys.readouterr().out)["ok"] is True


def test_other_data_is_refused(model, table, tmp_path, refused):
    table.write_text(table.read_text() + "dan,x,1,3\n")
    refused("report", model, table, "-o", tmp_path / "page.html")
