"""Sizes within the limits get a correct certificate; sizes beyond them are refused."""

import warnings

import numpy as np
import pandas as pd
import pytest

import intensor
from intensor import errors
from intensor.cli import main
from intensor.oracles.exact import plan
from intensor.report import render
from naming import naming
from zoo import mostly_slow

VERSIONS = ["fast", 8, pytest.param(4, marks=pytest.mark.slow)]
RNG = np.random.default_rng(0)
COORDS = np.stack([RNG.integers(0, length, 40) for length in (5, 4, 3)], axis=1)
VALUES = RNG.random(40)


def case(coords=COORDS, values=VALUES, **options):
    return np.asarray(coords), np.asarray(values, dtype=float), {"radius": 1.0, **options}


def many_modes(length):
    coords, values = RNG.integers(0, length, (60, 64)), RNG.random(60)
    return case(coords, values, shape=(length,) * 64, exact="off", max_iterations=5)


WORKS = {
    "one observation": case([[0, 0, 0]], [0.5]),
    "one in a larger tensor": case([[1, 2, 1]], [0.5], shape=(3, 4, 2)),
    "one mode": case(np.arange(6)[:, None], np.arange(6) / 6.0),
    "one mode, one observation": case([[0]], [1.0]),
    "a mode of length 1": case(COORDS * [1, 0, 1], VALUES, shape=(5, 1, 3)),
    "one cell": case(COORDS * 0, VALUES),
    "all equal": case(values=np.full(40, 1 / 3)),
    "all zero": case(values=np.zeros(40)),
    "radius far too small": case(radius=1e-70),
    "radius small": case(radius=1e-10),
    "radius huge": case(radius=1e30),
    "radius as large as may be": case(radius=1e70),
    "values tiny": case(values=VALUES * 1e-69, radius=1e-69),
    "values tiny beside the radius": case(values=VALUES * 1e-69, radius=1.0),
    "values huge": case(values=VALUES * 1e70, radius=1e70),
    "values of all sizes": case(values=10.0 ** np.linspace(-300, 69, 40), radius=1e69),
    "subnormal values": case(values=np.where(np.arange(40) < 9, 5e-324, VALUES)),
    "64 modes of 2": many_modes(2),
    "64 modes of 3": many_modes(3),
    "many repeats": case(np.zeros((100_000, 3), dtype=int), RNG.random(100_000)),
    "weights as uneven as may be": case(sample_weight=10.0 ** np.linspace(-100, 0, 40)),
    "weights at the ends": case(sample_weight=np.r_[1e-30, 1e70, np.ones(38)]),
    "uneven weights, all tiny": case(sample_weight=10.0 ** np.linspace(-299, -200, 40)),
    "uneven weights, tiny values": case(
        values=VALUES * 1e-69, radius=1e-69, sample_weight=10.0 ** np.linspace(-100, 0, 40)
    ),
    "uneven weights, huge values": case(
        values=VALUES * 1e70, radius=1e70, sample_weight=10.0 ** np.linspace(0, -100, 40)
    ),
    "tiny values, a huge radius": case(values=VALUES * 1e-69, radius=1e70),
    "huge values, a tiny radius": case(values=VALUES * 1e70, radius=1e-70),
    "weights subnormal": case(sample_weight=np.r_[1e-310, np.full(39, 3e-310)]),
    "weights huge": case(sample_weight=np.r_[2e69, np.full(39, 1e70)]),
    "a long mode": case(
        np.stack([RNG.integers(0, 10**6, 300), RNG.integers(0, 5, 300)], axis=1),
        RNG.random(300),
        shape=(10**6, 5),
        exact="off",
        max_iterations=4,
    ),
}
TELLING = {
    "one in a larger tensor",
    "one mode",
    "one cell",
    "all zero",
    "radius far too small",
    "radius as large as may be",
    "values tiny beside the radius",
    "values of all sizes",
    "subnormal values",
    "64 modes of 3",
    "weights at the ends",
    "uneven weights, all tiny",
    "uneven weights, huge values",
    "huge values, a tiny radius",
    "a long mode",
}
"""Problems that are tried by default with everything that can solve them."""
SOLVES = [
    pytest.param(name, version, marks=[pytest.mark.slow] * slow)
    for name in WORKS
    for version, slow in (("fast", False), (8, name not in TELLING), (4, True))
]
REFUSED = {
    "radius 1e-300": (case(radius=1e-300), errors.RadiusError, "1e-70 to 1e[+]70.*rescale"),
    "radius 1e300": (case(radius=1e300), errors.RadiusError, "1e-70 to 1e[+]70.*rescale"),
    "values 1e300": (case(values=VALUES * 1e300), errors.ValuesError, "at most 1e[+]70.*rescale"),
    "values 1e-300": (case(values=VALUES * 1e-300), errors.ValuesError, "least 1e-70.*rescale"),
    "values subnormal": (case(values=VALUES * 1e-310), errors.ValuesError, "squared.*rescale"),
    "weights 1e300": (
        case(sample_weight=np.full(40, 1e300)),
        errors.ValuesError,
        "at most 1e[+]70.*rescale",
    ),
    "weights too uneven": (
        case(sample_weight=10.0 ** np.linspace(-101, 0, 40)),
        errors.ValuesError,
        "sample_weight.0. is 1e-101 .* at least 1e-100 times the largest .*set the smaller ones",
    ),
    "weights that vanish": (
        case(sample_weight=np.r_[1e-320, 1e70, np.ones(38)]),
        errors.ValuesError,
        "at least 1e-100 times",
    ),
    "weights all 0": (case(sample_weight=np.zeros(40)), errors.EmptyDataError, "no observation"),
    "too many indices": (case(shape=(2**31, 4, 3)), errors.ShapeError, "encode large labels"),
}


@pytest.fixture(autouse=True)
def strict_arithmetic():
    """Turn overflow and NaN into errors; values above the radius are no news here."""
    with np.errstate(over="raise", invalid="raise", divide="raise"), warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.RadiusWarning)
        yield


@pytest.mark.filterwarnings("ignore::intensor.errors.EmptyModelWarning")  # of 64 modes
@pytest.mark.parametrize(("name", "version"), SOLVES)
def test_within_the_limits_the_certificate_is_right(name, version):
    coords, values, options = WORKS[name]
    weights = options.get("sample_weight")
    result = intensor.solve(coords, values, version=version, **{"max_iterations": 40, **options})
    report = intensor.verify(result, coords, values, sample_weight=weights, effort=1e7)
    assert report.ok, str(report)
    assert np.isfinite([result.objective, result.bound, result.gap]).all()
    assert np.isfinite([row[4:6] for row in result.trace]).all()
    assert result.bound <= result.objective * (1 + 1e-9) + 1e-28 * float(np.max(values)) ** 2
    predicted = result.model.predict(coords)
    assert ((predicted >= 0.0) & (predicted <= options["radius"] * (1 + 1e-9))).all()


@pytest.mark.parametrize("name", mostly_slow(WORKS, telling=TELLING))
@pytest.mark.filterwarnings("ignore::intensor.errors.EmptyModelWarning")
@pytest.mark.filterwarnings("ignore::intensor.errors.ValidationWarning")
def test_estimators_fit_save_and_predict(name, tmp_path):
    coords, values, options = WORKS[name]
    completer = intensor.TensorCompleter(
        shape=options.get("shape"), max_iterations=5, time_limit=2, remainder="none"
    )
    fit = completer.fit(coords, values, sample_weight=options.get("sample_weight")).fit_
    predicted = fit.predict(coords)
    assert np.isfinite(predicted).all()
    assert (predicted >= 0.0).all()
    assert np.isfinite([fit.objective, fit.bound]).all()
    fit.save(tmp_path / "model.npz")
    assert intensor.load(tmp_path / "model.npz").predict(coords).tobytes() == predicted.tobytes()


@pytest.mark.parametrize("version", ["fast", 8])
def test_sizes_beyond_the_limits_are_refused(version):
    for name, ((coords, values, options), error, match) in REFUSED.items():
        with naming(name), pytest.raises(error, match=match):
            intensor.solve(coords, values, version=version, **options)


def test_estimators_refuse_sizes_beyond_the_limits():
    for name, ((coords, values, options), error, match) in REFUSED.items():
        if name.startswith("radius"):
            continue
        completer = intensor.TensorCompleter(shape=options.get("shape"))
        with naming(name), pytest.raises(error, match=match):
            completer.fit(coords, values, sample_weight=options.get("sample_weight"))


THREE_CELLS = np.array([[0, 0], [0, 1], [1, 1]])
THREE_VALUES = np.array([1.0, 2.0, 3.0])
UNEVEN = [1e-302, 1e49, 1e-151]
MESSAGE = r"sample_weight\[0\] is 1e-302 and the largest is 1e\+49; expected .*set the smaller ones"


def frame():
    return pd.DataFrame(
        {"a": THREE_CELLS[:, 0], "b": THREE_CELLS[:, 1], "value": THREE_VALUES, "w": UNEVEN}
    )


def fitted():
    return intensor.TensorCompleter(radius=3.0).fit(THREE_CELLS, THREE_VALUES).fit_


FACES = {
    "solve": lambda: intensor.solve(THREE_CELLS, THREE_VALUES, radius=1.0, sample_weight=UNEVEN),
    "solve, version 8": lambda: intensor.solve(
        THREE_CELLS, THREE_VALUES, radius=1.0, version=8, sample_weight=UNEVEN
    ),
    "estimator": lambda: intensor.TensorCompleter().fit(
        THREE_CELLS, THREE_VALUES, sample_weight=UNEVEN
    ),
    "table": lambda: intensor.complete(frame(), value="value", weight="w", cells="all"),
    "verify": lambda: intensor.verify(
        fitted().result, THREE_CELLS, THREE_VALUES, sample_weight=UNEVEN
    ),
    "verify of a fit": lambda: fitted().verify(THREE_CELLS, THREE_VALUES, sample_weight=UNEVEN),
    "report": lambda: render(fitted(), THREE_CELLS, THREE_VALUES, sample_weight=UNEVEN),
}


@pytest.mark.parametrize("face", FACES)
def test_too_uneven_weights_are_refused(face):
    with pytest.raises(errors.ValuesError, match=MESSAGE):
        FACES[face]()


@pytest.mark.parametrize("command", ["fit", "complete", "verify", "report"])
def test_too_uneven_weights_of_files_are_refused(tmp_path, capsys, command):
    table, model = tmp_path / "table.csv", tmp_path / "model.npz"
    rows = zip(THREE_CELLS.tolist(), THREE_VALUES.tolist(), UNEVEN, strict=True)
    lines = [f"{a},{b},{value},{weight}" for (a, b), value, weight in rows]
    table.write_text("\n".join(["a,b,value,w", *lines]) + "\n")
    even = tmp_path / "even.csv"
    even.write_text("\n".join(["a,b,value,w", *(f"{line[:7]},1" for line in lines)]) + "\n")
    assert main(["fit", str(even), "--weight", "w", "--radius", "3", "-q", "-o", str(model)]) == 0
    files = [str(model), str(table)] if command in ("verify", "report") else [str(table)]
    suffix = {"fit": "npz", "complete": "csv", "report": "html"}
    out = [] if command == "verify" else ["-o", str(tmp_path / f"out.{suffix[command]}")]
    capsys.readouterr()
    assert main([command, *files, "--weight", "w", *out]) == 2
    shown = capsys.readouterr().err
    assert "1e-302" in shown
    assert "1e-100" in shown


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_ten_million_indices_can_be_solved(version):
    rng = np.random.default_rng(1)
    coords, values = rng.integers(0, 5 * 10**6, (3000, 2)), rng.random(3000)
    shape = (5 * 10**6, 5 * 10**6)
    options = {"shape": shape, "radius": 1.0, "version": version, "time_limit": 5}
    result = intensor.solve(coords, values, **options)
    assert intensor.verify(result, coords, values).ok
    assert result.objective < float((values**2).mean())


def test_no_blocks_are_made_for_what_cannot_be_searched(monkeypatch):
    """Long modes would have millions of them, which takes longer than the time limit."""
    monkeypatch.setattr(plan, "_blocks", None)
    for make in (plan.plan_enumeration, plan.plan_branching):
        assert make((5 * 10**6, 5 * 10**6)).seconds == np.inf
