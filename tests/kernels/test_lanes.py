"""Bit lanes against alternating minimisation itself, and starts with the shares they promise."""

import numpy as np
import pytest

import zoo
from intensor.data.observations import observe
from intensor.kernels import lanes as kernels
from intensor.oracles.alternating import AlternatingOracle
from intensor.oracles.contraction import PerIndexRemembered
from intensor.problem.layout import positions
from intensor.problem.vertex import membership, mode_offsets, pack_vertices

ALL = np.uint64(2**64 - 1)


def random_words(rng, *size):
    return rng.integers(0, 2**64, size, dtype=np.uint64)


def lane_flags(lanes, lane):
    return ((lanes >> np.uint64(lane)) & np.uint64(1)).astype(np.uint8)


@pytest.mark.parametrize(
    "kind",
    [
        np.uint8,
        np.uint16,
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in (np.uint32, np.int32, np.int64)),
    ],
)
def test_lane_sums_take_rows_of_any_type(kind):
    rng = np.random.default_rng(0)
    rows = np.stack([rng.integers(0, 3, 70), rng.integers(3, 7, 70), rng.integers(7, 9, 70)], 1)
    costs, lanes = rng.integers(-9, 10, 70).astype(float), random_words(rng, 9)
    found, expected = np.empty((4, 64)), np.zeros((4, 64))
    kernels.lane_sums(rows.astype(kind), costs, lanes, ALL, 1, 3, found)
    for row, cost in zip(rows, costs, strict=True):
        for lane in range(64):
            expected[row[1] - 3, lane] += cost * np.prod(lane_flags(lanes, lane)[row[[0, 2]]])
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("name", zoo.OBSERVED)
@pytest.mark.parametrize("count", [1, 64])
def test_every_lane_is_an_alternating_minimisation(name, count):
    shape, coords, observed, _ = zoo.observed(name)
    cells = observe(coords, observed, shape=shape)
    rows = positions(cells.coords, shape)
    rng = np.random.default_rng(count)
    costs = rng.standard_normal(cells.n_cells)
    lanes, values = random_words(rng, sum(shape)), np.empty(64)
    starts, working = lanes.copy(), np.empty((max(shape), 64))
    kernels.descend_lanes(rows, mode_offsets(shape), costs, count, 10**6, working, lanes, values)
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


def test_mixed_starts_have_the_documented_shares():
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


def test_stored_words_are_those_of_packed_vertices():
    rng = np.random.default_rng(1)
    flags = rng.integers(0, 2, (150, 11), dtype=np.uint8)
    words = random_words(rng, 11, 3)
    for first, last in [(0, 1), (1, 64), (64, 65), (60, 130), (130, 150), (5, 5)]:
        kernels.store_words(flags, first, last, words)
    words[:, 2] &= np.uint64(2**22 - 1)  # 150 = 2 * 64 + 22
    assert words.tolist() == pack_vertices(flags, (11,)).words.tolist()
