"""The patterns that a device lists against those that hold a cheap box."""

import numpy as np
import pytest

import naive_exact as naive
from intensor.backends.cuda.pattern_filter import PatternFilter


def draw(shape, seed=0, *, kind=np.int32, size=100):
    rng = np.random.default_rng([seed, *shape])
    return rng.integers(-size, size + 1, shape).astype(kind)


def least_costs(costs):
    """Return the least cost of every pattern, in the order of the patterns' numbers."""
    best = naive.least_by_pattern(costs)
    return np.array([best[number] for number in range(len(best))])


def check(costs, firsts, cutoff, *, exact=True, **options):
    """Assert that the device leaves every pattern below the cutoff, and no other if ``exact``."""
    patterns = PatternFilter(costs, np.array(firsts), **options)
    n_ranges = 1 << (sum(costs.shape[:-2]) - patterns.range_bits)
    left = patterns.remaining(int(cutoff), 0, n_ranges)
    wanted = np.flatnonzero(least_costs(costs) < cutoff)
    assert set(wanted) <= set(left)
    if exact:
        np.testing.assert_array_equal(left, wanted)
    return left


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("shape", "firsts"),
    [
        ((1, 2, 2), [0, 1, 2]),
        slow((4, 3, 3), [0, 3]),
        slow((3, 4, 4), [0, 2, 4]),
        slow((2, 4, 3), [0, 2, 3, 4]),
        slow((2, 7, 3), [0, 6, 7]),
        slow((2, 2, 2, 3), [0, 1, 2]),
        slow((1, 2, 1, 2, 2), [0, 1, 2]),
    ],
)
def test_the_patterns_left_are_those_with_a_box_below_the_cutoff(shape, firsts):
    costs = draw(shape) - 20
    least = int(least_costs(costs).min())
    assert check(costs, firsts, 0.8 * least).size > 0
    assert check(costs, firsts, least).size == 0


def test_leading_modes_are_summed_over_their_patterns():
    costs = draw((1, 2, 2, 2), 1) - 20
    assert check(costs, [0, 2], 0.5 * least_costs(costs).min()).size > 0


@pytest.mark.slow
def test_patterns_that_would_take_too_long_are_left_to_the_host():
    costs = draw((3, 4, 4), 3)
    least = least_costs(costs)
    cutoff = int(np.quantile(least, 0.3))
    exact = check(costs, [0, 2, 4], cutoff, sweeps=0)
    left = check(costs, [0, 2, 4], cutoff, sweeps=0, max_tried=0, exact=False)
    assert exact.size < left.size < least.size


@pytest.mark.slow
def test_there_may_be_more_blocks_than_the_device_combines():
    costs = draw((3, 5, 4), 1)
    cutoff = int(0.9 * least_costs(costs).min())
    left = check(costs, [0, 1, 2, 3, 5], cutoff, exact=False)
    assert left.size < 8


def test_large_numbers_are_rounded_to_the_safe_side():
    costs = draw((2, 2, 2), 2, kind=np.int64, size=1 << 45)
    least = least_costs(costs)
    for cutoff in (int(least.min()), int(least.min()) + 1, int(np.quantile(least, 0.4))):
        left = check(costs, [0, 2], cutoff, exact=False)
        assert left.size <= (least < cutoff + (1 << 32)).sum()


def test_ranges_add_up_and_a_short_list_is_filled_in_parts():
    costs = draw((3, 2, 2), 4)
    cutoff = int(np.quantile(least_costs(costs), 0.6))
    together = check(costs, [0, 2], cutoff)
    patterns = PatternFilter(costs, np.array([0, 2]), range_bits=1)
    assert patterns.range_bits == 1
    parts = [patterns.remaining(cutoff, start, start + 2) for start in (0, 2)]
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), together)
    short = PatternFilter(costs, np.array([0, 2]), range_bits=1, list_size=3)
    np.testing.assert_array_equal(np.sort(short.remaining(cutoff, 0, 4)), together)
