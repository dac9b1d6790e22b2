"""The paper's engine: it starts at the full box, stalls when it must, and estimates its memory."""

import zoo
from intensor.data.observations import observe
from intensor.model.model import build_model
from intensor.oracles.cascade import FreeBoundOracle
from intensor.runtime.budget import Budget
from intensor.runtime.memory import cell_bytes
from intensor.solver.settings import Settings
from intensor.solver.variants import find_version

DATA = zoo.noisy((4, 3, 3), 36, rep=0)
CELLS = observe(DATA.coords, DATA.values, shape=DATA.shape)


def engine(name=8, **settings):
    settings = Settings(radius=1.0, **settings)
    return find_version(name).engine(CELLS, exact=FreeBoundOracle(CELLS), settings=settings)


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
