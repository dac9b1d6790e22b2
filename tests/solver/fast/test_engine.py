"""The fast version: exact where it can be, honest where it cannot, and the same on any machine."""

import functools
import gc
import os
import signal
import threading
import time

import numpy as np
import pytest

import intensor
import zoo
from intensor import Status
from intensor.backends.packed_cells import PackedCells
from intensor.errors import RadiusWarning
from intensor.oracles.cascade import ORACLES
from intensor.oracles.exact.enumeration import EnumerationOracle
from intensor.solver.fast.engine import Fast
from intensor.solver.fast.tuning import Effort, Tuning
from intensor.solver.variants import VERSIONS


def fit(coords, values, **options):
    options = {"radius": 1.0, "version": "fast", "tol": 1e-4, "rtol": 0.0, **options}
    return intensor.solve(coords, values, **options)


def solve(data, **options):
    return fit(data.coords, data.values, shape=data.shape, **options)


@functools.cache
def noisy(shape, n, rep):
    """Return a noisy instance and its optimum at radius 1."""
    data = zoo.noisy(shape, n, rep)
    return data, zoo.optimum(shape, data.coords, data.values, 1.0)


def walk(result):
    """Return all that must not depend on threads or on the time of day."""
    rows = [(row.step, row.active, row.objective, row.bound, row.phi) for row in result.trace]
    model = result.model
    return model.vertices.flags().tolist(), model.weights.tolist(), rows, result.counters


@pytest.fixture
def sampling(monkeypatch):
    """Register a version that solves samples of a few hundred cells; return their sizes."""
    tuning = Tuning(large_cells=256, sample_cells_per_index=0)
    monkeypatch.setitem(VERSIONS, "sampling", Fast(tuning=tuning))
    tuning = Tuning(large_cells=32, sample_cells_per_index=0)
    monkeypatch.setitem(VERSIONS, "sampling twice", Fast(tuning=tuning))
    samples = []
    sample = PackedCells.sample

    def record(cells, size, rng):
        samples.append((cells.n_cells, size))
        return sample(cells, size, rng)

    monkeypatch.setattr(PackedCells, "sample", record)
    return samples


@pytest.mark.parametrize("noise", zoo.mostly_slow([0.0, 0.1], telling=[0.1]))
def test_threads_do_not_change_the_result(noise, sampling):
    data = intensor.planted((7, 6, 5, 6), 2000, noise=noise)
    options = {"version": "sampling", "tol": 1e-7, "exact": "off", "max_iterations": 60}
    walks = [walk(solve(data, threads=count, **options)) for count in (1, 2, 3)]
    assert sampling
    assert walks[0] == walks[1] == walks[2]
    assert walks[0] != walk(solve(data, seed=1, **options))


def test_a_seed_gives_one_result():
    data = zoo.noisy((6, 6, 6), 150, rep=0)
    walks = [walk(solve(data, tol=1e-9, seed=seed)) for seed in (3, 3, 4)]
    assert walks[0] == walks[1] != walks[2]


def test_no_thread_is_left_behind():
    before = threading.active_count()
    data = intensor.planted((10,) * 6, 75_000)
    assert solve(data, threads=2).status is Status.WITHIN_TOLERANCE
    gc.collect()
    deadline = time.perf_counter() + 5.0
    while threading.active_count() > before and time.perf_counter() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


def test_planted_tensors_come_out_exactly():
    data = intensor.planted((10,) * 4, 10_000)
    result = solve(data, tol=0.0, rtol=1e-12)
    assert result.status is Status.OPTIMAL
    assert result.objective <= 1e-12 * np.mean(data.values**2)
    assert intensor.nmse(result.model, data.truth) <= 1e-12
    assert intensor.verify(result, data.coords, data.values).ok


def test_planted_tensors_come_out_exactly_through_samples_of_samples(sampling):
    data = intensor.planted((9, 9, 9), 2500)
    result = solve(data, version="sampling twice", tol=0.0, rtol=1e-12, threads=2)
    assert len(sampling) >= 2
    assert all(size < cells for cells, size in sampling)
    assert result.status is Status.OPTIMAL
    assert intensor.nmse(result.model, data.truth) <= 1e-12
    assert intensor.verify(result, data.coords, data.values).ok


@pytest.mark.parametrize(("shape", "n"), [((4, 4, 5), 70), ((6, 6), 60), ((3, 4, 2, 3), 90)])
def test_small_noisy_tensors_are_certified(shape, n):
    data, optimum = noisy(shape, n, 0)
    result = solve(data, tol=1e-9, exact="enumeration")
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(optimum, abs=1e-8)
    assert result.bound <= optimum + 1e-14
    report = intensor.verify(result, data.coords, data.values)
    assert report.ok
    assert report.complete


def test_small_noisy_tensors_are_certified_through_samples(sampling):
    data, optimum = noisy((4, 4, 4), 400, 1)
    result = solve(data, version="sampling twice", tol=1e-9, threads=2)
    assert sampling
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(optimum, abs=1e-8)
    assert intensor.verify(result, data.coords, data.values).complete


@pytest.mark.parametrize("exact", ["auto", "enumeration", "branch", "highs"])
def test_every_exact_oracle_certifies(exact):
    data, optimum = noisy((4, 6, 4), 70, 1)
    result = solve(data, tol=1e-7, exact=exact)
    assert result.status is Status.OPTIMAL
    assert result.bound <= optimum + 1e-14 <= result.objective + 2e-14
    assert result.bound_source == (exact if exact != "auto" else "enumeration")
    assert result.counters.exact_calls >= 1
    assert intensor.verify(result, data.coords, data.values).complete


@pytest.mark.parametrize(
    ("shape", "n", "exact"),
    [
        ((8, 8, 8), 250, "enumeration"),
        ((14, 12, 3), 200, "branch"),
        pytest.param((10, 10, 10), 400, "enumeration", marks=pytest.mark.slow),
        pytest.param((25, 20, 3), 400, "branch", marks=pytest.mark.slow),
    ],
)
def test_noise_is_no_obstacle_to_a_proof(shape, n, exact):
    data = intensor.planted(shape, n, noise=0.05)
    rough = solve(data, exact="off", tol=1e-6)
    result = solve(data, tol=0.01 * rough.objective, exact=exact)
    assert result.status is Status.OPTIMAL
    assert result.bound_source == exact
    assert result.gap <= 0.01 * rough.objective
    # A model that is certified to much less is between bound and objective.
    better = solve(data, tol=1e-4 * rough.objective, exact=exact)
    assert better.status is Status.OPTIMAL
    assert result.bound <= better.objective <= result.objective + 1e-4 * rough.objective
    assert better.bound <= result.objective


def test_an_exact_call_brings_all_that_it_finds(monkeypatch):
    # The pool of a call enters together: without it each call would bring one vertex.
    data = intensor.planted((8, 8, 8), 300, 3, noise=0.05)
    lazy = (Effort(batches=1, starts=1, sweeps=8, max_vertices=6),)  # leaves much to find
    for pool in (64, 2):
        version = Fast(tuning=Tuning(efforts_few_cells=lazy, exact_pool=pool))
        monkeypatch.setitem(VERSIONS, f"pool of {pool}", version)
    together, few = (
        solve(data, version=f"pool of {pool}", tol=1e-6, exact="enumeration") for pool in (64, 2)
    )
    assert together.status is few.status is Status.OPTIMAL
    assert 2 * together.counters.exact_calls < few.counters.exact_calls


@pytest.mark.parametrize(
    ("shape", "n", "exact"),
    [
        ((10, 10, 10), 400, "enumeration"),
        ((14, 14, 3), 300, "branch"),
        pytest.param((14, 14, 14), 600, "enumeration", marks=pytest.mark.slow),
        pytest.param((22, 22, 3), 500, "branch", marks=pytest.mark.slow),
    ],
)
def test_threads_do_not_change_what_is_proven(shape, n, exact):
    data = intensor.planted(shape, n, noise=0.05)
    one, two = (solve(data, tol=1e-5, exact=exact, threads=threads) for threads in (1, 2))
    assert one.status in {Status.OPTIMAL, Status.WITHIN_TOLERANCE}
    assert one.bound_source == exact
    assert walk(one) == walk(two)


def test_the_time_limit_ends_an_exact_call():
    data = intensor.planted((24, 24, 24), 600, noise=0.05)
    result = solve(data, tol=1e-9, exact="enumeration", time_limit=0.5)
    assert result.status is Status.TIME_LIMIT
    assert intensor.verify(result, data.coords, data.values).ok


def test_without_an_exact_oracle_nothing_is_called_optimal():
    data, optimum = noisy((4, 4, 5), 70, 0)
    result = solve(data, tol=1e-9, exact="off")
    assert result.status is Status.STALLED
    assert result.bound <= optimum <= result.objective + 1e-14
    assert result.gap > 1e-9
    assert result.objective == pytest.approx(optimum, rel=1e-3)
    assert intensor.verify(result, data.coords, data.values).ok


@pytest.mark.parametrize(
    ("shape", "n"), [((15, 15, 15), 500), pytest.param((25, 20), 200, marks=pytest.mark.slow)]
)
def test_large_noisy_tensors_are_never_called_optimal_without_proof(shape, n):
    data = zoo.noisy(shape, n, rep=0)
    result = solve(data, tol=1e-9, time_limit=1.0, exact="off")
    report = intensor.verify(result, data.coords, data.values)
    assert report.ok
    assert result.status in {Status.STALLED, Status.TIME_LIMIT}
    assert result.gap > 1e-9


def test_an_oracle_that_proves_less_is_believed_less(monkeypatch):
    # The status follows the bound that was proven, not what pricing believes.
    class Shy:
        def __init__(self, oracle):
            self.oracle = oracle

        def minimise(self, costs, **options):
            answer = self.oracle.minimise(costs, **options)
            return type(answer)(
                flags=answer.flags, value=answer.value, bound=answer.bound - 0.01, source="shy"
            )

    monkeypatch.setitem(ORACLES, "shy", lambda cells: Shy(EnumerationOracle(cells)))
    data = zoo.noisy((5, 5, 5), 80, rep=0)
    result = solve(data, tol=1e-6, exact="shy")
    assert result.status is Status.STALLED
    assert 0.005 <= result.gap <= 0.011 or result.bound == result.trace[0].bound
    assert solve(data, tol=0.02, exact="shy").status is Status.WITHIN_TOLERANCE


def test_the_time_limit_ends_a_solve():
    data = zoo.noisy((25, 25, 25), 3000, rep=0)
    result = solve(data, tol=0.0, rtol=1e-15, time_limit=0.3, exact="off")
    assert result.status is Status.TIME_LIMIT
    assert intensor.verify(result, data.coords, data.values).ok


@pytest.mark.filterwarnings("ignore::intensor.errors.EmptyModelWarning")  # on a busy machine
def test_the_time_limit_ends_the_solve_of_a_sample(sampling):
    data = zoo.noisy((20, 20, 20), 6000, rep=0)
    result = solve(data, version="sampling", tol=0.0, time_limit=0.2, exact="off")
    assert sampling
    assert result.status is Status.TIME_LIMIT
    assert intensor.verify(result, data.coords, data.values).ok


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_the_trace_goes_down(noise):
    data = intensor.planted((8, 8, 8), 300, noise=noise)
    rows = []
    result = solve(data, tol=1e-8, exact="off", callback=rows.append)
    assert tuple(rows) == result.trace
    assert [row.iteration for row in rows] == list(range(1, len(rows) + 1))
    assert result.counters.iterations == len(rows)
    assert result.counters.local_steps == sum(row.step == "local" for row in rows) > 0
    objectives = np.array([row.objective for row in rows])
    assert np.all(np.diff(objectives) <= 1e-15)
    assert np.all(np.diff([row.bound for row in rows]) >= 0.0)
    assert np.all(np.diff([row.seconds for row in rows]) >= 0.0)
    gaps = np.array([row.pricing_gap for row in rows])
    assert np.all(np.isfinite(gaps))
    assert gaps[-1] < 1e-2 * gaps[0]
    assert rows[-1].active == len(result.model)
    assert rows[-1].objective == pytest.approx(result.objective, rel=1e-9, abs=1e-15)


def test_the_callback_can_stop():
    data = zoo.noisy((8, 8, 8), 300, rep=0)
    result = solve(data, tol=1e-9, callback=lambda row: row.iteration < 5)
    assert result.status is Status.STOPPED
    assert result.counters.iterations == len(result.trace) == 5
    assert intensor.verify(result, data.coords, data.values).ok


@pytest.mark.filterwarnings("ignore::intensor.errors.EmptyModelWarning")
@pytest.mark.parametrize("most", [0, 1, 2, 9])
def test_the_iteration_limit_is_kept(most):
    data = zoo.noisy((8, 8, 8), 300, rep=0)
    result = solve(data, tol=1e-9, max_iterations=most)
    assert result.status is Status.ITERATION_LIMIT
    assert result.counters.iterations == most
    assert intensor.verify(result, data.coords, data.values).ok


def test_ctrl_c_returns_the_best_model_so_far():
    def press(row):
        if row.iteration == 4:
            os.kill(os.getpid(), signal.SIGINT)

    data = zoo.noisy((8, 8, 8), 300, rep=0)
    before = signal.getsignal(signal.SIGINT)
    result = solve(data, tol=1e-9, callback=press)
    assert result.status is Status.INTERRUPTED
    assert result.counters.iterations <= 6
    assert signal.getsignal(signal.SIGINT) is before
    assert intensor.verify(result, data.coords, data.values).ok


def test_ctrl_c_from_outside():
    data = zoo.noisy((25, 25, 25), 3000, rep=0)
    solve(data, tol=1e-1)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    result = solve(data, tol=0.0, time_limit=120.0, exact="off")
    timer.join()
    assert result.status is Status.INTERRUPTED


def test_cells_that_are_observed_often():
    data = zoo.noisy((4, 4, 3), 40, rep=1)
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 90, 40)
    coords = np.repeat(data.coords, counts, axis=0)
    values = np.repeat(data.values, counts) + rng.uniform(0, 0.1, counts.sum())
    optimum = zoo.optimum(data.shape, coords, values, 2.0)
    result = fit(coords, values, shape=data.shape, radius=2.0, tol=1e-9)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(optimum, abs=1e-8)
    assert intensor.verify(result, coords, values).ok


@pytest.mark.parametrize("radius", [0.05, 0.3, 3.0])
def test_other_radii(radius):
    data = zoo.noisy((4, 3, 3), 60, rep=3)
    optimum = zoo.optimum(data.shape, data.coords, data.values, radius)
    if radius < data.values.max():
        with pytest.warns(RadiusWarning):
            result = solve(data, radius=radius, tol=1e-9)
    else:
        result = solve(data, radius=radius, tol=1e-9)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(optimum, abs=1e-8)
    assert result.model.weights.sum() <= radius * (1 + 1e-12)
    assert intensor.verify(result, data.coords, data.values).ok


@pytest.mark.parametrize(
    ("shape", "n"),
    [((1,), 1), ((1,), 4), ((9,), 6), ((1, 1, 1), 3), ((1, 9), 7), ((3, 1, 4, 1, 2), 30)],
)
def test_odd_shapes(shape, n):
    data = zoo.noisy(shape, n, rep=2)
    optimum = zoo.optimum(shape, data.coords, data.values, 1.5)
    result = solve(data, radius=1.5, tol=1e-10)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(optimum, abs=1e-9)
    assert intensor.verify(result, data.coords, data.values).ok


def test_a_single_observation():
    result = fit([[2, 5, 1]], [0.4], shape=(4, 6, 3))
    assert result.status is Status.OPTIMAL
    assert result.model.predict([[2, 5, 1]])[0] == pytest.approx(0.4, abs=1e-2)


@pytest.mark.parametrize("level", [0.0, 0.25, 1.0])
def test_equal_values(level):
    coords = np.indices((3, 4, 2)).reshape(3, -1).T
    values = np.full(len(coords), level)
    result = fit(coords, values, tol=1e-12)
    assert result.status is Status.OPTIMAL
    np.testing.assert_allclose(result.model.predict(coords), level, atol=1e-5)
    if level == 0.0:
        assert len(result.model) == 0
        assert result.objective == 0.0


def test_negative_values():
    data = zoo.noisy((4, 3, 3), 60, rep=4)
    values = data.values - 0.3
    optimum = zoo.optimum(data.shape, data.coords, values, 1.0)
    result = fit(data.coords, values, shape=data.shape, tol=1e-9, allow_negative=True)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(optimum, abs=1e-8)
    assert np.all(result.model.weights >= 0.0)


def test_nothing_but_negative_values():
    coords, values = [[0, 0], [1, 2], [0, 1]], [-1.0, -0.5, -2.0]
    result = fit(coords, values, tol=1e-12, allow_negative=True)
    assert result.status is Status.OPTIMAL
    assert len(result.model) == 0


@pytest.mark.parametrize(
    ("shape", "n"),
    [((200, 57), 600), ((256, 2, 2), 300), ((70_000, 3), 200), ((300, 70_000, 2), 150)],
)
def test_modes_that_need_wider_types(shape, n):
    data = intensor.planted(shape, n, n_vertices=3)
    result = solve(data, tol=1e-8, exact="off")
    assert result.status is Status.OPTIMAL
    predicted = result.model.predict(data.coords)
    assert np.mean((predicted - data.values) ** 2) == pytest.approx(
        result.objective, rel=1e-6, abs=1e-20
    )
    assert intensor.verify(result, data.coords, data.values).ok


def test_units_do_not_matter():
    data = zoo.noisy((5, 5, 5), 80, rep=0)
    plain = solve(data, tol=0.0, rtol=1e-8)
    options = {"shape": data.shape, "radius": 1024.0, "tol": 0.0, "rtol": 1e-8}
    scaled = fit(data.coords, 1024.0 * data.values, **options)
    assert (1024.0 * plain.model.weights).tolist() == scaled.model.weights.tolist()
    assert plain.status is scaled.status is Status.OPTIMAL


def test_input_is_not_touched():
    data = zoo.noisy((5, 5), 40, rep=0)
    coords, values = data.coords.copy(), data.values.copy()
    coords.flags.writeable = values.flags.writeable = False
    fit(coords, values, shape=data.shape)
    assert np.array_equal(coords, data.coords)
    assert np.array_equal(values, data.values)
