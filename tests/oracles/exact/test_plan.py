"""Plans hold together: blocks cover the rows, tables fit, and more to do takes longer."""

import itertools
import math

import numpy as np
import pytest

from intensor.oracles.exact.plan import MAX_ENTRIES, plan_branching, plan_enumeration

PLANS = [plan_enumeration, plan_branching]
LENGTHS = [
    (1, 1), (5, 1), (20, 3), (9, 9), (13, 13), (14, 14), (17, 17), (50, 50), (1000, 70),
    (4, 4, 4), (20, 20, 20), (50, 50, 3), (2000, 9, 8), (30, 20, 10, 5), (3, 3, 3, 3, 3),
]  # fmt: skip


@pytest.mark.parametrize("plan", PLANS)
def test_blocks_cover_the_rows_in_order_and_are_alike(plan):
    for lengths in LENGTHS:
        made = plan(lengths)
        sizes = np.diff(made.firsts)
        assert (made.firsts[0], made.firsts[-1]) == (0, lengths[1])
        assert 0 < sizes.min() <= sizes.max() <= sizes.min() + 1
        assert sizes.max() <= 16
        assert made.n_blocks == sizes.size
        assert made.entries == lengths[0] * sum(2 ** int(size) for size in sizes)


@pytest.mark.parametrize("lengths", LENGTHS)
def test_what_is_not_searched_is_counted_through(lengths):
    for plan in PLANS:
        made = plan(lengths)
        assert made.open_slabs + made.pattern_bits == sum(lengths[2:])
    assert plan_enumeration(lengths).open_slabs == 0
    assert plan_branching(lengths).pattern_bits == sum(lengths[3:])


@pytest.mark.parametrize("plan", PLANS)
def test_what_can_be_done_fits_into_memory(plan):
    possible = 0
    for shape in itertools.product((4, 60, 3000), (4, 40, 800), (0, 1, 12, 60)):
        lengths = tuple(sorted((length for length in shape if length), reverse=True))
        made = plan(lengths)
        if math.isfinite(made.seconds):
            possible += 1
            outer = lengths[2] if len(lengths) > 2 else 0
            assert made.entries * (outer + 1) <= MAX_ENTRIES
    assert possible > 10


@pytest.mark.parametrize(
    ("plan", "lengths"),
    [
        (plan_enumeration, (100, 100, 100)),
        (plan_enumeration, (70, 70, 63)),
        (plan_enumeration, (10**5, 10**5)),
        (plan_enumeration, (2**26, 2)),
        (plan_branching, (100, 100, 100)),
        (plan_branching, (10**5, 10**5)),
        (plan_branching, (70, 70, 63)),
        (plan_branching, (40, 40, 40, 40, 40)),
    ],
)
def test_what_cannot_be_done_takes_forever(plan, lengths):
    assert plan(lengths).seconds == math.inf


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize(
    "shapes",
    [
        [(n, n) for n in (5, 20, 40, 60, 80, 100)],
        [(n, n, n) for n in (5, 10, 20, 26, 40)],
        [(20, 20, n) for n in (1, 5, 10, 20)],
        [(10, 10, 10, n) for n in (1, 3, 6, 10)],
    ],
)
def test_longer_modes_take_longer(plan, shapes):
    seconds = [plan(shape).seconds for shape in shapes]
    assert seconds == sorted(seconds)
    assert seconds[0] < 0.1
    assert seconds[-1] > 10.0 * seconds[0]


@pytest.mark.parametrize("plan", PLANS)
def test_leaving_out_indices_never_makes_a_search_impossible(plan):
    # A call leaves out indices without a negative cost, and must then still have a plan.
    for columns in (300, 3000, 30_000, 300_000):
        for rows, outer in itertools.combinations_with_replacement(range(2, 14), 2):
            if math.isfinite(plan((columns, outer, rows)).seconds):
                for fewer in ((outer - 1, rows), (outer - 1, rows - 1)):
                    shorter = (columns, *sorted(fewer, reverse=True))
                    assert math.isfinite(plan(shorter).seconds), ((columns, outer, rows), shorter)


def test_small_enumerations_are_not_cut():
    assert plan_enumeration((10, 10, 10)).n_blocks == 1
    assert plan_enumeration((20, 20, 20)).n_blocks > 1
