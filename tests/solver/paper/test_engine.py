"""The paper's engine: weak separation, its start and end, and its estimate of memory."""

import numpy as np

import zoo
from intensor.data.observations import observe
from intensor.model.model import build_model
from intensor.oracles.cascade import FreeBoundOracle
from intensor.oracles.exact.enumeration import EnumerationOracle
from intensor.runtime.budget import Budget
from intensor.runtime.memory import cell_bytes
from intensor.solver.settings import Settings
from intensor.solver.variants import find_version

DATA = zoo.noisy((4, 3, 3), 36, rep=0)
CELLS = observe(DATA.coords, DATA.values, shape=DATA.shape)


def engine(exact=FreeBoundOracle, **settings):
    settings = Settings(radius=1.0, **settings)
    return find_version(8).engine(CELLS, exact=exact(CELLS), settings=settings)


def test_it_starts_at_the_full_box_whatever_model_there_is():
    paper = engine()
    model = build_model(1 - paper.vertices()[0], paper.vertices()[1], shape=DATA.shape, radius=1.0)
    paper.start_from(model, Budget())
    flags, weights = paper.vertices()
    assert flags.tolist() == [[1] * sum(DATA.shape)]
    assert weights.tolist() == [1.0]
    assert paper.state.bound == CELLS.within


def test_without_a_proof_it_is_exhausted_once_the_believed_gap_is_small():
    paper, rounds = engine(tol=1e-3), 0
    while not paper.state.exhausted and rounds < 5000:
        if paper.local_gap() >= paper.state.phi:
            paper.local_step()
        else:
            paper.separate(Budget())
        rounds += 1
    assert paper.state.exhausted
    assert 2.0 * paper.state.phi <= 1e-3
    assert paper.state.value - paper.state.bound > 1e-3


def test_dense_rows_take_more_memory_than_sparse_ones():
    dense, sparse = (find_version(name).bytes_needed(10**6, (100,) * 3) for name in (8, 10))
    assert dense > 1.5 * sparse > 1.5 * cell_bytes(10**6, (100,) * 3)


def test_separation_raises_the_bound_towards_the_optimum_and_the_objective_falls():
    paper = engine(EnumerationOracle)
    state = paper.state
    optimum = zoo.optimum(DATA.shape, DATA.coords, DATA.values, 1.0)
    values, bounds, phis = [], [], []
    for _ in range(400):
        paper.local_gap()  # brings the gradient up to date
        paper.separate(Budget())
        values.append(state.value)
        bounds.append(state.bound)
        phis.append(state.phi)
    assert np.all(np.diff(values) <= 1e-14)
    assert np.all(np.diff(bounds) >= 0.0)
    assert np.all(np.diff(phis) <= 0.0)
    assert bounds[-1] <= optimum + 1e-12 <= values[-1] + 2e-12
    assert values[-1] - bounds[-1] < 0.1 * (values[0] - bounds[0])
    assert 1 < state.exact_calls < 400
    assert bounds[-1] > CELLS.within
    assert state.witness.source == "enumeration"


def test_the_first_call_is_exact_and_halves_what_is_asked_for():
    paper = engine(EnumerationOracle)
    paper.local_gap()
    paper.separate(Budget())
    assert paper.state.exact_calls == 1
    assert 0.0 < paper.state.phi < paper.state.gain
    assert paper.n_active == 2
