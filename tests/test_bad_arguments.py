"""Arguments that make no sense raise an error of ours in every function that takes results."""

import numpy as np
import pytest

import intensor
from intensor import errors
from naming import naming

DATA = intensor.planted((4, 3, 3), 30, noise=0.1)
CELLS, VALUES = DATA.coords, DATA.values
COORDS = {
    "fewer rows": (CELLS[:5], errors.ValuesError, "expected \\(5,\\)"),
    "floats": (CELLS + 0.0, errors.CoordinateError, "dtype float64; expected integers"),
    "halves": (CELLS + 0.5, errors.CoordinateError, "dtype float64; expected integers"),
    "no rows": (np.empty((0, 3), dtype=int), errors.EmptyDataError, "no observation"),
    "an empty list": ([], errors.EmptyDataError, "no observation"),
    "flat": (CELLS[:, 0], errors.CoordinateError, "1 dimension"),
    "three dimensions": (CELLS[np.newaxis], errors.CoordinateError, "3 dimension"),
    "too few columns": (CELLS[:, :2], errors.InputError, "expected"),
    "too many columns": (np.c_[CELLS, CELLS], errors.InputError, "expected"),
    "negative": (CELLS - 1, errors.InputError, "is -1"),
    "too large": (CELLS + 9, errors.InputError, "leave|allows indices"),
    "beyond any shape": (CELLS + 2**40, errors.InputError, "indices"),
    "beyond int64": (CELLS.astype(np.uint64) + np.uint64(2**63), errors.InputError, "indices"),
    "text": (CELLS.astype(str), errors.CoordinateError, "expected integers"),
    "complex": (CELLS + 0j, errors.CoordinateError, "expected integers"),
    "objects": (CELLS.astype(object), errors.CoordinateError, "expected integers"),
    "truth values": (CELLS > 0, errors.CoordinateError, "expected integers"),
    "dates": (CELLS.astype("M8[D]"), errors.CoordinateError, "expected integers"),
    "ragged": ([[0, 1], [0]], errors.CoordinateError, "equal rows"),
    "masked": (np.ma.array(CELLS, mask=CELLS == 0), errors.CoordinateError, "masked"),
    "nothing": (None, errors.CoordinateError, "expected"),
    "a string": ("cells", errors.CoordinateError, "expected"),
}
NUMBERS = {
    "too few": (VALUES[:-1], errors.ValuesError, "shape \\(29,\\); expected \\(30,\\)"),
    "too many": (np.r_[VALUES, 1.0], errors.ValuesError, "shape \\(31,\\)"),
    "a column": (VALUES[:, np.newaxis], errors.ValuesError, "shape \\(30, 1\\)"),
    "a number": (1.0, errors.ValuesError, "shape \\(\\)"),
    "none at all": ([], errors.ValuesError, "shape \\(0,\\)"),
    "not a number": (np.r_[np.nan, VALUES[1:]], errors.ValuesError, "\\[0\\] is nan"),
    "infinite": (np.r_[np.inf, VALUES[1:]], errors.ValuesError, "\\[0\\] is inf"),
    "huge": (np.r_[1e80, VALUES[1:]], errors.ValuesError, "\\[0\\] is 1e\\+80"),
    "complex": (VALUES + 1j, errors.ValuesError, "expected real numbers"),
    "text": (VALUES.astype(str), errors.ValuesError, "expected real numbers"),
    "objects": (VALUES.astype(object), errors.ValuesError, "expected real numbers"),
    "dates": (np.arange(30).astype("M8[D]"), errors.ValuesError, "expected real numbers"),
    "masked": (np.ma.array(VALUES, mask=np.arange(30) < 3), errors.ValuesError, "masked"),
    "nothing": (None, errors.ValuesError, r"shape \(\)|there are no values"),
}
WEIGHTS = {
    **NUMBERS,
    "negative": (np.full(30, -1.0), errors.ValuesError, "sample_weight\\[0\\] is -1.0"),
    "all 0": (np.zeros(30), errors.EmptyDataError, "every sample_weight is zero"),
}
del WEIGHTS["nothing"]  # which is all the same
EFFORTS = [np.nan, -1.0, "much", None, True, 1j, np.ones(2)]


@pytest.fixture(scope="module")
def result():
    return intensor.solve(CELLS, VALUES, shape=DATA.shape, radius=1.0)


@pytest.fixture(scope="module")
def fitted():
    return intensor.TensorCompleter(radius=1.0).fit(CELLS, VALUES).fit_


@pytest.fixture(params=["result", "model", "fit"])
def verify(request, result, fitted):
    """Return the three ways to verify."""
    return {
        "result": lambda *data, **options: intensor.verify(result, *data, **options),
        "model": lambda *data, **options: intensor.verify(result.model, *data, **options),
        "fit": fitted.verify,
    }[request.param]


def test_verify_refuses_bad_coordinates(verify):
    for name, (cells, error, message) in COORDS.items():
        with naming(name), pytest.raises(error, match=message):
            verify(cells, VALUES)


def test_verify_refuses_bad_values(verify):
    for name, (values, error, message) in NUMBERS.items():
        with naming(name), pytest.raises(error, match=message):
            verify(CELLS, values)


def test_verify_refuses_bad_weights(verify):
    for name, (weights, error, message) in WEIGHTS.items():
        with naming(name), pytest.raises(error, match=message):
            verify(CELLS, VALUES, sample_weight=weights)


def test_verify_refuses_bad_efforts(verify):
    said = r"effort is .*; expected a number >= 0"
    for effort in EFFORTS:
        with naming(effort), pytest.raises(errors.SettingError, match=said):
            verify(CELLS, VALUES, effort=effort)


def test_verify_takes_any_amount_of_effort(verify):
    for effort in (0, 5, np.float32(7), np.inf, 10**400):
        report = verify(CELLS, VALUES, effort=effort)
        assert report.ok
        assert report.complete or effort < 10


def test_verify_says_how_to_check_a_fit(fitted):
    with pytest.raises(errors.SettingError, match=r"got a Fit; .*fit\.verify\(coords, values\)"):
        intensor.verify(fitted, CELLS, VALUES)
    for wrong in (None, "a promise", intensor.Result, CELLS):
        with pytest.raises(errors.SettingError, match="expected a Result or a Model"):
            intensor.verify(wrong, CELLS, VALUES)


FINE = {"fewer rows", "no rows"}
NOT_KNOWN = {"negative", "too large", "beyond any shape", "beyond int64"}


def test_models_refuse_bad_cells(result):
    for name, (cells, error, message) in COORDS.items():
        if name in FINE:
            assert len(result.model.predict(cells)) == len(cells)
            continue
        with naming(name), pytest.raises(error, match=message):
            result.model.predict(cells)


@pytest.mark.parametrize("unseen", ["error", "mean"])
def test_fits_refuse_bad_cells(fitted, unseen):
    for name, (cells, _, _) in COORDS.items():
        if name in FINE or (name in NOT_KNOWN and unseen == "mean"):
            assert len(fitted.predict(cells, unseen=unseen)) == len(cells)
            continue
        with naming(name), pytest.raises(errors.InputError):
            fitted.predict(cells, unseen=unseen)


@pytest.mark.parametrize("unseen", ["never", None, 1, ["mean"], np.ones(2)])
def test_fits_refuse_other_ways_with_unseen_indices(fitted, unseen):
    with pytest.raises(errors.SettingError, match="unseen is"):
        fitted.predict(CELLS, unseen=unseen)


TENSOR = np.random.default_rng(0).uniform(size=(3, 3))
TENSORS = {
    "negative": (-TENSOR, errors.NegativeValueError),
    "not a number": (TENSOR * np.nan, errors.ValuesError),
    "infinite": (TENSOR * np.inf, errors.ValuesError),
    "huge": (TENSOR * 1e80, errors.ValuesError),
    "tiny": (TENSOR * 1e-80, errors.ValuesError),
    "subnormal": (TENSOR * 1e-310, errors.ValuesError),
    "complex": (TENSOR + 1j, errors.ValuesError),
    "text": (TENSOR.astype(str), errors.ValuesError),
    "objects": (TENSOR.astype(object), errors.ValuesError),
    "masked": (np.ma.array(TENSOR, mask=TENSOR > 0.5), errors.ValuesError),
    "ragged": ([[1.0], [1.0, 2.0]], errors.ValuesError),
    "empty": ([], errors.ShapeError),
    "a number": (1.0, errors.ShapeError),
    "nothing": (None, errors.InputError),
}


def test_the_norm_refuses_what_is_no_tensor():
    for name, (tensor, error) in TENSORS.items():
        with naming(name), pytest.raises(error):
            intensor.gauge_norm(tensor)


@pytest.mark.parametrize(
    "options",
    [
        {"rtol": "x"},
        {"rtol": np.nan},
        {"exact": "zzz"},
        {"exact": 3},
        {"time_limit": -1},
        {"seed": -1},
        {"seed": "a"},
    ],
)
def test_the_norm_refuses_bad_settings(options):
    with pytest.raises(errors.SettingError):
        intensor.gauge_norm(TENSOR, **options)


def test_nmse_refuses_what_is_no_model(result, fitted):
    for wrong in (result, fitted, None, TENSOR, "a model"):
        with pytest.raises(errors.SettingError, match=r"the model is a .*; expected a Model"):
            intensor.nmse(wrong, DATA.truth)
        with pytest.raises(errors.SettingError, match=r"the truth is a .*; expected a Model"):
            intensor.nmse(result.model, wrong)
    with pytest.raises(errors.ShapeError):
        intensor.nmse(result.model, intensor.planted((3, 3), 5).truth)
