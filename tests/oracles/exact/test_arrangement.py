"""Modes get their parts, and come back as flags: nothing is lost but what never pays."""

import itertools
import math

import numpy as np
import pytest

from intensor.data.observations import observe
from intensor.oracles.exact.arrangement import arrange, distribute_rows, weights_of, with_ground
from intensor.oracles.trivial import vertex_cost
from intensor.problem.vertex import mode_slices

SHAPES = [(7,), (1,), (3, 5), (5, 3), (2, 4, 3), (4, 4, 4), (2, 3, 2, 5), (3, 1, 2, 2, 4)]


def problem(shape, seed=0, share=0.5, negative=0.3):
    """Return some cells of a tensor and costs of which some are negative."""
    rng = np.random.default_rng([seed, *shape])
    coords = np.indices(shape).reshape(len(shape), -1).T
    coords = coords[rng.permutation(len(coords))[: max(1, round(share * len(coords)))]]
    cells = observe(coords, np.ones(len(coords)), shape=shape)
    costs = rng.uniform(0.1, 1.0, cells.n_cells) * np.where(
        rng.uniform(size=cells.n_cells) < negative, -1.0, 1.0
    )
    costs[0] = -1.0
    return cells, costs


def needed(cells, costs):
    """Return the flags of the indices that have a negative cost."""
    flags = np.zeros(sum(cells.shape), dtype=bool)
    for part, column in zip(mode_slices(cells.shape), cells.coords, strict=True):
        flags[part][column[costs < 0.0]] = True
    return flags


def random_choice(rng, parts):
    return [rng.integers(0, 2, length).astype(np.uint8) for length in parts.lengths]


def cost_of(tensor, chosen):
    for on in chosen[::-1]:
        tensor = np.tensordot(on.astype(float), tensor, axes=1)
    return float(tensor)


@pytest.mark.parametrize("shape", SHAPES)
def test_indices_without_a_negative_cost_are_left_out(shape):
    for seed in range(2):
        cells, costs = problem(shape, seed)
        parts = arrange(cells, costs)
        kept = np.concatenate(parts.kept)
        assert sorted(kept.tolist()) == np.flatnonzero(needed(cells, costs)).tolist()


@pytest.mark.parametrize("shape", SHAPES)
def test_parts_are_modes_and_the_longest_comes_first(shape):
    for seed in range(2):
        cells, costs = problem(shape, seed)
        parts = arrange(cells, costs)
        assert list(parts.lengths) == sorted(parts.lengths, reverse=True)
        assert len(parts.lengths) == max(2, len(shape))
        modes = [set(range(part.start, part.stop)) for part in mode_slices(shape)]
        for kept in parts.kept[: len(shape)]:
            (mode,) = [mode for mode in modes if kept[0] in mode]
            assert set(kept.tolist()) <= mode
            modes.remove(mode)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_choice_costs_what_its_flags_cost(shape):
    for seed in range(2):
        cells, costs = problem(shape, seed)
        rng = np.random.default_rng(seed)
        parts = arrange(cells, costs)
        for part, length in enumerate(parts.lengths):
            if len(parts.kept[part]):
                parts = parts.ordered(part, rng.permutation(length))
        tensor = parts.dense(costs)
        assert tensor.shape == parts.lengths[::-1]
        for _ in range(10):
            chosen = random_choice(rng, parts)
            if len(shape) == 1:
                chosen[1][:] = 1  # the row that holds every cell
            cost = vertex_cost(parts.flags(chosen), costs, cells)
            assert cost == pytest.approx(cost_of(tensor, chosen), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_dense_tensor_has_every_cell_of_the_kept_indices_once(shape):
    cells, _ = problem(shape, share=1.0)
    numbers = np.arange(1, cells.n_cells + 1, dtype=np.int32)
    costs = -numbers.astype(float)
    tensor = arrange(cells, costs).dense(numbers)
    assert tensor.dtype == np.int32
    assert sorted(tensor.ravel().tolist()) == numbers.tolist()
    if len(shape) > 1:
        order = sorted(range(len(shape)), key=lambda mode: -shape[mode])[::-1]
        np.testing.assert_array_equal(tensor, numbers.reshape(shape).transpose(order))


@pytest.mark.parametrize("shape", SHAPES)
def test_flags_hold_what_was_chosen_and_nothing_else(shape):
    cells, costs = problem(shape, 1)
    rng = np.random.default_rng(1)
    parts = arrange(cells, costs)
    chosen = random_choice(rng, parts)
    flags = parts.flags(chosen)
    assert flags.dtype == np.uint8
    assert flags.size == sum(shape)
    for kept, on in zip(parts.kept, chosen, strict=True):
        assert flags[kept].tolist() == on[: kept.size].tolist()
    assert not np.any(flags[~needed(cells, costs)])


@pytest.mark.parametrize("shape", [(3, 5), (2, 4, 3), (2, 3, 2, 5)])
def test_another_order_is_a_permutation_of_one_axis(shape):
    cells, costs = problem(shape, 2)
    rng = np.random.default_rng(2)
    parts = arrange(cells, costs)
    for part, length in enumerate(parts.lengths):
        order = rng.permutation(length)
        other = parts.ordered(part, order)
        axis = len(parts.lengths) - 1 - part
        expected = np.take(parts.dense(costs), order, axis)
        np.testing.assert_array_equal(other.dense(costs), expected)
        assert other.kept[part].tolist() == parts.kept[part][order].tolist()
        chosen = random_choice(rng, parts)
        moved = [on[order] if i == part else on for i, on in enumerate(chosen)]
        assert other.flags(moved).tolist() == parts.flags(chosen).tolist()
        back = other.ordered(part, np.argsort(order))
        np.testing.assert_array_equal(back.dense(costs), parts.dense(costs))


@pytest.mark.parametrize("shape", [(3, 5), (2, 4, 3), (2, 3, 2, 5)])
def test_weights_are_absolute_sums_over_the_cells_of_an_index(shape):
    cells, costs = problem(shape, 3, share=0.9)
    parts = arrange(cells, costs)
    for part, length in enumerate(parts.lengths):
        weights = weights_of(parts, part, costs)
        assert weights.shape == (length,)
        for index, weight in enumerate(weights):
            own = parts.positions[part] == index
            assert weight == pytest.approx(math.fsum(np.abs(costs[own])), rel=1e-12)


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_distribute_rows_are_dealt_out_in_the_order_of_the_leading_vector(blocks):
    cells, _ = problem((12, 9), share=1.0)
    strength = np.random.default_rng(4).permutation(np.linspace(1.0, 3.0, 9))
    costs = -np.outer(np.ones(12), strength).ravel()  # rank one: rows are ranked by strength
    order = distribute_rows(arrange(cells, costs), costs, blocks)
    assert sorted(order.tolist()) == list(range(9))
    ranks = np.argsort(np.argsort(strength))[order].tolist()
    ends = np.cumsum([0] + [len(range(block, 9, blocks)) for block in range(blocks)])
    dealt = [set(ranks[start:end]) for start, end in itertools.pairwise(ends)]
    rising = [set(range(block, 9, blocks)) for block in range(blocks)]
    falling = [{8 - rank for rank in block} for block in rising]
    assert dealt in (rising, falling)


def test_distribute_rows_take_costs_of_any_size():
    cells, costs = problem((12, 9), share=1.0)
    order = distribute_rows(arrange(cells, costs), costs, 3)
    for scale in (1e-300, 1e300):
        parts = arrange(cells, scale * costs)
        assert distribute_rows(parts, scale * costs, 3).tolist() == order.tolist()


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_ground_is_zero_and_comes_first(kind, axis):
    costs = np.arange(1, 25, dtype=kind).reshape(2, 3, 4)
    stacked = with_ground(costs, axis)
    assert stacked.dtype == kind
    assert stacked.shape == tuple(n + (mode == axis) for mode, n in enumerate((2, 3, 4)))
    assert not np.any(np.take(stacked, 0, axis))
    np.testing.assert_array_equal(np.delete(stacked, 0, axis), costs)
