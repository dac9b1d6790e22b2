"""Enumeration: pieces that add up, many modes, and what it does not depend on."""

import functools
import math

import numpy as np
import pytest

from intensor.data.observations import observe
from intensor.oracles.base import Goal
from intensor.oracles.exact import enumeration
from intensor.oracles.exact.enumeration import EnumerationOracle
from intensor.oracles.trivial import sum_of_negative, vertex_cost
from intensor.runtime.budget import Budget
from small_pieces import small_enumeration
from zoo import full_tensor, least_cost

full = functools.partial(full_tensor, integers=True)


# --- pieces


@pytest.mark.parametrize(("rest", "high"), [(0, 0), (0, 3), (1, 1), (3, 9), (9, 1)])
def test_pieces_cover_every_pattern_once(rest, high):
    for entries in (1, 1 << 15, 1 << 23, 1 << 30):
        pieces = enumeration._pieces(rest, high, entries)
        assert len(pieces) <= 256
        seen = np.zeros((1 << rest, 1 << high), dtype=int)
        for (first, last), (low, end) in pieces:
            assert first < last
            assert low < end
            seen[first:last, low:end] += 1
        assert np.all(seen == 1)
        if entries << (rest + high) < enumeration.PIECE_ENTRIES:
            assert len(pieces) == 1
        if entries >= enumeration.PIECE_ENTRIES:
            assert len(pieces) == 1 << min(8, max(rest, high))


@pytest.mark.parametrize("shape", [(9, 9, 9), (6, 7, 5, 6), (3, 4, 3, 4, 3)])
@pytest.mark.parametrize("wave", [1, 5])
def test_pieces_have_the_answer_of_one_piece(shape, wave):
    cells, costs = full(shape)
    small = small_enumeration(piece_entries=1, wave=wave)
    oracles = [EnumerationOracle(cells), small(cells)]
    together, pieces = (oracle.minimise(costs) for oracle in oracles)
    assert together.value == least_cost(costs, shape)
    assert (pieces.value, pieces.bound) == (together.value, together.bound)
    goal = Goal(product=0.8 * together.value + 1e-9, phi=1e-9, pool=20)
    pools = [oracle.minimise(costs, goal=goal).pool for oracle in oracles]
    costs_of = [[vertex_cost(flags, costs, cells) for flags in found] for found in pools]
    assert costs_of[0] == costs_of[1]
    assert len(costs_of[0]) > 1


# --- shapes


@pytest.mark.parametrize(
    "shape",
    [(1,), (9,), (1, 7), (7, 1), (30, 4), (4, 30), (1, 3, 1), (2, 20, 5), (5, 5, 5, 3),
     (2, 3, 2, 3, 2), (2, 2, 2, 2, 2, 2)],
)  # fmt: skip
def test_any_number_of_modes_in_any_order(shape):
    cells, costs = full(shape)
    answer = EnumerationOracle(cells).minimise(costs)
    assert answer.value == least_cost(costs, shape)
    assert answer.value == vertex_cost(answer.flags, costs, cells)
    assert answer.value - 1e-9 <= answer.bound <= answer.value


def test_a_cell_that_was_not_observed_costs_nothing():
    cells, costs = full((6, 5, 4))
    some = np.random.default_rng(0).uniform(size=costs.size) < 0.3
    coords = np.stack(cells.coords, axis=1)[some]
    few = observe(coords, np.ones(len(coords)), shape=(6, 5, 4))
    answer = EnumerationOracle(few).minimise(costs[some])
    assert answer.value == least_cost(np.where(some, costs, 0.0), (6, 5, 4))


# --- goals and time


def test_a_goal_for_one_vertex_makes_no_difference():
    cells, costs = full((5, 6, 4))
    plain = EnumerationOracle(cells).minimise(costs)
    for phi in (1e-9, 100.0, math.inf):
        goal = Goal(product=0.0, phi=phi)
        answer = EnumerationOracle(cells).minimise(costs, goal=goal)
        assert (answer.value, answer.bound) == (plain.value, plain.bound)


def test_a_search_that_was_stopped_has_the_free_bound_and_what_it_found():
    cells, costs = full((26, 26, 26))
    answer = EnumerationOracle(cells).minimise(costs, budget=Budget(0.1))
    assert answer.bound == sum_of_negative(costs)
    assert answer.value == vertex_cost(answer.flags, costs, cells) < 0.0


def test_enough_time_changes_nothing():
    cells, costs = full((7, 6, 5))
    plain = EnumerationOracle(cells).minimise(costs)
    answer = EnumerationOracle(cells).minimise(costs, budget=Budget(60.0))
    assert (answer.value, answer.bound) == (plain.value, plain.bound)
    assert answer.flags.tolist() == plain.flags.tolist()
