import dataclasses
import json

from cli.commands import run
from graded_cases import graded_model_in
from intensor.cli.info import describe
from intensor.fitting.model_file import load
from report.cases import make_fit


def test_info_shows_what_a_model_holds(model, capsys):
    assert run("info", model) == 0
    printed = capsys.readouterr().out
    for part in (
        "7 observations",
        "WITHIN_TOLERANCE",
        "'ann', 'bob', 'cat'",
        "box of weight",
        "radius 6",
    ):
        assert part in printed


def test_json_has_labels_and_figures(model, capsys):
    assert run("info", model, "--json") == 0
    figures = json.loads(capsys.readouterr().out)
    fit = load(model)
    assert figures["labels"] == {"user": ["ann", "bob", "cat"], "item": ["x", "y"], "week": [1, 2]}
    assert figures["objective"] == fit.objective
    assert figures["validation"] is None


def test_a_validated_fit_is_described():
    made, *_ = make_fit(radius="auto", transform="sqrt", n_solutions=2)
    text = describe(made, {"rmse": 1.5, "mae": 1.25})
    assert "mean squared error in the sqrt scale" in text
    assert "mean of 2 solutions" in text
    assert "1.5  on the observations" in text
    assert "sqrt transform\n" in text
    assert "; one solution " in text
    assert "no better" not in text
    worse = dataclasses.replace(made.validation, error_of_mean=0.0)
    assert "so the fit is no better" in describe(dataclasses.replace(made, validation=worse))
    assert "rmse  " not in describe(make_fit()[0])


def test_components_are_shown(tmp_path, capsys):
    made, *_ = make_fit()
    graded_model_in(made, boxes=0, graded=4).save(tmp_path / "model.npz")
    assert run("info", tmp_path / "model.npz") == 0
    printed = capsys.readouterr().out
    assert "4 components, radius" in printed
    assert printed.count("component of weight") == 3
    assert run("info", tmp_path / "model.npz", "--json") == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["boxes"], figures["components"]) == (0, 4)
