"""The exact oracle of a solve: the cheapest one that can answer.

Costs of one sign need no search at all; small tensors are enumerated; for the rest there is
integer programming.
"""

from __future__ import annotations

import math

import numpy as np

from intensor.arrays import FlagArray, FloatArray
from intensor.budget import Budget
from intensor.data.observations import Observations
from intensor.errors import SettingError
from intensor.oracles.base import Answer, Goal, Oracle
from intensor.oracles.enumeration import EnumerationOracle, enumeration_work
from intensor.oracles.mip import mip_solver
from intensor.oracles.mip.oracle import MipOracle
from intensor.oracles.trivial import sum_of_negative, trivial_answer

__all__ = ["EXACT_CHOICES", "NoSearch", "exact_oracle"]

EXACT_CHOICES = ("auto", "enumeration", "highs", "scip", "gurobi", "off")
ENUMERATE_BELOW = 1 << 26
"""Enumeration work (numbers computed per call) that "auto" accepts: below about a second."""
DENSE_BELOW = 1 << 27
"""Cells of the dense cost tensor that enumeration may build."""
MOST_AXES = 32
"""Of a NumPy array, in the oldest version that is supported."""


class NoSearch:
    """Answers costs of one sign; for others it offers the zero vertex and the free bound.

    The bound, the sum of the negative costs, is proven and weak.
    """

    def __init__(self, observations: Observations) -> None:
        self._length = sum(observations.shape)

    def minimise(
        self,
        costs: FloatArray,
        *,
        goal: Goal | None = None,
        incumbent: FlagArray | None = None,
        budget: Budget | None = None,
    ) -> Answer:
        """Return what can be said without a search."""
        trivial = trivial_answer(costs, self._length)
        if trivial is not None:
            return trivial
        nothing = np.zeros(self._length, dtype=np.uint8)
        return Answer(flags=nothing, value=0.0, bound=sum_of_negative(costs), source="free")


def exact_oracle(choice: str, observations: Observations, *, patient: bool = True) -> Oracle:
    """Return the oracle behind a name of ``EXACT_CHOICES``.

    Parameters
    ----------
    patient
        Whether "auto" may fall back on integer programming, which can take forever; if not,
        it does without a search where enumeration is too expensive.
    """
    if choice == "auto":
        otherwise = "highs" if patient else "off"
        choice = "enumeration" if _can_enumerate(observations, ENUMERATE_BELOW) else otherwise
    if choice == "enumeration":
        if not _can_enumerate(observations, math.inf):
            raise SettingError(
                f"exact='enumeration' cannot try all vertices of a tensor of shape "
                f"{observations.shape}; use exact='auto'"
            )
        return EnumerationOracle(observations)
    if choice == "off":
        return NoSearch(observations)
    if choice in EXACT_CHOICES:
        return MipOracle(observations, mip_solver(choice))
    raise SettingError(f"exact is {choice!r}; expected one of {', '.join(EXACT_CHOICES)}")


def _can_enumerate(observations: Observations, most_work: float) -> bool:
    shape = observations.shape
    others = sorted(shape)[:-2]  # all but the free mode and the one that is cut into pieces
    return (
        enumeration_work(shape) <= most_work
        and math.prod(shape) <= DENSE_BELOW
        and sum(others) <= 24
        and sum(shape) - max(shape) <= 40
        and len(shape) <= MOST_AXES
    )
