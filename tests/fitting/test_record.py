"""The record of a fit: its numbers, its predictions and its certificate."""

import dataclasses

import numpy as np
import pytest

import intensor
from fitting_cases import plain_options
from intensor.errors import CoordinateError, UnseenIndexError
from intensor.fitting.fit import fit

DATA = intensor.planted((5, 5, 4), 90, noise=0.1)


@pytest.fixture(scope="module")
def found():
    options = plain_options(
        transform="auto", components="boxes", n_solutions=2, n_radii=3, rtol=1e-3
    )
    return fit(DATA.coords, DATA.values, options, shape=(6, 5, 4))


def test_a_fit_repeats_the_numbers_of_its_parts(found):
    result, model = found.result, found.predictor.model
    assert found.model is model is result.model
    assert found.shape == model.shape == (6, 5, 4)
    assert found.radius == model.radius == found.path.radius
    assert found.status is result.status
    assert (found.objective, found.bound) == (result.objective, result.bound)
    assert found.gap == result.objective - result.bound
    assert found.path is found.validation.path is found.validation.paths[found.validation.chosen]
    assert found.n == 90
    assert found.n_solutions == 2


def test_the_table_of_the_terms_has_the_labels_of_the_fit(found):
    modes = np.array(["x", "y", "z", "u", "v", "w"], dtype=object)
    labels = dataclasses.replace(
        found.labels, modes=("a", "b", "c"), indices=(modes, *found.labels.indices[1:])
    )
    frame = dataclasses.replace(found, labels=labels).to_frame()
    assert frame.num_rows == found.model.vertices.flags().sum()
    assert set(frame["mode"].to_pylist()) == {"a", "b", "c"}
    first = frame.filter(np.array(frame["mode"].to_pylist()) == "a")
    assert set(first["label"].to_pylist()) <= set(modes)


def test_the_repr_is_one_line(found):
    line = repr(found)
    assert line.startswith("<Fit 6 x 5 x 4: ")
    for part in (str(found.status), f"{len(found.model)} boxes", f"radius {found.radius:.4g}"):
        assert part in line
    assert "\n" not in line


def test_predictions_are_those_of_the_predictor(found):
    assert np.array_equal(found.predict(DATA.coords), found.predictor.predict(DATA.coords))
    with pytest.raises(UnseenIndexError):
        found.predict([[5, 0, 0]], unseen="error")
    assert found.predict([[5, 0, 0]], unseen="mean")[0] >= 0.0


@pytest.mark.parametrize("clip", [(0.05, 0.1), (0.05, None), (None, 0.1), (-1.0, 9.0)])
def test_predictions_are_clipped_to_the_range_of_the_fit(found, clip):
    plain = found.predict(DATA.coords)
    assert plain.min() < 0.05 < 0.1 < plain.max()
    bounded = dataclasses.replace(found, clip=clip)
    low, high = (-np.inf if clip[0] is None else clip[0]), (np.inf if clip[1] is None else clip[1])
    assert np.array_equal(bounded.predict(DATA.coords), np.clip(plain, low, high))
    table = dict(zip(found.labels.modes, DATA.coords.T, strict=True))
    assert np.array_equal(bounded.predict(table), bounded.predict(DATA.coords))
    unseen = bounded.predict([[5, 0, 0], [-1, -1, -1]])
    assert np.array_equal(unseen, np.clip(found.predict([[5, 0, 0], [-1, -1, -1]]), low, high))
    partner = dataclasses.replace(found, share=0.5)
    blend = dataclasses.replace(bounded, share=0.5, partners=(partner,))
    assert np.allclose(blend.predict(DATA.coords), np.clip(plain, low, high), rtol=1e-12)
    assert bounded.verify(DATA.coords, DATA.values).ok, "the certificate is that of the model"


def test_the_range_reaches_the_fit_and_its_full_tensor():
    options = plain_options(radius=1.0, exact="off", clip=(0.1, None))
    made = fit(DATA.coords, DATA.values, options, shape=(6, 5, 4))
    assert made.clip == (0.1, None)
    long = fit(DATA.coords, DATA.values, options, shape=(10**6, 5, 4))
    assert long.clip == (0.1, None)
    assert long.predict([[999_999, 0, 0]])[0] >= 0.1
    assert fit(DATA.coords, DATA.values, plain_options(radius=1.0, exact="off")).clip is None
    simple = made.simplify(2, DATA.coords, DATA.values)
    assert simple.fit.clip == (0.1, None)


def test_the_certificate_is_recomputed_in_the_fitted_scale(found):
    report = found.verify(DATA.coords, DATA.values)
    assert report.ok
    fitted = found.predictor.transform.apply(DATA.values)
    residual = found.predictor.fitted(DATA.coords) - fitted
    assert report.objective == pytest.approx(np.mean(residual**2), rel=1e-12)
    assert not found.verify(DATA.coords, 1.01 * DATA.values).ok
    assert found.verify(DATA.coords, DATA.values, effort=1.0).complete in (
        False,
        found.result.witness is None,
    )


def test_coordinates_that_are_not_integers_are_refused(found):
    with pytest.raises(intensor.errors.InputError):
        found.verify(DATA.coords + 0.5, DATA.values)


@pytest.mark.parametrize("baseline", ["none", "additive"])
def test_coordinates_of_another_tensor_are_refused(baseline):
    options = plain_options(baseline=baseline, radius=0.8, exact="off")
    made = fit(DATA.coords, DATA.values, options, shape=DATA.shape)
    with pytest.raises(CoordinateError):
        made.verify(DATA.coords + 9, DATA.values)
