"""What a fit says about itself."""

import numpy as np
import pytest

import intensor
from intensor.errors import CoordinateError, UnseenIndexError
from intensor.fitting.fit import fit
from intensor.fitting.options import check_options

DATA = intensor.planted((5, 5, 4), 90, noise=0.1)


@pytest.fixture(scope="module")
def found():
    options = check_options(transform="auto", n_solutions=2, n_radii=3, rtol=1e-3)
    return fit(DATA.coords, DATA.values, options, shape=(6, 5, 4))


def test_it_repeats_what_its_parts_say(found):
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


def test_a_line_about_it(found):
    line = repr(found)
    assert line.startswith("<Fit 6 x 5 x 4: ")
    for part in (str(found.status), f"{len(found.model)} boxes", f"radius {found.radius:.6g}"):
        assert part in line
    assert "\n" not in line


def test_predictions_are_the_predictors(found):
    assert np.array_equal(found.predict(DATA.coords), found.predictor.predict(DATA.coords))
    with pytest.raises(UnseenIndexError):
        found.predict([[5, 0, 0]], unseen="error")
    assert found.predict([[5, 0, 0]], unseen="mean")[0] >= 0.0


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


def test_it_comes_back_from_a_file(found, tmp_path):
    found.save(tmp_path / "model.npz")
    back = intensor.load(tmp_path / "model.npz")
    assert repr(back) == repr(found)
    assert np.array_equal(back.predict(DATA.coords), found.predict(DATA.coords))


def test_coordinates_that_are_no_whole_numbers_are_refused(found):
    with pytest.raises(intensor.errors.InputError):
        found.verify(DATA.coords + 0.5, DATA.values)


def test_coordinates_of_another_tensor_are_refused_with_a_baseline():
    options = check_options(baseline="additive", radius=0.8, exact="off")
    signed = fit(DATA.coords, DATA.values, options, shape=DATA.shape)
    with pytest.raises(CoordinateError):
        signed.verify(DATA.coords + 9, DATA.values)
