"""Parts of a solve come back from their trees, and trees that make no sense are refused."""

import dataclasses
import math

import numpy as np
import pytest

import zoo
from graded_cases import random_model
from intensor import solve
from intensor.errors import CheckpointError
from intensor.solver.engine import State, Witness
from intensor.solver.snapshot import (
    capture_fields,
    capture_model,
    capture_random,
    capture_result,
    capture_state,
    capture_trace,
    restore_model,
    restore_random,
    restore_result,
    restore_state,
    restore_trace,
    restore_witness,
)
from intensor.storage.reader import TreeReader

DATA = zoo.noisy((5, 4, 4), 60, rep=5)


@pytest.fixture(scope="module")
def result():
    found = solve(DATA.coords, DATA.values, shape=DATA.shape, radius=1.0)
    assert found.witness is not None
    return found


def reader(tree, **changes):
    return TreeReader({**tree, **changes}, "run.npz")


def test_attributes_become_plain_python():
    state = State(value=np.float64(0.5), bound=0.25, iterations=np.int64(3))
    captured = capture_fields(state, ("value", "bound", "iterations"))
    assert captured == {"value": 0.5, "bound": 0.25, "iterations": 3}
    assert [type(value) for value in captured.values()] == [float, float, int]


def test_a_random_generator_goes_on():
    rng, other = np.random.default_rng(1), np.random.default_rng(2)
    rng.integers(0, 2, 7, dtype=np.uint32)  # leaves half a draw behind
    restore_random(other, reader(capture_random(rng)))
    assert other.random(5).tolist() == rng.random(5).tolist()
    for changes in ({"kind": "MT19937"}, {"has_uint32": 2}, {"state": -1}, {"inc": 2**128}):
        with pytest.raises(CheckpointError, match=next(iter(changes))):
            restore_random(other, reader(capture_random(rng), **changes))


def test_a_state_comes_back():
    flags = np.array([[1, 0, 1], [0, 1, 1]], dtype=np.uint8)
    witness = Witness(factors=flags, weights=np.array([0.25, 0.75]), source="enumeration")
    state = State(value=0.5, bound=0.25, phi=0.125, iterations=9, exhausted=True, witness=witness)
    again = State(value=0.0, bound=0.0)
    restore_state(again, reader(capture_state(state)), 3)
    for field in dataclasses.fields(State):
        if field.name != "witness":
            assert getattr(again, field.name) == getattr(state, field.name)
    assert again.gain == math.inf
    assert again.witness.factors.tolist() == flags.tolist()
    assert again.witness.weights.tolist() == [0.25, 0.75]
    assert again.witness.source == "enumeration"
    with pytest.raises(CheckpointError, match=r"the bound 0\.6 is above the objective 0\.5"):
        restore_state(again, reader(capture_state(state), bound=0.6), 3)
    restore_state(again, reader(capture_state(state), witness=None), 3)
    assert again.witness is None


def test_a_graded_witness_comes_back():
    factors = np.array([[1.0, 0.5, 1.0], [0.0, 1.0, 0.25]])
    witness = Witness(factors=factors, weights=np.array([0.25, 0.75]), source="enumeration")
    captured = capture_state(State(value=0.5, bound=0.25, witness=witness))
    again = State(value=0.0, bound=0.0)
    restore_state(again, reader(captured), 3)
    assert again.witness.factors.dtype == np.float64
    assert again.witness.factors.tolist() == factors.tolist()
    for wrong in (1.5, -0.1, math.nan):
        forged = {**captured["witness"], "factors": np.where(factors == 0.5, wrong, factors)}
        with pytest.raises(CheckpointError, match=r"'witness.factors' has entries that are not"):
            restore_state(again, reader(captured, witness=forged), 3)
    with pytest.raises(CheckpointError, match=r"'witness.factors' has shape \(2, 3\)"):
        restore_state(again, reader(captured), 4)


def test_a_trace_comes_back(result):
    assert tuple(restore_trace(reader(capture_trace(result.trace)))) == result.trace
    steps = ["separation", "local"]
    captured = capture_trace(result.trace, steps)
    assert tuple(restore_trace(reader(captured), steps)) == result.trace


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("step", 2, "steps of an unknown kind"),
        ("objective", math.inf, "'objective' has numbers that are not all finite"),
        ("phi", math.nan, "phi has entries that are not numbers"),
    ],
)
def test_a_trace_that_makes_no_sense_is_refused(result, name, value, message):
    captured = capture_trace(result.trace)
    column = captured[name].copy()
    column[0] = value
    with pytest.raises(CheckpointError, match=message):
        restore_trace(reader(captured, **{name: column}))


def bit_without_box(words):
    changed = words.copy()
    changed[0, -1] |= np.uint64(1 << 63)
    return changed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tree: {"weights": -tree["weights"]}, "below 0 in a model that is not signed"),
        (lambda tree: {"weights": np.full(len(tree["weights"]), 1e101)}, "too large"),
        (lambda tree: {"radius": 0.0}, "radius is 0.0, expected a positive number"),
        (lambda tree: {"words": tree["words"][:-1]}, "'words' has shape"),
        (lambda tree: {"words": bit_without_box(tree["words"])}, "boxes without a weight"),
        (lambda tree: {"weights": tree["weights"][:0]}, "boxes without a weight"),
    ],
)
def test_a_model_that_makes_no_sense_is_refused(result, change, message):
    captured = capture_model(result.model)
    again = restore_model(reader(captured), DATA.shape)
    assert again.vertices.flags().tolist() == result.model.vertices.flags().tolist()
    with pytest.raises(CheckpointError, match=message):
        restore_model(reader(captured, **change(captured)), DATA.shape)


def but(array, value):
    changed = array.copy()
    changed[0, 0] = value
    return changed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tree: {"factors": but(tree["factors"], 1.5)}, "'factors' has entries that are not"),
        (lambda tree: {"factors": but(tree["factors"], -0.1)}, "'factors' has entries"),
        (lambda tree: {"factors": but(tree["factors"], math.nan)}, "'factors' has entries"),
        (lambda tree: {"factors": tree["factors"][1:]}, "'factors' has shape"),
        (lambda tree: {"factors": None}, "'factors' is missing"),
        (lambda tree: {"factors": tree["factors"][:, 1:]}, "'factors' has shape"),
        (lambda tree: {"components": None}, "'components' is missing"),
        (lambda tree: {"weights": tree["weights"][-3:]}, "components without a weight"),
        (lambda tree: {"weights": tree["weights"] * 1.001 / tree["weights"].sum()}, "sum to 1.001"),
    ],
)
def test_a_graded_model_comes_back_or_is_refused(change, message):
    model = random_model(DATA.shape, boxes=70, graded=4)
    captured = capture_model(model)
    assert restore_model(reader(captured), DATA.shape) == model
    with pytest.raises(CheckpointError, match=message):
        restore_model(reader(captured, **change(captured)), DATA.shape)


def test_a_model_is_read_up_to_rounding_of_its_radius_and_a_witness_beyond():
    model = random_model(DATA.shape)
    for total, refused in ((1.0 + 1e-12, False), (1.0 + 1e-6, True), (2.1, True)):
        heavy = capture_model(replace_weights(model, total))
        if refused:
            with pytest.raises(CheckpointError, match="does not allow"):
                restore_model(reader(heavy), DATA.shape)
        else:
            restore_model(reader(heavy), DATA.shape)
    assert restore_witness(reader(capture_model(replace_weights(model, 1.5))), DATA.shape)
    with pytest.raises(CheckpointError, match="does not allow"):
        restore_witness(reader(capture_model(replace_weights(model, 2.1))), DATA.shape)


def replace_weights(model, total):
    return dataclasses.replace(model, weights=model.weights * (total / model.weights.sum()))


@pytest.mark.parametrize("version", ["fast", 8])
def test_a_result_comes_back(result, version):
    result = dataclasses.replace(result, version=version)
    again = restore_result(reader(capture_result(result)), DATA.shape)
    for name in ("status", "objective", "bound", "tolerance", "bound_source", "version", "trace"):
        assert getattr(again, name) == getattr(result, name)
    assert (again.counters, again.seconds) == (result.counters, result.seconds)
    for one, other in ((again.model, result.model), (again.witness, result.witness)):
        assert one.weights.tolist() == other.weights.tolist()
        assert one.vertices.words.tolist() == other.vertices.words.tolist()
    bare = restore_result(reader(capture_result(result), witness=None), DATA.shape)
    assert bare.witness is None
