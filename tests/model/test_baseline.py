"""The additive baseline against dense normal equations."""

import numpy as np
import pytest

from fitting_cases import Countdown
from intensor.data.observations import observe
from intensor.model import baseline as module
from intensor.model.baseline import RIDGE, Baseline, fit_baseline


def drawn(shape, n, seed=0):
    rng = np.random.default_rng([seed, n, *shape])
    coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
    return coords, rng.uniform(0.0, 5.0, n)


def indicators(coords, shape):
    """Return the (n, sum(shape)) design, observation by observation."""
    return np.hstack([np.eye(length)[coords[:, mode]] for mode, length in enumerate(shape)])


def dense(coords, values, shape, *, weights=None, ridge=RIDGE):
    """Solve the ridge problem with one row per observation and one per effect."""
    weights = np.ones(len(values)) if weights is None else weights
    mean = np.average(values, weights=weights)
    design = indicators(coords, shape)
    normal = design.T @ (weights[:, np.newaxis] * design) + ridge * np.eye(sum(shape))
    return mean, np.linalg.solve(normal, design.T @ (weights * (values - mean)))


@pytest.mark.parametrize("ridge", [0.1, RIDGE, 100.0])
@pytest.mark.parametrize(("shape", "n"), [((4,), 9), ((5, 4), 30), ((6, 5, 4), 200), ((2, 9), 7)])
def test_against_the_normal_equations(shape, n, ridge):
    coords, values = drawn(shape, n)
    found = fit_baseline(observe(coords, values, shape=shape), ridge=ridge)
    mean, effects = dense(coords, values, shape, ridge=ridge)
    assert found.shape == shape
    assert found.mean == pytest.approx(mean, rel=1e-13)
    np.testing.assert_allclose(found.effects, effects, atol=1e-10)


def test_against_least_squares_with_rows_for_the_ridge():
    shape = (6, 5, 4)
    coords, values = drawn(shape, 150)
    found = fit_baseline(observe(coords, values, shape=shape))
    bordered = np.vstack((indicators(coords, shape), np.sqrt(RIDGE) * np.eye(15)))
    target = np.append(values - values.mean(), np.zeros(15))
    np.testing.assert_allclose(found.effects, np.linalg.lstsq(bordered, target)[0], atol=1e-10)


def test_integer_weights_are_repeats():
    shape = (5, 4)
    coords, values = drawn(shape, 40)
    weights = np.random.default_rng(1).integers(1, 5, 40)
    found = fit_baseline(observe(coords, values, shape=shape, sample_weight=weights))
    rows = np.repeat(np.arange(40), weights)
    again = fit_baseline(observe(coords[rows], values[rows], shape=shape))
    np.testing.assert_allclose(found.effects, again.effects, atol=1e-11)
    _, effects = dense(coords, values, shape, weights=weights.astype(float))
    np.testing.assert_allclose(found.effects, effects, atol=1e-10)


def test_other_weights_count_as_many_rows_as_there_are():
    shape = (5, 4)
    coords, values = drawn(shape, 40)
    weights = np.random.default_rng(1).uniform(0.1, 3.0, 40)
    found = fit_baseline(observe(coords, values, shape=shape, sample_weight=weights))
    mean, effects = dense(coords, values, shape, weights=40.0 * weights / weights.sum())
    assert found.mean == pytest.approx(mean)
    np.testing.assert_allclose(found.effects, effects, atol=1e-10)
    scaled = fit_baseline(observe(coords, values, shape=shape, sample_weight=1e-5 * weights))
    np.testing.assert_allclose(scaled.effects, found.effects, atol=1e-10)


def test_an_index_without_observations_has_no_effect():
    coords, values = drawn((4, 3), 30)
    found = fit_baseline(observe(coords, values, shape=(7, 5)))
    assert found.effects.size == 12
    assert found.effects[4:7].tolist() == [0.0] * 3
    assert found.effects[10:].tolist() == [0.0] * 2
    assert np.all(found.effects[:4] != 0.0)


def test_equal_values_have_no_effects():
    coords, _ = drawn((4, 3), 30)
    found = fit_baseline(observe(coords, np.full(30, 2.5), shape=(4, 3)))
    assert found.mean == pytest.approx(2.5, rel=1e-15)
    np.testing.assert_allclose(found.effects, 0.0, atol=1e-14)


def test_cells_are_a_mean_and_their_effects():
    baseline = Baseline(shape=(2, 3), mean=10.0, effects=np.array([1.0, 2.0, 0.1, 0.2, 0.3]))
    cells = np.array([[0, 0], [1, 2], [0, 1]])
    np.testing.assert_allclose(baseline.evaluate(tuple(cells.T)), [11.1, 12.3, 11.2])
    unsigned = tuple(column.astype(np.uint8) for column in cells.T)
    np.testing.assert_allclose(
        baseline.evaluate(tuple(c.astype(np.int64) for c in unsigned)), [11.1, 12.3, 11.2]
    )


def test_an_unknown_index_has_no_effect():
    baseline = Baseline(shape=(2, 3), mean=10.0, effects=np.array([1.0, 2.0, 0.1, 0.2, 0.3]))
    cells = np.array([[-1, 0], [1, -1], [-1, -1], [1, 2]])
    np.testing.assert_allclose(baseline.evaluate(tuple(cells.T)), [10.1, 12.0, 10.0, 12.3])


def test_effects_are_left_alone():
    effects = np.array([1.0, 2.0])
    effects.flags.writeable = False
    baseline = Baseline(shape=(2,), mean=0.0, effects=effects)
    assert baseline.evaluate((np.array([1, -1]),)).tolist() == [2.0, 0.0]


def test_many_cells_are_solved_without_the_matrix_of_the_normal_equations(monkeypatch):
    coords, values = drawn((9, 7, 5), 200)
    observations = observe(coords, values)
    with_matrix = fit_baseline(observations)
    monkeypatch.setattr(module, "MAX_MULTIPLIED_CELLS", 0)
    without = fit_baseline(observations)
    assert without.mean == with_matrix.mean
    assert without.effects == pytest.approx(with_matrix.effects, abs=1e-10)


def test_effects_are_those_of_the_last_step_when_time_runs_out():
    coords, values = drawn((30, 20, 10), 400)
    observations = observe(coords, values)

    def error(checks):
        found = fit_baseline(observations, budget=Countdown(checks))
        apart = values - found.evaluate(tuple(coords.T))
        return float((apart**2).sum() + RIDGE * (found.effects**2).sum())

    nothing = fit_baseline(observations, budget=Countdown(0))
    assert not nothing.effects.any()
    assert nothing.mean == pytest.approx(values.mean())
    errors = [error(checks) for checks in (0, 3, 5, 1000)]
    assert errors[0] > errors[1] > errors[2] > errors[3]
    full = fit_baseline(observations)
    assert (fit_baseline(observations, budget=Countdown(1000)).effects == full.effects).all()
