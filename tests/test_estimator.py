"""The estimator, used as scikit-learn uses it."""

import doctest
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils.estimator_checks import check_estimator

import intensor
from intensor import errors
from intensor._estimator import TensorCompleter
from intensor.fitting.fit import fit as fit_tensor
from intensor.fitting.options import check_options

EXPECTED_FAILED_CHECKS = {
    "check_sample_weight_equivalence_on_dense_data": (
        "its X is drawn from [0, 1) whatever the tags say, and such numbers are no coordinates"
    ),
}
"""Checks of scikit-learn that make no sense for coordinates, and why."""

DOCS = Path(__file__).parents[1] / "docs"
QUICK = {"radius": 1.0, "exact": "off"}


@pytest.fixture(scope="module")
def data():
    return intensor.planted((6, 5, 4), 90, noise=0.05)


@pytest.fixture(scope="module")
def fitted(data):
    return TensorCompleter(**QUICK).fit(data.coords, data.values)


@pytest.mark.filterwarnings("ignore::intensor.errors.RadiusWarning")  # y of some checks is large
def test_the_checks_of_scikit_learn_pass():
    found = check_estimator(
        TensorCompleter(radius=50.0, exact="off", max_iterations=40),
        expected_failed_checks=EXPECTED_FAILED_CHECKS,
        on_fail=None,
        on_skip=None,
    )
    by_status = {}
    for check in found:
        by_status.setdefault(check["status"], {})[check["check_name"]] = check["exception"]
    assert by_status.get("failed", {}) == {}
    assert set(by_status["xfail"]) == set(EXPECTED_FAILED_CHECKS)
    assert set(by_status.get("skipped", {})) <= {"check_array_api_input"}
    assert len(by_status["passed"]) >= 40


@pytest.mark.parametrize("share", [0, 1])
def test_weights_are_repetitions_and_zero_is_absence(data, share):
    # What the expected failure above would check, on coordinates.
    rng = np.random.default_rng(3)
    weights = rng.integers(share, 4, size=len(data.values))
    rows = np.repeat(np.arange(len(weights)), weights)
    completer = TensorCompleter(**QUICK, shape=data.shape)
    weighted = clone(completer).fit(data.coords, data.values, sample_weight=weights)
    repeated = clone(completer).fit(data.coords[rows], data.values[rows])
    seen = data.coords[weights > 0]
    np.testing.assert_allclose(weighted.predict(seen), repeated.predict(seen), atol=1e-9)
    plain = TensorCompleter(**QUICK).fit(data.coords, data.values)
    assert np.abs(plain.predict(seen) - weighted.predict(seen)).max() > 1e-4


def test_it_is_the_fit_of_the_library(data, fitted):
    options = check_options(radius=1.0, exact="off")
    by_hand = fit_tensor(data.coords, data.values, options)
    cells = np.stack(np.unravel_index(np.arange(120), data.shape), axis=1)
    np.testing.assert_array_equal(fitted.predict(cells), by_hand.predict(cells))
    assert fitted.objective_ == by_hand.objective
    assert fitted.bound_ == by_hand.bound
    assert fitted.gap_ == by_hand.gap
    assert fitted.status_ is by_hand.status
    assert (fitted.radius_, fitted.shape_, fitted.path_) == (1.0, data.shape, None)
    assert fitted.n_iter_ == by_hand.result.counters.iterations >= 1
    assert fitted.model_ is fitted.fit_.model
    assert fitted.n_features_in_ == 3


def test_a_chosen_radius_comes_with_its_path(data):
    options = {"components": "boxes", "transform": "none", "baseline": "none", "n_radii": 3}
    completer = TensorCompleter(exact="off", **options).fit(data.coords, data.values)
    assert completer.radius_ == completer.path_.radius
    assert 1 <= len(completer.path_) <= 3


def test_settings_reach_the_fit(data):
    completer = TensorCompleter(radius=2.0, transform="sqrt", baseline="additive", exact="off")
    completer.fit(data.coords, data.values)
    assert completer.fit_.predictor.transform.name == "sqrt"
    assert completer.fit_.predictor.baseline is not None
    stages = []
    TensorCompleter(**QUICK, callback=lambda progress: stages.append(progress.stage)).fit(
        data.coords, data.values
    )
    assert set(stages) == {"fit"}
    stopped = TensorCompleter(**QUICK, callback=lambda progress: False)
    assert stopped.fit(data.coords, data.values).status_ is intensor.Status.STOPPED


@pytest.mark.parametrize("remainder", ["kriging", "auto"])
def test_the_remainder_is_kriged(data, remainder):
    options = {"exact": "off", "n_radii": 2, "random_state": 3, "shape": data.shape}
    completer = TensorCompleter(remainder=remainder, scoring="mae", **options)
    completer.fit(data.coords, data.values)
    checked = check_options(exact="off", n_radii=2, seed=3, remainder=remainder, scoring="mae")
    by_hand = fit_tensor(data.coords, data.values, checked, shape=data.shape)
    assert np.array_equal(completer.predict(data.coords), by_hand.predict(data.coords))
    kriged = completer.fit_.predictor.remainder is not None
    assert kriged == (completer.path_.remainder == "kriging") == (by_hand.path.kriged.any())
    assert kriged or remainder == "auto"
    again = pickle.loads(pickle.dumps(completer))
    assert np.array_equal(again.predict(data.coords), completer.predict(data.coords))
    assert clone(completer).get_params()["remainder"] == remainder


def test_a_remainder_by_another_name_is_refused(data):
    with pytest.raises(errors.SettingError, match="remainder is 'krige'"):
        TensorCompleter(remainder="krige").fit(data.coords, data.values)
    sparse = TensorCompleter(**QUICK, remainder="kriging", shape=(60, 50, 40))
    with pytest.raises(errors.SettingError, match=r"60 x 50 x 40 with \d+ observed cells"):
        sparse.fit(data.coords, data.values)


def test_settings_survive_copies_and_changes(data):
    pair = (np.sqrt, np.square)
    completer = TensorCompleter(transform=pair, radius=3.0, random_state=4)
    assert completer.get_params()["transform"] is pair
    copy = clone(completer)
    assert copy.get_params() == completer.get_params()
    copy.set_params(transform="log1p", radius=2.0)
    assert copy.get_params()["transform"] == "log1p"
    assert "transform='log1p'" in repr(copy)
    with pytest.raises(ValueError, match="Invalid parameter 'rank'"):
        copy.set_params(rank=3)


def test_it_is_not_taken_for_a_transformer(fitted):
    assert not hasattr(fitted, "transform")
    with pytest.raises(AttributeError, match=r"get_params\(\)\['transform'\]"):
        _ = fitted.transform


def test_a_pickle_predicts_the_same(data, fitted):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(data.coords), fitted.predict(data.coords))
    assert again.get_params() == fitted.get_params()
    assert again.status_ is fitted.status_


@pytest.mark.parametrize(
    "kind", [np.int8, np.uint16, np.float32, np.float64, object], ids=lambda kind: kind.__name__
)
def test_coordinates_may_have_any_numeric_type(data, fitted, kind):
    cells = data.coords.astype(kind)
    again = TensorCompleter(**QUICK).fit(cells, data.values)
    np.testing.assert_array_equal(again.predict(cells), fitted.predict(data.coords))


def test_frames_name_the_modes(data):
    table = pd.DataFrame(data.coords, columns=["user", "item", "week"])
    completer = TensorCompleter(**QUICK).fit(table, pd.Series(data.values))
    assert completer.feature_names_in_.tolist() == ["user", "item", "week"]
    with pytest.raises(ValueError, match="feature names"):
        completer.predict(table[["item", "user", "week"]])


def test_random_state_seeds_the_fit(data):
    def predict(state):
        completer = TensorCompleter(**QUICK, random_state=state).fit(data.coords, data.values)
        return completer.predict(data.coords)

    first = predict(np.random.RandomState(7))
    np.testing.assert_array_equal(first, predict(np.random.RandomState(7)))
    drawn = predict(np.random.default_rng(7))
    np.testing.assert_array_equal(drawn, predict(np.random.default_rng(7)))
    assert predict(None).shape == first.shape
    with pytest.raises(errors.SettingError, match="random_state is 'seven'"):
        predict("seven")
    with pytest.raises(errors.SettingError, match="seed is -1"):
        predict(-1)


@pytest.mark.filterwarnings("ignore::intensor.errors.RadiusWarning")
def test_it_can_be_searched_and_cross_validated(data):
    completer = TensorCompleter(**QUICK)
    search = GridSearchCV(completer, {"radius": [0.01, 1.0], "transform": ["none"]}, cv=3)
    assert search.fit(data.coords, data.values).best_params_["radius"] == 1.0
    scores = cross_val_score(completer, data.coords, data.values, cv=3)
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()


def test_folds_may_lack_an_index():
    coords = np.array([[0, 0], [1, 1], [0, 1], [2, 0]])
    values = np.ones(4)
    completer = TensorCompleter(**QUICK, shape=(3, 2))
    predicted = cross_val_predict(completer, coords, values, cv=2)
    assert np.isfinite(predicted).all()
    strict = completer.set_params(unseen="error").fit(coords[:3], values[:3])
    assert strict.shape_ == (3, 2)
    with pytest.raises(errors.UnseenIndexError, match=r"coords\[0, 0\] is 2"):
        strict.predict(coords[3:])


LABELLED = pd.DataFrame(
    {
        "city": [f"city {number % 7}" for number in range(60)],
        "day": [f"day {number % 5}" for number in range(60)],
        "shop": ["rare" if number == 33 else f"shop {number % 3}" for number in range(60)],
    }
)
SALES = pd.Series(1.0 + np.arange(60) % 7 + (np.arange(60) % 5) * (np.arange(60) % 3))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unknown", [-1, np.nan, 99])
def test_searches_of_pipelines_do_not_warn(unknown):
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=unknown)
    pipeline = make_pipeline(encoder, TensorCompleter(radius=20.0, exact="off"))
    scores = cross_val_score(clone(pipeline), LABELLED, SALES, cv=4)
    assert np.isfinite(scores).all()
    search = GridSearchCV(
        pipeline,
        {"tensorcompleter__radius": [20.0, 40.0], "tensorcompleter__clip": [None, (1, 20)]},
        cv=KFold(3, shuffle=True, random_state=0),
        error_score="raise",
    ).fit(LABELLED, SALES)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    new = LABELLED.head(2).assign(city="elsewhere")
    predicted = search.predict(new)
    completer = search.best_estimator_[-1]
    means = completer.predict(np.column_stack([[-1, -1], encoder.fit_transform(new)[:, 1:]]))
    assert predicted.shape == means.shape == (2,)


@pytest.mark.filterwarnings("error")
def test_searches_of_the_estimator_alone_do_not_warn(data):
    completer = TensorCompleter(exact="off", n_radii=2, components="boxes")
    # Groups are the indices of the first mode, so every fold leaves some of them out.
    scores = cross_val_score(
        completer, data.coords, data.values, cv=GroupKFold(3), groups=data.coords[:, 0]
    )
    assert np.isfinite(scores).all()
    search = GridSearchCV(completer, {"transform": ["none", "sqrt"]}, cv=2, error_score="raise")
    assert search.fit(data.coords, data.values).best_estimator_.shape_ == data.shape
    clone(search.best_estimator_).fit(data.coords, data.values)


def test_unknown_labels_of_an_encoder_are_unseen_indices(data, fitted):
    far = fitted.predict([[99, 1, 2], [0, 1, 99]])
    for unknown in (-1, -1.0, np.nan):
        predicted = fitted.predict(np.array([[unknown, 1, 2], [0, 1, unknown]]))
        np.testing.assert_array_equal(predicted, far)
    assert np.isfinite(fitted.predict([[np.nan] * 3])).all()
    table = pd.DataFrame({"a": [None, 0.0], "b": [1, 1], "c": [2, 2]}, dtype=float)
    np.testing.assert_array_equal(fitted.predict(table.to_numpy())[0], far[0])
    strict = clone(fitted).set_params(unseen="error").fit(data.coords, data.values)
    for cell in ([0, -1, 0], [0, np.nan, 0]):
        with pytest.raises(errors.UnseenIndexError, match=r"coords\[0, 1\] is -1"):
            strict.predict([cell])
    with pytest.raises(errors.CoordinateError, match=r"coords\[0, 0\] is -2"):
        fitted.predict([[-2, 0, 0]])
    with pytest.raises(errors.CoordinateError, match=r"X\[1, 2\] is 0.5; .* -1 or NaN"):
        fitted.predict([[0, 0, 0], [0, np.nan, 0.5]])
    with pytest.raises(ValueError, match="infinity"):
        fitted.predict([[0, 0, np.inf]])


def test_predictions_are_clipped(data, fitted):
    plain = fitted.predict(data.coords)
    clip = (0.05, float(np.median(plain)))
    bounded = TensorCompleter(**QUICK, clip=clip).fit(data.coords, data.values)
    np.testing.assert_array_equal(bounded.predict(data.coords), np.clip(plain, *clip))
    assert clone(bounded).get_params()["clip"] == clip
    assert bounded.fit_.clip == clip
    with pytest.raises(errors.SettingError, match="clip is 5"):
        TensorCompleter(**QUICK, clip=5).fit(data.coords, data.values)


def test_a_pipeline_encodes_labels():
    table = pd.DataFrame(
        {"city": ["Oslo", "Rome", "Oslo", "Rome"], "day": ["mo", "mo", "tu", "tu"]}
    )
    values = np.array([1.0, 2.0, 2.0, 4.0])
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    pipeline = make_pipeline(encoder, TensorCompleter(radius=4.0, exact="off"))
    pipeline.fit(table, values)
    np.testing.assert_allclose(pipeline.predict(table), values, atol=0.1)
    elsewhere = pd.DataFrame({"city": ["Bonn"], "day": ["mo"]})
    np.testing.assert_allclose(pipeline.predict(elsewhere), [1.5], atol=0.1)
    assert not hasattr(pipeline, "transform")


@pytest.mark.parametrize(
    ("coords", "values", "error", "message"),
    [
        ([[0, 0.5]], [1.0], errors.CoordinateError, r"X\[0, 1\] is 0.5"),
        ([[0, 1], [-2, 0]], [1.0, 1.0], errors.CoordinateError, r"X\[1, 0\] is -2"),
        ([[0, 1e300]], [1.0], errors.CoordinateError, r"X\[0, 1\] is 1e\+300"),
        ([[0, 1], [-1, 0]], [1.0, 1.0], errors.CoordinateError, r"X\[1, 0\] is -1.*in predict"),
        ([[0, np.nan]], [1.0], errors.CoordinateError, r"Input X contains NaN: X\[0, 1\] is NaN"),
        ([[0, np.inf]], [1.0], ValueError, "Input X contains infinity"),
        ([[0, 1]], [np.nan], ValueError, "Input y contains NaN"),
        ([[0, 1]], [-1.0], errors.NegativeValueError, r"y\[0\] is -1.0"),
        ([["a", "b"]], [1.0], ValueError, "not compatible with arrays of bytes/strings"),
        ([0, 1], [1.0, 2.0], ValueError, "Expected 2D array"),
        ([[0, 1]], [1.0, 2.0], ValueError, "inconsistent numbers of samples"),
        ([[0, 1]], ["much"], errors.ValuesError, "expected real numbers"),
    ],
)
def test_bad_input_is_refused(coords, values, error, message):
    with pytest.raises(error, match=message):
        TensorCompleter(**QUICK).fit(coords, values)


def test_bad_settings_are_refused(data):
    with pytest.raises(errors.SettingError, match="unseen is 'median'"):
        TensorCompleter(unseen="median").fit(data.coords, data.values)
    with pytest.raises(errors.RadiusError, match="radius is -1"):
        TensorCompleter(radius=-1).fit(data.coords, data.values)
    with pytest.raises(errors.EmptyDataError, match="every sample_weight is zero"):
        TensorCompleter(**QUICK).fit(data.coords, data.values, np.zeros(90))
    with pytest.raises(NotFittedError):
        TensorCompleter().predict(data.coords)
    strict = TensorCompleter(**QUICK, unseen="error").fit(data.coords, data.values)
    with pytest.raises(errors.UnseenIndexError, match=r"coords\[0, 0\] is 6"):
        strict.predict([[6, 0, 0]])
    with pytest.warns(errors.UnseenIndexWarning, match=r"coords\[0, 0\] is 6"):
        strict.set_params(unseen="warn").predict([[6, 0, 0]])
    with pytest.warns(DataConversionWarning):
        TensorCompleter(**QUICK).fit(data.coords, data.values[:, np.newaxis])


def test_the_documentation_runs():
    text = (DOCS / "estimator.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    found = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "estimator.md", None, 0)
    assert len(found.examples) >= 8
    runner = doctest.DocTestRunner()
    runner.run(found)
    assert runner.summarize(verbose=False).failed == 0
    for name, reason in EXPECTED_FAILED_CHECKS.items():
        assert f"| `{name}` | {reason} |" in text
    assert text.count("| `check_") == len(EXPECTED_FAILED_CHECKS)
