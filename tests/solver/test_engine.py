"""States, versions, and that every engine keeps the promises of the loop."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import zoo
from intensor.data.observations import observe
from intensor.oracles.cascade import FreeBoundOracle
from intensor.runtime.budget import Budget
from intensor.solver.engine import State, Version, Witness
from intensor.solver.settings import Settings
from intensor.solver.variants import VERSIONS, find_version

DATA = zoo.noisy((4, 3, 3), 40, rep=0)
CELLS = observe(DATA.coords, DATA.values, shape=DATA.shape)
SETTINGS = Settings(radius=1.0, tol=1e-6)
WITNESS = Witness(factors=np.ones((1, 2), dtype=np.uint8), weights=np.ones(1), source="test")


def test_a_version_must_make_an_engine_and_know_its_memory():
    with pytest.raises(TypeError, match="abstract"):
        Version()
    with pytest.raises(FrozenInstanceError):
        find_version(0).name = 1
    for version in VERSIONS.values():
        assert version.bytes_needed(10**6, (100, 100)) > version.bytes_needed(10**3, (100, 100)) > 0
        assert 0.0 < version.tolerance_share < 1.0


@pytest.mark.parametrize("name", VERSIONS)
def test_an_engine_moves_as_the_loop_expects(name):
    engine = find_version(name).engine(CELLS, exact=FreeBoundOracle(CELLS), settings=SETTINGS)
    budget = Budget()
    for _ in range(12):
        before = engine.state.value
        if engine.local_gap() >= engine.state.phi:
            engine.local_step()
        else:
            engine.separate(budget)
        if name not in (3, 5, 6):  # momentum may raise the objective
            assert engine.state.value <= before + 1e-12
    engine.recombine()
    flags, weights = engine.vertices()
    assert flags.shape == (len(weights), sum(DATA.shape))
    assert np.all(weights >= 0.0)
    assert weights.sum() <= 1.0 + 1e-12
    assert engine.n_active == len(weights)
    assert engine.altmin_runs > 0
    assert engine.drops >= 0
    engine.close()


def test_a_bound_is_kept_only_if_it_is_better():
    state = State(value=1.0, bound=0.2, idle=5)
    state.prove(0.1, WITNESS)
    assert (state.bound, state.witness, state.idle) == (0.2, None, 5)
    state.prove(0.3, WITNESS)
    assert (state.bound, state.witness, state.idle) == (0.3, WITNESS, 0)


def test_iterations_without_progress_are_idle():
    state = State(value=1.0, bound=0.0)
    idle = []
    for value in (1.0, 1.0, 1.5, 0.9, 0.9):
        state.value = value
        state.count()
        idle.append(state.idle)
    assert idle == [0, 1, 2, 0, 1]
    assert (state.iterations, state.lowest) == (5, 0.9)
