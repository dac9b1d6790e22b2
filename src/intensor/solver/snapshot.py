"""Parts of a solve as trees and back: random numbers, state, trace, models and results.

Engines describe themselves (``Engine.capture``, ``Engine.restore``). Fields that are plain values
are declared once, each with the getter that checks it when it is read from a file. Model files use
the same declarations.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from intensor._arrays import Shape
from intensor.model.model import Model
from intensor.problem.component import Components
from intensor.problem.vertex import Vertices
from intensor.solver.engine import State, Witness
from intensor.solver.result import Counters, Progress, Result, Seconds, Status
from intensor.storage.reader import Getter, Tree, TreeReader, read_fields

MAX_MAGNITUDE = 1e100
"""Largest absolute value of any weight or other number of a model that is read, so that no sum
overflows; data is far smaller (``checks.LARGEST_MAGNITUDE``)."""
MAX_BOUND_EXCESS = 1e-6
"""Largest excess of a bound over the objective, as a share of it; rounding causes no more."""
MAX_WEIGHT_EXCESS = 1e-9
"""Largest excess of the sum of the weights over the radius, as a share of it, that is rounding."""
MAX_WITNESS_RADII = 2.0
"""Largest sum of the weights of a witness, in units of the radius. Rounding may take an iterate out
of the polytope, and its gradient proves a bound wherever it is."""
STEP_KINDS = ("local", "separation")  # a trace stores their index
STATE_FIELDS: dict[str, Getter] = {
    **dict.fromkeys(("value", "bound", "phi", "gain", "lowest"), TreeReader.number),
    **dict.fromkeys(("iterations", "local_steps", "exact_calls", "idle"), TreeReader.count),
    "exhausted": TreeReader.flag,
}
COUNTER_FIELDS: dict[str, Getter] = dict.fromkeys(Counters.__slots__, TreeReader.count)
SECONDS_FIELDS: dict[str, Getter] = dict.fromkeys(("setup", "solve"), TreeReader.amount)
RESULT_FIELDS: dict[str, Getter] = {
    **dict.fromkeys(("objective", "bound"), partial(TreeReader.amount, most=MAX_MAGNITUDE**2)),
    "tolerance": partial(TreeReader.amount, infinite=True),
    "bound_source": TreeReader.printable,
}
FINITE_COLUMNS = ("objective", "bound", "seconds")  # of a trace
GAP_COLUMNS = ("phi", "pricing_gap")  # infinite before the first call of an oracle


def capture_fields(record: Any, names: Iterable[str]) -> Tree:
    """Return some attributes of a record as plain Python values."""
    values = {name: getattr(record, name) for name in names}
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in values.items()
    }


def capture_random(rng: np.random.Generator) -> Tree:
    """Return the state of a random generator."""
    state = dict(rng.bit_generator.state)
    return {"kind": state.pop("bit_generator"), **state.pop("state"), **state}


def restore_random(rng: np.random.Generator, saved: TreeReader) -> None:
    """Give a random generator the state that another one had."""
    rng.bit_generator.state = {
        "bit_generator": saved.text("kind", [rng.bit_generator.state["bit_generator"]]),
        "state": {name: saved.count(name, most=2**128 - 1) for name in ("state", "inc")},
        "has_uint32": saved.count("has_uint32", most=1),
        "uinteger": saved.count("uinteger", most=2**32 - 1),
    }


def capture_state(state: State) -> Tree:
    """Return the state of a solve; its witness never changes, so it is not copied."""
    return {
        **capture_fields(state, STATE_FIELDS),
        "witness": None if state.witness is None else _capture_witness(state.witness),
    }


def _capture_witness(witness: Witness) -> Tree:
    """Return a witness: zeros and ones are "flags", and graded terms are "factors"."""
    graded = witness.factors.dtype.kind == "f"
    return {
        "factors" if graded else "flags": witness.factors,
        **capture_fields(witness, ("weights", "source")),
    }


def restore_state(state: State, saved: TreeReader, length: int) -> None:
    """Fill in the state of a solve whose vertices have the given number of flags."""
    for name, value in read_fields(saved, STATE_FIELDS).items():
        setattr(state, name, value)
    if not state.bound <= state.value + MAX_BOUND_EXCESS * abs(state.value):
        raise saved.damaged(f"the bound {state.bound} is above the objective {state.value}")
    state.witness = None
    if "witness" in saved:
        witness = saved.branch("witness")
        if "factors" in witness:
            factors = witness.factors("factors", (None, length))
        else:
            factors = witness.vertices("flags", length)
        state.witness = Witness(
            factors=factors,
            weights=witness.finite_array("weights", (len(factors),)),
            source=witness.text("source"),
        )


def capture_trace(trace: Sequence[Progress], steps: Sequence[str] = STEP_KINDS) -> Tree:
    """Return the rows of a trace column by column; a step is its index among the ``steps``."""
    return {
        "iteration": np.array([row.iteration for row in trace], dtype=np.int64),
        "step": np.array([steps.index(row.step) for row in trace], dtype=np.uint8),
        "active": np.array([row.active for row in trace], dtype=np.int64),
        **{
            name: np.array([getattr(row, name) for row in trace], dtype=np.float64)
            for name in ("objective", "bound", "phi", "pricing_gap", "seconds")
        },
    }


def restore_trace(saved: TreeReader, steps: Sequence[str] = STEP_KINDS) -> list[Progress]:
    """Return the rows of a trace again."""
    iteration = saved.array("iteration", "<i8", (None,))
    shape = (iteration.size,)
    step = saved.array("step", "|u1", shape)
    if step.size and step.max() >= len(steps):
        raise saved.damaged("the trace has steps of an unknown kind")
    columns = {
        "iteration": iteration.tolist(),
        "step": [steps[kind] for kind in step.tolist()],
        "active": saved.array("active", "<i8", shape).tolist(),
        **{name: saved.finite_array(name, shape).tolist() for name in FINITE_COLUMNS},
    }
    for name in GAP_COLUMNS:
        column = saved.array(name, "<f8", shape)
        if np.isnan(column).any():
            raise saved.damaged(f"{saved.prefix}{name} has entries that are not numbers")
        columns[name] = column.tolist()
    rows = zip(*(columns[name] for name in Progress._fields if name in columns), strict=True)
    return list(itertools.starmap(Progress, rows))


def capture_model(model: Model) -> Tree:
    """Return a model as a tree; graded components are counted and have "factors"."""
    return {
        "radius": model.radius,
        "signed": bool(model.signed),
        "weights": model.weights,
        "words": model.vertices.words,
        **count_components(model),
        **capture_factors(model),
    }


def count_components(model: Model) -> Tree:
    """Return the number of graded components, if there are any."""
    return {"components": len(model.components)} if len(model.components) else {}


def capture_factors(model: Model) -> Tree:
    """Return the entries of the graded components, if there are any."""
    return {"factors": model.components.factors} if len(model.components) else {}


def restore_model(saved: TreeReader, shape: Shape, *, most_radii: float = 1.0) -> Model:
    """Return a model of a shape again, whose weights sum to at most ``most_radii`` radii."""
    weights = saved.finite_array("weights", (None,), largest=MAX_MAGNITUDE)
    factors = np.empty((sum(shape), 0))
    if "components" in saved or "factors" in saved:
        graded = saved.count("components", least=1)
        factors = saved.factors("factors", (sum(shape), graded))
    count, signed = weights.size - factors.shape[1], saved.flag("signed")
    if count < 0:
        raise saved.damaged(f"{saved.prefix}factors have components without a weight")
    if not signed and (weights < 0.0).any():
        raise saved.damaged(f"{saved.prefix}weights are below 0 in a model that is not signed")
    radius = saved.finite("radius")
    if not radius > 0.0:
        raise saved.damaged(f"{saved.prefix}radius is {radius}, expected a positive number")
    n_words = max(1, -(-count // 64))
    words = saved.array("words", "<u8", (sum(shape), n_words))
    # the last word has bits for more boxes than there are; those bits must be off
    spare = 64 * n_words - count
    if spare and (words[:, -1] >> np.uint64(64 - spare) if spare < 64 else words[:, -1]).any():
        raise saved.damaged(f"{saved.prefix}words have boxes without a weight")
    total = float(np.abs(weights).sum())
    if total > most_radii * radius * (1.0 + MAX_WEIGHT_EXCESS):
        raise saved.damaged(
            f"{saved.prefix}weights sum to {total:.12g}, which the radius {radius:g} does not allow"
        )
    return Model(
        radius=radius,
        weights=weights,
        vertices=Vertices(shape=shape, count=count, words=words),
        signed=signed,
        components=Components(shape=shape, factors=factors),
    )


def restore_witness(saved: TreeReader, shape: Shape) -> Model:
    """Return the witness of a bound again, which may lie near the polytope."""
    return restore_model(saved, shape, most_radii=MAX_WITNESS_RADII)


def capture_result(result: Result) -> Tree:
    """Return the result of a solve as a tree."""
    return {
        "status": result.status.name,
        **capture_fields(result, RESULT_FIELDS),
        "model": capture_model(result.model),
        "witness": None if result.witness is None else capture_model(result.witness),
        "version": str(result.version),
        "trace": capture_trace(result.trace),
        "counters": capture_fields(result.counters, COUNTER_FIELDS),
        **capture_fields(result.seconds, SECONDS_FIELDS),
    }


def restore_result(saved: TreeReader, shape: Shape) -> Result:
    """Return the result of a solve again."""
    version = saved.text("version")
    return Result(
        **read_fields(saved, RESULT_FIELDS),
        status=Status[saved.text("status", Status.__members__)],
        model=restore_model(saved.branch("model"), shape),
        witness=restore_witness(saved.branch("witness"), shape) if "witness" in saved else None,
        version=int(version) if version.isdecimal() and len(version) < 3 else version,
        trace=tuple(restore_trace(saved.branch("trace"))),
        counters=Counters(**read_fields(saved.branch("counters"), COUNTER_FIELDS)),
        seconds=Seconds(**read_fields(saved, SECONDS_FIELDS)),
    )
