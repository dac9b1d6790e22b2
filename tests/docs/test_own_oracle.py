"""An exact oracle of your own: count through all modes but the longest."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import intensor
from intensor.oracles.base import Answer
from intensor.oracles.cascade import ORACLES
from intensor.problem.vertex import membership, mode_slices


class Counting:
    """Tries every on-off pattern of all modes but the longest, which follows from the signs."""

    def __init__(self, observations):
        self.shape, self.coords = observations.shape, observations.coords

    def minimise(self, costs, *, goal=None, incumbent=None, budget=None):
        longest = int(np.argmax(self.shape))
        free = mode_slices(self.shape)[longest]
        flags, value = np.zeros(sum(self.shape), dtype=np.uint8), 0.0  # the zero vertex
        for pattern in itertools.product((0, 1), repeat=flags.size - self.shape[longest]):
            if budget is not None and budget.spent:
                return Answer(flags=flags, value=value, source="counting")  # nothing proven
            trial = np.insert(pattern, free.start, np.ones(self.shape[longest])).astype(np.uint8)
            inside = membership(trial, self.coords, self.shape)
            sums = np.bincount(self.coords[longest], inside * costs, self.shape[longest])
            if np.minimum(sums, 0.0).sum() < value:
                trial[free] = sums < 0.0
                flags, value = trial, float(np.minimum(sums, 0.0).sum())
        # Sums of so many terms may be off by as many roundings: a bound must survive them.
        margin = costs.size * np.finfo(float).eps * np.abs(costs).sum()
        return Answer(flags=flags, value=value, bound=value - margin, source="counting")


class Boasting(Counting):
    """Claims more than it has shown."""

    def minimise(self, costs, **options):
        answer = super().minimise(costs, **options)
        return replace(answer, bound=0.5 * answer.value)


@pytest.fixture(autouse=True)
def oracles(monkeypatch):
    # Outside of a test: ORACLES["counting"] = Counting
    monkeypatch.setitem(ORACLES, "counting", Counting)
    monkeypatch.setitem(ORACLES, "boasting", Boasting)


@pytest.fixture(scope="module")
def data():
    return intensor.planted((4, 6, 3), 60, noise=0.25)


def test_bounds_of_the_oracle_are_proven_again(data):
    options = {"shape": data.shape, "radius": 1.0, "rtol": 1e-4}
    mine = intensor.solve(data.coords, data.values, exact="counting", **options)
    ours = intensor.solve(data.coords, data.values, exact="enumeration", **options)
    report = intensor.verify(mine, data.coords, data.values)
    assert mine.status is intensor.Status.OPTIMAL
    assert mine.bound_source == "counting"
    assert report.ok
    assert report.complete
    assert mine.bound <= ours.objective
    assert ours.bound <= mine.objective


def test_a_false_bound_is_found_out(data):
    options = {"shape": data.shape, "radius": 1.0, "rtol": 1e-4}
    boast = intensor.solve(data.coords, data.values, exact="boasting", **options)
    (failure,) = intensor.verify(boast, data.coords, data.values).failures
    assert "is above the objective of a feasible model" in failure


def test_fits_know_the_oracle_too(data):
    completer = intensor.TensorCompleter(radius=1.0, rtol=1e-3, exact="counting")
    assert completer.fit(data.coords, data.values).fit_.result.bound_source == "counting"


def test_what_is_not_in_the_table_is_named(data):
    with pytest.raises(intensor.errors.SettingError, match=r"expected one of 'auto',.* 'counting'"):
        intensor.solve(data.coords, data.values, radius=1.0, exact="guessing")
