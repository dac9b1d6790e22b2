"""``intensor fit``: from a file to a model, with every option on the way."""

import dataclasses
import json

import numpy as np
import pytest

import intensor
from cli.commands import run
from intensor.cli.fit import exit_code
from intensor.fitting.model_file import load
from intensor.model.model import build_model
from intensor.storage.codec import read_tree
from report.cases import make_fit


def test_a_file_becomes_a_model(table, tmp_path, capsys):
    model = tmp_path / "model.npz"
    assert run("fit", table, "--value rating -o", model) == 0
    printed = capsys.readouterr()
    assert "7 observations of rating by user (3) x item (2) x week (2)" in printed.out
    assert "RMSE" in printed.out
    assert "held-out observation" in printed.out
    assert "references" in printed.out
    assert "written" in printed.out
    assert "objective" in printed.err
    assert "gap" in printed.err
    fit = load(model)
    assert fit.labels.modes == ("user", "item", "week")
    assert fit.labels.value == "rating"
    assert fit.n == 7


def test_json_has_all_figures(table, tmp_path, capsys):
    model = tmp_path / "model.npz"
    arguments = "--components boxes --baseline none --remainder none --n-solutions 2 --json --quiet"
    assert run("fit", table, "--value rating -o", model, arguments) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    figures = json.loads(printed.out, parse_constant=pytest.fail)
    fit = load(model)
    assert figures["status"] == fit.status.name
    assert figures["objective"] == fit.objective
    assert figures["bound"] == fit.bound
    assert figures["gap"] == fit.gap
    assert figures["relative_gap"] == pytest.approx(fit.gap / fit.objective)
    assert figures["radius"] == fit.radius
    assert figures["shape"] == [3, 2, 2]
    assert figures["boxes"] == len(fit.model)
    assert figures["n"] == 7
    assert figures["output"] == str(model)
    assert figures["interrupted"] is False
    assert len(figures["validation"]["paths"]) == 3
    assert not any(path["graded"] for path in figures["validation"]["paths"])
    assert figures["validation"]["averaged"] is not None
    assert figures["validation"]["error"] == fit.validation.expected_error
    assert figures["validation"]["spread"] == fit.validation.spread
    references = figures["validation"]["references"]
    assert [one["name"] for one in references[:1]] == ["mean"]
    assert {one["share"] for one in references} == {0.0}  # the number of solutions was given
    assert figures["share_of_terms"] == 1.0
    assert {"read", "fit", "total"} == set(figures["seconds"])


def test_rmse_is_in_the_units_of_the_data(table, tmp_path, capsys):
    model = tmp_path / "model.npz"
    arguments = "--value rating --transform sqrt --radius 1.8 --json -q"
    assert run("fit", table, arguments, "-o", model) == 0
    figures = json.loads(capsys.readouterr().out)
    fit = load(model)
    coords = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [2, 0, 1], [2, 1, 0], [0, 0, 1], [1, 0, 1]])
    values = np.array([3.0, 4.0, 3.5, 1.0, 2.0, 5.0, 4.0])
    expected = np.sqrt(np.mean((fit.predict(coords) - values) ** 2))
    assert figures["rmse"] == pytest.approx(expected)
    assert figures["objective"] != pytest.approx(expected**2)


def test_quiet_says_nothing(table, tmp_path, capsys):
    assert run("fit", table, "--value rating --radius 6 --quiet -o", tmp_path / "m.npz") == 0
    assert capsys.readouterr() == ("", "")


def test_options_reach_the_fit(table, tmp_path):
    model = tmp_path / "model.npz"
    arguments = "--value rating --mode item --mode user --radius 7.5 --version 8 --tol 0.5 --rtol 0"
    assert run("fit", table, arguments, "-q -o", model) == 0
    fit = load(model)
    assert fit.labels.modes == ("item", "user")
    assert fit.radius == 7.5
    assert fit.result.version == 8
    assert fit.result.tolerance == 0.5


def test_weights_count(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b,value,w\n0,0,1,3\n0,0,5,1\n1,1,2,1\n")
    model = tmp_path / "model.npz"
    assert run("fit", path, "--weight w --radius 10 -q -o", model) == 0
    fit = load(model)
    assert fit.labels.modes == ("a", "b")
    assert fit.predict(np.array([[0, 0]]))[0] == pytest.approx(2.0, abs=0.1)


def test_one_based_files(tmp_path):
    path = tmp_path / "data.tns"
    path.write_text("1 1 2.0\n2 2 3.0\n1 2 1.0\n")
    for base, shape in (("--one-based", (2, 2)), ("--zero-based", (3, 3))):
        model = tmp_path / "model.npz"
        assert run("fit", path, base, "--radius 4 -q -o", model) == 0
        assert load(model).shape == shape


def test_the_format_can_be_named(tmp_path, table):
    path = tmp_path / "ratings.data"
    path.write_text(table.read_text())
    arguments = ("--value rating --radius 6 -q -o", tmp_path / "model.npz")
    assert run("fit", path, *arguments) == 2
    assert run("fit", path, "--format csv", *arguments) == 0


def test_a_model_without_boxes_is_announced(table, tmp_path, capsys):
    arguments = "--value rating --radius 6 --max-iterations 0 -q -o"
    assert run("fit", table, arguments, tmp_path / "model.npz") == 0
    assert "warning: the run ended (ITERATION_LIMIT) before" in capsys.readouterr().err


def test_an_interrupt_is_told_by_the_exit_code(capsys):
    made, *_ = make_fit()
    assert exit_code(made, "") == 0
    result = dataclasses.replace(made.result, status=intensor.Status.INTERRUPTED)
    cut = dataclasses.replace(made, result=result)
    assert exit_code(cut, "all is saved") == 130
    assert capsys.readouterr().err == "warning: interrupted; all is saved\n"
    model = build_model(np.empty((0, 16), dtype=np.uint8), np.empty(0), shape=(3, 9, 4), radius=1.0)
    predictor = dataclasses.replace(made.predictor, model=model)
    assert exit_code(dataclasses.replace(cut, predictor=predictor), "all is saved") == 130
    assert "(INTERRUPTED) before its model had a single box" in capsys.readouterr().err


@pytest.mark.parametrize("remainder", ["kriging", pytest.param("auto", marks=pytest.mark.slow)])
def test_a_kriged_remainder_from_fit_to_predict(table, tmp_path, capsys, remainder):
    model, cells = tmp_path / "model.npz", tmp_path / "cells.csv"
    cells.write_text("user,item,week\nbob,y,2\ncat,x,1\n")
    arguments = f"--value rating --remainder {remainder} --scoring mae --n-radii 2 --json -q"
    assert run("fit", table, arguments, "-o", model) == 0
    figures = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    fit = load(model)
    kriged = fit.predictor.remainder is not None
    assert figures["remainder"] == ("kriging" if kriged else "none") == fit.path.remainder
    assert kriged or remainder == "auto"
    assert figures["validation"]["metric"] == "mae"
    path = figures["validation"]["paths"][fit.validation.chosen]
    assert path["kriged"] == fit.path.kriged.tolist()
    assert len(path["kriged"]) == len(path["radii"])

    assert run("predict", model, cells) == 0
    found = [float(line.split(",")[3]) for line in capsys.readouterr().out.splitlines()[1:]]
    expected = fit.predict(np.array([[1, 1, 1], [2, 0, 0]]))
    assert found == pytest.approx(expected.tolist(), rel=1e-12)

    assert run("info", model) == 0
    assert ("with kriging" in capsys.readouterr().out) == kriged
    assert run("info", model, "--json") == 0
    assert json.loads(capsys.readouterr().out)["remainder"] == figures["remainder"]
    assert run("verify", model, table) == 0


def test_the_summary_compares_with_references(tmp_path, capsys):
    rows = [f"{row},{item},{10 * item + 3}" for row in range(12) for item in range(5)]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["row,item,value", *rows]))
    command = ["fit", path, "-o", tmp_path / "model.npz"]
    assert run(*command, "--json") == 0
    figures = json.loads(capsys.readouterr().out)
    validation = figures["validation"]
    assert validation["error"] < 1.0 < 10.0 < validation["error_of_mean"]
    names = [one["name"].split(" ")[0] for one in validation["references"]]
    assert names == ["mean", "main", "interpolation", "smooth"]
    assert sum(one["share"] for one in validation["references"]) + figures[
        "share_of_terms"
    ] == pytest.approx(1.0)
    assert run(*command) == 0
    printed = capsys.readouterr().out
    assert "references  mean 1" in printed
    assert "The model of terms has no share in the prediction" in printed


def test_a_fit_that_is_worse_than_the_mean_says_so(tmp_path, capsys):
    values = np.random.default_rng(0).random(900)
    path = tmp_path / "table.csv"
    rows = [f"{row % 90},{row // 90},{value}" for row, value in enumerate(values)]
    path.write_text("\n".join(["row,item,value", *rows]))
    terms = ["--components boxes --remainder none --baseline none --n-solutions 1"]
    command = ["fit", path, *terms, "-o", tmp_path / "model.npz"]
    assert run(*command) == 0
    printed = capsys.readouterr().out
    assert "The fit predicts held-out cells no better than the mean" in printed
    assert "Is every column a mode?" in printed
    assert run(*command, "--json -q") == 0
    validation = json.loads(capsys.readouterr().out)["validation"]
    assert validation["no_better_than_mean_or_main_effects"]
    assert "mean" in validation["no_better_than"]


PLAIN = "--transform none --baseline none --remainder none --components boxes"


@pytest.fixture
def checkpointed(tmp_path):
    """The arguments of a command on a file, without the name of the command."""
    data = intensor.planted((5, 5, 5), 80, noise=0.1)
    table = np.column_stack((data.coords, data.values))
    path = tmp_path / "data.csv"
    np.savetxt(path, table, fmt="%d,%d,%d,%.17g", header="a,b,c,value", comments="")
    return [path, "-o", tmp_path / "out.npz", "--quiet", "--n-radii=3", PLAIN]


@pytest.mark.parametrize("command", ["fit", "complete"])
def test_a_command_is_resumed(checkpointed, tmp_path, capsys, command):
    file = ["--checkpoint", tmp_path / "run.npz", "--checkpoint-every 0 --json"]
    assert run(command, *checkpointed, *file, "--max-iterations 2") == 0
    cut = json.loads(capsys.readouterr().out)
    assert cut["status"] == "ITERATION_LIMIT"
    assert run(command, *checkpointed, *file, "--resume") == 0
    found = json.loads(capsys.readouterr().out)
    assert run(command, *checkpointed, "--json") == 0
    full = json.loads(capsys.readouterr().out)
    for name in ("status", "objective", "bound", "radius", "boxes", "iterations"):
        assert found[name] == full[name]
    kept = read_tree(tmp_path / "run.npz")
    assert "result" in kept.tree["content"]["entries"]["fit, 0"]


def test_bad_checkpoints_are_refused_before_the_data_is_read(checkpointed, tmp_path, refused):
    gone = ["fit", tmp_path / "not-there.csv", *checkpointed[1:]]
    file = ["--checkpoint", tmp_path / "run.npz"]
    (tmp_path / "run.npz").write_bytes(b"something")
    assert "is there already; go on from it" in refused(*gone, *file)
    assert "cannot be read as a checkpoint" in refused(*gone, *file, "--resume")
    nowhere = ["--checkpoint", tmp_path / "nowhere" / "run.npz"]
    assert "there is no folder" in refused(*gone, *nowhere)
    assert "resume needs the file" in refused(*gone, "--resume")
    assert "checkpoint_every" in refused(*gone, *nowhere, "--checkpoint-every", "-1")
    for other in (checkpointed[2], gone[1]):
        assert "is another file of this command too" in refused(*gone, "--checkpoint", other)


# Fits like an earlier one


def test_a_fit_like_another_repeats_it(table, tmp_path, capsys):
    first, second = tmp_path / "first.npz", tmp_path / "second.npz"
    assert run("fit", table, "--value rating --effort quick --seed 3 -q -o", first) == 0
    assert run("fit", table, "-o", second, "--like", first, "--threads 1 --json") == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["validation"] is None
    one, other = load(first), load(second)
    assert one.validation is not None
    assert other.recipe.seed == 3
    cells = np.argwhere(np.ones(one.shape))
    np.testing.assert_array_equal(one.predict(cells), other.predict(cells))


def test_a_fit_like_another_may_have_another_seed(table, tmp_path):
    first, second = tmp_path / "first.npz", tmp_path / "second.npz"
    assert run("fit", table, "--value rating --effort quick --seed 3 -q -o", first) == 0
    assert run("fit", table, "-q --seed 0 -o", second, "--like", first) == 0
    assert load(second).recipe.seed == 0


@pytest.mark.parametrize("option", ["--radius 3", "--mode user", "--clip 1 5", "--rtol auto"])
def test_options_that_the_model_decides_are_refused(table, tmp_path, capsys, option):
    model = tmp_path / "model.npz"
    assert run("fit", table, "--value rating --radius 4 --transform none -q -o", model) == 0
    assert run("fit", table, option, "-o", tmp_path / "new.npz", "--like", model) == 2
    message = capsys.readouterr().err
    assert f"{option.split()[0]} and --like do not go together" in message
    assert not (tmp_path / "new.npz").exists()


def test_the_model_is_not_overwritten(table, tmp_path, capsys):
    model = tmp_path / "model.npz"
    assert run("fit", table, "--value rating --radius 4 --transform none -q -o", model) == 0
    before = model.read_bytes()
    assert run("fit", table, "-q -o", model, "--like", model) != 0
    assert "is an input of this command too" in capsys.readouterr().err
    assert model.read_bytes() == before


def test_a_model_that_is_not_there(table, tmp_path, capsys):
    missing = tmp_path / "none.npz"
    assert run("fit", table, "-o", tmp_path / "new.npz", "--like", missing) != 0
    assert "none.npz" in capsys.readouterr().err
