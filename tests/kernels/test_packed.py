"""The kernels on packed members against their plain twins and against dense matrices."""

import numpy as np
import pytest
from numba import njit

import naive as reference
from intensor.backends.packed_cells import pack_cells
from intensor.data.observations import observe
from intensor.kernels import packed as kernels
from intensor.kernels.bits import popcount
from intensor.kernels.lanes import join_lanes
from intensor.problem.vertex import membership, pack_vertices

SHAPES = [(5,), (6, 7), (4, 1, 5), (3, 4, 2, 3), (2, 3, 2, 3, 2), (2, 2, 3, 2, 2, 2)]


def problem(shape, n=150, seed=0):
    """Return packed cells, some observed several times, and the observations behind them."""
    rng = np.random.default_rng([seed, n, *shape])
    coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
    coords[: n // 5] = coords[0]
    observations = observe(coords, rng.uniform(size=n), shape=shape)
    cells = pack_cells(observations, 2.0)
    assert cells.extra.shape[0] >= 5
    return cells, observations, rng


def random_flags(rng, count, shape):
    flags = (rng.uniform(size=(count, sum(shape))) < 0.7).astype(np.uint8)
    flags[count // 2] = 0
    flags[count // 3] = 1
    return flags


def dense_members(cells, observations, flags):
    """Return (k, u) zeros and ones, the cells in packed order."""
    shape = observations.shape
    inside = [membership(row, observations.coords, shape)[cells.order] for row in flags]
    return np.array(inside, dtype=np.float64)


def pack_all(cells, flags):
    """Return the members of any number of vertices, by the reference."""
    members = np.zeros((len(flags), cells.n_words), dtype=np.uint64)
    for start in range(0, len(flags), 64):
        part = members[start : start + 64]
        lanes = np.zeros(flags.shape[1], dtype=np.uint64)
        reference.join_lanes(flags, np.arange(start, start + len(part)), lanes)
        reference.pack_members(cells.rows, lanes, len(part), 0, cells.n_words, part)
    return members


def unpacked(members, n_cells):
    as_bits = np.unpackbits(members.view(np.uint8), axis=1, bitorder="little")
    assert not as_bits[:, n_cells:].any()
    return as_bits[:, :n_cells]


def bits(array):
    return np.ascontiguousarray(array).view(np.uint64).tolist()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [1, 2, 33, 64])
def test_pack_members(shape, count):
    cells, observations, rng = problem(shape)
    flags = random_flags(rng, count, shape)
    lanes = np.zeros(sum(shape), dtype=np.uint64)
    join_lanes(flags, np.arange(count), lanes)
    ours = rng.integers(0, 2**64, (count, cells.n_words), dtype=np.uint64)
    theirs = ours.copy()
    kernels.pack_members(cells.rows, lanes, count, 0, cells.n_words, ours)
    reference.pack_members(cells.rows, lanes, count, 0, cells.n_words, theirs)
    assert ours.tolist() == theirs.tolist()
    dense = dense_members(cells, observations, flags)
    assert unpacked(ours, cells.n_cells).tolist() == dense.tolist()


@pytest.mark.parametrize("n", [40, 64, 65, 128, 200])
def test_pack_members_word_by_word(n):
    # One long mode, so that every cell is its own index and all 64 x 64 squares differ.
    rng = np.random.default_rng(n)
    rows = np.arange(n)[:, np.newaxis].astype(np.uint16)
    lanes = rng.integers(0, 2**64, n, dtype=np.uint64)
    n_words = -(-n // 64)
    before = rng.integers(0, 2**64, (64, n_words), dtype=np.uint64)
    whole = before.copy()
    for word in range(n_words):
        ours, theirs = before.copy(), before.copy()
        kernels.pack_members(rows, lanes, 64, word, word + 1, ours)
        reference.pack_members(rows, lanes, 64, word, word + 1, theirs)
        assert ours.tolist() == theirs.tolist()
        kernels.pack_members(rows, lanes, 64, word, word + 1, whole)
    for cell in range(n):
        column = (whole[:, cell // 64] >> np.uint64(cell % 64)) & np.uint64(1)
        assert int(lanes[cell]) == sum(int(bit) << lane for lane, bit in enumerate(column))


@pytest.mark.parametrize("shape", SHAPES)
def test_gram_rows(shape):
    cells, observations, rng = problem(shape)
    count = 70
    flags = random_flags(rng, count, shape)
    members = pack_all(cells, flags)
    ours, theirs = np.full((count, count), np.nan), np.full((count, count), np.nan)
    for first, last in [(0, 1), (1, 30), (30, 30), (30, 70)]:
        kernels.gram_rows(members, cells.extra, first, last, cells.one_share, ours)
        reference.gram_rows(members, cells.extra, first, last, cells.one_share, theirs)
        assert bits(ours) == bits(theirs)
    dense = dense_members(cells, observations, flags)
    np.testing.assert_allclose(ours, (dense * cells.shares) @ dense.T, rtol=1e-14, atol=1e-16)


def test_gram_rows_of_cells_seen_once():
    cells = problem((6, 7))[0]
    members = np.random.default_rng(0).integers(0, 2**64, (3, cells.n_words), dtype=np.uint64)
    none = np.zeros((0, 0), dtype=np.uint64)
    ours, theirs = np.empty((3, 3)), np.empty((3, 3))
    kernels.gram_rows(members, none, 0, 3, 0.1, ours)
    reference.gram_rows(members, none, 0, 3, 0.1, theirs)
    assert bits(ours) == bits(theirs)


@pytest.mark.parametrize("shape", SHAPES)
def test_gram_rows_weighted(shape):
    cells, observations, rng = problem(shape)
    count = 20
    flags = random_flags(rng, count, shape)
    members = pack_all(cells, flags)
    shares = rng.uniform(size=cells.n_cells) * 10.0 ** rng.integers(-3, 3, cells.n_cells)
    ours, theirs = np.full((count, count), np.nan), np.full((count, count), np.nan)
    for first, last in [(0, 1), (1, 9), (9, 9), (9, 20)]:
        kernels.gram_rows_weighted(members, shares, first, last, ours)
        reference.gram_rows_weighted(members, shares, first, last, theirs)
        assert bits(ours) == bits(theirs)
    dense = dense_members(cells, observations, flags)
    np.testing.assert_allclose(ours, (dense * shares) @ dense.T, rtol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_member_sums(shape):
    cells, observations, rng = problem(shape)
    count = 70
    flags = random_flags(rng, count, shape)
    members = pack_all(cells, flags)
    values = rng.standard_normal(cells.n_cells) * 10.0 ** rng.integers(-6, 6, cells.n_cells)
    ours, theirs = np.full(count, np.nan), np.full(count, np.nan)
    for first, last in [(3, 3), (3, 65), (0, 3)]:
        kernels.member_sums(members, values, first, last, ours)
        reference.member_sums(members, values, first, last, theirs)
        assert bits(ours) == bits(theirs)
    assert np.isnan(ours[65:]).all()
    dense = dense_members(cells, observations, flags)
    size = dense @ np.abs(values)
    assert np.all(np.abs(dense @ values - ours)[:65] <= 1e-13 * size[:65])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [0, 1, 64, 65, 130])
def test_fit_cells(shape, count):
    cells, observations, rng = problem(shape, n=100)
    flags = random_flags(rng, max(count, 1), shape)[:count]
    words = np.zeros((sum(shape), 3), dtype=np.uint64)
    words[:, : -(-count // 64)] = pack_vertices(flags, shape).words[:, : -(-count // 64)]
    weights = np.zeros(192)
    weights[:count] = rng.uniform(size=count)
    u = cells.n_cells
    for first, last in [(0, u), (1, u - 1), (2, 2)]:
        costs, totals = np.full((2, u), np.nan), np.full((2, 2), np.nan)
        for place, module in enumerate((kernels, reference)):
            module.fit_cells(
                cells.rows,
                words,
                -(-count // 64),
                weights,
                cells.targets,
                cells.shares,
                first,
                last,
                costs[place],
                totals[place],
            )
        assert bits(costs[0]) == bits(costs[1])
        assert bits(totals[0]) == bits(totals[1])
        assert np.isnan(costs[0, :first]).all()
        assert np.isnan(costs[0, last:]).all()
        if last - first == u:
            x = weights[:count] @ dense_members(cells, observations, flags) if count else 0.0 * u
            gradient = 2.0 * cells.shares * (x - cells.targets)
            np.testing.assert_allclose(costs[0], gradient, rtol=1e-12, atol=1e-14)
            error = np.sum(cells.shares * (x - cells.targets) ** 2)
            np.testing.assert_allclose(totals[0], [error, np.sum(gradient * x)], rtol=1e-12)


def test_popcount():
    @njit
    def ones(word):
        return popcount(word)

    for word in [0, 1, 2**63, 2**64 - 1, 0xF0F0, *(1 << bit for bit in range(64))]:
        assert ones(np.uint64(word)) == word.bit_count()
