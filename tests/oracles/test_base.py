"""Goals and answers: when a vertex is good enough, and what counts as proven."""

import math

import numpy as np
import pytest

from intensor.oracles.base import Answer, Goal


def test_an_answer_is_proven_when_it_has_a_bound():
    flags = np.zeros(3, dtype=np.uint8)
    assert not Answer(flags=flags, value=-1.0, source="test").proven
    assert Answer(flags=flags, value=-1.0, bound=-2.0, source="test").proven


def test_a_goal_is_reached_by_a_gain_above_phi():
    goal = Goal(product=1.0, phi=2.0)
    assert not goal.reached(-1.0, -math.inf)
    assert goal.reached(-1.5, -math.inf)
    assert goal.phi == 2.0


def test_phi_falls_to_half_of_the_gap_that_a_bound_leaves_and_no_further():
    goal = Goal(product=1.0, phi=2.0)
    assert goal.reached(-1.0, -2.0)
    assert goal.phi == 1.5
    assert not goal.reached(1.0, 5.0)
    assert goal.phi == 0.0
    assert not goal.reached(1.0, -math.inf), "a vertex that gains nothing is not good enough"
    assert goal.phi == 0.0


@pytest.mark.parametrize("bound", [-math.inf, -1.0])
def test_without_phi_a_bound_is_needed(bound):
    assert Goal(product=0.0).reached(-0.9, bound) == (bound > -math.inf)
