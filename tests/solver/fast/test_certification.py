"""The exact oracle is asked once per sign, and its answers are put together."""

import math

import numpy as np
import pytest

from intensor.oracles.base import Answer
from intensor.runtime.budget import Budget
from intensor.solver.fast.certification import allowed_gain, ask_exact
from intensor.solver.fast.gram_set import key

FIRST, SECOND = np.array([[1, 0, 1], [0, 1, 1]], dtype=np.uint8)


class Scripted:
    """An oracle that answers from a list, and remembers what it was asked."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def minimise(self, costs, *, goal=None, incumbent=None, budget=None):
        self.asked.append((costs.tolist(), goal.product, goal.phi, goal.pool, incumbent))
        return self.answers.pop(0)


def ask(oracle, *, signs=(1.0,), known=(), allowed=0.5):
    return ask_exact(
        oracle,
        np.array([1.0, -2.0]),
        product=1.0,
        allowed=allowed,
        pool=8,
        polytope_signs=signs,
        incumbent=None,
        known=set(known),
        budget=Budget(),
    )


def test_one_sign():
    oracle = Scripted(Answer(flags=FIRST, value=-2.0, bound=-2.5, source="one"))
    found = ask(oracle)
    assert oracle.asked == [([1.0, -2.0], 1.0, 0.5, 8, None)]
    assert (found.bound, found.gain, found.gains_enough) == (-2.5, 3.0, True)
    assert [row.tolist() for row in found.flags] == [FIRST.tolist()]
    assert (found.signs, found.source) == ([1.0], "one")


def test_both_signs_have_goals_of_their_own_and_the_weaker_bound_counts():
    pool = np.array([SECOND, FIRST])
    oracle = Scripted(
        Answer(flags=FIRST, value=0.9, bound=0.5, source="plus"),
        Answer(flags=SECOND, value=-3.0, bound=-4.0, source="minus", pool=pool),
    )
    found = ask(oracle, signs=(1.0, -1.0), known=[key(FIRST, 1.0)])
    assert [asked[0] for asked in oracle.asked] == [[1.0, -2.0], [-1.0, 2.0]]
    assert [asked[2] for asked in oracle.asked] == [0.5, 0.5]
    assert (found.bound, found.gain, found.gains_enough) == (-4.0, 4.0, True)
    assert [row.tolist() for row in found.flags] == pool.tolist()
    assert found.signs == [-1.0, -1.0]


def test_what_gains_too_little_is_not_enough():
    found = ask(Scripted(Answer(flags=FIRST, value=0.6, bound=0.6, source="one")))
    assert not found.gains_enough
    assert found.gain == pytest.approx(0.4)


@pytest.mark.parametrize("error", [1e-3, 0.02, 1.0, 1e6])
@pytest.mark.parametrize("tolerance", [1e-9, 1e-2])
def test_the_allowed_gain_proves_three_quarters_of_the_tolerance(tolerance, error):
    gain = allowed_gain(tolerance, error)
    if 0.75 * tolerance >= error:
        assert gain == 1.5 * tolerance
    else:
        assert gain - gain**2 / (4.0 * error) == pytest.approx(0.75 * tolerance, rel=1e-6)
        assert gain <= 2.0 * error
    assert math.isfinite(gain)
