"""Final numbers are recomputed from the model, and only they decide which ending is OPTIMAL."""

import numpy as np
import pytest

from intensor.data.observations import observe
from intensor.model.model import build_model
from intensor.solver.engine import State, Witness
from intensor.solver.finish import CELLS_AT_ONCE, finish, mean_squared_error
from intensor.solver.result import Seconds, Status
from intensor.solver.settings import Settings
from intensor.solver.variants import FAST

BOXES = np.array([[1, 1, 1, 1], [1, 0, 1, 1]], dtype=np.uint8)

GRADED = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 0.5, 1.0, 0.5]])


class Stopped:
    """An engine that has stopped at two boxes, with some total weight."""

    n_active, altmin_runs, drops = 2, 11, 3

    def __init__(self, total=1.0, **state):
        self.state = State(value=0.5, bound=0.25, iterations=4, **state)
        self.total = total

    def vertices(self):
        return BOXES, self.total * np.array([0.75, 0.25])


def result_of(engine, *, values=(5.0, 5.0), status=Status.STALLED, tol=0.0):
    return finish(
        engine,
        observe([[0, 0], [1, 1]], list(values)),
        version=FAST,
        settings=Settings(radius=3.0, tol=tol, rtol=0.0),
        status=status,
        trace=(),
        seconds=Seconds(setup=1.0, solve=2.0),
    )


def test_numbers_are_in_the_units_of_the_data():
    witness = Witness(factors=BOXES[:1], weights=np.ones(1), source="somewhere")
    result = result_of(Stopped(witness=witness))
    assert result.objective == pytest.approx((2.0**2 + 2.75**2) / 2.0)
    assert result.bound == 0.25 * 9.0
    assert result.witness.weights.tolist() == [3.0]
    assert (result.bound_source, result.version) == ("somewhere", "fast")
    assert (result.counters.iterations, result.counters.altmin_runs) == (4, 11)
    assert result.counters.drops == 3
    assert result.seconds.total == 3.0


def test_without_a_witness_the_bound_is_the_variance_within_cells():
    result = result_of(Stopped())
    assert result.witness is None
    assert result.bound_source == "within-cell variance"


def test_weights_above_the_radius_are_scaled_back():
    assert result_of(Stopped(total=1.0 + 1e-9)).model.weights.sum() <= 3.0 * (1.0 + 1e-15)
    assert result_of(Stopped(total=0.5)).model.weights.sum() == pytest.approx(1.5)


class Graded(Stopped):
    """An engine that has stopped at a box and a graded component."""

    def vertices(self):
        return GRADED, self.total * np.array([0.75, 0.25])


def test_an_engine_may_stop_at_graded_terms():
    witness = Witness(factors=GRADED[1:], weights=np.ones(1), source="somewhere")
    result = result_of(Graded(witness=witness))
    assert (len(result.model.vertices), len(result.model.components)) == (1, 1)
    assert result.model.weights.tolist() == [2.25, 0.75]
    assert result.objective == pytest.approx((2.0**2 + (5.0 - 2.25 - 0.75 / 4) ** 2) / 2.0)
    assert len(result.witness.components) == 1
    assert "1 box and 1 component" in repr(result)


class Elsewhere:
    """Cells that are not in memory, which evaluate all terms of a graded model in one call."""

    constant = 0.125

    def evaluate_components(self, factors, weights):
        assert factors.flags.c_contiguous
        self.seen = factors, weights
        return 2.0, 3.0


def test_cells_that_are_not_in_memory_evaluate_graded_models(monkeypatch):
    cells = Elsewhere()
    monkeypatch.setattr("intensor.solver.finish.open_cells", lambda *_: cells)
    model = build_model(GRADED, np.array([0.75, 0.25]), shape=(2, 2), radius=1.0)
    assert mean_squared_error(model, object()) == 2.125
    assert cells.seen[0].T.tolist() == GRADED.tolist()
    assert cells.seen[1].tolist() == [0.75, 0.25]


@pytest.mark.parametrize(
    ("tol", "status"), [(1.0, Status.STALLED), (10.0, Status.WITHIN_TOLERANCE)]
)
def test_the_recomputed_gap_decides_whether_it_is_within_the_tolerance(tol, status):
    assert result_of(Stopped(), status=Status.WITHIN_TOLERANCE, tol=tol).status is status


def test_a_gap_that_is_small_beside_the_objective_is_optimal():
    engine = Stopped()
    objective = result_of(engine).objective
    for share, status in [(0.009, Status.OPTIMAL), (0.011, Status.WITHIN_TOLERANCE)]:
        engine.state.bound = (1.0 - share) * objective / 9.0
        assert result_of(engine, status=Status.WITHIN_TOLERANCE, tol=10.0).status is status


def test_other_endings_keep_their_names():
    engine = Stopped()
    engine.state.bound = result_of(engine).objective / 9.0
    for status in set(Status) - {Status.WITHIN_TOLERANCE}:
        assert result_of(engine, status=status, tol=10.0).status is status


def test_the_objective_is_that_of_the_definition_in_any_number_of_pieces():
    n = CELLS_AT_ONCE + 5000
    rng = np.random.default_rng(0)
    coords = np.stack(np.unravel_index(np.arange(n), (200, 200)), axis=1)
    values = rng.uniform(size=n)
    cells = observe(coords, values, shape=(200, 200))
    flags = rng.integers(0, 2, (3, 400), dtype=np.uint8)
    model = build_model(flags, np.full(3, 0.5), shape=(200, 200), radius=2.0)
    wanted = float(np.mean((model.predict(coords) - values) ** 2))
    found = [mean_squared_error(model, cells, threads) for threads in (1, 2)]
    assert found[0] == found[1] == pytest.approx(wanted, rel=1e-12)


def cut_off(values, *, signed=False, radius=3.0, status=Status.TIME_LIMIT, total=1.0):
    """End an engine whose boxes predict the radius times ``total`` in all three cells but one."""
    observations = observe([[0, 0], [0, 1], [1, 1]], list(values), allow_negative=signed)
    settings = Settings(radius=radius, tol=0.0, rtol=0.0, signed=signed)
    engine = Stopped(total=total)
    engine.state.bound = 0.0
    return finish(
        engine,
        observations,
        version=FAST,
        settings=settings,
        status=status,
        trace=(),
        seconds=Seconds(setup=1.0, solve=2.0),
    )


@pytest.mark.parametrize("status", [Status.TIME_LIMIT, Status.INTERRUPTED])
def test_a_run_that_was_cut_off_is_no_worse_than_the_best_constant(status):
    found = cut_off([0.2, 0.4, 0.9], status=status)
    assert found.status is status
    assert found.model.predict([[0, 0], [1, 0]]) == pytest.approx([0.5, 0.5])
    assert found.objective == pytest.approx(np.var([0.2, 0.4, 0.9]))
    assert found.bound == cut_off([0.2, 0.4, 0.9], status=Status.STALLED).bound


def test_the_constant_stays_within_the_radius():
    found = cut_off([5.0, 6.0, 7.0], radius=2.0, total=0.1)
    assert found.model.predict([[0, 1]]) == pytest.approx([2.0])
    found = cut_off([-5.0, -6.0, -7.0], radius=2.0, total=0.1, signed=True)
    assert found.model.predict([[0, 1]]) == pytest.approx([-2.0])


@pytest.mark.parametrize("status", [Status.STALLED, Status.STOPPED, Status.ITERATION_LIMIT])
def test_only_a_run_that_was_cut_off_becomes_a_constant(status):
    assert len(cut_off([0.2, 0.4, 0.9], status=status).model) == 2


def test_a_better_model_is_kept_when_it_is_cut_off():
    assert len(cut_off([3.0, 2.9, 2.2]).model) == 2
