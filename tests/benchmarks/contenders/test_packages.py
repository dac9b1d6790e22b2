"""Every contender solves a case it should solve, says what it chose, and prints nothing."""

import importlib

import numpy as np
import pytest

from benchmarks.contenders import MASKED, NAMES, find
from benchmarks.problems import Problem, from_dense
from benchmarks.scoring import score

SECONDS = 60.0
"""More than any fit here takes by itself, so that a busy machine changes nothing."""
PEERS = {
    "tensorly parafac": "tensorly",
    "tensorly nonnegative": "tensorly",
    "pyttb gcp_opt": "pyttb",
    "pyttb gcp_opt, nonneg.": "pyttb",
    "teneva als": "teneva",
}
DENSE = [name for name in PEERS if name != "teneva als"]


@pytest.fixture(scope="module")
def easy():
    """12 x 12 x 12 of rank 2 and of TT-ranks 2, nonnegative, half of it known."""
    rng = np.random.default_rng(4)
    factors = [rng.uniform(size=(12, 2)) for _ in range(3)]
    tensor = 5.0 * np.einsum("ir,jr,kr->ijk", *factors)
    known = rng.uniform(size=tensor.shape) < 0.5
    return from_dense("easy", tensor, known, ~known)


@pytest.fixture
def few_ranks(monkeypatch):
    """Try two ranks only: these tests are about the fits."""
    monkeypatch.setattr(
        "benchmarks.contenders.rank_choice.complete_by_rank.__kwdefaults__", {"ranks": (1, 2)}
    )


def load(name):
    pytest.importorskip(PEERS[name])
    return find(name)


@pytest.mark.parametrize("name", PEERS)
def test_an_easy_tensor_is_completed(name, easy, few_ranks, capfd, monkeypatch):
    contender = load(name)
    wanted = 1e-4
    if name.startswith("tensorly"):  # it comes closer slowly: end it sooner
        module = f"benchmarks.contenders.{NAMES[name]}"
        monkeypatch.setattr(f"{module}.TOLERANCE", 1e-7 if "parafac" in name else 1e-5)
        wanted = 1e-3 if "parafac" in name else 5e-2
    done = contender.complete(easy, SECONDS, 0, 1)
    assert score(easy.truth, done.predicted)["relative_error"] < wanted
    assert done.chosen.startswith("rank 2 of 1, 2")
    assert done.seconds > 0.0
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", PEERS)
def test_the_same_seed_gives_the_same_start(name, easy, monkeypatch):
    # With no time at all there is one step from the start: what is left is the seed.
    monkeypatch.setattr(
        "benchmarks.contenders.rank_choice.complete_by_rank.__kwdefaults__", {"ranks": (2,)}
    )
    contender = load(name)
    first, again, other = (contender.complete(easy, 0.0, seed, 1).predicted for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.0


@pytest.mark.parametrize("name", DENSE)
def test_a_tensor_that_does_not_fit_is_refused(name):
    contender = load(name)
    cells = np.zeros((1, 8), dtype=np.int64)
    large = Problem(
        name="large",
        shape=(10,) * 8,
        coords=cells,
        values=np.ones(1),
        asked=cells,
        truth=np.ones(1),
    )
    assert contender.most_cells < large.n_cells
    with pytest.raises(MemoryError, match=r"needs the dense tensor: 1e\+08 cells"):
        contender.complete(large, SECONDS, 0, 1)


def test_a_tensor_train_needs_no_dense_tensor(monkeypatch):
    monkeypatch.setattr(
        "benchmarks.contenders.rank_choice.complete_by_rank.__kwdefaults__", {"ranks": (1,)}
    )
    rng = np.random.default_rng(1)
    coords = rng.integers(0, 10, size=(1500, 10))
    vectors = rng.uniform(0.5, 1.5, size=(10, 10))
    values = np.prod(vectors[np.arange(10), coords], axis=1)
    problem = Problem(
        name="train",
        shape=(10,) * 10,
        coords=coords[:1000],
        values=values[:1000],
        asked=coords[1000:],
        truth=values[1000:],
    )
    contender = load("teneva als")
    assert contender.most_cells is None
    done = contender.complete(problem, SECONDS, 0, 1)
    assert score(problem.truth, done.predicted)["relative_error"] < 1e-3


def test_an_index_without_observations_is_no_failure(few_ranks):
    rng = np.random.default_rng(3)
    known = rng.uniform(size=(8, 8, 8)) < 0.5
    known[0] = False
    problem = from_dense("gap", np.ones((8, 8, 8)), known, ~known)
    done = load("teneva als").complete(problem, 0.1, 0, 1)
    assert np.isfinite(done.predicted).all()


@pytest.mark.parametrize("name", MASKED)
def test_a_masked_cp_chooses_its_rank_and_sign(name, easy, monkeypatch):
    pytest.importorskip(name.split()[-1])
    monkeypatch.setattr(f"benchmarks.contenders.{MASKED[name]}.DOUBLING", (1, 2))
    done = find(name).complete(easy, 6.0, 0, 1)
    mean = np.full_like(easy.truth, easy.values.mean())
    assert score(easy.truth, done.predicted)["rmse"] < 0.1 * score(easy.truth, mean)["rmse"]
    assert "nonnegative, rank 2 of 1, 2" in done.chosen
    assert "any sign, rank 2 of 1, 2" in done.chosen
    assert done.predicted.min() >= 0.0


@pytest.mark.parametrize("name", [*NAMES, *MASKED])
def test_names_and_modules_agree(name):
    package = PEERS.get(name)
    if package or name in MASKED:
        pytest.importorskip(package or name.split()[-1])
    module = importlib.import_module(f"benchmarks.contenders.{(NAMES | MASKED)[name]}")
    assert module.CONTENDER.name == name
