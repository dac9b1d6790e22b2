"""The exact oracle of a solve: the cheapest one that can answer.

Costs of one sign need no search at all. Small tensors are enumerated, longer ones searched by
branch and bound, if that is expected to end in time. For the rest there is integer
programming, which takes as long as it takes, or nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from intensor._arrays import FlagArray, FloatArray
from intensor.backends.select import CPU, Data, Device
from intensor.data.observations import Observations
from intensor.errors import MemoryLimitError, SettingError
from intensor.oracles.base import Answer, Goal, Oracle
from intensor.oracles.exact.branch_bound import BranchOracle
from intensor.oracles.exact.device_enumeration import DeviceEnumerationOracle
from intensor.oracles.exact.enumeration import EnumerationOracle
from intensor.oracles.exact.oracle import SearchOracle
from intensor.oracles.exact.plan import MIN_DEVICE_SECONDS
from intensor.oracles.mip import mip_solver
from intensor.oracles.mip.oracle import MipOracle
from intensor.oracles.trivial import sum_of_negative, trivial_answer
from intensor.runtime.budget import Budget
from intensor.runtime.memory import require_memory

ORACLES: dict[str, Callable[[Observations], Oracle]] = {}
"""Exact oracles from outside, by name: each makes an oracle for the observations of a solve."""
MAX_EXPECTED_SECONDS = 60.0
"""Seconds that one call may be expected to take under "auto" when the solve has no time limit."""
OVERRUN_FACTOR = 10.0
"""Under "auto" a call is cut off after this factor times (1 + its expected seconds)."""
MAX_CELLS_TO_FETCH = 1 << 22
"""Most cells that "auto" fetches into memory for an exact oracle."""


class FreeBoundOracle:
    """Answers costs of one sign; for others it returns the zero vertex and the free bound.

    The free bound, the sum of the negative costs, is proven and weak.
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
        """Return an answer without a search."""
        trivial = trivial_answer(costs, self._length)
        if trivial is not None:
            return trivial
        nothing = np.zeros(self._length, dtype=np.uint8)
        return Answer(flags=nothing, value=0.0, bound=sum_of_negative(costs), source="free")


class TimeLimitedOracle:
    """Cuts every call of an oracle off after some seconds, with the bound it has by then."""

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


class Terms(NamedTuple):
    """What a choice knows of a solve beside its cells (see ``ExactChoice.oracle``)."""

    patient: bool
    threads: int | None
    time_limit: float | None
    device: Device


@dataclass(frozen=True, slots=True)
class ExactChoice:
    """Which exact oracle a solve asks."""

    name: str  # The value of the option ``exact``
    # Makes the oracle for the cells of a solve; it can be pickled, for workers of a cluster
    make: Callable[[Data, Terms], Oracle]

    def oracle(
        self,
        data: Data,
        *,
        patient: bool = True,
        threads: int | None = None,
        time_limit: float | None = None,
        device: Device = CPU,
    ) -> Oracle:
        """Return the oracle for the cells of a solve.

        If not ``patient``, "auto" does without a search where its own oracles would take too long,
        instead of falling back on integer programming, which can take forever. ``time_limit`` has
        the seconds of the solve, which "auto" takes into account. A ``device`` that may use CUDA
        enumerates there if that is faster.
        """
        return self.make(data, Terms(patient, threads, time_limit, device))


def _enumeration(observations: Observations, terms: Terms) -> SearchOracle:
    """Return the enumeration that is expected to be faster: on the host or on a CUDA device."""
    oracle = EnumerationOracle(observations, threads=terms.threads)
    if oracle.expected_seconds() < MIN_DEVICE_SECONDS or not terms.device.has_cuda():
        return oracle
    on_cuda = DeviceEnumerationOracle(observations, threads=terms.threads)
    return min(oracle, on_cuda, key=SearchOracle.expected_seconds)


def _branch_and_bound(observations: Observations, terms: Terms) -> SearchOracle:
    return BranchOracle(observations, threads=terms.threads)


SEARCHES = {"enumeration": _enumeration, "branch": _branch_and_bound}
"""The searches that need no solver, by name."""


def _automatic(data: Data, terms: Terms) -> Oracle:
    """Return the faster search, if it is expected to end in time; do not fetch large data."""
    if not isinstance(data, Observations) and data.n_cells > MAX_CELLS_TO_FETCH:
        return FreeBoundOracle(data)
    limit = MAX_EXPECTED_SECONDS if terms.time_limit is None else terms.time_limit
    observations = data.host()
    searches = [search(observations, terms) for search in SEARCHES.values()]
    fastest = min(searches, key=SearchOracle.expected_seconds)
    seconds = fastest.expected_seconds()
    if seconds <= limit and _fits(fastest):
        return TimeLimitedOracle(fastest, OVERRUN_FACTOR * (1.0 + seconds))
    return (
        _integer_program("highs", observations, terms) if terms.patient else _no_search(data, terms)
    )


def _fits(search: SearchOracle) -> bool:
    """Say whether there is memory for the tables of a search."""
    try:
        require_memory(search.expected_bytes(), "an exact search", advice="")
    except MemoryLimitError:
        return False
    return True


def _search(name: str, data: Data, terms: Terms) -> Oracle:
    """Return a search, however long it takes, or raise when the tensor is too large for it."""
    search = SEARCHES[name](data.host(), terms)
    if not math.isfinite(search.expected_seconds()):
        raise SettingError(
            f"exact={name!r} cannot search a tensor of shape {data.shape}; use exact='auto'"
        )
    require_memory(
        search.expected_bytes(),
        f"exact={name!r} for a tensor of shape {data.shape}",
        advice="use exact='auto', which does without where it must, or exact='off'",
    )
    return search


def _integer_program(name: str, data: Data, terms: Terms) -> Oracle:
    return MipOracle(data.host(), mip_solver(name))


def _no_search(data: Data, terms: Terms) -> Oracle:
    return FreeBoundOracle(data)


def _registered(make: Callable[[Observations], Oracle], data: Data, terms: Terms) -> Oracle:
    return make(data.host())


EXACT_CHOICES = {
    choice.name: choice
    for choice in (
        ExactChoice("auto", _automatic),
        *(ExactChoice(name, partial(_search, name)) for name in SEARCHES),
        *(
            ExactChoice(name, partial(_integer_program, name))
            for name in ("highs", "scip", "gurobi")
        ),
        ExactChoice("off", _no_search),
    )
}
"""The exact oracles that the package brings, by name."""


def exact_choices() -> tuple[str, ...]:
    """Return the names of all exact oracles, those of ``ORACLES`` last."""
    return (*EXACT_CHOICES, *ORACLES)


def find_exact(name: object) -> ExactChoice:
    """Return the exact oracle of a name, or raise a SettingError that lists the names."""
    if not isinstance(name, str) or name not in exact_choices():
        expected = ", ".join(repr(known) for known in exact_choices())
        raise SettingError(f"exact is {name!r}; expected one of {expected}")
    if name in EXACT_CHOICES:
        return EXACT_CHOICES[name]
    return ExactChoice(name, partial(_registered, ORACLES[name]))
