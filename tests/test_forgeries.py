"""Every claim of a result or a model file that a forger could make, and honest ones beside them.

A forgery is refused when it is read, or `verify` finds it out; honest results are accepted.
"""

import dataclasses
import json
import math
import warnings

import numpy as np
import pytest

import intensor
import zoo
from fitting_cases import plain_options
from graded_cases import graded_fit, graded_result, random_model
from intensor.errors import ModelFileError, RadiusWarning
from intensor.fitting.fit import fit
from intensor.model.model import build_model
from intensor.problem.vertex import Vertices, pack_vertices
from naming import naming

Status = intensor.Status
DATA = zoo.noisy((5, 4, 4), 60, rep=5)
LONG = intensor.planted((30, 30, 30), 900, noise=0.2)
UNEVEN = {
    "coords": np.array([[0, 0], [1, 1]]),
    "values": np.array([0.0, 3e20]),
    "sample_weight": np.array([1.0, 1e-20]),
}


def solved(data=DATA, **changes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RadiusWarning)
        options = {"shape": data.shape, "radius": 1.0, "rtol": 1e-7, **changes}
        return intensor.solve(data.coords, data.values, **options)


@pytest.fixture(scope="module")
def honest():
    found = solved()
    assert found.status is Status.OPTIMAL
    assert found.bound_source == "enumeration"
    return found


@pytest.fixture(scope="module")
def early():
    """Far from optimal, and says so."""
    found = solved(max_iterations=2)
    assert found.status is Status.ITERATION_LIMIT
    assert found.gap > 0.01
    return found


def without_boxes(result, **claims):
    """Return a result whose boxes all have weight 0, with the objective that this has."""
    model = dataclasses.replace(result.model, weights=np.zeros(len(result.model)))
    claims = {"objective": float(np.mean(DATA.values**2)), "bound": 0.0, "witness": None, **claims}
    return dataclasses.replace(result, model=model, status=Status.OPTIMAL, **claims)


def scaled(model, factor, **changes):
    return dataclasses.replace(model, weights=factor * model.weights, **changes)


def with_model(result, **changes):
    return dataclasses.replace(result, model=dataclasses.replace(result.model, **changes))


def with_witness(result, **changes):
    return dataclasses.replace(result, witness=dataclasses.replace(result.witness, **changes))


def spoilt(weights, index, value):
    changed = weights.copy()
    changed[index] = value
    return changed


FROM_HONEST = {
    "objective: lower": lambda r: dataclasses.replace(r, objective=r.objective * (1 - 1e-6)),
    "objective: 0": lambda r: dataclasses.replace(r, objective=0.0),
    "objective: nan": lambda r: dataclasses.replace(r, objective=math.nan),
    "objective: infinite": lambda r: dataclasses.replace(r, objective=math.inf),
    "bound: nan": lambda r: dataclasses.replace(r, bound=math.nan),
    "bound: minus infinity": lambda r: dataclasses.replace(r, bound=-math.inf, tolerance=1e300),
    "bound: infinite": lambda r: dataclasses.replace(r, bound=math.inf),
    "bound: above the objective": lambda r: dataclasses.replace(r, bound=1.001 * r.objective),
    "bound: above the mean square": lambda r: dataclasses.replace(r, bound=1e20),
    "bound: without its witness": lambda r: dataclasses.replace(r, witness=None),
    "witness: no model": lambda r: dataclasses.replace(r, witness="trust me"),
    "witness: nowhere": lambda r: with_witness(r, weights=0.0 * r.witness.weights),
    "witness: not a number": lambda r: with_witness(
        r, weights=spoilt(r.witness.weights, 0, np.nan)
    ),
    "witness: too heavy": lambda r: dataclasses.replace(r, witness=scaled(r.witness, 1e6)),
    "witness: below 0": lambda r: with_witness(r, weights=-r.witness.weights),
    "witness: of a smaller radius": lambda r: dataclasses.replace(
        r, witness=scaled(r.witness, 0.1, radius=0.1)
    ),
    "witness: of a larger radius": lambda r: with_witness(r, radius=10.0),
    "witness: signed": lambda r: with_witness(r, signed=True),
    "witness: of another shape": lambda r: with_witness(
        r, vertices=pack_vertices(r.witness.vertices.flags(), (4, 5, 4))
    ),
    "witness: fewer vertices": lambda r: with_witness(
        r, vertices=pack_vertices(r.witness.vertices.flags()[:-1], DATA.shape)
    ),
    "model: below 0": lambda r: with_model(r, weights=spoilt(r.model.weights, 0, -0.1)),
    "model: not a number": lambda r: with_model(r, weights=spoilt(r.model.weights, 0, np.nan)),
    "model: infinite": lambda r: with_model(r, weights=spoilt(r.model.weights, 0, np.inf)),
    "model: huge": lambda r: with_model(r, weights=np.full(len(r.model), 1.7e308)),
    "model: complex": lambda r: with_model(r, weights=r.model.weights + 0j),
    "model: weights of two dimensions": lambda r: with_model(r, weights=r.model.weights[:, None]),
    "model: too few weights": lambda r: with_model(r, weights=r.model.weights[:-1]),
    "model: words of another type": lambda r: with_model(
        r,
        vertices=dataclasses.replace(
            r.model.vertices, words=r.model.vertices.words.astype(np.int64)
        ),
    ),
    "model: flat words": lambda r: with_model(
        r, vertices=dataclasses.replace(r.model.vertices, words=r.model.vertices.words.ravel())
    ),
    "model: a negative number of vertices": lambda r: with_model(
        r, vertices=dataclasses.replace(r.model.vertices, count=-1)
    ),
    "radius: smaller": lambda r: with_model(r, radius=0.9 * float(r.model.weights.sum())),
    "radius: nan": lambda r: with_model(r, radius=math.nan),
    "radius: infinite": lambda r: with_model(r, radius=math.inf),
    "radius: larger, with the bound of this one": lambda r: dataclasses.replace(
        r,
        model=dataclasses.replace(r.model, radius=2.0),
        witness=dataclasses.replace(r.witness, radius=2.0),
    ),
    "signed: with the bound of the unsigned": lambda r: dataclasses.replace(
        r,
        model=dataclasses.replace(r.model, signed=True),
        witness=dataclasses.replace(r.witness, signed=True),
    ),
    "objective: text": lambda r: dataclasses.replace(r, objective=str(r.objective)),
    "bound: text": lambda r: dataclasses.replace(r, bound=str(r.bound)),
    "bound: nothing": lambda r: dataclasses.replace(r, bound=None),
    "bound: complex": lambda r: dataclasses.replace(r, bound=r.bound + 0j),
    "tolerance: text": lambda r: dataclasses.replace(r, tolerance="inf"),
    "radius: text": lambda r: with_model(r, radius="1"),
    "radius: below 0": lambda r: with_model(r, radius=-1.0),
    "tolerance: infinite": lambda r: dataclasses.replace(r, tolerance=math.inf),
    "tolerance: nan": lambda r: dataclasses.replace(r, tolerance=math.nan),
    "tolerance: below 0": lambda r: dataclasses.replace(r, tolerance=-1.0),
    "tolerance: smaller": lambda r: dataclasses.replace(r, tolerance=r.gap / 2.0),
    "status: text": lambda r: dataclasses.replace(r, status="OPTIMAL"),
    "nothing: infinite tolerance": lambda r: without_boxes(r, tolerance=math.inf),
    "nothing: no tolerance": lambda r: without_boxes(r, tolerance=0.0),
    "nothing: bound of what is optimal": lambda r: without_boxes(
        r, bound=r.bound, witness=r.witness
    ),
}
FROM_EARLY = {
    "status: optimal": lambda r: dataclasses.replace(r, status=Status.OPTIMAL),
    "status: optimal, infinite tolerance": lambda r: dataclasses.replace(
        r, status=Status.OPTIMAL, tolerance=math.inf
    ),
    "status: optimal, bound without witness": lambda r: dataclasses.replace(
        r, status=Status.OPTIMAL, bound=r.objective, bound_source="within-cell variance"
    ),
    "status: optimal, itself for a witness": lambda r: dataclasses.replace(
        r, status=Status.OPTIMAL, bound=r.objective, witness=r.model, bound_source="enumeration"
    ),
    "bound: the objective, itself for a witness": lambda r: dataclasses.replace(
        r, bound=r.objective, witness=r.model, bound_source="highs"
    ),
    "bound: nearly the objective": lambda r: dataclasses.replace(
        r, bound=r.objective * (1 - 1e-6), witness=r.model
    ),
}


def with_factors(result, change, *, part="model"):
    """Return a graded result whose model or witness has other factors."""
    model = getattr(result, part)
    components = dataclasses.replace(
        model.components, factors=change(model.components.factors.copy())
    )
    return dataclasses.replace(result, **{part: dataclasses.replace(model, components=components)})


def entry(value):
    """Return a function that changes an entry of factors that is not 0, and never the largest."""

    def change(factors):
        row, column = np.argwhere((factors > 0.0) & (factors < 1.0))[0]
        factors[row, column] = value
        return factors

    return change


FACTORS = {
    "above 1": entry(1.5),
    "barely above 1": entry(1.0 + 1e-15),
    "below 0": entry(-0.1),
    "not a number": entry(np.nan),
    "infinite": entry(np.inf),
    "huge": entry(1e300),
    "too few rows": lambda a: a[:-1],
    "too many rows": lambda a: np.concatenate((a, a[:1])),
    "one component less": lambda a: a[:, 1:],
    "one component more": lambda a: np.concatenate((a, a[:, :1]), axis=1),
    "none": lambda a: a[:, :0],
    "flat": np.ravel,
    "three dimensions": lambda a: a[..., np.newaxis],
    "single precision": lambda a: a.astype(np.float32),
    "complex": lambda a: a.astype(complex),
    "text": lambda a: a.astype(str),
}
"""Ways to forge the factors of a graded model or witness."""
FROM_GRADED = {
    **{
        f"model: {name}": lambda r, c=change: with_factors(r, c) for name, change in FACTORS.items()
    },
    **{
        f"witness: {name}": lambda r, c=change: with_factors(r, c, part="witness")
        for name, change in FACTORS.items()
    },
    "model: another entry": lambda r: with_factors(r, entry(1.0)),
    "witness: another entry": lambda r: with_factors(r, entry(1.0), part="witness"),
    "model: factors of another shape": lambda r: with_model(
        r, components=dataclasses.replace(r.model.components, shape=(4, 5, 4))
    ),
    "model: beyond the radius": lambda r: with_model(
        r, weights=r.model.weights * (1.001 * r.model.radius / r.model.gauge)
    ),
    "model: a component far beyond the radius": lambda r: with_model(
        r, weights=spoilt(r.model.weights, -1, 2.0)
    ),
    "model: a component below 0": lambda r: with_model(
        r, weights=spoilt(r.model.weights, -1, -r.model.weights[-1])
    ),
    "model: a component that is not a number": lambda r: with_model(
        r, weights=spoilt(r.model.weights, -1, np.nan)
    ),
    "model: too few weights": lambda r: with_model(r, weights=r.model.weights[:-1]),
    "model: too many weights": lambda r: with_model(r, weights=np.append(r.model.weights, 0.0)),
    "model: one box less": lambda r: with_model(
        r, vertices=pack_vertices(r.model.vertices.flags()[:-1], DATA.shape)
    ),
    "objective: lower": lambda r: dataclasses.replace(r, objective=r.objective * (1 - 1e-6)),
    "bound: higher": lambda r: dataclasses.replace(r, bound=r.bound * (1 + 1e-5)),
    "bound: the objective": lambda r: dataclasses.replace(r, bound=r.objective),
    "status: optimal": lambda r: dataclasses.replace(r, status=Status.OPTIMAL),
}


@pytest.mark.parametrize("signed", [False, True])
def test_an_honest_graded_result_is_accepted(signed):
    solution = solved(signed=signed, radius=0.2 if signed else 1.0)
    found = graded_result(solution, DATA.coords, DATA.values)
    assert len(found.model.components) > 0
    report = intensor.verify(found, DATA.coords, DATA.values)
    assert report.ok, str(report)
    assert report.complete
    assert report.objective == pytest.approx(found.objective, rel=1e-12)
    names = [check.name for check in report.checks]
    assert names[:4] == ["model weights", "model radius", "model vertices", "model components"]
    assert intensor.verify(found.model, DATA.coords, DATA.values).ok


def test_a_model_without_boxes_is_verified(honest):
    model = random_model(DATA.shape, boxes=0, graded=5)
    report = intensor.verify(model, DATA.coords, DATA.values)
    assert report.ok
    cells = tuple(DATA.coords.T)
    wanted = np.mean((model.to_dense()[cells] - DATA.values) ** 2)
    assert report.objective == pytest.approx(wanted, rel=1e-12)


def test_a_graded_result_with_one_false_claim_is_refused(honest):
    made = graded_result(honest, DATA.coords, DATA.values)
    assert intensor.verify(made, DATA.coords, DATA.values).ok
    for name, forge in FROM_GRADED.items():
        with naming(name):
            report = intensor.verify(forge(made), DATA.coords, DATA.values)
            assert not report.ok
            assert report.failures


def test_an_honest_result_with_one_false_claim_is_refused(honest):
    assert intensor.verify(honest, DATA.coords, DATA.values).ok
    for name, forge in FROM_HONEST.items():
        with naming(name):
            report = intensor.verify(forge(honest), DATA.coords, DATA.values)
            assert not report.ok
            assert report.failures


def test_a_poor_model_that_claims_to_be_optimal_is_refused(early):
    assert intensor.verify(early, DATA.coords, DATA.values).ok
    for name, forge in FROM_EARLY.items():
        with naming(name):
            assert not intensor.verify(forge(early), DATA.coords, DATA.values).ok


def test_a_tolerance_that_no_boxes_meet_is_not_taken_for_a_proof(honest):
    """True of any model, and so worth nothing: neither refused nor held."""
    empty = without_boxes(honest, tolerance=1e300)
    modest = dataclasses.replace(empty, status=Status.WITHIN_TOLERANCE)
    report = intensor.verify(modest, DATA.coords, DATA.values)
    assert report.ok
    assert not report.complete
    assert "without boxes" in str(report)
    assert not intensor.verify(empty, DATA.coords, DATA.values).ok  # OPTIMAL says more
    loose = solved(rtol=2.0)
    assert loose.status is Status.WITHIN_TOLERANCE
    assert not intensor.verify(loose, DATA.coords, DATA.values).complete


def test_no_tolerance_is_infinite():
    loose = solved(rtol=1e308)
    assert math.isfinite(loose.tolerance)
    huge = intensor.solve([[0]], [1e70], radius=1e70, rtol=1e308)
    assert math.isfinite(huge.tolerance)
    assert intensor.verify(loose, DATA.coords, DATA.values).ok


def test_a_bound_far_below_the_mean_square_is_held_to_its_own_size():
    """Errors of 1e-9 of the mean square were put down to rounding, whatever the objective."""
    data = intensor.planted((5, 4, 4), 60)
    found = intensor.solve(data.coords, data.values, shape=data.shape, radius=1.0, rtol=1e-12)
    assert found.objective < 1e-12
    model = scaled(found.model, 1.0 - 1e-6)
    objective = float(np.mean((model.predict(data.coords) - data.values) ** 2))
    assert 1e-14 < objective < 1e-11
    forged = dataclasses.replace(
        found, model=model, witness=model, objective=objective, bound=0.5 * objective
    )
    assert not intensor.verify(forged, data.coords, data.values).ok


def test_no_bound_above_the_objective_where_nothing_can_be_tried():
    found = solved(LONG, radius=1.0, exact="off", max_iterations=30)
    forged = dataclasses.replace(found, witness=found.model, bound=1.0001 * found.objective)
    assert not intensor.verify(forged, LONG.coords, LONG.values).ok
    open_ = dataclasses.replace(
        found, witness=found.model, bound=found.objective, status=Status.OPTIMAL
    )
    report = intensor.verify(open_, LONG.coords, LONG.values)
    assert not report.complete
    assert {check.name for check in report.checks if check.passed is None} == {"bound", "status"}


def test_costs_whose_squares_underflow_prove_no_more_than_they_should():
    """Squares of gradients became 0 beside tiny weights, and a bound of anything was believed."""
    result = intensor.solve(**UNEVEN, radius=3e20)
    with pytest.warns(RadiusWarning):
        small = intensor.solve(**UNEVEN, radius=1.0)
    for found in (result, small):
        assert intensor.verify(found, **UNEVEN).ok
        assert intensor.verify(found, **UNEVEN).complete
    flags = np.eye(4, dtype=np.uint8)[[0]] + np.eye(4, dtype=np.uint8)[[2]]
    for size in 10.0 ** np.arange(-170.0, 1.0, 5.0):
        witness = build_model(flags, np.array([size]), shape=(2, 2), radius=1.0)
        for bound in (1e20, 10.0 * small.objective, 1.001 * small.objective):
            forged = dataclasses.replace(small, witness=witness, bound=bound)
            assert not intensor.verify(forged, **UNEVEN).ok


HONEST = {
    "to the end": {},
    "rtol 0": {"rtol": 0.0},
    "rtol 1e-2": {"rtol": 1e-2},
    "early": {"max_iterations": 2},
    "at once": {"max_iterations": 0},
    "no time": {"time_limit": 1e-6},
    "no oracle": {"exact": "off"},
    "branch": {"exact": "branch"},
    "highs": {"exact": "highs"},
    "version 0": {"version": 0, "max_iterations": 40},
    "version 4": {"version": 4, "max_iterations": 40},
    "version 8": {"version": 8, "rtol": 1e-4},
    "signed": {"signed": True},
    "signed, early": {"signed": True, "max_iterations": 3},
    "signed, large radius": {"signed": True, "radius": 1e4, "rtol": 1e-12},
    "signed, small radius": {"signed": True, "radius": 0.2},
    "small radius": {"radius": 0.1},
    "tiny radius": {"radius": 1e-9},
    "large radius": {"radius": 1e9},
    "a tolerance as large as the values": {"tol": 10.0},
    "stopped": {"callback": lambda progress: False},
    "weights": {"sample_weight": np.random.default_rng(1).uniform(0.1, 9.0, 60)},
    "uneven weights": {"sample_weight": 10.0 ** np.random.default_rng(2).uniform(-9, 9, 60)},
    "weights and signs": {
        "sample_weight": 10.0 ** np.random.default_rng(3).uniform(-6, 6, 60),
        "signed": True,
    },
    "longer modes": {"shape": (50, 40, 30)},
}


LIKE_OTHERS = {
    "rtol 1e-2",
    "early",
    "version 4",
    "signed, early",
    "signed, small radius",
    "small radius",
    "weights",
}
"""Honest results that show no more than others do."""


@pytest.mark.parametrize("name", zoo.mostly_slow(HONEST, telling=HONEST.keys() - LIKE_OTHERS))
@pytest.mark.filterwarnings("ignore::intensor.errors.EmptyModelWarning")
def test_honest_results_are_accepted(name):
    options = HONEST[name]
    result = solved(**options)
    report = intensor.verify(
        result, DATA.coords, DATA.values, sample_weight=options.get("sample_weight")
    )
    assert report.ok, str(report)
    assert report.complete == (name != "a tolerance as large as the values"), str(report)


# --- model files


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    made = fit(DATA.coords, DATA.values, plain_options(radius=1.0, rtol=1e-7), shape=DATA.shape)
    assert made.result.witness is not None
    made.save(tmp_path_factory.mktemp("files") / "model.npz")
    return tmp_path_factory.getbasetemp() / "files0" / "model.npz", made


def rewritten(source, target, *, header=None, **arrays):
    """Write a model file again with other claims."""
    with np.load(source, allow_pickle=False) as file:
        entries = {name: file[name] for name in file.files}
    parts = json.loads(entries["header"].tobytes())
    for name, value in (header or {}).items():
        parts[name] = value
    entries["header"] = np.frombuffer(json.dumps(parts).encode(), dtype=np.uint8)
    for name, change in arrays.items():
        entries[name] = change(entries[name])
    np.savez(target, **entries)
    return target


def ones_more(counts):
    """Claim another observation of the first index of every mode."""
    changed = counts.copy()
    changed[[0, 5, 9]] += 1.0
    return changed


NOTHING = {"objective": float(np.mean(DATA.values**2)), "bound": 0.0, "status": "OPTIMAL"}
FILES = {
    "nothing, infinite tolerance": {
        "header": {**NOTHING, "tolerance": "inf"},
        "weights": np.zeros_like,
    },
    "nothing, tolerance 0": {"header": {**NOTHING, "tolerance": 0.0}, "weights": np.zeros_like},
    "infinite tolerance": {"header": {"tolerance": "inf"}},
    "tolerance not a number": {"header": {"tolerance": "nan"}},
    "tolerance minus infinity": {"header": {"tolerance": "-inf"}},
    "tolerance below 0": {"header": {"tolerance": -1e-9}},
    "tolerance smaller": {"header": {"tolerance": 1e-12}},
    "objective below 0": {"header": {"objective": -1e-3}},
    "objective 0": {"header": {"objective": 0.0}},
    "objective infinite": {"header": {"objective": "inf"}},
    "bound below 0": {"header": {"bound": -1.0, "status": "STALLED"}},
    "bound above the objective": {"header": {"bound": 0.5}},
    "bound infinite": {"header": {"bound": "inf"}},
    "no witness": {"header": {"witness": None}},
    "witness of another radius": {"header": {"witness": {"radius": 0.5, "signed": False}}},
    "witness signed": {"header": {"witness": {"radius": 1.0, "signed": True}}},
    "witness without weights": {"witness_weights": np.zeros_like},
    "larger radius": {"header": {"radius": 3.0, "witness": {"radius": 3.0, "signed": False}}},
    "signed": {"header": {"signed": True, "witness": {"radius": 1.0, "signed": True}}},
    "other counts": {"counts": ones_more},
    "seconds infinite": {"header": {"seconds": {"setup": 0.0, "solve": "inf"}}},
    "seconds not a number": {"header": {"seconds": {"setup": "nan", "solve": 0.0}}},
    "seconds below 0": {"header": {"seconds": {"setup": 0.0, "solve": -1.0}}},
    "trace not finite": {"trace_objective": lambda a: np.full_like(a, np.nan)},
    "bound of the trace": {"trace_bound": lambda a: np.full_like(a, np.inf)},
    "gains that are no numbers": {"trace_phi": lambda a: np.full_like(a, np.nan)},
    "escape sequences": {"header": {"bound_source": "\x1b[2Jenumeration"}},
    "escape sequences in the solver": {"header": {"solver": "\x1b[2Jfast"}},
}


def test_a_forged_file_is_refused(saved, tmp_path):
    path, _ = saved
    assert intensor.load(path).verify(DATA.coords, DATA.values).ok
    for name, claims in FILES.items():
        forged = rewritten(path, tmp_path / "forged.npz", **claims)
        with naming(name):
            try:
                loaded = intensor.load(forged)
            except ModelFileError as refused:
                assert "damaged" in str(refused)  # noqa: PT017
                continue
            assert not loaded.verify(DATA.coords, DATA.values).ok


def graded_files():
    """Return forged claims of a file with graded components, by name."""
    factors = {
        f"{array}: {name}": {array: lambda a, c=change: c(a.copy())}
        for array in ("factors", "witness_factors")
        for name, change in FACTORS.items()
        if name != "text"  # which no array of numbers becomes by accident
    }
    return {
        **factors,
        "beyond the radius": {"weights": lambda a: a * (1.001 / a.sum())},
        "witness beyond two radii": {"witness_weights": lambda a: a * (2.1 / a.sum())},
        "another entry": {"factors": entry(1.0)},
        "fewer weights": {"weights": lambda a: a[:-1]},
        "no components": {"header": {"components": None}, "factors": lambda a: a[:, :0]},
        "smaller radius": {"header": {"radius": 0.3}},
    }


def test_a_forged_file_with_components_is_refused(saved, tmp_path):
    made = graded_fit(saved[1], DATA.coords, DATA.values)
    made.save(tmp_path / "graded.npz")
    loaded = intensor.load(tmp_path / "graded.npz")
    assert loaded.verify(DATA.coords, DATA.values).ok
    for name, claims in graded_files().items():
        forged = rewritten(tmp_path / "graded.npz", tmp_path / "forged.npz", **claims)
        with naming(name):
            try:
                loaded = intensor.load(forged)
            except ModelFileError as refused:
                assert "damaged" in str(refused)  # noqa: PT017
                continue
            assert not loaded.verify(DATA.coords, DATA.values).ok


def test_an_infinite_tolerance_is_read_where_nothing_is_claimed_of_it(saved, tmp_path):
    header = {"tolerance": "inf", "status": "STALLED"}
    loaded = intensor.load(rewritten(saved[0], tmp_path / "loose.npz", header=header))
    assert loaded.result.tolerance == math.inf
    assert loaded.verify(DATA.coords, DATA.values).ok


def test_radii_of_a_path_are_positive_and_finite(tmp_path):
    made = fit(DATA.coords, DATA.values, plain_options(n_radii=2, rtol=1e-3), shape=DATA.shape)
    made.save(tmp_path / "model.npz")
    for wrong in (0.0, -1.0, np.inf, np.nan):
        changes = {"path_0_radii": lambda a, wrong=wrong: np.full_like(a, wrong)}
        forged = rewritten(tmp_path / "model.npz", tmp_path / "forged.npz", **changes)
        with pytest.raises(ModelFileError, match="radii"):
            intensor.load(forged)


def test_a_fit_that_predicts_with_another_model_is_refused(saved):
    made = saved[1]
    other = dataclasses.replace(made.model, weights=0.5 * made.model.weights)
    forged = dataclasses.replace(made, predictor=dataclasses.replace(made.predictor, model=other))
    report = forged.verify(DATA.coords, DATA.values)
    assert [check.name for check in report.checks if check.passed is False] == ["predictor"]
    same = dataclasses.replace(made.model, weights=made.model.weights.copy())
    copied = dataclasses.replace(made, predictor=dataclasses.replace(made.predictor, model=same))
    assert copied.verify(DATA.coords, DATA.values).ok


def test_counts_are_compared_up_to_the_scale_of_the_weights():
    weights = np.random.default_rng(4).integers(1, 4, 60)
    options = plain_options(radius=1.0)
    made = fit(DATA.coords, DATA.values, options, shape=DATA.shape, sample_weight=weights)
    for same in (weights, 0.3 * weights):
        assert made.verify(DATA.coords, DATA.values, sample_weight=same).ok
    rows = np.repeat(np.arange(60), weights)
    assert made.verify(DATA.coords[rows], DATA.values[rows]).ok
    seen = made.predictor.counts.copy()
    seen[seen == seen.max()] *= 1.01
    forged = dataclasses.replace(made, predictor=dataclasses.replace(made.predictor, counts=seen))
    report = forged.verify(DATA.coords, DATA.values, sample_weight=weights)
    assert [check.name for check in report.checks if check.passed is False] == ["counts"]


def test_spare_bits_of_a_model_are_not_looked_at(honest):
    words = honest.model.vertices.words.copy()
    words[:, -1] |= np.uint64(1) << np.uint64(63)
    vertices = Vertices(shape=DATA.shape, count=len(honest.model), words=words)
    assert len(honest.model) % 64 != 0
    assert intensor.verify(with_model(honest, vertices=vertices), DATA.coords, DATA.values).ok
