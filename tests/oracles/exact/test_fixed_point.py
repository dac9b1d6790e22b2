"""Integer costs against exact arithmetic: everything is rounded down and nothing overflows."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intensor.oracles.exact.fixed_point import COST_BITS, to_integers, unit_of
from intensor.oracles.exact.plan import MAX_CELLS

KINDS = [np.int32, np.int64]
TINY, SUBNORMAL = 2.0**-1022, 2.0**-1074
ADVERSARIAL = [
    [1e-12, -1e6],
    [-1e-12, 1e6],
    [-0.75, 0.5, 1e-30],
    [-SUBNORMAL],
    [SUBNORMAL, -3 * SUBNORMAL],
    [-TINY, SUBNORMAL, TINY / 3],
    [-1e300, 1e-300],
    [-1e-300, 1e300],
    [-SUBNORMAL, 1e300],
    [1e300, -1e300, 1e284, -1e283, 1.0],
    [-1e-320, 1e-310, -1e-300],
    [0.0, -0.0, -1.0],
    [math.nextafter(1.0, 0.0)] * 7 + [-(2.0**-60)],
    [1.0, 1.0, -1.0, -1.0],
    [-1.0] * 1000 + [1.0 / 3.0] * 1000,
]

finite = st.floats(-1e300, 1e300, allow_subnormal=True)
lists = st.lists(finite, min_size=1, max_size=20).filter(any)
kinds = st.sampled_from(KINDS)


def power(exponent):
    return Fraction(2) ** exponent


def check_numbers(costs, kind):
    """Assert that the integers are the costs rounded down, use the digits they have and no more."""
    fixed = to_integers(np.array(costs), kind)
    scale = power(fixed.exponent)
    assert fixed.numbers.dtype == kind
    for cost, number in zip(costs, fixed.numbers.tolist(), strict=True):
        assert number <= Fraction(cost) * scale < number + 1
    digits = COST_BITS[np.dtype(kind)]
    total = sum(abs(Fraction(cost)) for cost in costs) * scale
    assert 2 ** (digits - 1) <= total * (1 + Fraction(2) ** -50)
    assert total <= 2**digits
    assert sum(map(abs, fixed.numbers.tolist())) <= 2**digits + len(costs)
    return fixed


def check_value(fixed, number):
    """Assert that an integer's value is rounded down, by less than two units in the last place."""
    exact = number / power(fixed.exponent)
    value = fixed.value(number)
    assert Fraction(value) <= exact
    next_but_one = math.nextafter(math.nextafter(value, math.inf), math.inf)
    assert exact < (Fraction(next_but_one) if math.isfinite(next_but_one) else math.inf)
    if Fraction(float(exact)) == exact:
        assert value == float(exact)


def check_down(fixed, cost):
    number = fixed.down(cost)
    assert isinstance(number, int)
    assert number <= Fraction(cost) * power(fixed.exponent) < number + 1


@pytest.mark.parametrize("costs", ADVERSARIAL)
def test_costs_of_all_sizes_are_rounded_down(costs):
    for kind in KINDS:
        fixed = check_numbers(costs, kind)
        digits = COST_BITS[np.dtype(kind)]
        for number in (
            0,
            1,
            3,
            2 ** (digits - 1) + 1,
            2**digits - 1,
            2 ** (digits + 1) + 3,
            2 ** (digits + 2),
        ):
            check_value(fixed, number)
            check_value(fixed, -number)


@given(lists, kinds)
def test_any_costs_are_rounded_down(costs, kind):
    check_numbers(costs, kind)


@given(lists, kinds, st.data())
def test_any_integer_has_its_value_rounded_down(costs, kind, data):
    largest = 4 << COST_BITS[np.dtype(kind)]
    check_value(to_integers(np.array(costs), kind), data.draw(st.integers(-largest, largest)))


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=20).filter(any), kinds, st.data())
def test_any_cost_within_the_sum_has_the_largest_integer_at_most_that(costs, kind, data):
    fixed = to_integers(np.array(costs), kind)
    total = math.fsum(map(abs, costs))
    check_down(fixed, data.draw(st.floats(-total, total)))
    for cost in costs:
        check_down(fixed, cost)


@pytest.mark.parametrize("kind", KINDS)
def test_a_cost_that_is_nothing_beside_the_others_is_rounded_down_too(kind):
    for cost in (-1e-300, -SUBNORMAL, 0.0, 1e-300, -1e290, 1e299):
        check_down(to_integers(np.array([-1e300, 1e299]), kind), cost)


@pytest.mark.parametrize("costs", ADVERSARIAL)
def test_the_unit_is_what_one_stands_for(costs):
    for kind in KINDS:
        unit, fixed = unit_of(np.array(costs), kind), to_integers(np.array(costs), kind)
        assert Fraction(unit) == power(-fixed.exponent) or (unit == 0.0 and fixed.exponent > 1074)


def test_there_are_bits_for_four_times_the_sum_and_a_unit_for_every_cell():
    for kind, digits in COST_BITS.items():
        assert 4 * (2**digits + MAX_CELLS) <= np.iinfo(kind).max


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_beyond_all_costs_stays_within_the_types(kind):
    fixed = to_integers(np.array([-1e300, 1e299]), kind)
    assert fixed.value(-(2**62)) <= -4e300
    assert 4e300 <= fixed.value(2**62) < math.inf
    for number in (fixed.down(-1e308), to_integers(np.array([-1e-300, 1e-310]), kind).down(-1e300)):
        assert -(2**62) < number < -4 * 2 ** COST_BITS[np.dtype(kind)]


def test_sums_of_integers_are_below_sums_of_costs_by_at_most_a_unit_each():
    rng = np.random.default_rng(0)
    costs = rng.normal(size=200) * 10.0 ** rng.uniform(-12, 6, 200)
    for kind in KINDS:
        fixed = to_integers(costs, kind)
        for inside in rng.integers(0, 2, (20, 200)).astype(bool):
            exact = sum(map(Fraction, costs[inside].tolist()))
            number = int(fixed.numbers[inside].sum(dtype=np.int64))
            below = exact - number / power(fixed.exponent)
            assert 0 <= below < Fraction(unit_of(costs, kind)) * int(inside.sum())
            assert Fraction(fixed.value(number)) <= exact


def test_arguments_are_left_alone():
    costs = np.array([-1e-300, 1e300])
    costs.flags.writeable = False
    assert to_integers(costs, np.int64).numbers[0] == -1
    assert costs.tolist() == [-1e-300, 1e300]
