"""Problems for integer programming, and what must hold of every answer."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np

from intensor.data.observations import observe
from intensor.oracles.mip.formulation import formulate
from intensor.oracles.mip.oracle import error_margin
from intensor.oracles.trivial import sum_of_negative, vertex_cost
from intensor.problem.vertex import membership
from zoo import all_vertices, random_cells

MODULES = {"highs": "highspy", "scip": "pyscipopt", "gurobi": "gurobipy"}
"""The Python package of every solver."""


def mixed_costs(rng, count):
    """Draw costs of which a third is negative, a third 0 and a third positive."""
    return rng.permutation(np.arange(count) % 3 - 1.0) * rng.uniform(0.1, 1.0, size=count)


def least_cost(costs, observations):
    """Return the least cost of all vertices."""
    vertices = all_vertices(observations.shape)
    return min(vertex_cost(flags, costs, observations) for flags in vertices)


def good_vertex(rng, costs, observations):
    """Return the best of many descents that go round the modes: an upper bound on the minimum."""
    best = np.zeros(sum(observations.shape), dtype=np.uint8)
    ends = np.cumsum((0, *observations.shape))
    for _ in range(30):
        flags = rng.integers(0, 2, size=best.size).astype(np.uint8)
        for _ in range(10):
            for mode, indices in enumerate(observations.coords):
                flags[ends[mode] : ends[mode + 1]] = 1
                inside = membership(flags, observations.coords, observations.shape).view(bool)
                gains = np.bincount(
                    indices[inside], costs[inside], minlength=observations.shape[mode]
                )
                flags[ends[mode] : ends[mode + 1]] = gains < 0.0
        if vertex_cost(flags, costs, observations) < vertex_cost(best, costs, observations):
            best = flags.copy()
    return best


def small_problem():
    """Return a problem whose answer can be read off: its only negative cell."""
    observations = observe([[0, 0], [0, 1], [1, 1]], [1.0] * 3)
    return observations, np.array([-4.0, 1.0, 2.0])


def medium_problem():
    """Return cells and costs that keep every solver busy for a second or so."""
    rng = np.random.default_rng(11)
    return random_cells(rng, (8, 8, 8), 120), rng.normal(size=120)


def hard_problem():
    """Return cells and costs that keep every solver busy for many seconds."""
    rng = np.random.default_rng(11)
    observations = random_cells(rng, (16, 16, 16), 500)
    return observations, rng.normal(size=500)


def assert_consistent(answer, costs, observations):
    """Check what must hold of every answer, optimal or not."""
    assert answer.value == vertex_cost(answer.flags, costs, observations)
    assert sum_of_negative(costs) <= answer.bound <= answer.value <= 0.0


def assert_optimal(answer, costs, observations, solver):
    least = least_cost(costs, observations)
    scale = np.abs(costs).max()
    margin = error_margin(formulate(observations, costs / scale), solver.tolerance) * scale
    assert_consistent(answer, costs, observations)
    assert answer.bound <= least <= answer.value
    assert answer.value - least <= margin
    assert least - answer.bound <= 2.0 * margin


def interrupt_after(seconds):
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer
