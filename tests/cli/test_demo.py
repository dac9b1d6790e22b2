import dataclasses
import json

import pytest

from cli.commands import full, left, run, run_with
from intensor import datasets
from intensor.cli import demo as module
from intensor.report import render


@pytest.fixture(
    scope="module", params=["first quarter", pytest.param("year", marks=pytest.mark.slow)]
)
def n_cells(request):
    """Let the demo see the flights of a quarter or of the year; return how many cells it sees."""
    table = datasets.flights()
    if request.param == "year":
        yield 3864
        return
    rows = table.codes[3] < 3
    codes = tuple(column[rows] for column in table.codes)
    quarter = dataclasses.replace(table, codes=codes, values=table.values[rows])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "flights", lambda: quarter)
        yield int(rows.sum())


@pytest.fixture(scope="module")
def experiment(n_cells):
    """The fit of the demo, made once."""
    return module._run_experiment(quiet=True)


@pytest.fixture(scope="module")
def render_once(n_cells):
    """Return a function that makes the page when it is first called, and keeps it."""
    pages = []

    def render_or_reuse(*data, **more):
        if not pages:
            pages.append(render(*data, **more))
        return pages[0]

    return render_or_reuse


@pytest.fixture
def quick(experiment, render_once, monkeypatch):
    """Let the demo reuse the fit and the page."""
    monkeypatch.setattr(module, "_run_experiment", lambda *, quiet: experiment)
    monkeypatch.setattr("intensor.report.render", render_once)


@pytest.mark.needs_jit
def test_it_beats_the_means_and_shows_it(quick, n_cells, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert run("demo -o", page, "--json --quiet") == 0
    figures = json.loads(capsys.readouterr().out)
    errors = figures["errors"]
    most = 0.7 if n_cells == 3864 else 0.8  # a quarter is fitted with a single component
    assert errors["intensor"]["rmse"] < most * errors["mean of origin and destination"]["rmse"]
    assert errors["intensor"]["mape"] < 0.03
    assert errors["mean of all"]["rmse"] > 50.0
    assert figures["verified"] is True
    proof = figures["proof"]
    assert (proof["status"], proof["verified"]) == ("OPTIMAL", True)
    assert 0.0 <= proof["gap"] <= 0.01 * proof["objective"]
    assert proof["bound_source"] == "highs"
    assert figures["n"] + figures["held_out"] == n_cells
    rmse = f"{errors['intensor']['rmse']:.2f}"[:3]
    for part in ("flights from New York", "origin", "carrier", figures["status"], rmse):
        assert part in page.read_text()


@pytest.mark.needs_jit
def test_the_summary_and_the_page_are_written(quick, n_cells, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run("demo") == 0
    printed = capsys.readouterr().out
    assert "compiling takes" in printed.splitlines()[0]
    for part in (
        *(f"{n_cells} of 59904 cells", f"{n_cells // 10} of these were hidden"),
        *("objective", "bound", "no useful bound at this size"),
        *("status is OPTIMAL", "The proof was repeated by trying every box."),
        *("the claims above hold", "RMSE", "mean of origin and destination", "JFK"),
        "report.html written",
    ):
        assert part in printed
    assert (tmp_path / "report.html").exists()
    assert run("demo --quiet") == 0  # which replaces a report of intensor
    assert capsys.readouterr().out == ""


@pytest.mark.needs_jit
def test_files_of_others_are_kept(quick, tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.html").write_text("<p>my own</p>")
    assert "--force" in refused("demo")
    assert run("demo --force --quiet") == 0
    assert "Made by intensor" in (tmp_path / "report.html").read_text()


@pytest.mark.needs_jit
@pytest.mark.parametrize(("make", "code"), [(full, 2), (left, 141)])
def test_the_page_is_written_even_if_nobody_listens(quick, make, code, monkeypatch, tmp_path):
    """The demo says something before its work, which must not end there."""
    page = tmp_path / "page.html"
    assert run_with(monkeypatch, ["demo", "-o", page], stdout=make(), stderr=make()) == code
    assert "Made by intensor" in page.read_text()
