"""A certificate that holds passes; one that is broken anywhere fails, and says where."""

import dataclasses

import numpy as np
import pytest

import intensor
import zoo
from intensor.problem.vertex import pack_vertices

DATA = zoo.noisy((5, 4, 4), 60, rep=5)


@pytest.fixture(scope="module")
def result():
    found = intensor.solve(
        DATA.coords, DATA.values, shape=DATA.shape, radius=1.0, tol=1e-7, rtol=0.0
    )
    assert found.witness is not None
    return found


@pytest.fixture(scope="module")
def optimum():
    return zoo.optimum(DATA.shape, DATA.coords, DATA.values, 1.0)


def failing(broken, *, coords=DATA.coords, values=DATA.values):
    report = intensor.verify(broken, coords, values)
    return {check.name for check in report.checks if check.passed is False}


def with_model(result, **changes):
    return dataclasses.replace(result, model=dataclasses.replace(result.model, **changes))


def test_a_sound_result_passes_completely(result):
    report = intensor.verify(result, DATA.coords, DATA.values)
    assert report.ok
    assert report.complete
    assert report.failures == ()
    assert report.objective == pytest.approx(result.objective, rel=1e-12)
    assert report.bound >= result.bound - 1e-12  # the oracle stops at what was asked for
    assert report.gap <= 1e-7 + 1e-12
    assert "pass" in str(report)
    assert "FAIL" not in str(report)


def test_a_bare_model_is_checked_for_feasibility(result):
    report = intensor.verify(result.model, DATA.coords, DATA.values)
    assert report.ok
    assert report.objective == pytest.approx(result.objective, rel=1e-12)
    bad = dataclasses.replace(result.model, radius=0.5 * result.model.radius)
    assert not intensor.verify(bad, DATA.coords, DATA.values).ok


def test_a_negative_weight_fails(result):
    weights = result.model.weights.copy()
    weights[-1] = -weights[-1]
    assert "model weights" in failing(with_model(result, weights=weights))


def test_a_nan_weight_fails(result):
    weights = result.model.weights.copy()
    weights[0] = np.nan
    assert {"model weights", "model radius", "objective"} <= failing(
        with_model(result, weights=weights)
    )


def test_too_much_weight_fails(result):
    assert "model radius" in failing(with_model(result, weights=1.01 * result.model.weights))


def test_a_missing_vertex_fails(result):
    vertices = pack_vertices(result.model.vertices.flags()[:-1], DATA.shape)
    assert "model vertices" in failing(with_model(result, vertices=vertices))


def test_a_flipped_bit_changes_the_objective(result):
    flags = result.model.vertices.flags()
    flags[0, DATA.coords[0, 0]] ^= 1
    broken = with_model(result, vertices=pack_vertices(flags, DATA.shape))
    assert "objective" in failing(broken)


def test_a_wrong_objective_fails(result):
    assert "objective" in failing(dataclasses.replace(result, objective=result.objective * 0.999))


def test_other_data_fails(result):
    values = DATA.values.copy()
    values[3] += 0.1
    assert "objective" in failing(result, values=values)


def test_a_bound_above_the_optimum_fails(result, optimum):
    broken = dataclasses.replace(result, bound=optimum + 1e-6)
    assert "bound" in failing(broken)


def test_a_bound_that_its_witness_does_not_support_fails(result):
    weights = result.witness.weights[::-1].copy()
    witness = dataclasses.replace(result.witness, weights=weights)
    assert "bound" in failing(dataclasses.replace(result, witness=witness))


def test_a_bound_without_witness_fails(result):
    assert "bound" in failing(dataclasses.replace(result, witness=None))


def test_optimal_with_a_large_gap_fails(result):
    broken = dataclasses.replace(result, bound=0.5 * result.bound, tolerance=1e-9)
    assert "status" in failing(broken)
    assert "status" not in failing(dataclasses.replace(broken, status=intensor.Status.TIME_LIMIT))


def test_what_cannot_be_checked_is_said(result):
    report = intensor.verify(result, DATA.coords, DATA.values, effort=10)
    assert report.ok
    assert not report.complete
    assert any("effort" in check.message for check in report.checks if check.passed is None)
    within = intensor.verify(result.model, DATA.coords, DATA.values).bound
    assert report.bound == within


def test_the_free_bound_needs_no_witness():
    data = intensor.planted((10, 10, 10), 300)
    result = intensor.solve(data.coords, data.values, shape=data.shape, radius=1.0)
    report = intensor.verify(result, data.coords, data.values)
    assert report.ok
    assert report.complete


def test_coordinates_must_fit_the_model(result):
    with pytest.raises(intensor.errors.ShapeError, match="expected"):
        intensor.verify(result, DATA.coords[:, :2], DATA.values)
    with pytest.raises(intensor.errors.ShapeError, match="leave"):
        intensor.verify(result, DATA.coords + 9, DATA.values)


def test_only_results_and_models_can_be_verified():
    with pytest.raises(intensor.errors.SettingError, match="expected a Result or a Model"):
        intensor.verify("a promise", DATA.coords, DATA.values)


# --- sample weights

WEIGHTS = np.random.default_rng(9).uniform(0.2, 3.0, 60)


@pytest.fixture(scope="module")
def weighted():
    return intensor.solve(
        DATA.coords,
        DATA.values,
        shape=DATA.shape,
        radius=1.0,
        tol=1e-7,
        rtol=0.0,
        sample_weight=WEIGHTS,
    )


def failing_with(broken, weights):
    report = intensor.verify(broken, DATA.coords, DATA.values, sample_weight=weights)
    return {check.name for check in report.checks if check.passed is False}


def test_a_weighted_result_passes_with_its_weights_only(weighted, result):
    assert failing_with(weighted, WEIGHTS) == set()
    assert failing_with(weighted, 7.0 * WEIGHTS) == set()
    assert "objective" in failing_with(weighted, None)
    assert "objective" in failing_with(weighted, WEIGHTS[::-1])
    assert "objective" in failing_with(result, WEIGHTS)
    assert failing_with(result, np.full(60, 0.5)) == set()


def test_a_weighted_bound_that_is_too_high_fails(weighted):
    raised = dataclasses.replace(weighted, bound=weighted.objective + 1e-6)
    assert "bound" in failing_with(raised, WEIGHTS)
    report = intensor.verify(weighted, DATA.coords, DATA.values, sample_weight=WEIGHTS)
    assert report.complete
    residual = weighted.model.predict(DATA.coords) - DATA.values
    assert report.objective == pytest.approx(np.average(residual**2, weights=WEIGHTS), rel=1e-12)


def test_rows_without_weight_are_not_looked_at(result):
    coords = np.vstack((DATA.coords, DATA.coords[:1]))
    values = np.append(DATA.values, 1e6)
    report = intensor.verify(result, coords, values, sample_weight=np.append(np.ones(60), 0.0))
    assert report.ok
    assert report.complete


def test_weights_must_be_as_many_as_values(result):
    with pytest.raises(intensor.errors.ValuesError, match="sample_weight has shape"):
        intensor.verify(result, DATA.coords, DATA.values, sample_weight=np.ones(3))


@pytest.mark.parametrize("weights", [np.zeros(60), -np.ones(60)])
def test_weights_that_make_no_sense_are_refused(result, weights):
    with pytest.raises(intensor.errors.InputError):
        intensor.verify(result, DATA.coords, DATA.values, sample_weight=weights)


def test_a_witness_of_a_smaller_radius_proves_nothing(optimum):
    options = {"shape": DATA.shape, "radius": 1.0}
    early = intensor.solve(DATA.coords, DATA.values, max_iterations=4, **options)
    witness = dataclasses.replace(early.model, radius=0.1)
    for share in np.linspace(1.0, 0.05, 40):
        forged = dataclasses.replace(early, bound=share * early.objective, witness=witness)
        assert forged.bound <= optimum + 1e-9 or "bound" in failing(forged)


def test_a_tolerance_of_zero_leaves_room_for_rounding_and_no_more():
    # The means of repeated cells and the sums over them round in another order here.
    rng = np.random.default_rng(0)
    coords, values = np.zeros((40, 2), dtype=int), rng.uniform(size=40)
    options = {"shape": (1, 1), "radius": 2.0, "rtol": 0.0}
    for version in (0, 6, "fast"):
        found = intensor.solve(coords, values, version=version, **options)
        forced = dataclasses.replace(
            found, status=intensor.Status.OPTIMAL, bound=found.objective * (1.0 - 2e-16)
        )
        assert "status" not in failing(forced, coords=coords, values=values)
        wide = dataclasses.replace(forced, bound=found.objective * (1.0 - 1e-12))
        assert "status" in failing(wide, coords=coords, values=values)
