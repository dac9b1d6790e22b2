"""The exact oracle of a solve: the cheapest one that can answer.

Costs of one sign need no search at all. Small tensors are enumerated, longer ones searched by
branch and bound, if that is expected to end in time. For the rest there is integer
programming, which takes as long as it takes, or nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from intensor._arrays import FlagArray, FloatArray
from intensor.backends.select import Data, has_device
from intensor.data.observations import Observations
from intensor.errors import MemoryLimitError, SettingError
from intensor.oracles.base import Answer, Goal, Oracle
from intensor.oracles.exact.branch_bound import BranchOracle
from intensor.oracles.exact.device_enumeration import DeviceEnumerationOracle
from intensor.oracles.exact.enumeration import EnumerationOracle
from intensor.oracles.exact.oracle import DecomposedOracle
from intensor.oracles.exact.plan import LEAST_DEVICE_SECONDS
from intensor.oracles.mip import mip_solver
from intensor.oracles.mip.oracle import MipOracle
from intensor.oracles.trivial import sum_of_negative, trivial_answer
from intensor.runtime.budget import Budget
from intensor.runtime.memory import require_memory

__all__ = ["EXACT_CHOICES", "ORACLES", "Limited", "NoSearch", "exact_choices", "exact_oracle"]

OWN_CHOICES = ("enumeration", "branch")
EXACT_CHOICES = ("auto", *OWN_CHOICES, "highs", "scip", "gurobi", "off")
ORACLES: dict[str, Callable[[Observations], Oracle]] = {}
"""Exact oracles from outside by name: what makes one for the observations of a solve."""
PATIENCE = 60.0
"""Seconds that "auto" lets a call be expected to take when the solve has no time limit."""
ALLOWANCE = 10.0
"""How many times the expected time "auto" lets a call take, with as many seconds on top."""


class NoSearch:
    """Answers costs of one sign; for others it offers the zero vertex and the free bound.

    The bound, the sum of the negative costs, is proven and weak.
    """

    def __init__(self, observations: Data) -> None:
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


class Limited:
    """Gives every call of an oracle at most some seconds; its bound is then what it has by then.

    Parameters
    ----------
    oracle
        The one that answers.
    seconds
        For each call.
    """

    def __init__(self, oracle: Oracle, seconds: float) -> None:
        self._oracle = oracle
        self._seconds = seconds

    def minimise(
        self,
        costs: FloatArray,
        *,
        goal: Goal | None = None,
        incumbent: FlagArray | None = None,
        budget: Budget | None = None,
    ) -> Answer:
        """Pass the call on with a shorter budget."""
        shorter = Budget(self._seconds, within=budget)
        return self._oracle.minimise(costs, goal=goal, incumbent=incumbent, budget=shorter)


def exact_choices() -> tuple[str, ...]:
    """Return the names that ``exact_oracle`` knows, those of ``ORACLES`` last."""
    return (*EXACT_CHOICES, *ORACLES)


def _fits(oracle: DecomposedOracle) -> bool:
    """Whether there is memory for the tables of a search."""
    try:
        require_memory(oracle.expected_bytes(), "an exact search", advice="")
    except MemoryLimitError:
        return False
    return True


def exact_oracle(
    choice: str,
    observations: Observations,
    *,
    patient: bool = True,
    threads: int | None = None,
    time_limit: float | None = None,
    device: str = "cpu",
) -> Oracle:
    """Return the oracle behind a name of ``exact_choices``.

    Parameters
    ----------
    patient
        Whether "auto" may fall back on integer programming, which can take forever; if not,
        it does without a search where its own oracles would take too long.
    threads
        For the oracles that use them.
    time_limit
        Seconds of the whole solve, which "auto" takes into account.
    device
        "cuda" or "auto" to enumerate on a CUDA device where that is faster.
    """
    if choice == "auto":
        patience = PATIENCE if time_limit is None else time_limit
        own = [_own(name, observations, threads, device) for name in OWN_CHOICES]
        seconds, which = min((oracle.expected_seconds(), i) for i, oracle in enumerate(own))
        if seconds <= patience and _fits(own[which]):
            return Limited(own[which], ALLOWANCE * (1.0 + seconds))
        choice = "highs" if patient else "off"
    if choice in OWN_CHOICES:
        oracle = _own(choice, observations, threads, device)
        if not math.isfinite(oracle.expected_seconds()):
            raise SettingError(
                f"exact={choice!r} cannot search a tensor of shape {observations.shape}; "
                "use exact='auto'"
            )
        require_memory(
            oracle.expected_bytes(),
            f"exact={choice!r} for a tensor of shape {observations.shape}",
            advice="use exact='auto', which does without where it must, or exact='off'",
        )
        return oracle
    if choice == "off":
        return NoSearch(observations)
    if choice in EXACT_CHOICES:
        return MipOracle(observations, mip_solver(choice))
    if choice in exact_choices():
        return ORACLES[choice](observations)
    raise SettingError(f"exact is {choice!r}; expected one of {', '.join(exact_choices())}")


def _own(
    name: str, observations: Observations, threads: int | None, device: str
) -> DecomposedOracle:
    """Return one of the oracles that need no solver; an enumeration where it is faster."""
    if name == "branch":
        return BranchOracle(observations, threads=threads)
    oracle: DecomposedOracle = EnumerationOracle(observations, threads=threads)
    if oracle.expected_seconds() < LEAST_DEVICE_SECONDS or not has_device(device):
        return oracle
    there = DeviceEnumerationOracle(observations, threads=threads)
    return min(oracle, there, key=DecomposedOracle.expected_seconds)
