"""Patterns that a device leaves: all that hold a cheap box, hardly any that do not."""

import numpy as np
import pytest

from intensor.backends.cuda import patterns as module
from intensor.backends.cuda.device import simulated
from intensor.backends.cuda.patterns import PatternFilter, shared_bytes


def draw(shape, seed=0, *, kind=np.int32, size=100):
    rng = np.random.default_rng([seed, *shape])
    return rng.integers(-size, size + 1, shape).astype(kind)


def least_costs(costs):
    """Return the least cost of every pattern of all modes but the last two, by trying all."""
    *outer, n_rows, _ = costs.shape
    sums = costs.astype(np.int64)
    for length in outer:
        on = (np.arange(1 << length)[:, np.newaxis] >> np.arange(length)) & 1
        sums = np.moveaxis(np.tensordot(on, sums, axes=(1, 0)), 0, len(outer) - 1)
    rows = (np.arange(1 << n_rows)[:, np.newaxis] >> np.arange(n_rows)) & 1
    return np.minimum(rows @ sums, 0).sum(axis=-1).min(axis=-1)


def numbers(shape):
    """Return the number of every pattern, the last outer mode in the lowest digits."""
    found = np.zeros((), dtype=np.int64)
    for length in shape:
        found = (found[..., np.newaxis] << length) + np.arange(1 << length)
    return found


def check(costs, firsts, cutoff, *, exact=True):
    patterns = PatternFilter(costs, np.array(firsts))
    outer = costs.shape[:-2]
    n_ranges = 1 << (sum(outer) - patterns.digits)
    left = patterns.remaining(int(cutoff), 0, n_ranges)
    least = least_costs(costs)
    wanted = np.sort(numbers(outer)[least < cutoff])
    assert set(wanted) <= set(left)
    if exact:
        np.testing.assert_array_equal(left, wanted)
    return left, least


@pytest.mark.parametrize(
    ("shape", "firsts"),
    [
        ((4, 3, 3), [0, 3]),
        ((3, 4, 4), [0, 2, 4]),
        ((2, 4, 3), [0, 2, 3, 4]),
        ((2, 7, 3), [0, 6, 7]),
        ((2, 2, 2, 3), [0, 1, 2]),
        ((1, 2, 1, 2, 2), [0, 1, 2]),
        ((1, 2, 2), [0, 1, 2]),
    ],
)
def test_what_is_left_holds_a_box_below_the_cutoff(shape, firsts):
    costs = draw(shape) - 20
    least = int(least_costs(costs).min())
    assert check(costs, firsts, 0.8 * least)[0].size > 0
    assert check(costs, firsts, least)[0].size == 0


def test_what_would_take_too_long_is_left_to_the_host(monkeypatch):
    if not simulated():
        pytest.skip("constants are compiled in")
    costs = draw((3, 4, 4), 3)
    least = least_costs(costs)
    cutoff = int(np.quantile(least, 0.3))
    monkeypatch.setattr(module, "SWEEPS", 0)
    exact, _ = check(costs, [0, 2, 4], cutoff)
    monkeypatch.setattr(module, "MOST_TRIED", 0)
    left, _ = check(costs, [0, 2, 4], cutoff, exact=False)
    assert exact.size < left.size < least.size


def test_more_blocks_than_are_combined():
    costs = draw((3, 5, 4), 1)
    cutoff = int(0.9 * least_costs(costs).min())
    left, least = check(costs, [0, 1, 2, 3, 5], cutoff, exact=False)
    assert left.size < least.size


def test_large_numbers_are_rounded_to_the_safe_side():
    costs = draw((3, 2, 3), 2, kind=np.int64, size=1 << 45)
    least = least_costs(costs)
    for cutoff in (int(least.min()), int(least.min()) + 1, int(np.quantile(least, 0.4))):
        left, _ = check(costs, [0, 2], cutoff, exact=False)
        assert left.size <= (least < cutoff + (1 << 32)).sum()


def test_ranges_make_up_the_whole_and_a_short_list_is_filled_in_parts(monkeypatch):
    costs = draw((3, 2, 3), 4)
    cutoff = int(np.quantile(least_costs(costs), 0.6))
    whole, _ = check(costs, [0, 2], cutoff)
    monkeypatch.setattr(module, "SHORT_SPAN", 1)
    patterns = PatternFilter(costs, np.array([0, 2]))
    assert patterns.digits == 1
    parts = [patterns.remaining(cutoff, start, start + 2) for start in (0, 2)]
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), whole)
    monkeypatch.setattr(module, "ROOM_FOR_LIST", 3)
    short = PatternFilter(costs, np.array([0, 2]))
    np.testing.assert_array_equal(np.sort(short.remaining(cutoff, 0, 4)), whole)


def test_shared_memory_of_the_largest_search_fits():
    assert shared_bytes(24, 24, 3) <= 48 << 10
