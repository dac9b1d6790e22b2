"""Empty models are never handed out in silence, and expanded ones predict the same."""

import warnings

import numpy as np
import pytest

import intensor
import zoo
from intensor import Status
from intensor.errors import EmptyModelWarning
from intensor.model.model import build_model
from intensor.problem.reindex import FullTensor
from intensor.solver.result import expand_model

DATA = zoo.noisy((4, 4, 3), 50, rep=6)


def solve(values=DATA.values, **options):
    return intensor.solve(DATA.coords, values, shape=DATA.shape, radius=1.0, **options)


@pytest.mark.parametrize(
    ("limit", "status"),
    [({"time_limit": 1e-9}, Status.TIME_LIMIT), ({"max_iterations": 0}, Status.ITERATION_LIMIT)],
)
def test_a_limit_that_leaves_no_box_is_a_warning(limit, status):
    with pytest.warns(EmptyModelWarning, match=f"{status}.*raise {next(iter(limit))}") as caught:
        result = solve(**limit)
    assert (result.status, len(result.model)) == (status, 0)
    assert caught[0].filename == __file__, "it points at the caller"


def test_no_warning_without_a_limit_to_blame():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(solve().model) > 0
        nothing = solve(0.0 * DATA.values, time_limit=1e-9)
        assert (nothing.status, len(nothing.model)) == (Status.OPTIMAL, 0)
        stopped = solve(callback=lambda progress: False)
        assert stopped.status is Status.STOPPED
        assert len(solve(max_iterations=0, version=5).model) == 1, "which starts with a box"


@pytest.mark.parametrize("graded", [False, True])
def test_an_expanded_model_predicts_the_same_and_nothing_elsewhere(graded):
    rng = np.random.default_rng(3)
    flags = rng.integers(0, 2, (70, 6), dtype=np.uint8)
    model = build_model(
        np.concatenate((flags, rng.uniform(size=(9, 6)))) if graded else flags,
        rng.random(79 if graded else 70),
        shape=(3, 3),
        radius=100.0,
        signed=True,
    )
    full = FullTensor(shape=(8, 5), kept=(np.array([1, 4, 7]), np.array([0, 2, 3])))
    expanded = expand_model(model, full)
    dense = np.zeros((8, 5))
    dense[np.ix_(*full.kept)] = model.to_dense()
    assert np.array_equal(expanded.to_dense(), dense)
    assert (expanded.radius, expanded.signed, len(expanded)) == (100.0, True, len(model))
