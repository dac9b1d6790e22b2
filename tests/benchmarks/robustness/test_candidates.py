"""Simple predictions by hand, and what a fit of a sub-task writes down."""

import numpy as np
import pytest

from benchmarks.problems import Problem, from_dense
from benchmarks.robustness import candidates
from benchmarks.robustness.candidates import SIMPLE, SINGLES, ModeError, interpolate, run_candidate
from benchmarks.robustness.draw import SubTask


def row_problem(values, known):
    tensor = np.array(values, dtype=float)
    mask = np.array(known, dtype=bool)
    return from_dense("rows", tensor, mask, ~mask)


def test_interpolation_between_and_beyond_known_cells():
    problem = row_problem([[9, 2, 9, 9, 8, 9]], [[0, 1, 0, 0, 1, 0]])
    np.testing.assert_allclose(interpolate(problem, mode=1), [2.0, 4.0, 6.0, 8.0])


def test_interpolation_runs_along_the_mode_asked_for():
    tensor = np.add.outer(np.arange(5.0), 10.0 * np.arange(4.0))
    known = np.ones((5, 4), dtype=bool)
    known[2] = False
    problem = row_problem(tensor, known)
    np.testing.assert_allclose(interpolate(problem, mode=0), problem.truth)
    assert np.abs(interpolate(problem, mode=1) - problem.truth).max() > 0.1


def test_an_empty_fibre_is_predicted_by_the_main_effects():
    known = np.ones((5, 4), dtype=bool)
    known[2] = False
    problem = row_problem(np.add.outer(np.arange(5.0), 10.0 * np.arange(4.0)), known)
    np.testing.assert_array_equal(
        interpolate(problem, mode=1), candidates.predict_main_effects(problem)
    )


def test_a_mode_that_is_not_there_is_impossible():
    with pytest.raises(ModeError, match="mode 2 of a tensor of 2 modes"):
        interpolate(row_problem([[1, 2]], [[1, 0]]), mode=2)


def test_main_effects_of_an_additive_tensor():
    rng = np.random.default_rng(0)
    tensor = np.add.outer(5.0 + rng.random(40), rng.random(50))
    known = rng.random(tensor.shape) < 0.7
    problem = row_problem(tensor, known)
    errors = candidates.predict_main_effects(problem) - problem.truth
    spread = candidates.predict_mean(problem) - problem.truth
    assert np.abs(errors).mean() < 0.2 * np.abs(spread).mean()


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A sub-task of a low-rank tensor, in place of one that is drawn from a file."""
    rng = np.random.default_rng(3)
    tensor = np.einsum("ir,jr,kr->ijk", *(rng.random((8, 2)) for _ in range(3)))
    known = rng.random(tensor.shape) < 0.6
    problem = from_dense("small", tensor, known, ~known)
    task = SubTask(
        number=0, seed=1, source="made up", kind="random", rate=0.4, ordered=(), problem=problem
    )
    monkeypatch.setattr(candidates, "draw", lambda number, *, seed, folder: task)
    monkeypatch.setattr(candidates, "_compile", lambda: None)
    return task


def run(name, options, tmp_path):
    return run_candidate(0, 1, tmp_path, name, options)


def test_a_fit_writes_errors_what_it_reports_and_what_it_chose(small, tmp_path):
    options = {**SINGLES["none, none, graded"], "random_state": 0, "time_limit": 10.0}
    row = run("none, none, graded", options, tmp_path)
    mean = run("mean", None, tmp_path)
    assert row["rmse"] < 0.5 * mean["rmse"]
    assert row["mae"] <= row["rmse"]
    assert row["metric"] == "rmse"
    assert row["reported"] > 0.0
    assert "none, none" in row["chosen"]
    assert "components" in row["chosen"]
    assert (row["source"], row["shape"], row["kind"]) == ("made up", [8, 8, 8], "random")
    assert row["known"] + row["hidden"] == 512


def test_a_candidate_that_the_data_does_not_allow_is_impossible(small, tmp_path, monkeypatch):
    sparse = Problem(
        name="sparse",
        shape=(200, 200, 200),
        coords=np.arange(60).reshape(20, 3),
        values=np.ones(20),
        asked=np.zeros((1, 3), dtype=np.int64),
        truth=np.ones(1),
    )
    monkeypatch.setattr(
        candidates,
        "draw",
        lambda number, *, seed, folder: SubTask(
            number=0, seed=1, source="x", kind="random", rate=0.4, ordered=(), problem=sparse
        ),
    )
    row = run("kriging", SINGLES["none, none, graded, kriging"], tmp_path)
    assert row["status"] == "impossible"
    assert "kriging" in row["message"]
    assert "rmse" not in row
    assert run("interpolation along mode 4", None, tmp_path)["status"] == "impossible"


def test_names_of_candidates():
    assert len(SINGLES) == 13
    assert SINGLES["sqrt, additive, graded, kriging"] == {
        "transform": "sqrt",
        "baseline": "additive",
        "components": "graded",
        "remainder": "kriging",
    }
    assert not set(SINGLES) & set(SIMPLE)
