"""The same seed and the same observations give the same bits: see docs/repeatability.md."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import intensor
import zoo
from intensor.backends.cpu import CpuCells
from intensor.data.observations import observe, standard_order
from intensor.runtime.threads import one_blas_thread
from intensor.solver.fast import master

CASES = {
    "fast": {"rtol": 1e-4},
    "fast without proof": {"exact": "off", "rtol": 1e-3},
    "branch": {"exact": "branch", "rtol": 1e-3},
    "signed": {"signed": True, "rtol": 1e-3},
    "graded": {"components": "graded", "max_components": 6, "exact": "off", "rtol": 1e-6},
    **{f"version {v}": {"version": v, "tol": 1e-2, "rtol": 0.0} for v in range(11)},
}


def repeated_cells(seed=0, shape=(5, 4, 3), n=300):
    """Return noisy observations, five or so of every cell."""
    rng = np.random.default_rng(seed)
    coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
    return coords, rng.random(n), shape


def bits(result):
    """Return everything that must be the same, to the last bit."""
    model = result.model
    return (
        model.vertices.words.tobytes(),
        model.components.factors.tobytes(),
        model.weights.tobytes(),
        result.objective.hex(),
        result.bound.hex(),
        result.status.name,
        result.counters,
    )


def solve(coords, values, shape, **options):
    return intensor.solve(coords, values, shape=shape, radius=1.0, **options)


def shuffled(*arrays, seed=1):
    order = np.random.default_rng(seed).permutation(len(arrays[0]))
    return tuple(array[order] for array in arrays)


QUICK = [name for name in CASES if not name.startswith("version")] + ["version 0", "version 6"]


@pytest.mark.parametrize("name", zoo.mostly_slow(CASES, telling=QUICK))
def test_neither_run_nor_threads_nor_row_order_change_a_bit(name):
    coords, values, shape = repeated_cells()
    first = bits(solve(coords, values, shape, threads=1, **CASES[name]))
    assert bits(solve(coords, values, shape, threads=2, **CASES[name])) == first
    assert bits(solve(*shuffled(coords, values), shape, threads=1, **CASES[name])) == first


@pytest.mark.slow
@pytest.mark.needs_jit
def test_where_arrays_lie_in_memory_does_not_change_a_bit():
    """Sums that the compiler orders by the places of arrays showed in a few fits of some processes.

    So this notices them in some of its runs only.
    """
    data, rng = intensor.planted((6, 6, 6), 150, noise=0.1), np.random.default_rng(0)
    completer = intensor.TensorCompleter(components="graded", threads=1)
    found, between = set(), []
    for _ in range(100):
        between.append(np.empty(rng.integers(1, 5000)))
        found.add(completer.fit(data.coords, data.values).path_.errors.tobytes())
    assert len(found) == 1


def test_blocks_of_cells_are_added_up_in_one_order(monkeypatch):
    """With more than one block of cells threads have something to share."""
    data = intensor.planted((10,) * 6, 75_000, noise=0.05)
    options = {"exact": "off", "max_iterations": 8}
    seen = []
    real = CpuCells.evaluate

    def watched(cells, *arguments):
        seen.append(len(cells._blocks))
        return real(cells, *arguments)

    monkeypatch.setattr(CpuCells, "evaluate", watched)
    first = bits(solve(data.coords, data.values, data.shape, threads=1, **options))
    assert max(seen) > 1
    assert bits(solve(data.coords, data.values, data.shape, threads=2, **options)) == first


@pytest.mark.parametrize("weighted", [False, True])
def test_means_of_repeated_cells_do_not_depend_on_the_order(weighted):
    coords, values, shape = repeated_cells(n=3000)
    values = values * 10.0 ** np.random.default_rng(2).uniform(-12, 12, values.size)
    weights = np.random.default_rng(3).random(values.size)
    one = observe(coords, values, shape=shape, sample_weight=weights if weighted else None)
    coords, values, weights = shuffled(coords, values, weights)
    two = observe(coords, values, shape=shape, sample_weight=weights if weighted else None)
    assert one.means.tobytes() == two.means.tobytes()
    assert one.cell_shares().tobytes() == two.cell_shares().tobytes()
    assert (one.within.hex(), one.mean_square.hex()) == (two.within.hex(), two.mean_square.hex())


@pytest.mark.parametrize("shape", [(3, 2), (2**40, 2**40)])
def test_the_standard_order_sorts_by_cell_value_and_weight(shape):
    rng = np.random.default_rng(0)
    coords = rng.integers(0, 2, (200, 2))
    values, weights = rng.integers(0, 3, 200) / 2.0, rng.integers(1, 3, 200) / 2.0
    order = standard_order(coords, shape, values, weights)
    rows = [(*coords[row].tolist(), values[row], weights[row]) for row in order]
    assert rows == sorted(rows)
    assert sorted(order.tolist()) == list(range(200))


FITS = {
    "validated": {"remainder": "none", "transform": "none", "baseline": "none"},
    "scales": {"remainder": "none"},
    "averaged": {"remainder": "none", "n_solutions": 3, "transform": "none", "baseline": "none"},
    "kriging": {"remainder": "kriging", "transform": "none", "baseline": "none"},
}


def fit_bits(coords, values, shape, weights=None, **options):
    completer = intensor.TensorCompleter(shape=shape, max_iterations=20, **options)
    fit = completer.fit(coords, values, sample_weight=weights).fit_
    everywhere = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), -1)
    predicted = fit.predict(everywhere.reshape(-1, len(shape)), unseen="mean")
    errors = b"" if fit.path is None else fit.path.errors.tobytes() + fit.path.radii.tobytes()
    return bits(fit.result), predicted.tobytes(), errors


@pytest.mark.parametrize(
    ("name", "weighted"),
    [("validated", True), ("scales", False), ("averaged", True), ("kriging", False)],
)
def test_fits_do_not_depend_on_threads_or_row_order(name, weighted):
    coords, values, shape = repeated_cells(n=150)
    weights = np.random.default_rng(5).random(values.size)
    options = FITS[name]
    first = fit_bits(coords, values, shape, weights if weighted else None, threads=1, **options)
    coords, values, weights = shuffled(coords, values, weights)
    again = fit_bits(coords, values, shape, weights if weighted else None, threads=2, **options)
    assert again == first


def test_files_may_be_cut_and_ordered_in_any_way(tmp_path):
    coords, values, shape = repeated_cells()
    found = []
    for name, seed, parts in (("one", 1, 1), ("two", 2, 3)):
        folder = tmp_path / name
        folder.mkdir()
        cells, numbers = shuffled(coords, values, seed=seed)
        for part, rows in enumerate(np.array_split(np.arange(len(values)), parts)):
            columns = {f"mode {m}": cells[rows, m] for m in range(3)} | {"value": numbers[rows]}
            pq.write_table(pa.table(columns), folder / f"{part}.parquet")
        options = {"shape": shape, "radius": 1.0, "rtol": 1e-3, "memory_limit": "1 GiB"}
        found.append(bits(intensor.solve(folder, "value", **options)))
    assert found[0] == found[1]


SCRIPT = """
import hashlib, sys
sys.path[:0] = {path!r}
from test_repeatability import fingerprint
print(fingerprint())
"""


def fingerprint():
    """Return a hash of solves that use LAPACK, threads and repeated cells, and of a fit."""
    data = intensor.planted((12, 12, 12), 400, noise=0.05)
    large = solve(data.coords, data.values, data.shape, exact="off")
    small = solve(*repeated_cells(), rtol=1e-3)
    fitted = fit_bits(*repeated_cells(n=150), **FITS["validated"])
    return hashlib.sha256(repr((bits(large), bits(small), fitted)).encode()).hexdigest()


@pytest.mark.slow
def test_processes_and_blas_threads_make_no_difference(monkeypatch):
    factored = []

    def counted():
        factored.append(1)
        return one_blas_thread()

    monkeypatch.setattr(master, "one_blas_thread", counted)
    found = {fingerprint()}
    assert factored  # or LAPACK, whose bits depend on its threads, has not been asked at all
    for blas, hashing in (("1", "1"), ("2", "2")):
        names = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
        environment = os.environ | dict.fromkeys(names, blas) | {"PYTHONHASHSEED": hashing}
        ran = subprocess.run(
            [sys.executable, "-c", SCRIPT.format(path=sys.path)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(ran.stdout.strip())
    assert len(found) == 1


def test_blas_gets_its_threads_back():
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def counts():
        return [
            one["num_threads"]
            for one in threadpoolctl.threadpool_info()
            if one["user_api"] == "blas"
        ]

    before = counts()
    with one_blas_thread():
        assert set(counts()) == {1}
    assert counts() == before
