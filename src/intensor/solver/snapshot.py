"""Parts of a run as trees and back: random numbers, state, trace, models and results.

The engines say of themselves what they hold (``Engine.capture``, ``Engine.restore``). What comes
from a file is checked here, piece by piece.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from intensor._arrays import Shape
from intensor.model.model import Model
from intensor.problem.vertex import Vertices
from intensor.solver.result import Counters, Progress, Result, Seconds, Status
from intensor.solver.state import State, Witness
from intensor.storage.codec import Branch, Tree

__all__ = [
    "capture_model",
    "capture_random",
    "capture_result",
    "capture_state",
    "capture_trace",
    "restore_model",
    "restore_random",
    "restore_result",
    "restore_state",
    "restore_trace",
]

STEPS = ("local", "separation")
COUNTS = ("iterations", "local_steps", "exact_calls", "idle")
NUMBERS = ("value", "bound", "phi", "gain", "lowest")
COLUMNS = ("objective", "bound", "phi", "pricing_gap", "seconds")
COUNTERS = ("iterations", "local_steps", "altmin_runs", "exact_calls", "drops")
ABOVE = 1e-6
"""Share of the objective by which a bound may lie above it: more than rounding is damage."""


def capture_random(rng: np.random.Generator) -> Tree:
    """Return where a generator stands."""
    state = rng.bit_generator.state
    return {
        "kind": state["bit_generator"],
        "state": int(state["state"]["state"]),
        "inc": int(state["state"]["inc"]),
        "has_uint32": int(state["has_uint32"]),
        "uinteger": int(state["uinteger"]),
    }


def restore_random(rng: np.random.Generator, saved: Branch) -> None:
    """Put a generator where another one stood."""
    rng.bit_generator.state = {
        "bit_generator": saved.word("kind", [rng.bit_generator.state["bit_generator"]]),
        "state": {name: saved.count(name, most=2**128 - 1) for name in ("state", "inc")},
        "has_uint32": saved.count("has_uint32", most=1),
        "uinteger": saved.count("uinteger", most=2**32 - 1),
    }


def capture_state(state: State) -> Tree:
    """Return the record of a solve; its witness is never changed, so it is not copied."""
    witness = state.witness
    return {
        **{name: float(getattr(state, name)) for name in NUMBERS},
        **{name: int(getattr(state, name)) for name in COUNTS},
        "exhausted": bool(state.exhausted),
        "witness": None
        if witness is None
        else {"flags": witness.flags, "weights": witness.weights, "source": witness.source},
    }


def restore_state(state: State, saved: Branch, length: int) -> None:
    """Fill in the record of a solve whose vertices have so many flags."""
    for name in NUMBERS:
        setattr(state, name, saved.number(name))
    for name in COUNTS:
        setattr(state, name, saved.count(name))
    state.exhausted = saved.flag("exhausted")
    if not state.bound <= state.value + ABOVE * abs(state.value):
        raise saved.damaged(f"the bound {state.bound} is above the objective {state.value}")
    state.witness = None
    if "witness" in saved:
        witness = saved.branch("witness")
        flags = witness.vertices("flags", length)
        state.witness = Witness(
            flags=flags,
            weights=witness.finite_array("weights", (len(flags),)),
            source=witness.word("source"),
        )


def capture_trace(trace: Sequence[Progress]) -> Tree:
    """Return the rows of a trace, column by column."""
    return {
        "iteration": np.array([row.iteration for row in trace], dtype=np.int64),
        "step": np.array([STEPS.index(row.step) for row in trace], dtype=np.uint8),
        "active": np.array([row.active for row in trace], dtype=np.int64),
        **{
            name: np.array([getattr(row, name) for row in trace], dtype=np.float64)
            for name in COLUMNS
        },
    }


def restore_trace(saved: Branch) -> list[Progress]:
    """Return the rows again."""
    iteration = saved.array("iteration", "<i8", (None,))
    shape = (iteration.size,)
    step = saved.array("step", "|u1", shape)
    if step.size and step.max() >= len(STEPS):
        raise saved.damaged("the trace has steps of an unknown kind")
    columns = {
        "iteration": iteration.tolist(),
        "step": [STEPS[kind] for kind in step.tolist()],
        "active": saved.array("active", "<i8", shape).tolist(),
        **{name: saved.array(name, "<f8", shape).tolist() for name in COLUMNS},
    }
    rows = zip(*columns.values(), strict=True)
    return list(itertools.starmap(Progress, rows))


def capture_model(model: Model) -> Tree:
    """Return the boxes of a model."""
    return {
        "radius": model.radius,
        "signed": bool(model.signed),
        "weights": model.weights,
        "words": model.vertices.words,
    }


def restore_model(saved: Branch, shape: Shape) -> Model:
    """Return a model of a shape again."""
    weights = saved.finite_array("weights", (None,))
    count, signed = weights.size, saved.flag("signed")
    if not signed and (weights < 0.0).any():
        raise saved.damaged("a model that is not signed has weights below 0")
    radius = saved.finite("radius")
    if not radius > 0.0:
        raise saved.damaged(f"a model has radius {radius}")
    n_words = max(1, -(-count // 64))
    words = saved.array("words", "<u8", (sum(shape), n_words))
    spare = 64 * n_words - count
    if spare and (words[:, -1] >> np.uint64(64 - spare) if spare < 64 else words[:, -1]).any():
        raise saved.damaged("a model has boxes without a weight")
    return Model(
        radius=radius,
        weights=weights,
        vertices=Vertices(shape=shape, count=count, words=words),
        signed=signed,
    )


def capture_result(result: Result) -> Tree:
    """Return all that a solve came to."""
    return {
        "status": result.status.name,
        "objective": result.objective,
        "bound": result.bound,
        "tolerance": result.tolerance,
        "model": capture_model(result.model),
        "witness": None if result.witness is None else capture_model(result.witness),
        "bound_source": result.bound_source,
        "version": str(result.version),
        "trace": capture_trace(result.trace),
        "counters": {name: int(getattr(result.counters, name)) for name in COUNTERS},
        "setup": result.seconds.setup,
        "solve": result.seconds.solve,
    }


def restore_result(saved: Branch, shape: Shape) -> Result:
    """Return what a solve came to again."""
    version = saved.word("version")
    counters = saved.branch("counters")
    return Result(
        status=Status[saved.word("status", Status.__members__)],
        objective=saved.finite("objective"),
        bound=saved.finite("bound"),
        tolerance=saved.finite("tolerance"),
        model=restore_model(saved.branch("model"), shape),
        witness=restore_model(saved.branch("witness"), shape) if "witness" in saved else None,
        bound_source=saved.word("bound_source"),
        version=int(version) if version.isdecimal() and len(version) < 3 else version,
        trace=tuple(restore_trace(saved.branch("trace"))),
        counters=Counters(**{name: counters.count(name) for name in COUNTERS}),
        seconds=Seconds(setup=saved.finite("setup"), solve=saved.finite("solve")),
    )
