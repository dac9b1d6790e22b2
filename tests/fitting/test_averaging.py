"""Averages: feasible, no worse than their parts on average, and certified by the best bound."""

import dataclasses

import numpy as np
import pytest

import intensor
import zoo
from intensor.data.observations import observe
from intensor.fitting.averaging import average_models, average_results
from intensor.model.model import build_model
from intensor.solver.result import Status

DATA = zoo.noisy((6, 5, 4), 80, rep=2)
ROUGH = {"max_iterations": 6}


def solved(*, signed=False, tol=1e-3, **options):
    values = DATA.values - 0.2 if signed else DATA.values
    return [
        intensor.solve(
            DATA.coords,
            values,
            shape=DATA.shape,
            radius=1.0,
            tol=tol,
            rtol=0.0,
            seed=seed,
            signed=signed,
            **options,
        )
        for seed in range(3)
    ]


def observations(*, signed=False):
    values = DATA.values - 0.2 if signed else DATA.values
    return observe(DATA.coords, values, shape=DATA.shape, allow_negative=signed), values


@pytest.mark.parametrize("signed", [False, True])
def test_the_average_is_the_mean_of_the_tensors_and_feasible(signed):
    models = [result.model for result in solved(signed=signed)]
    average = average_models(models)
    mean = np.mean([model.to_dense() for model in models], axis=0)
    np.testing.assert_allclose(average.to_dense(), mean, atol=1e-13)
    assert np.abs(average.weights).sum() <= 1.0 + 1e-12
    assert average.signed is signed
    assert signed == bool(average.weights.min() < 0.0)
    assert average.radius == 1.0
    assert len(average) > max(map(len, models))
    flags = average.vertices.flags()
    assert len(np.unique(flags, axis=0)) == len(flags)


def test_vertices_that_cancel_are_gone():
    flags = np.ones((1, 4), dtype=np.uint8)
    plus, minus = (
        build_model(flags, np.array([weight]), shape=(2, 2), radius=1.0, signed=True)
        for weight in (0.5, -0.5)
    )
    assert len(average_models([plus, minus])) == 0


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("options", [{}, ROUGH], ids=["to the end", "cut short"])
def test_the_average_is_certified(signed, options):
    results = solved(signed=signed, **options)
    cells, values = observations(signed=signed)
    average = average_results(results, cells)
    residual = average.model.predict(DATA.coords) - values
    assert average.objective == pytest.approx(np.mean(residual**2), rel=1e-12)
    assert average.objective < np.mean([result.objective for result in results])
    assert average.bound == max(result.bound for result in results)
    report = intensor.verify(average, DATA.coords, values)
    assert report.ok, report
    assert report.complete


def test_optimal_parts_make_an_optimal_average():
    results = solved()
    assert all(result.status is Status.OPTIMAL for result in results)
    average = average_results(results, observations()[0])
    assert average.status is Status.OPTIMAL
    assert average.gap <= average.tolerance


def test_an_average_is_not_optimal_beyond_its_tolerance():
    cells, _ = observations()
    results = solved(**ROUGH)
    assert average_results(results, cells).status is Status.ITERATION_LIMIT
    claimed = [dataclasses.replace(result, status=Status.OPTIMAL) for result in results]
    assert average_results(claimed, cells).status is Status.STALLED


def test_work_is_added_up_and_one_trace_is_kept():
    results = solved(**ROUGH)
    average = average_results(results, observations()[0])
    for name in ("iterations", "local_steps", "altmin_runs", "exact_calls", "drops"):
        total = sum(getattr(result.counters, name) for result in results)
        assert getattr(average.counters, name) == total
    assert average.counters.iterations == 18
    assert average.trace == results[0].trace
    assert average.seconds.total == pytest.approx(sum(r.seconds.total for r in results))


def test_one_is_its_own_average():
    (result, *_) = solved()
    assert average_models([result.model]) is result.model
    assert average_results([result], observations()[0]) is result
