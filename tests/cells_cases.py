"""Checks of every implementation of ``Cells`` against dense matrices, and shards to check."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from intensor.backends.cpu import CpuCells
from intensor.backends.packed_cells import pack_cells
from intensor.backends.sharded.cells import ShardedObservations
from intensor.data.observations import observe
from intensor.problem.objective import build_objective
from intensor.problem.vertex import membership, pack_vertices
from intensor.runtime.threads import Workers

SHAPES = [(7,), (4, 5), (3, 4, 2), (2, 3, 2, 3)]


class Case:
    """Cells of a backend, and dense arrays of everything that they should return.

    Parameters
    ----------
    make
        Function of observations and a radius that returns the cells.
    """

    def __init__(self, make, shape, *, n=120, k=70, radius=1.0, weighted=False, repeats=True):
        rng = np.random.default_rng([n, k, *shape])
        coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
        if not repeats:
            coords = np.unique(coords, axis=0)
        weights = rng.uniform(0.1, 3.0, len(coords)) if weighted else None
        values = rng.uniform(size=len(coords))
        self.observations = observe(coords, values, shape=shape, sample_weight=weights)
        self.cells = make(self.observations, radius)
        self.objective = build_objective(self.observations, radius)
        self.flags = (rng.uniform(size=(k, sum(shape))) < 0.75).astype(np.uint8)
        self.words = pack_vertices(self.flags, shape).words
        self.weights = np.zeros(64 * self.words.shape[1])
        self.weights[:k] = rng.uniform(size=k) / k
        self.members = np.array([self.member(row) for row in self.flags])
        self.x = self.weights[:k] @ self.members
        self.gradient = self.objective.gradient(self.x)
        self.totals = self.cells.evaluate(self.words, k, self.weights)

    def member(self, row):
        shape, coords = self.observations.shape, self.observations.coords
        return membership(row, coords, shape).astype(float)


def check_sums(case):
    """Compare everything that is linear or quadratic in the vertices."""
    objective, k = case.objective, len(case.flags)
    error, product = case.totals
    np.testing.assert_allclose(error + case.cells.constant, objective.value(case.x), rtol=1e-12)
    np.testing.assert_allclose(product, case.gradient @ case.x, rtol=1e-11, atol=1e-15)
    np.testing.assert_allclose(case.cells.iterate(), case.x, rtol=0, atol=1e-13)
    gram = np.full((128, 128), np.nan)
    for first, last in ((0, 5), (5, 60), (60, k)):
        case.cells.add(case.words, first, last, gram)
    expected = (case.members * objective.weights) @ case.members.T
    np.testing.assert_allclose(gram[:k, :k], expected, rtol=1e-13, atol=1e-16)
    sums = np.full(k, np.nan)
    case.cells.vertex_sums(case.words, 3, k, sums)
    np.testing.assert_allclose(sums[3:], case.members[3:] @ case.gradient, rtol=0, atol=1e-14)
    assert np.isnan(sums[:3]).all()
    found = case.cells.bound_sums()
    at_targets = case.gradient * objective.targets
    np.testing.assert_allclose(
        [found.cheapest, found.product, found.size, found.square],
        [
            np.minimum(case.gradient, 0.0).sum(),
            at_targets.sum(),
            np.abs(at_targets).sum(),
            (case.gradient**2 / objective.weights).sum(),
        ],
        rtol=1e-12,
    )


def check_descent(case, *, negative):
    """Values are those of the vertices found, and no mode can be improved by itself."""
    count = 40
    lanes = case.words[:, 0].copy()
    values = case.cells.descend(lanes, count, 60, negative=negative)
    costs = -case.gradient if negative else case.gradient
    assert values.shape == (count,)
    for row, value in zip(rows_of(lanes, count), values, strict=True):
        np.testing.assert_allclose(value, costs @ case.member(row), rtol=0, atol=1e-12)
        for index in range(row.size):
            other = row.copy()
            other[index] ^= 1
            assert costs @ case.member(other) >= value - 1e-12


def check_refinement(case, *, negative):
    """Exchanging a vertex changes the objective by the value returned, and never raises it."""
    count, sign = 30, -1.0 if negative else 1.0
    lanes = case.words[:, 0].copy()
    weights = case.weights[:count] + 0.01
    values = case.cells.refine(lanes, weights, 3, negative=negative)
    shares, before = case.objective.weights, case.objective.value(case.x)
    changed = 0
    for lane, row in enumerate(rows_of(lanes, count)):
        old, new = case.members[lane], case.member(row)
        after = case.objective.value(case.x + sign * weights[lane] * (new - old))
        own = sign * (case.gradient @ old) - weights[lane] * (shares @ old)
        fall = weights[lane] * (own - values[lane])
        np.testing.assert_allclose(before - after, fall, rtol=0, atol=1e-12)
        assert fall >= -1e-14
        changed += fall > 1e-9
    assert changed > 0


def check_rescaling(make, shape, **options):
    """After a change of the radius, the sums are those of cells opened with the new radius."""
    case, other = Case(make, shape, **options), Case(make, shape, radius=1.5, **options)
    case.cells.rescale(1.5)
    assert case.cells.evaluate(case.words, 70, case.weights) == pytest.approx(other.totals)
    assert case.cells.constant == pytest.approx(other.cells.constant)


class ComponentCase:
    """Cells of a backend beside the same cells in memory, and random signed components.

    Some indices of every mode never occur, and cells are observed more than once. The first factors
    are 0 and 1 in places. The parameters are those of ``Case``, and ``k`` counts components.
    """

    def __init__(self, make, shape, *, k, n=120, radius=1.3, weighted=False):
        self.rng = rng = np.random.default_rng([n, k, *shape])
        coords = np.stack([rng.integers(0, max(1, length - 1), n) for length in shape], axis=1)
        coords[n // 2 : n // 2 + 3] = coords[:3]
        weights = rng.uniform(0.1, 3.0, n) if weighted else None
        values = rng.uniform(size=n)
        observations = observe(coords, values, shape=shape, sample_weight=weights)
        self.cells = make(observations, radius)
        self.here = CpuCells(pack_cells(observations, radius), Workers(1))
        self.factors = np.clip(rng.uniform(-0.2, 1.2, (sum(shape), k)), 0.0, 1.0)
        self.weights = rng.uniform(-0.3, 1.0, k) / np.sqrt(k)


def close(found, expected):
    """Compare arrays to 1e-11 of the largest entry."""
    expected = np.asarray(expected)
    atol = 1e-11 * np.abs(expected).max(initial=0.0)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=atol)


def check_components(case):
    """Sums at a weighted sum of components are those of the cells in memory."""
    answers = []
    for cells in (case.cells, case.here):
        totals = cells.evaluate_components(case.factors, case.weights)
        lanes = np.full(sum(cells.shape), (1 << 5) - 1, dtype=np.uint64)
        lanes ^= np.random.default_rng(4).integers(0, 1 << 5, lanes.size, dtype=np.uint64)
        values = cells.descend(lanes, 5, 20)
        replaced = lanes.copy()
        exchanged = cells.refine(replaced, np.full(5, 0.2), 3)
        assert cells.evaluate_components(case.factors, case.weights) == totals
        answers.append((totals, cells.iterate(), values, exchanged, cells.bound_sums()))
        answers[-1] += (lanes.tolist(), replaced.tolist())
    ours, theirs = answers
    assert ours[-2:] == theirs[-2:]
    for mine, other in zip(ours[:-2], theirs[:-2], strict=True):
        close(mine, other)


def check_normal_equations(case, modes=None):
    """Normal equations of all indices and of some are those of the cells in memory."""
    cells, factors, weights = case.cells, case.factors, case.weights
    cells.evaluate_components(factors, weights)
    before = cells.iterate()
    moved = np.clip(factors + 0.1, 0.0, 1.0)
    for mode, length in enumerate(cells.shape):
        if modes is not None and mode not in modes:
            continue
        for low, high in ((0, length), (length // 2, length), (0, 1), (1, 1)):
            found = cells.normal_equations(mode, moved, weights, low, high)
            again = cells.normal_equations(mode, moved, weights, low, high)
            expected = case.here.normal_equations(mode, moved, weights, low, high)
            for mine, same, other in zip(found, again, expected, strict=True):
                assert np.shape(mine) == np.shape(other)
                np.testing.assert_array_equal(mine, same)
                close(mine, other)
            np.testing.assert_array_equal(found.matrices, found.matrices.swapaxes(1, 2))
            assert isinstance(found.error, float)
    np.testing.assert_array_equal(cells.iterate(), before)


def rows_of(lanes, count):
    return [((lanes >> np.uint64(s)) & np.uint64(1)).astype(np.uint8) for s in range(count)]


class ShardsHere:
    """Shards of this process, in memory or on a device."""

    def __init__(self, shards, threads=1):
        self.shards, self.workers = shards, Workers(threads)

    @property
    def sizes(self):
        return tuple(shard.n_cells for shard in self.shards)

    def ask(self, method, *arguments, **options):
        options["workers"] = self.workers
        return [getattr(shard, method)(*arguments, **options) for shard in self.shards]


def sharded(observations, shards, threads=1):
    """Return shards of this process as the cells of these observations."""
    return ShardedObservations(
        shape=observations.shape,
        shards=ShardsHere(shards, threads),
        n=observations.n,
        within=observations.within,
        mean_square=observations.mean_square,
        lowest=float(observations.means.min()),
        highest=float(observations.means.max()),
    )


def some_of(observations, chosen):
    return replace(
        observations,
        coords=tuple(column[chosen] for column in observations.coords),
        counts=observations.counts[chosen],
        means=observations.means[chosen],
        n=int(observations.counts[chosen].sum()),
    )


def store_parquet(folder, data, n_files=3):
    """Store observations as a Parquet dataset with columns mode0, mode1, ... and value."""
    folder.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(data.values)), n_files)):
        columns = {f"mode{mode}": column[rows] for mode, column in enumerate(data.coords.T)}
        table = pa.table({**columns, "value": data.values[rows]})
        parquet.write_table(table, folder / f"part-{number}.parquet")
    return folder


def start_cluster(n_workers, *, threads=1, processes=False):
    """Return a Dask cluster on this machine, without a dashboard and without messages."""
    return pytest.importorskip("distributed").LocalCluster(
        n_workers=n_workers,
        threads_per_worker=threads,
        processes=processes,
        dashboard_address=None,
        silence_logs=50,
    )
