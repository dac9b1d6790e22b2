"""Averages and kriged remainders: feasible, certified, and the best of a fit that is cut short."""

import dataclasses
import functools
import os
import signal

import numpy as np
import pytest

import intensor
import zoo
from fitting_cases import (
    EVERY_CELL,
    NOISY,
    WEIGHTS,
    checked,
    error_of,
    fitted,
    options_of,
    repeated,
    samples_of,
    smooth,
)
from intensor.data.observations import observe
from intensor.errors import RemainderWarning
from intensor.fitting import combine as combine_module
from intensor.fitting.combine import average_results
from intensor.fitting.journal import Journal
from intensor.fitting.kriging import ROUNDS, krige
from intensor.fitting.options import DEFAULT_RTOL
from intensor.fitting.preparation import prepare
from intensor.fitting.session import Session
from intensor.model.arithmetic import average_models
from intensor.model.model import build_model
from intensor.runtime.budget import Budget
from intensor.solver.result import Status

DATA = zoo.noisy((6, 5, 4), 80, rep=2)
ROUGH = {"max_iterations": 6}


@functools.cache
def solved(*, signed=False, **options):
    values = DATA.values - 0.2 if signed else DATA.values
    usual = {"shape": DATA.shape, "radius": 1.0, "tol": 1e-3, "rtol": 0.0, "signed": signed}
    options = usual | options
    return [intensor.solve(DATA.coords, values, seed=seed, **options) for seed in range(3)]


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


def test_vertices_that_cancel_are_removed():
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


def test_optimal_results_have_an_optimal_average():
    results = solved(tol=1e-5)
    assert all(result.status is Status.OPTIMAL for result in results)
    average = average_results(results, observations()[0])
    assert average.status is Status.OPTIMAL
    assert average.gap <= min(average.tolerance, 0.01 * average.objective)


def test_an_average_that_is_within_a_wide_tolerance_is_not_optimal():
    results = solved(tol=1e-3)
    average = average_results(results, observations()[0])
    assert average.gap > 0.01 * average.objective
    assert average.status is Status.WITHIN_TOLERANCE
    # Checkpoints of earlier versions called that OPTIMAL.
    old = [dataclasses.replace(result, status=Status.OPTIMAL) for result in results]
    assert average_results(old, observations()[0]).status is Status.WITHIN_TOLERANCE
    assert average_results(old[:1], observations()[0]).status is Status.WITHIN_TOLERANCE


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


def test_a_single_result_is_its_own_average():
    (result, *_) = solved()
    assert average_models([result.model]) is result.model
    assert average_results([result], observations()[0]) is result


def test_averages_are_kriged_too():
    data, cells, truth = smooth()
    radius = 1.01 * data.values.max()
    found = fitted(data, radius=radius, remainder="auto", n_solutions=2, validation=0.1)
    plain = fitted(data, radius=radius, n_solutions=2, validation=0.1)
    assert found.path.remainder == "kriging"
    assert found.n_solutions == 2
    assert plain.validation.averaged is not None
    assert found.validation.averaged is found.validation.single is None  # not worth the time
    assert error_of(found, cells, truth) < 0.8 * error_of(plain, cells, truth)
    checked(found, data)


@pytest.mark.parametrize("options", [{}, {"transform": "sqrt", "baseline": "additive"}], ids=str)
def test_kriging_adds_the_expected_remainder_of_the_boxes(options):
    data, cells, _ = smooth((8, 7, 6))
    found = fitted(data, radius=9.0, rtol=1e-3, remainder="kriging", seed=2, **options)
    plain = fitted(data, radius=9.0, rtol=1e-3, seed=2, **options)
    assert found.validation is None
    assert np.array_equal(found.model.weights, plain.model.weights)
    assert (found.objective, found.bound) == (plain.objective, plain.bound)
    prepared = prepare(samples_of(data), options_of(**options).scales[0])
    remainder = krige(prepared.observations, plain.model, budget=Budget(), seed=2, rounds=ROUNDS)
    assert np.array_equal(found.predictor.remainder.field, remainder.field)
    added = found.predictor.fitted(cells) - plain.predictor.fitted(cells)
    np.testing.assert_allclose(added, remainder.field[tuple(cells.T)], atol=1e-12)
    checked(found, data)


def test_the_certificate_is_that_of_the_boxes():
    data, _, _ = smooth((5, 4, 3), noise=0.5)
    found = fitted(data, exact="auto", radius=9.0, rtol=1e-5, remainder="kriging")
    assert found.status is Status.OPTIMAL
    assert checked(found, data).complete
    of_boxes = np.mean((found.model.predict(data.coords) - data.values) ** 2)
    assert found.objective == pytest.approx(of_boxes, rel=1e-12)
    kriged = np.mean((found.predict(data.coords) - data.values) ** 2)
    assert kriged != pytest.approx(of_boxes, rel=1e-2)
    worse = found.predictor.residual_targets(data.coords, data.values) * 1.1
    assert not found.verify(data.coords, worse).ok


def test_the_same_seed_kriges_alike():
    data, cells, _ = smooth((6, 5, 4))
    first, again, other = (
        fitted(data, radius=9.0, remainder="kriging", seed=seed).predict(cells, unseen="mean")
        for seed in (5, 5, 6)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_weights_count_in_the_remainder():
    weighted = fitted(radius=0.8, rtol=0.02, sample_weight=WEIGHTS, remainder="kriging")
    plain = fitted(repeated(WEIGHTS), radius=0.8, rtol=0.02, remainder="kriging")
    fields = [found.predictor.remainder.field for found in (weighted, plain)]
    size = np.abs(fields[1]).max()
    np.testing.assert_allclose(fields[0], fields[1], atol=1e-3 * size)
    other = fitted(radius=0.8, rtol=0.02, remainder="kriging").predictor.remainder.field
    assert np.abs(other - fields[1]).max() > 0.05 * size


@pytest.mark.parametrize("scale", [2.0**-180, pytest.param(2.0**180, marks=pytest.mark.slow)])
def test_values_of_any_size_can_be_kriged(scale):
    data, cells, _ = smooth((8, 7, 6))
    plain = fitted(data, radius=9.0, rtol=1e-3, remainder="kriging")
    scaled = dataclasses.replace(data, values=scale * data.values)
    found = fitted(scaled, radius=9.0 * scale, rtol=1e-3, remainder="kriging")
    size = np.abs(plain.predictor.remainder.field).max()
    assert size > 0.5
    np.testing.assert_allclose(found.predict(cells) / scale, plain.predict(cells), atol=1e-5 * size)


def test_unseen_indices_are_averaged_over_with_the_remainder():
    data, _, _ = smooth((5, 4, 3))
    kept = data.coords[:, 1] != 2
    data = dataclasses.replace(data, coords=data.coords[kept], values=data.values[kept])
    found = fitted(data, radius=9.0, remainder="kriging")
    shares = np.bincount(data.coords[:, 1], minlength=4) / len(data.coords)
    for first, third in ((0, 0), (4, 2)):
        every = np.array([[first, second, third] for second in (0, 1, 3)])
        expected = shares[[0, 1, 3]] @ found.predictor.fitted(every)
        for second in (2, -1, 99):
            (value,) = found.predictor.fitted([[first, second, third]], unseen="mean")
            assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("remainder", ["kriging", "auto"])
@pytest.mark.parametrize(
    "looks",
    [
        pytest.param(1, marks=pytest.mark.slow),
        4,
        pytest.param(8, marks=pytest.mark.slow),
    ],
)
def test_returning_false_still_gives_predictions_when_the_remainder_is_kriged(remainder, looks):
    data, cells, truth = smooth()
    seen = []

    def stop(progress):
        seen.append(progress.stage)
        return len(seen) < looks

    found = fitted(data, remainder=remainder, callback=stop)
    assert found.status is Status.STOPPED
    predicted = found.predict(cells, unseen="mean")
    assert np.isfinite(predicted).all()
    assert predicted.min() >= 0.0
    assert found.predictor.remainder is None or found.predictor.remainder.shape == data.shape
    if remainder == "kriging" and len(found.model) > 8:  # kriging makes up for unfinished boxes
        assert error_of(found, cells, truth) < 0.6 * truth.std()
    checked(found, data)


@pytest.mark.parametrize("stage", ["radius", "fit"])
def test_ctrl_c_still_gives_predictions_when_the_remainder_is_kriged(stage):
    data, cells, truth = smooth()

    def press(progress):
        if progress.stage.startswith(stage) and progress.iteration == 1:
            os.kill(os.getpid(), signal.SIGINT)

    found = fitted(data, remainder="auto", rtol=1e-9, callback=press)
    assert found.status is Status.INTERRUPTED
    predicted = found.predict(cells, unseen="mean")
    assert np.isfinite(predicted).all()
    if found.path.remainder == "kriging":  # which Ctrl-C must not cost
        assert found.predictor.remainder is not None
        assert error_of(found, cells, truth) < 0.6 * truth.std()
    checked(found, data)


@pytest.mark.parametrize("remainder", ["kriging", "auto"])
@pytest.mark.filterwarnings("ignore::intensor.errors.EmptyModelWarning")
def test_without_any_time_the_remainder_is_left_out_with_a_warning(remainder):
    data, cells, _ = smooth()
    with pytest.warns(
        RemainderWarning, match="no time to .*krig.* within 1e-09 s; allow more time"
    ):
        found = fitted(data, time_limit=1e-9, remainder=remainder)
    assert found.status is Status.TIME_LIMIT
    assert (found.path.remainder == "kriging") == (found.predictor.remainder is not None)
    assert np.isfinite(found.predict(cells, unseen="mean")).all()
    checked(found, data)


def test_a_remainder_that_takes_too_long_is_left_out_with_a_warning(monkeypatch):
    data, cells, _ = smooth((8, 7, 6))
    monkeypatch.setattr(combine_module, "krige", lambda *_, **__: None)
    with pytest.warns(RemainderWarning, match="no time to krige .* before the fit was stopped"):
        found = fitted(data, remainder="kriging", n_radii=2)
    assert found.predictor.remainder is None
    assert np.isfinite(found.predict(cells, unseen="mean")).all()
    checked(found, data)


def test_a_remainder_is_kriged_roughly_if_time_is_short(monkeypatch):
    data, _, _ = smooth((8, 7, 6))
    asked = []

    def slow_when_close(observations, model, *, rough, **options):
        asked.append(rough)
        return krige(observations, model, rough=rough, **options) if rough else None

    monkeypatch.setattr(combine_module, "krige", slow_when_close)
    found = fitted(data, remainder="kriging", n_radii=2, time_limit=100.0)
    assert asked == [True, False]
    assert found.predictor.remainder is not None
    asked.clear()
    with pytest.warns(RemainderWarning):  # without a limit it is done closely or not at all
        fitted(data, remainder="kriging", n_radii=2)
    assert asked == [False]


def test_ctrl_c_reaches_the_last_kriging(monkeypatch):
    data, _, _ = smooth((8, 7, 6))
    budgets = []

    def endless(observations, model, *, budget, **options):
        budgets.append(budget)
        os.kill(os.getpid(), signal.SIGINT)
        return krige(observations, model, budget=budget, **options)

    monkeypatch.setattr(combine_module, "krige", endless)
    with pytest.warns(RemainderWarning):
        fitted(data, remainder="kriging", n_radii=2)
    assert [budget.spent for budget in budgets] == [True]


@pytest.mark.parametrize("kind", ["stop", "interrupt"])
@pytest.mark.parametrize("looks", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 3))])
def test_a_fit_that_is_cut_short_is_as_good_as_the_walk(looks, kind):
    seen, walked = [], []

    def press(progress):
        if progress.stage != "fit":
            walked.append(progress)
            return True
        seen.append(progress)
        if len(seen) == looks and kind == "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
        return len(seen) < looks or kind == "interrupt"

    found = fitted(callback=press, rtol=1e-9)
    assert found.status is (Status.STOPPED if kind == "stop" else Status.INTERRUPTED)
    assert len(found.model) > 5
    full = fitted(rtol=1e-9)
    variance = NOISY.values.var()
    assert found.objective - full.objective < 0.2 * (variance - full.objective)
    assert np.abs(found.model.weights).sum() <= found.radius * (1.0 + 1e-12)
    checked(found)


# --- the solves: a seed each, warm starts, and which of them are worth averaging


@pytest.mark.parametrize("transforms", [("none", "sqrt"), ("none", "none")], ids=str)
def test_a_stop_during_the_fit_of_a_partner_is_reported(monkeypatch, transforms):
    """Partners in the same scale are merged, which solves nothing and names an ending too."""
    made = [fitted(radius=0.8, rtol=0.9, transform=name) for name in transforms]
    assert all(one.status is Status.WITHIN_TOLERANCE for one in made)
    samples = samples_of(NOISY).in_order()
    choice = combine_module.Choice(
        scale=options_of().scales[0], radius=0.8, remainder=options_of(remainder="none").remainder
    )
    for stops, status in [(False, Status.WITHIN_TOLERANCE), (True, Status.STOPPED)]:
        session = Session(samples, options_of(exact="off"), budget=Budget(), journal=Journal(None))
        members = iter([(made[0], False), (made[1], stops)])

        def in_turn(session, *_, members=members, **__):
            found, session.stopped = next(members)
            return dataclasses.replace(found, share=0.5)

        monkeypatch.setattr(combine_module, "_fit_member", in_turn)
        found = combine_module.combine(
            session, dataclasses.replace(choice, partners=(choice,)), made[0].labels
        )
        assert found.status is status
        assert len(found.partners) == len(set(transforms)) - 1


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
    kept = combine_module.drop_unfinished([results[0], bad, near, done])
    assert kept == [results[0], near, done]
    assert combine_module.drop_unfinished([bad]) == [bad]


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
            validation=0.1,
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


def test_local_minima_are_left_out_unless_the_number_was_given(monkeypatch):
    data, seen = smooth((8, 7, 6))[0], []
    drop = combine_module.drop_local_minima

    def drop_and_tell(results):
        far = dataclasses.replace(results[0], objective=2.0 * results[0].objective)
        seen.append(drop([*results, far]) == results)
        return drop(results)

    monkeypatch.setattr(combine_module, "drop_local_minima", drop_and_tell)
    graded = {"components": "graded", "max_components": 3}
    assert fitted(data, **graded, n_solutions=3).n_solutions == 3
    assert seen == []
    fitted(data, **graded, n_solutions="auto")
    assert seen == [True]
