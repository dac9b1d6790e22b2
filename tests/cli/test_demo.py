import contextlib
import io
import json

import pytest

from intensor.cli import main


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The folder of one run, and its JSON."""
    folder = tmp_path_factory.mktemp("demo")
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        code = main(["demo", "-o", str(folder / "page.html"), "--json", "--quiet"])
    return code, json.loads(text.getvalue()), (folder / "page.html").read_text()


@pytest.mark.needs_jit
def test_it_beats_the_means(shown):
    code, figures, _ = shown
    assert code == 0
    errors = figures["errors"]
    assert errors["intensor"]["rmse"] < 0.7 * errors["mean of origin and destination"]["rmse"]
    assert errors["intensor"]["mape"] < 0.03
    assert errors["mean of all"]["rmse"] > 50.0
    assert figures["verified"] is True
    assert figures["n"] + figures["held_out"] == 3864


@pytest.mark.needs_jit
def test_the_page_has_labels_and_figures(shown):
    _, figures, page = shown
    assert "flights from New York" in page
    for word in (
        "origin",
        "carrier",
        "OPTIMAL",
        f"{figures['errors']['intensor']['rmse']:.2f}"[:3],
    ):
        assert word in page


@pytest.mark.needs_jit
def test_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    printed = capsys.readouterr().out
    assert "compiling takes" in printed.splitlines()[0]
    for word in (
        "3864 of 59904 cells",
        "386 of these were hidden",
        "objective",
        "bound",
        "certificate holds",
        "RMSE",
        "mean of origin and destination",
        "JFK",
        "report.html written",
    ):
        assert word in printed
    assert (tmp_path / "report.html").exists()
    assert main(["demo", "--quiet"]) == 0


@pytest.mark.needs_jit
def test_files_of_others_are_kept(tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.html").write_text("<p>my own</p>")
    assert "--force" in refused("demo")
    assert main(["demo", "--force", "--quiet"]) == 0
    assert "intensor" in (tmp_path / "report.html").read_text()
