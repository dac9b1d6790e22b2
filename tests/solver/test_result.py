"""Endings have the names that their numbers deserve, and empty models come with a warning."""

import dataclasses
import math
import warnings

import numpy as np
import pytest

import intensor
import zoo
from intensor import Status
from intensor.data.observations import observe
from intensor.errors import EmptyModelWarning
from intensor.model.model import build_model
from intensor.problem.reindex import FullTensor
from intensor.solver.result import expand_model, has_useful_bound, proven_status

DATA = zoo.noisy((4, 4, 3), 50, rep=6)


def solve(values=DATA.values, **options):
    return intensor.solve(DATA.coords, values, shape=DATA.shape, radius=1.0, **options)


PAIRS = observe([[0], [0], [1]], [1.0, 3.0, 2.0])
"""Observations with a variance of 2 / 3 within cells and a mean square of 14 / 3."""


def status_of(objective, bound, *, tolerance=1.0, observations=PAIRS):
    return proven_status(objective, bound, tolerance=tolerance, observations=observations)


@pytest.mark.parametrize(
    ("objective", "bound", "status"),
    [
        (4.0, 3.97, Status.OPTIMAL),  # 0.75 % of the objective
        (4.0, 3.95, Status.WITHIN_TOLERANCE),  # 1.25 % of it
        (4.0, 3.0, Status.WITHIN_TOLERANCE),
        (4.0, 2.999, None),
        (4.0, 4.0 + 1e-15, Status.OPTIMAL),  # by rounding
        (2.0 / 3.0 + 4e-6, 0.0, Status.OPTIMAL),  # every cell has its mean, and 0 is a poor bound
        (2.0 / 3.0 + 5e-6, 0.0, Status.WITHIN_TOLERANCE),
        (math.nan, 0.0, None),
    ],
)
def test_optimal_needs_a_small_gap_or_an_exact_fit(objective, bound, status):
    assert status_of(objective, bound) is status


@pytest.mark.parametrize("scale", [1e-50, 1e-3, 1e50])
@pytest.mark.parametrize("bound", [0.0, 3.5, 3.95, 3.97])
def test_the_unit_of_the_values_does_not_matter(scale, bound):
    scaled = dataclasses.replace(
        PAIRS, within=scale * PAIRS.within, mean_square=scale * PAIRS.mean_square
    )
    found = status_of(4.0 * scale, bound * scale, tolerance=scale, observations=scaled)
    assert found is status_of(4.0, bound)


def test_a_model_of_zeros_is_optimal_for_zeros():
    nothing = observe([[0], [1]], [0.0, 0.0])
    assert status_of(0.0, 0.0, tolerance=0.0, observations=nothing) is Status.OPTIMAL


def test_the_default_tolerance_of_a_solve_makes_an_exact_fit_of_planted_data():
    data = intensor.planted((6, 6, 6), 150)
    result = intensor.solve(data.coords, data.values, shape=data.shape, radius=1.0)
    assert result.status is Status.OPTIMAL
    rough = intensor.solve(data.coords, data.values, shape=data.shape, radius=1.0, rtol=1e-3)
    assert rough.status is Status.WITHIN_TOLERANCE


def test_a_bound_that_says_nothing_is_known_as_such():
    result = solve(rtol=1e-5)
    assert (result.status, has_useful_bound(result)) == (Status.OPTIMAL, True)
    for bound, useful in [(0.0, False), (0.05, False), (0.2, True), (0.9, True)]:
        for status in set(Status) - {Status.OPTIMAL}:
            claims = {"status": status, "bound": bound * result.objective}
            assert has_useful_bound(dataclasses.replace(result, **claims)) is useful
    perfect = {"objective": 0.0, "bound": 0.0, "status": Status.STOPPED}
    assert has_useful_bound(dataclasses.replace(result, **perfect))


def test_every_status_is_a_sentence_of_its_own():
    sentences = {status.sentence for status in Status}
    assert len(sentences) == len(Status)
    assert all(text[0].isupper() and text.endswith(".") for text in sentences)


@pytest.mark.parametrize(
    ("limit", "status"),
    [({"time_limit": 1e-9}, Status.TIME_LIMIT), ({"max_iterations": 0}, Status.ITERATION_LIMIT)],
)
def test_a_limit_that_leaves_no_box_is_a_warning(limit, status):
    with pytest.warns(EmptyModelWarning, match=f"{status}.*raise {next(iter(limit))}") as caught:
        result = solve(**limit)
    assert result.status is status
    if status is Status.TIME_LIMIT:  # the best constant takes the place of nothing
        assert result.model.predict(DATA.coords) == pytest.approx(DATA.values.mean())
        assert result.objective == pytest.approx(DATA.values.var())
    else:
        assert len(result.model) == 0
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
