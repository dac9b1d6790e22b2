"""The bit-lane kernels against their plain twins, bit for bit, and against AltMin itself."""

import numpy as np
import pytest

import naive as reference
from intensor.data.observations import observe
from intensor.kernels import lanes as kernels
from intensor.oracles.alternating import AlternatingOracle
from intensor.oracles.contraction import PerIndexRemembered
from intensor.problem.layout import positions
from intensor.problem.vertex import membership, mode_offsets, pack_vertices

SHAPES = [(5,), (3, 4), (4, 1, 3), (2, 3, 2, 3), (2, 2, 1, 3, 2), (2, 2, 2, 2, 3, 2)]
COUNTS = [1, 2, 31, 63, 64]
ALL = np.uint64(2**64 - 1)


def problem(shape, seed=0, n=70):
    rng = np.random.default_rng([seed, n, *shape])
    coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
    cells = observe(coords, np.ones(n), shape=shape)
    rows = positions(cells.coords, shape).astype(np.uint8)
    costs = rng.standard_normal(cells.n_cells) * 10.0 ** rng.integers(-6, 6, cells.n_cells)
    return cells, rows, costs, rng


def random_words(rng, *size):
    return rng.integers(0, 2**64, size, dtype=np.uint64)


def bits(array):
    """Return the 64 bits of every number, so that 0.0 and -0.0 differ."""
    return np.ascontiguousarray(array).view(np.uint64).tolist()


def lane_flags(lanes, lane):
    return ((lanes >> np.uint64(lane)) & np.uint64(1)).astype(np.uint8)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("live", [ALL, np.uint64(1), np.uint64(1 << 63), np.uint64(0), None])
def test_lane_sums(shape, live):
    cells, rows, costs, rng = problem(shape)
    live = random_words(rng, 1)[0] if live is None else live
    lanes = random_words(rng, sum(shape)) | random_words(rng, sum(shape))
    low = 0
    for mode, length in enumerate(shape):
        for first, last in [(0, cells.n_cells), (0, 2), (1, cells.n_cells - 1), (2, 2)]:
            ours, theirs = np.full((length, 64), np.nan), np.full((length, 64), np.nan)
            kernels.lane_sums(rows, costs, lanes, live, mode, low, first, last, ours)
            reference.lane_sums(rows, costs, lanes, live, mode, low, first, last, theirs)
            assert bits(ours) == bits(theirs)
        low += length


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("live", [ALL, np.uint64(1 << 63), np.uint64(0), None])
def test_lane_sums_around(shape, live):
    cells, rows, costs, rng = problem(shape, seed=3)
    live = random_words(rng, 1)[0] if live is None else live
    lanes = random_words(rng, sum(shape)) | random_words(rng, sum(shape))
    origins, shares, weights = (
        random_words(rng, cells.n_cells),
        rng.random(cells.n_cells),
        rng.random(64),
    )
    low = 0
    for mode, length in enumerate(shape):
        for first, last in [(0, cells.n_cells), (1, cells.n_cells - 1), (2, 2)]:
            ours, theirs = np.full((length, 64), np.nan), np.full((length, 64), np.nan)
            for module, out in ((kernels, ours), (reference, theirs)):
                module.lane_sums_around(
                    rows, costs, shares, origins, weights, lanes, live, mode, low, first, last, out
                )
            assert bits(ours) == bits(theirs)
        low += length


@pytest.mark.parametrize(
    ("first", "last"), [(0, 64), (0, 1), (3, 10), (60, 70), (64, 128), (1, 65)]
)
def test_lanes_between(first, last):
    flags = np.random.default_rng(0).integers(0, 2, (130, 9), dtype=np.uint8)
    words = pack_vertices(flags, (4, 5)).words
    lanes = kernels.lanes_between(words, first, last)
    for lane in range(64):
        expected = flags[first + lane] if lane < last - first else np.zeros(9)
        assert np.array_equal(lane_flags(lanes, lane), expected)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("live", [ALL, np.uint64(1 << 63), None])
def test_products_and_sums_within_a_range_of_modes(shape, live):
    cells, rows, costs, rng = problem(shape, seed=1)
    live = random_words(rng, 1)[0] if live is None else live
    lanes = random_words(rng, sum(shape)) | random_words(rng, sum(shape))
    offsets = mode_offsets(shape)
    for first, last in [(0, len(shape)), (0, 1), (len(shape) // 2, len(shape)), (0, 0)]:
        ours, theirs = random_words(rng, cells.n_cells), random_words(rng, cells.n_cells)
        kernels.lane_products(rows, lanes, live, first, last, ours)
        reference.lane_products(rows, lanes, live, first, last, theirs)
        assert ours.tolist() == theirs.tolist()
        others = random_words(rng, cells.n_cells)
        for mode in range(first, last):
            sums = [np.full((shape[mode], 64), np.nan) for _ in range(2)]
            for module, out in zip((kernels, reference), sums, strict=True):
                low = int(offsets[mode])
                module.lane_sums_within(rows, costs, lanes, others, mode, first, last, low, out)
            assert bits(sums[0]) == bits(sums[1])


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32, np.int32, np.int64])
def test_lane_sums_take_rows_of_any_type(kind):
    _, rows, costs, rng = problem((3, 4, 2))
    lanes = random_words(rng, 9)
    wanted, found = np.empty((4, 64)), np.empty((4, 64))
    reference.lane_sums(rows, costs, lanes, ALL, 1, 3, 0, len(rows), wanted)
    kernels.lane_sums(rows.astype(kind), costs, lanes, ALL, 1, 3, 0, len(rows), found)
    assert bits(found) == bits(wanted)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("length", [1, 5, 70])
def test_switch_lanes(count, length):
    rng = np.random.default_rng([count, length])
    sums = rng.standard_normal((length, 64)) * 10.0 ** rng.integers(-6, 6, (length, 64))
    sums[rng.uniform(size=sums.shape) < 0.2] = 0.0
    before = random_words(rng, length)
    for live in (ALL, np.uint64(2**count - 1), random_words(rng, 1)[0], np.uint64(0)):
        ours, theirs = before.copy(), before.copy()
        our_values, their_values = np.full(64, np.nan), np.full(64, np.nan)
        kernels.switch_lanes(sums, live, count, ours, our_values)
        reference.switch_lanes(sums, live, count, theirs, their_values)
        assert ours.tolist() == theirs.tolist()
        assert bits(our_values) == bits(their_values)


def test_still_falling():
    rng = np.random.default_rng(0)
    for _ in range(20):
        live = random_words(rng, 1)[0]
        values = rng.integers(-3, 3, 64).astype(float)
        ours = np.where(rng.uniform(size=64) < 0.2, np.inf, rng.integers(-3, 3, 64))
        theirs = ours.copy()
        left = kernels.still_falling(live, values, ours)
        assert left == reference.still_falling(live, values, theirs)
        assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", COUNTS)
def test_descend_lanes(shape, count):
    _, rows, costs, rng = problem(shape, count, n=40)
    starts = random_words(rng, sum(shape))
    for most_sweeps in (1, 2, 50):
        ours, theirs = starts.copy(), starts.copy()
        our_values, their_values = np.full(64, np.nan), np.full(64, np.nan)
        room = np.full((max(shape), 64), np.nan)
        arguments = rows, mode_offsets(shape), costs, count, most_sweeps, room
        kernels.descend_lanes(*arguments, ours, our_values)
        reference.descend_lanes(*arguments, theirs, their_values)
        assert ours.tolist() == theirs.tolist()
        assert bits(our_values) == bits(their_values)


def test_without_a_sweep_nothing_moves():
    _, rows, costs, rng = problem((3, 4))
    starts = random_words(rng, 7)
    for module in (kernels, reference):
        lanes, values = starts.copy(), np.zeros(64)
        module.descend_lanes(
            rows, mode_offsets((3, 4)), costs, 64, 0, np.empty((4, 64)), lanes, values
        )
        assert lanes.tolist() == starts.tolist()
        assert np.all(values == np.inf)


@pytest.mark.parametrize("shape", [*SHAPES, (9, 8, 7), (30, 20)])
@pytest.mark.parametrize("count", [1, 40, 64])
def test_every_lane_is_an_alternating_minimisation(shape, count):
    cells, rows, _, rng = problem(shape, count, n=150)
    costs = rng.standard_normal(cells.n_cells)
    lanes, values = random_words(rng, sum(shape)), np.empty(64)
    starts = lanes.copy()
    kernels.descend_lanes(
        rows, mode_offsets(shape), costs, count, 10**6, np.empty((max(shape), 64)), lanes, values
    )
    oracle = AlternatingOracle(PerIndexRemembered(cells), shape, rng=rng)
    for lane in range(count):
        answer = oracle.descend(lane_flags(starts, lane), costs)
        flags = lane_flags(lanes, lane)
        assert flags.tolist() == answer.flags.tolist()
        assert values[lane] == pytest.approx(answer.value, rel=1e-13, abs=1e-13)
        inside = membership(flags, cells.coords, shape)
        assert values[lane] == pytest.approx(float(costs @ inside), rel=1e-12, abs=1e-12)
    assert np.all(values[count:] == np.inf)
    for lane in range(count, 64):
        assert lane_flags(lanes, lane).tolist() == lane_flags(starts, lane).tolist()


@pytest.mark.parametrize("count", COUNTS)
def test_join_and_split_lanes(count):
    rng = np.random.default_rng(count)
    flags = rng.integers(0, 2, (90, 13), dtype=np.uint8)
    flags[3] = 0
    chosen = rng.integers(0, 90, count)
    ours, theirs = random_words(rng, 13), random_words(rng, 13)
    kernels.join_lanes(flags, chosen, ours)
    reference.join_lanes(flags, chosen, theirs)
    assert ours.tolist() == theirs.tolist()
    order = rng.permutation(64)[:count]
    our_flags = np.full((count, 13), 9, dtype=np.uint8)
    their_flags = our_flags.copy()
    kernels.split_lanes(ours, order, our_flags)
    reference.split_lanes(ours, order, their_flags)
    assert our_flags.tolist() == their_flags.tolist()
    back = np.empty((count, 13), dtype=np.uint8)
    kernels.split_lanes(ours, np.arange(count), back)
    assert back.tolist() == flags[chosen].tolist()


@pytest.mark.parametrize("n_known", [0, 1, 8, 32, 63, 64])
def test_mix_starts(n_known):
    rng = np.random.default_rng(n_known)
    noise, known = random_words(rng, 4, 50), random_words(rng, 50)
    ours, theirs = np.zeros(50, dtype=np.uint64), np.zeros(50, dtype=np.uint64)
    kernels.mix_starts(noise, known, n_known, ours)
    reference.mix_starts(noise, known, n_known, theirs)
    assert ours.tolist() == theirs.tolist()


def test_mixed_starts_have_the_shares_they_promise():
    rng = np.random.default_rng(0)
    length = 20_000
    noise, known = random_words(rng, 4, length), random_words(rng, length)
    lanes = np.zeros(length, dtype=np.uint64)
    for n_known in (0, 64):
        kernels.mix_starts(noise, known, n_known, lanes)
        changed = lanes ^ known if n_known else lanes
        for lane in range(64):
            wanted = (
                (1 / 4, 1 / 8, 1 / 16)[lane % 3] if n_known else (0.5, 0.5, 0.75, 0.25)[lane % 4]
            )
            assert lane_flags(changed, lane).mean() == pytest.approx(wanted, abs=0.02)


def test_store_words_is_how_vertices_are_packed():
    rng = np.random.default_rng(1)
    flags = rng.integers(0, 2, (150, 11), dtype=np.uint8)
    flags[70] = 0
    ours = random_words(rng, 11, 3)
    theirs = ours.copy()
    for first, last in [(0, 1), (1, 64), (64, 65), (60, 130), (130, 150), (5, 5)]:
        kernels.store_words(flags, first, last, ours)
        reference.store_words(flags, first, last, theirs)
        assert ours.tolist() == theirs.tolist()
    ours[:, 2] &= np.uint64(2**22 - 1)  # 150 = 2 * 64 + 22
    assert ours.tolist() == pack_vertices(flags, (11,)).words.tolist()
