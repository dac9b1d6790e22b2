"""Warm starts: from a model, and from another radius."""

import contextlib

import numpy as np
import pytest

import intensor
import zoo
from graded_cases import random_model
from intensor.data.observations import observe
from intensor.oracles.cascade import find_exact
from intensor.runtime.budget import Budget
from intensor.solver.fast.engine import FastEngine
from intensor.solver.loop import drive, run
from intensor.solver.result import Status
from intensor.solver.settings import Settings
from intensor.solver.variants import FAST, find_version

DATA = zoo.noisy((5, 4, 4), 70, rep=4)


def cells(*, signed=False):
    values = DATA.values - 0.25 if signed else DATA.values
    return observe(DATA.coords, values, shape=DATA.shape, allow_negative=signed)


def oracle(observations, exact="auto"):
    return find_exact(exact).oracle(observations, patient=False)


def settings(radius, *, signed=False, tol=1e-8, **changes):
    return Settings(radius=radius, tol=tol, rtol=0.0, signed=signed, **changes)


def fresh(radius, *, signed=False, start=None, version="fast", exact="auto", **changes):
    observations = cells(signed=signed)
    return run(
        observations,
        version=find_version(version),
        exact=oracle(observations, exact),
        settings=settings(radius, signed=signed, **changes),
        budget=Budget(),
        start=start,
    )


# --- from a model


def test_the_boxes_of_a_graded_model_are_a_start():
    start = random_model(DATA.shape, boxes=5, graded=6)
    found = fresh(1.0, start=start)
    assert found.status is Status.OPTIMAL
    assert len(found.model.components) == 0
    assert found.objective == pytest.approx(fresh(1.0).objective, abs=2e-8)


@pytest.mark.parametrize("signed", [False, True])
def test_a_solve_begins_with_the_model_it_is_given(signed):
    best = fresh(0.7, signed=signed)
    stopped = fresh(0.7, signed=signed, start=best.model, max_iterations=0)
    assert stopped.status in (Status.ITERATION_LIMIT, Status.OPTIMAL)
    assert stopped.counters.iterations == 0
    assert stopped.objective == pytest.approx(best.objective, rel=0.03)  # the master is not exact
    cold = fresh(0.7, signed=signed, max_iterations=0)
    assert cold.objective > 2.0 * stopped.objective
    again = fresh(0.7, signed=signed, start=best.model)
    assert again.status is Status.OPTIMAL
    assert again.objective == pytest.approx(best.objective, abs=2e-8)
    assert again.counters.iterations < best.counters.iterations


def test_weights_are_made_anew():
    # Only the vertices of the start count; its weights are those of another radius.
    best = fresh(0.7)
    other = fresh(0.3, start=best.model, max_iterations=0)
    assert other.model.radius == 0.3
    assert other.model.weights.sum() <= 0.3 * (1.0 + 1e-12)
    assert other.objective < fresh(0.3, max_iterations=0).objective
    assert other.objective >= fresh(0.3).bound


def test_an_empty_start_is_no_start():
    empty = fresh(0.7, max_iterations=0).model
    assert len(empty) == 0
    assert fresh(0.7, start=empty).objective == pytest.approx(fresh(0.7).objective, abs=2e-8)


def test_versions_of_the_paper_begin_where_they_always_do():
    best = fresh(0.7)
    plain = fresh(0.7, version=8, tol=1e-3)
    started = fresh(0.7, version=8, tol=1e-3, start=best.model)
    assert plain.trace[0].objective == started.trace[0].objective


# --- from another radius

UP_AND_DOWN = (0.3, 0.9, 0.45, 0.45)


@pytest.mark.parametrize(
    ("signed", "exact"),
    [
        (False, "off"),
        (True, "auto"),
        pytest.param(False, "auto", marks=pytest.mark.slow),
        pytest.param(True, "off", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    "radii",
    zoo.mostly_slow([(0.3, 0.7), (0.7, 0.3), UP_AND_DOWN], telling=[UP_AND_DOWN]),
    ids=str,
)
def test_a_rescaled_engine_reaches_what_a_fresh_one_reaches(radii, signed, exact):
    observations = cells(signed=signed)
    engine = FastEngine(
        observations,
        exact=oracle(observations, exact),
        settings=settings(radii[0], signed=signed),
    )
    with contextlib.closing(engine):
        for position, radius in enumerate(radii):
            here = settings(radius, signed=signed)
            if position:
                engine.rescale(here)
                assert engine.state.iterations == 0
                assert engine.state.witness is None
            result = drive(engine, observations, version=FAST, settings=here, budget=Budget())
            cold = fresh(radius, signed=signed)
            assert cold.status is Status.OPTIMAL
            assert result.objective == pytest.approx(cold.objective, abs=1e-6)
            assert result.model.radius == radius
            assert np.abs(result.model.weights).sum() <= radius * (1.0 + 1e-12)
            if exact == "auto":
                assert result.status is Status.OPTIMAL
                assert result.gap <= 1e-8
                values = DATA.values - 0.25 if signed else DATA.values
                assert intensor.verify(result, DATA.coords, values).ok
            assert result.bound <= cold.objective + 1e-13


@pytest.mark.parametrize("factor", [1.5, 4.0])
def test_the_tensor_stays_when_the_radius_grows(factor):
    observations = cells()
    engine = FastEngine(observations, exact=oracle(observations, "off"), settings=settings(0.4))
    with contextlib.closing(engine):
        here = settings(0.4)
        before = drive(engine, observations, version=FAST, settings=here, budget=Budget())
        engine.rescale(settings(factor * 0.4))
        flags, weights = engine.vertices()
        model = before.model
        assert 0.4 * factor * weights.sum() == pytest.approx(model.weights.sum(), rel=1e-12)
        value = engine.state.value * (0.4 * factor) ** 2
        assert value == pytest.approx(before.objective, rel=1e-10)
        assert len(flags) == len(model)


def test_the_tensor_shrinks_along_with_the_radius():
    observations = cells()
    engine = FastEngine(observations, exact=oracle(observations, "off"), settings=settings(0.8))
    with contextlib.closing(engine):
        here = settings(0.8)
        before = drive(engine, observations, version=FAST, settings=here, budget=Budget())
        engine.rescale(settings(0.2))
        _, weights = engine.vertices()
        assert 0.2 * weights.sum() == pytest.approx(0.25 * before.model.weights.sum(), rel=1e-12)
        predicted = 0.25 * before.model.predict(DATA.coords)
        value = engine.state.value * 0.2**2
        assert value == pytest.approx(np.mean((predicted - DATA.values) ** 2), rel=1e-9)


def test_the_tolerance_is_that_of_the_new_settings():
    observations = cells()
    engine = FastEngine(observations, exact=oracle(observations), settings=settings(0.4, tol=1e-2))
    with contextlib.closing(engine):
        rough = settings(0.4, tol=1e-2)
        drive(engine, observations, version=FAST, settings=rough, budget=Budget())
        fine = settings(0.5, tol=1e-8)
        engine.rescale(fine)
        result = drive(engine, observations, version=FAST, settings=fine, budget=Budget())
        assert result.gap <= 1e-8
