"""Solves of a fit: a seed each, warm starts, and which of them are worth averaging."""

import dataclasses

import numpy as np

from fitting_cases import EVERY_CELL, checked, fitted, smooth
from intensor.fitting import solves as solves_module
from intensor.fitting.options import DEFAULT_RTOL
from intensor.solver.result import Status


def test_every_solution_has_its_own_seed():
    first, second = (fitted(radius=0.8, seed=seed) for seed in (3, 4))
    assert not np.array_equal(first.model.weights, second.model.weights)
    mean = np.mean([one.predict(EVERY_CELL, unseen="mean") for one in (first, second)], axis=0)
    tight = fitted(radius=0.8, seed=3, n_solutions=2, rtol=DEFAULT_RTOL)
    np.testing.assert_allclose(tight.predict(EVERY_CELL, unseen="mean"), mean, atol=1e-12)


def test_solutions_that_were_cut_short_do_not_spoil_an_average():
    results = [fitted(radius=0.8).result]
    bad = dataclasses.replace(
        results[0], status=Status.TIME_LIMIT, objective=2.0 * results[0].objective
    )
    near = dataclasses.replace(bad, objective=1.05 * results[0].objective)
    done = dataclasses.replace(bad, status=Status.STALLED)
    kept = solves_module._drop_unfinished([results[0], bad, near, done])
    assert kept == [results[0], near, done]
    assert solves_module._drop_unfinished([bad]) == [bad]


def test_a_kriged_fit_goes_on_from_the_model_of_the_path():
    data, _, _ = smooth()
    radius = 1.01 * data.values.max()
    for remainder in ("none", "auto"):
        looks = []
        found = fitted(
            data,
            radius=radius,
            remainder=remainder,
            n_solutions=2,
            callback=lambda now, looks=looks: looks.append(now),
        )
        assert found.path.remainder == ("none" if remainder == "none" else "kriging")
        first, second = (
            next(now.active for now in looks if now.stage == f"fit {number} of 2")
            for number in (1, 2)
        )
        assert second <= 2  # from nothing, so that there is something to average
        assert first <= 2 if remainder == "none" else first > 8
        checked(found, data)
