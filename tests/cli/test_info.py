import json

import pytest

from cli.commands import run
from graded_cases import graded_model_in
from intensor.cli.info import describe
from intensor.fitting.model_file import load
from report.cases import blended, make_fit, with_errors, without_terms


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
    plain = {"baseline": "none", "remainder": "none"}
    made, *_ = make_fit(radius="auto", transform="sqrt", n_solutions=2, **plain)
    text = describe(made, {"rmse": 1.5, "mae": 1.25})
    assert "mean squared error in the sqrt scale" in text
    assert "mean of 2 solutions" in text
    assert "1.5  on the observations" in text
    assert "sqrt transform\n" in text
    assert "; one solution " in text
    assert "It is no worse on held-out cells than the mean, main effects" in text
    assert "certified" not in text
    assert "rmse  " not in describe(make_fit()[0])


REFERENCES = [("mean", 9.0, 0.0), ("main effects of sqrt", 4.0, 0.25), ("smooth field", 1.0, 0.0)]


def test_the_error_is_that_of_the_prediction_beside_those_of_references():
    made, *_ = make_fit(radius="auto", transform="sqrt", n_solutions=2)
    found = with_errors(made, 3.0, REFERENCES, spread=0.125, folds=2, held_out=6333.0)
    lines = describe(found).splitlines()
    (row,) = (number for number, line in enumerate(lines) if line.startswith("validation"))
    assert "  RMSE 3 +- 0.12 on 6333 held-out observations in each of 2 folds, best" in lines[row]
    assert [line.strip() for line in lines[row + 1 : row + 5]] == [
        "It is no worse on held-out cells than the mean and main effects of sqrt.",
        "references  mean 9",
        "main effects of sqrt 4 (has 25 %)",
        "smooth field 1",
    ]


@pytest.mark.parametrize(
    ("error", "unbeaten"),
    [(10.0, "the mean or main effects of sqrt"), (5.0, "main effects of sqrt"), (4.0, "main eff")],
)
def test_a_fit_that_is_no_better_than_a_reference_says_so(error, unbeaten):
    made, *_ = make_fit(radius="auto", transform="sqrt", n_solutions=2)
    text = describe(with_errors(made, error, REFERENCES))
    assert f"The fit predicts held-out cells no better than {unbeaten}" in text
    assert "Is every column a mode?" in text
    assert "no worse" not in text


def test_what_the_certificate_covers_is_said_per_member():
    made, *_ = make_fit()
    text = describe(blended(made, without_terms(made, 0.35, method="smooth field")))
    assert "\n           35 %: a smooth field of the values (no terms, so nothing to prove)" in text
    assert (
        "The certificate is about the model of terms, which has 65 % of the prediction; a smooth "
        "field has 35 % and needs none."
    ) in text
    alone = describe(blended(made, without_terms(made, 1.0)))
    assert "The model of terms has no share in the prediction; it is kept to be read" in alone


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
