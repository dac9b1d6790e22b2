"""Easy answers and a bound that needs no search.

Sums are taken with ``math.fsum``, whose only error is one last rounding. A bound is moved
down by one unit in the last place, which is more than that rounding.
"""

from __future__ import annotations

import math

import numpy as np

from intensor._arrays import FlagArray, FloatArray
from intensor.data.observations import Observations
from intensor.oracles.base import Answer
from intensor.problem.vertex import membership


def vertex_cost(flags: FlagArray, costs: FloatArray, observations: Observations) -> float:
    """Return the total cost of the cells of a vertex."""
    inside = membership(flags, observations.coords, observations.shape)
    return math.fsum(costs[inside.view(bool)].tolist())


def sum_of_negative(costs: FloatArray) -> float:
    """Return a lower bound of the cost of every vertex: the sum of the negative costs.

    Examples
    --------
    >>> sum_of_negative(np.array([1.0, 2.0]))
    0.0
    """
    negative = costs[costs < 0.0]
    if negative.size == 0:
        return 0.0
    return math.nextafter(math.fsum(negative.tolist()), -math.inf)


def trivial_answer(costs: FloatArray, length: int) -> Answer | None:
    """Answer costs of one sign, which need no search; None when both signs occur.

    A vertex has ``length`` flags.

    Examples
    --------
    >>> answer = trivial_answer(np.array([-1.0, 0.0, -2.0]), 4)
    >>> answer.flags.tolist(), answer.value
    ([1, 1, 1, 1], -3.0)
    """
    if not np.any(costs < 0.0):
        nothing = np.zeros(length, dtype=np.uint8)
        return Answer(flags=nothing, value=0.0, bound=0.0, source="trivial")
    if not np.any(costs > 0.0):
        everything = np.ones(length, dtype=np.uint8)
        value = math.fsum(costs.tolist())
        return Answer(flags=everything, value=value, bound=sum_of_negative(costs), source="trivial")
    return None
