"""intensor takes part by its public functions, with the radius chosen or given."""

import numpy as np
import pytest

import intensor
from benchmarks.contenders import find
from benchmarks.problems import Problem
from benchmarks.scoring import score


@pytest.fixture(scope="module")
def rich():
    data = intensor.planted((8, 8, 8), 2000, 1, n_vertices=3)
    asked = np.argwhere(np.ones((8, 8, 8)))
    return Problem(
        name="rich",
        shape=(8, 8, 8),
        coords=data.coords,
        values=data.values,
        asked=asked,
        truth=data.truth.predict(asked),
    )


@pytest.mark.parametrize("name", ["intensor", "intensor, radius 1"])
def test_exact_data_is_solved_out(name, rich):
    done = find(name).complete(rich, 20.0, 7, 1)
    assert score(rich.truth, done.predicted)["nmse"] < 1e-10
    assert done.objective < 1e-12
    assert done.gap >= 0.0
    assert done.boxes >= 3
    assert "4 models averaged" in done.chosen
    assert done.seconds > 0.0


def test_the_radius_is_chosen_or_given(rich):
    chosen, given = (
        find(name).complete(rich, 20.0, 7, 1).chosen for name in ("intensor", "intensor, radius 1")
    )
    assert given.startswith("radius 1 given")
    assert chosen.startswith("radius ")
    assert not chosen.startswith("radius 1 ")


def test_the_time_is_kept_and_something_comes_back(rich):
    done = find("intensor, radius 1").complete(rich, 1e-6, 7, 1)
    assert done.predicted.shape == rich.truth.shape
    assert "1 models averaged" in done.chosen
