"""The state of a solve: bounds only rise, and idle iterations are counted."""

import numpy as np

from intensor.solver.state import State, Witness

WITNESS = Witness(flags=np.ones((1, 2), dtype=np.uint8), weights=np.ones(1), source="test")


def test_a_bound_is_kept_only_if_it_is_better():
    state = State(value=1.0, bound=0.2, idle=5)
    state.prove(0.1, WITNESS)
    assert (state.bound, state.witness, state.idle) == (0.2, None, 5)
    state.prove(0.3, WITNESS)
    assert (state.bound, state.witness, state.idle) == (0.3, WITNESS, 0)


def test_iterations_without_progress_are_idle():
    state = State(value=1.0, bound=0.0)
    idle = []
    for value in (1.0, 1.0, 1.5, 0.9, 0.9):
        state.value = value
        state.count()
        idle.append(state.idle)
    assert idle == [0, 1, 2, 0, 1]
    assert (state.iterations, state.lowest) == (5, 0.9)
