"""The watch asks the goal in its own units."""

import numpy as np

from intensor.oracles.base import Goal
from intensor.oracles.mip.watch import Watch
from intensor.runtime.budget import Budget


def test_the_watch_asks_the_goal_in_its_own_units():
    goal = Goal(product=0.0, phi=30.0)
    watch = Watch(goal, Budget(), scale=10.0, margin=0.5, value=-1.0, bound=-100.0)
    assert not watch.says_stop()
    assert not watch.says_stop(lambda: (np.inf, -np.inf))
    assert not watch.says_stop(lambda: (-3.4, -7.5)), "3.4 less the margin is below 3"
    assert watch.says_stop(lambda: (-3.6, -7.5))
    assert goal.phi == 30.0, "half of 7.5 plus the margin is above 3"
    assert not watch.says_stop(lambda: (-2.0, -4.5))
    assert goal.phi == 25.0
    assert not watch.says_stop(lambda: (-2.0, np.inf)), "no bound can be above a vertex's cost"
    assert goal.phi == 25.0
