"""The graded engine: the objective falls, the bound holds, and limits give valid results."""

import functools
import os
import signal

import numpy as np
import pytest

import brute
import intensor
import zoo
from intensor import Status
from intensor.oracles.cascade import FreeBoundOracle
from intensor.runtime.budget import Budget
from intensor.solver.graded import engine as module
from intensor.solver.graded.engine import Graded
from intensor.solver.settings import Settings
from intensor.storage.reader import TreeReader

pytestmark = pytest.mark.filterwarnings("ignore::intensor.errors.RadiusWarning")


def fit(coords, values, **options):
    options = {"radius": 1.0, "components": "graded", "exact": "off", **options}
    return intensor.solve(coords, values, **options)


def solve(data, **options):
    return fit(data.coords, data.values, shape=data.shape, **options)


@functools.cache
def noisy(shape, n, rep=0):
    """Return a noisy instance and its optimum at radius 1."""
    data = zoo.noisy(shape, n, rep)
    return data, zoo.optimum(shape, data.coords, data.values, 1.0)


def valid(result, data, **options):
    """Verify a result, and return it."""
    report = intensor.verify(result, data.coords, data.values, **options)
    assert report.ok, report
    assert np.abs(result.model.weights).sum() <= result.model.radius * (1.0 + 1e-12)
    return result


def walk(result):
    """Return all that must not depend on threads or on the time of day."""
    rows = [row._replace(seconds=0.0) for row in result.trace]
    model = result.model
    return model.as_factors().tolist(), model.weights.tolist(), rows, result.counters


PLENTY = 48  # components that are enough for a proof on the problems below
SMALL = [((4, 4, 5), 70), ((6, 6), 60), ((3, 4, 2, 3), 90), ((2, 2, 3, 2, 2, 2), 80)]
"""Problems with 2, 3, 4 and 6 modes whose optimum is known."""


@pytest.mark.parametrize("exact", ["off", "enumeration"])
@pytest.mark.parametrize(("shape", "n"), SMALL)
def test_the_objective_falls_to_the_optimum_and_the_bound_holds(shape, n, exact):
    data, optimum = noisy(shape, n)
    result = valid(solve(data, exact=exact, rtol=1e-3, max_components=PLENTY), data)
    objectives = np.array([row.objective for row in result.trace])
    assert (np.diff(objectives) <= 1e-12 * objectives[0]).all()
    assert (np.diff([row.bound for row in result.trace]) >= 0.0).all()
    assert result.bound <= optimum * (1.0 + 1e-12) <= result.objective * (1.0 + 2e-12)
    assert result.objective <= 1.01 * optimum
    assert result.trace[-1].objective == pytest.approx(result.objective, rel=1e-9)
    assert max(row.active for row in result.trace) <= PLENTY
    assert len(result.model.components) > 0
    if exact == "off":
        assert result.status is Status.STALLED
    else:
        assert result.status is Status.OPTIMAL
        assert result.gap <= result.tolerance
        assert result.witness is not None


def test_few_components_come_with_a_proof_too():
    data, optimum = noisy((4, 4, 5), 70)
    last = np.inf
    for most in (1, 2, 4, 8):
        result = valid(solve(data, exact="enumeration", max_components=most), data)
        assert len(result.model) <= most
        assert result.bound <= optimum <= result.objective
        assert result.objective <= last * (1.0 + 1e-6)
        assert result.status in {Status.STALLED, Status.OPTIMAL}
        last = result.objective
    assert result.bound > 0.5 * optimum


@pytest.mark.parametrize("signed", [False, True])
def test_the_best_single_component_is_found(signed):
    """One component is a box times a weight at least: brute force over all boxes."""
    data = zoo.noisy((3, 3, 2), 30, rep=1)
    values = data.values - (0.5 if signed else 0.0)
    result = fit(data.coords, values, shape=data.shape, max_components=1, signed=signed)
    columns = zoo.distinct_rows(data.shape, data.coords).T.astype(float)
    sizes = np.maximum((columns**2).sum(axis=0), 1e-300)
    best = values @ columns / sizes
    best = np.clip(best, -1.0 if signed else 0.0, 1.0)
    least = np.min(np.mean((columns * best - values[:, None]) ** 2, axis=0))
    assert result.objective <= least * (1.0 + 1e-9)
    assert len(result.model) == 1


@pytest.mark.parametrize("shape", [(9, 9), (8, 8, 8), (5, 5, 5, 5)])
def test_planted_tensors_come_out(shape):
    rng = np.random.default_rng(len(shape))
    factors = rng.uniform(0.2, 1.0, (2, sum(shape)))
    model = intensor.model.model.build_model(
        factors, np.array([0.6, 0.3]), shape=shape, radius=1.0, signed=False
    )
    coords = np.argwhere(rng.random(shape) < (0.9 if len(shape) == 2 else 0.5))
    values = model.predict(coords)
    result = fit(coords, values, shape=shape, max_components=4, rtol=1e-12)
    assert result.objective < 1e-8
    assert intensor.verify(result, coords, values).ok
    everywhere = np.argwhere(np.ones(shape))
    apart = result.model.predict(everywhere) - model.predict(everywhere)
    if len(shape) > 2:
        assert np.sqrt(np.mean(apart**2)) < 0.01


# --- the same answer


@pytest.mark.parametrize("signed", [False, True])
def test_threads_do_not_change_the_result(signed):
    data = intensor.planted((7, 6, 5, 6), 2000, noise=0.1)
    options = {"max_components": 8, "max_iterations": 40, "signed": signed}
    walks = [walk(solve(data, threads=count, **options)) for count in (1, 2, 3)]
    assert walks[0] == walks[1] == walks[2]
    assert walks[0] != walk(solve(data, seed=1, threads=1, **options))


def test_threads_do_not_change_the_result_on_many_cells():
    data = intensor.planted((60, 50, 40), 100_000, noise=0.1)
    assert len(np.unique(data.coords, axis=0)) > 65_536
    options = {"max_components": 4, "max_iterations": 6}
    walks = [walk(solve(data, threads=count, **options)) for count in (1, 2, 3)]
    assert walks[0] == walks[1] == walks[2]


def test_threads_do_not_change_the_result_through_a_sample(monkeypatch):
    monkeypatch.setattr(module, "MIN_SAMPLED_CELLS", 512)
    data = intensor.planted((20, 20, 20), 4000, noise=0.1)
    options = {"max_components": 6, "max_iterations": 10}
    walks = [walk(solve(data, threads=count, **options)) for count in (1, 3)]
    assert walks[0] == walks[1]
    assert walks[0][2][0].active > 1  # those of the sample


def test_a_seed_gives_one_result():
    data = intensor.planted((8, 8, 8), 400, noise=0.3)
    walks = [walk(solve(data, seed=seed, max_components=9)) for seed in (3, 3, 4)]
    assert walks[0] == walks[1] != walks[2]


# --- limits


def test_the_time_limit_ends_a_solve():
    data = intensor.planted((40, 40, 40), 40_000, noise=0.2)
    result = valid(solve(data, rtol=1e-15, time_limit=0.3, max_components=128), data)
    assert result.status is Status.TIME_LIMIT
    assert result.seconds.total < 3.0


@pytest.mark.filterwarnings("ignore::intensor.errors.EmptyModelWarning")
@pytest.mark.parametrize("most", [0, 1, 2, 9])
def test_the_iteration_limit_is_kept(most):
    data, _ = noisy((6, 6, 6), 150)
    result = valid(solve(data, rtol=1e-12, max_iterations=most), data)
    assert result.status is Status.ITERATION_LIMIT
    assert result.counters.iterations == len(result.trace) == most


def test_the_callback_can_stop():
    data, _ = noisy((6, 6, 6), 150)
    result = valid(solve(data, rtol=1e-12, callback=lambda row: row.iteration < 5), data)
    assert result.status is Status.STOPPED
    assert result.counters.iterations == 5


def test_ctrl_c_returns_the_best_model_so_far():
    def press(row):
        if row.iteration == 4:
            os.kill(os.getpid(), signal.SIGINT)

    data, _ = noisy((6, 6, 6), 150)
    result = valid(solve(data, rtol=1e-12, callback=press), data)
    assert result.status is Status.INTERRUPTED
    assert result.counters.iterations <= 6
    assert len(result.model) > 0


# --- every kind of problem


def test_signed_components_reach_the_signed_optimum():
    data = zoo.noisy((3, 3, 2), 40, rep=1)
    values = data.values - 0.4
    options = {"shape": data.shape, "signed": True, "exact": "enumeration", "rtol": 1e-4}
    result = fit(data.coords, values, **options)
    least = brute.optimum(data.shape, data.coords, values, 1.0, signed=True)
    assert result.bound <= least * (1.0 + 1e-12)
    assert least * (1.0 - 1e-12) <= result.objective <= 1.01 * least
    assert result.model.weights.min() < 0.0 < result.model.weights.max()
    assert intensor.verify(result, data.coords, values).ok


def test_weights_count_as_repeats():
    data = zoo.noisy((4, 4, 3), 50, rep=6)
    weights = np.random.default_rng(2).integers(0, 4, 50)
    options = {"shape": data.shape, "max_components": 5, "exact": "enumeration", "rtol": 1e-3}
    weighted = fit(data.coords, data.values, sample_weight=weights, **options)
    rows = np.repeat(np.arange(50), weights)
    repeated = fit(data.coords[rows], data.values[rows], **options)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-6)
    least = brute.optimum(data.shape, data.coords, data.values, 1.0, weights=weights)
    assert weighted.bound <= least * (1.0 + 1e-12) <= weighted.objective * (1.0 + 2e-12)
    valid(weighted, data, sample_weight=weights)


@pytest.mark.parametrize("seed", range(6))
def test_every_bound_is_proven_at_the_components_in_use(seed):
    for rep in range(3):
        data = zoo.noisy((4, 4, 3), 40, rep=rep)
        options = {"exact": "enumeration", "rtol": 1e-4, "seed": seed, "max_components": 16}
        result = fit(data.coords, data.values, shape=data.shape, **options)
        report = intensor.verify(result, data.coords, data.values)
        assert report.ok, report
        assert report.complete


def test_cells_that_are_observed_often():
    data = zoo.noisy((4, 4, 3), 40, rep=1)
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 30, 40)
    coords = np.repeat(data.coords, counts, axis=0)
    values = np.repeat(data.values, counts) + rng.uniform(0, 0.1, counts.sum())
    optimum = zoo.optimum(data.shape, coords, values, 1.0)
    result = fit(coords, values, shape=data.shape, exact="enumeration", rtol=1e-4)
    assert result.bound <= optimum * (1.0 + 1e-12)
    assert optimum * (1.0 - 1e-12) <= result.objective <= 1.01 * optimum
    assert intensor.verify(result, coords, values).ok


@pytest.mark.parametrize("level", [0.0, 0.25, 1.0])
def test_equal_values(level):
    coords = np.indices((3, 4, 2)).reshape(3, -1).T
    result = fit(coords, np.full(len(coords), level))
    np.testing.assert_allclose(result.model.predict(coords), level, atol=1e-4)
    assert result.status is Status.OPTIMAL
    assert len(result.model) <= 1


def test_a_single_observation():
    result = fit([[2, 5, 1]], [0.4], shape=(4, 6, 3))
    assert result.model.predict([[2, 5, 1]])[0] == pytest.approx(0.4, abs=1e-3)
    assert intensor.verify(result, [[2, 5, 1]], [0.4]).ok


@pytest.mark.parametrize(("shape", "n"), [((1,), 4), ((9,), 6), ((1, 9), 7), ((3, 1, 4, 1, 2), 30)])
def test_odd_shapes(shape, n):
    data, optimum = noisy(shape, n, 2)
    result = valid(solve(data), data)
    assert optimum * (1.0 - 1e-9) - 1e-12 <= result.objective <= 1.01 * optimum + 1e-5


@pytest.mark.parametrize("radius", [0.05, 0.3, 3.0])
def test_other_radii(radius):
    data = zoo.noisy((4, 3, 3), 60, rep=3)
    optimum = zoo.optimum(data.shape, data.coords, data.values, radius)
    result = valid(solve(data, radius=radius, exact="enumeration", rtol=1e-5), data)
    assert result.bound <= optimum * (1.0 + 1e-12)
    assert optimum * (1.0 - 1e-12) <= result.objective <= 1.01 * optimum


def test_units_do_not_matter():
    data, _ = noisy((6, 6, 6), 150)
    plain = solve(data, max_components=6)
    options = {"shape": data.shape, "radius": 1024.0, "max_components": 6}
    scaled = fit(data.coords, 1024.0 * data.values, **options)
    assert (1024.0 * plain.model.weights).tolist() == scaled.model.weights.tolist()


# --- engines by themselves


def engine_of(data, *, radius=1.0, most=6, max_sweeps=None, rtol=1e-6):
    observations = intensor.data.observations.observe(data.coords, data.values, shape=data.shape)
    settings = Settings(radius=radius, rtol=rtol, threads=1)
    version = Graded(name="graded", max_components=most, max_sweeps=max_sweeps)
    return version.engine(observations, exact=FreeBoundOracle(observations), settings=settings)


def advance(engine, rounds):
    """Take some rounds as the loop does."""
    for _ in range(rounds):
        if engine.state.exhausted:
            break
        if engine.local_gap() > 0.0:
            engine.local_step()
        else:
            engine.separate(Budget())


def objective_of(engine, data):
    factors, weights = engine.vertices()
    model = intensor.model.model.build_model(
        factors, weights, shape=data.shape, radius=1.0, signed=False
    )
    apart = model.predict(data.coords) - data.values / engine._radii[-1]
    return np.mean(apart**2)


def test_the_state_follows_the_components_in_every_round():
    """Also when a box was tried in the place of the weakest component, and taken or not."""
    data = intensor.planted((5, 5, 5, 5), 300, noise=0.1)
    engine = engine_of(data, most=6)
    replaced = []
    replace_weakest = engine._replace_weakest

    def watched(*arguments):
        replaced.append(replace_weakest(*arguments))
        if not replaced[-1]:
            gradient = engine._cells.iterate()
            engine._set.evaluate()
            np.testing.assert_array_equal(gradient, engine._cells.iterate())
        return replaced[-1]

    engine._replace_weakest = watched
    last = np.inf
    for _ in range(80):
        advance(engine, 1)
        assert engine.state.value == pytest.approx(objective_of(engine, data), rel=1e-8)
        assert engine.state.value <= last * (1.0 + 1e-12)
        last = engine.state.value
    assert set(replaced) == {False, True}
    engine.recombine()
    assert engine.state.value == pytest.approx(last, rel=1e-10)
    engine.close()


def test_an_engine_begins_with_the_components_of_a_model():
    data, _ = noisy((6, 6, 6), 150)
    model = solve(data, max_components=6).model
    before = np.mean((model.predict(data.coords) - data.values) ** 2)
    for most, exactly in ((6, True), (9, True), (3, False)):
        engine = engine_of(data, most=most)
        engine.start_from(model, Budget())
        assert engine.n_active == min(most, 6)
        assert (engine.state.value == pytest.approx(before, rel=1e-9)) == exactly
        advance(engine, 3)
        assert engine.state.value <= (before if exactly else 1.0) * (1.0 + 1e-9)
        engine.close()


def test_boxes_are_a_start_too():
    data, _ = noisy((6, 6, 6), 150)
    boxes = intensor.solve(data.coords, data.values, shape=data.shape, radius=1.0, exact="off")
    engine = engine_of(data, most=len(boxes.model))
    engine.start_from(boxes.model, Budget())
    assert engine.state.value == pytest.approx(boxes.objective, rel=1e-9)
    engine.close()


def test_a_limit_of_sweeps_ends_an_engine():
    data, _ = noisy((6, 6, 6), 150)
    ended = []
    for sweeps in (2, 8):
        engine = engine_of(data, most=4, max_sweeps=sweeps)
        advance(engine, 500)
        assert engine.state.exhausted
        assert engine._sweeps == sweeps
        ended.append(engine.state.value)
        engine.close()
    assert ended[1] < ended[0]


def test_rescaling_drops_the_weakest_and_goes_on():
    data, _ = noisy((6, 6, 6), 150)
    engine = engine_of(data, most=6)
    advance(engine, 30)
    value = engine.state.value
    engine.rescale(Settings(radius=2.0, threads=1))
    assert 4.0 * engine.state.value == pytest.approx(value, rel=1e-9)
    engine.rescale(Settings(radius=2.0, threads=1), max_components=3)
    assert engine.n_active == engine.max_components == 3
    dropped = engine.state.value
    assert dropped == pytest.approx(objective_of(engine, data), rel=1e-9)
    advance(engine, 10)
    assert engine.n_active <= 3
    assert engine.state.value < dropped
    engine.close()


@pytest.mark.parametrize("radius", [0.5, 1.0, 4.0])
def test_a_position_is_gone_back_to_from_any_radius(radius):
    data, _ = noisy((6, 6, 6), 150)
    engine = engine_of(data, most=6)
    advance(engine, 30)
    value, position = engine.state.value, engine.position()
    engine.rescale(Settings(radius=radius, threads=1))
    advance(engine, 5)
    engine.go_to(TreeReader(position, "here"))
    engine.rescale(Settings(radius=1.0, threads=1))
    assert engine.state.value == pytest.approx(value, rel=1e-9)
    engine.close()


@pytest.mark.parametrize("rounds", [0, 1, 7, 20, 45])
def test_a_captured_engine_goes_on_bit_by_bit(rounds):
    data, _ = noisy((6, 6, 6), 150)
    engine, other = engine_of(data, most=4), engine_of(data, most=4)
    advance(engine, rounds)
    other.restore(TreeReader(engine.capture(), "here"))
    for _ in range(25):
        advance(engine, 1)
        advance(other, 1)
        assert other.state.value == engine.state.value
        assert other.n_active == engine.n_active
    np.testing.assert_array_equal(other.vertices()[0], engine.vertices()[0])
    np.testing.assert_array_equal(other.vertices()[1], engine.vertices()[1])
    for used in (engine, other):
        used.close()


def test_an_engine_at_its_second_radius_is_captured_too():
    data, _ = noisy((6, 6, 6), 150)
    engine, other = engine_of(data, most=4), engine_of(data, most=4)
    advance(engine, 10)
    engine.rescale(Settings(radius=3.0, threads=1), max_components=7)
    advance(engine, 5)
    other.restore(TreeReader(engine.capture(), "here"))
    for used in (engine, other):
        advance(used, 20)
    assert other.state.value == engine.state.value
    assert other.max_components == 7
    np.testing.assert_array_equal(other.vertices()[0], engine.vertices()[0])


def test_the_estimate_of_memory_grows_with_cells_and_components():
    few, many = (Graded(name="graded", max_components=most) for most in (8, 64))
    shape = (200, 200, 200)
    assert few.bytes_needed(10**6, shape) > 3 * 20 * 10**6  # the cells once per mode
    assert few.bytes_needed(10**6, shape) < 10**9
    grown = many.bytes_needed(10**6, shape) - few.bytes_needed(10**6, shape)
    assert grown >= 8 * (64**2 - 8**2) * 200
    long = (10**6, 10)
    assert many.bytes_needed(10**6, long) >= 8 * 64 * 10**6  # the factors themselves
