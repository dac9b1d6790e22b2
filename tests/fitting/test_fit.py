"""Fits from end to end: what is certified, what is refused, and how a fit ends early."""

import os
import signal
import warnings

import numpy as np
import pytest

import intensor
from fitting_cases import (
    EVERY_CELL,
    NOISY,
    NOISY_EIGHT,
    WEIGHTS,
    checked,
    fitted,
    plain_options,
    problem,
    repeated,
)
from intensor import TensorCompleter
from intensor.data.labels import Labels
from intensor.errors import (
    CheckpointError,
    CoordinateError,
    EmptyDataError,
    EmptyModelWarning,
    NegativeValueError,
    RadiusWarning,
    SettingError,
    UnseenIndexError,
    ValidationWarning,
    ValuesError,
)
from intensor.fitting.fit import fit
from intensor.fitting.kriging import MAX_MODE_LENGTH
from intensor.fitting.options import DEFAULT_RTOL
from intensor.model.transform import TRANSFORMS
from intensor.solver.result import Status


def test_a_given_radius_needs_no_validation():
    found = fitted(radius=0.8)
    assert found.radius == 0.8
    assert found.validation is None
    assert found.path is None
    assert found.result.tolerance == pytest.approx(DEFAULT_RTOL * np.mean(NOISY.values**2))


@pytest.mark.parametrize("radius", [0.9, "auto"])
def test_only_a_radius_that_was_given_is_warned_about(radius):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(radius=radius)
    with pytest.warns(RadiusWarning, match="above the radius 0.1"):
        fitted(radius=0.1)
    cells = len(np.unique(NOISY.coords, axis=0))
    with pytest.warns(RadiusWarning, match=f"{cells} of {cells} values lie above"):
        fitted(radius=1e-9, baseline="additive")  # by their size, whatever their sign


@pytest.mark.parametrize("options", [{}, {"transform": "sqrt", "baseline": "additive"}], ids=str)
def test_weights_count_like_repeated_rows(options):
    # Rounding decides between equals late in a run: a loose gap ends the run before.
    weighted = fitted(radius=0.8, rtol=0.02, sample_weight=WEIGHTS, **options)
    plain = fitted(repeated(WEIGHTS), radius=0.8, rtol=0.02, **options)
    np.testing.assert_allclose(weighted.model.weights, plain.model.weights, atol=1e-9)
    assert np.array_equal(weighted.predictor.counts, plain.predictor.counts)
    np.testing.assert_allclose(
        weighted.predict(EVERY_CELL, unseen="mean"),
        plain.predict(EVERY_CELL, unseen="mean"),
        atol=1e-9,
    )
    assert weighted.objective == pytest.approx(plain.objective, rel=1e-9)
    checked(weighted, sample_weight=WEIGHTS)
    assert not weighted.verify(NOISY.coords, NOISY.values).ok


def test_validation_counts_weights():
    positive = WEIGHTS + 1
    weighted = fitted(sample_weight=positive, n_radii=1)
    plain = fitted(repeated(positive), n_radii=1)
    assert weighted.path.errors == pytest.approx(plain.path.errors, rel=1e-12)
    assert weighted.path.errors != pytest.approx(fitted(n_radii=1).path.errors, rel=1e-3)


def test_a_chosen_radius_is_the_same_with_weights_and_with_rows():
    weighted = fitted(sample_weight=WEIGHTS)
    plain = fitted(repeated(WEIGHTS))
    assert weighted.path.radii == pytest.approx(plain.path.radii, rel=1e-12)
    assert weighted.result.tolerance == pytest.approx(plain.result.tolerance, rel=1e-9)


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))])
def test_rows_without_weight_are_not_all_that_is_held_out(seed):
    weights = np.zeros(150)
    weights[:4] = 1.0
    assert len(fitted(sample_weight=weights, seed=seed).model) > 0


def test_a_value_without_weight_does_not_count():
    weights, values = np.ones(150), NOISY.values + 1.0
    weights[7] = 0.0
    values[7] = 1e3  # does not count as the largest
    found = fitted(values=values, sample_weight=weights, n_radii=1)
    assert found.path.radii[0] < 10.0
    values[7] = 0.5  # has no logarithm above 0
    fitted(values=values, sample_weight=weights, n_radii=1, transform=(np.log, np.exp))


def test_the_same_seed_gives_the_same_fit():
    first, second = fitted(n_solutions=2, seed=5), fitted(n_solutions=2, seed=5)
    assert np.array_equal(first.model.weights, second.model.weights)
    assert np.array_equal(first.path.errors, second.path.errors)


SPARSE = intensor.planted((40, 40, 40), 500, noise=0.1)
LINE = problem((30,), np.arange(30)[:, np.newaxis], np.ones(30))
LONG = problem((5000, 2), np.argwhere(np.ones((5000, 2)))[::20], np.linspace(0.5, 1.0, 500))


@pytest.mark.parametrize(
    ("data", "figures"),
    [
        (SPARSE, "got 40 x 40 x 40 with 49[0-9] observed cells"),
        (LINE, "at least two modes.*got 30 with 30 observed cells"),
        (LONG, "at most 4096 indices; got 5000 x 2 with 500 observed"),
    ],
    ids=["sparse", "one mode", "long"],
)
def test_tensors_that_cannot_be_kriged_are_refused_or_not_kriged(data, figures):
    with pytest.raises(SettingError, match=f"4194304 cells.*one in 32.*{figures}"):
        fitted(data, radius=1.5, remainder="kriging")
    with pytest.raises(SettingError, match=figures):
        fitted(data, n_radii=1, remainder="kriging")
    found = fitted(data, n_radii=2, remainder="auto")
    plain = fitted(data, n_radii=2)
    assert found.predictor.remainder is None
    assert found.path.remainder == "none"
    assert np.array_equal(found.model.weights, plain.model.weights)


@pytest.mark.parametrize("remainder", ["kriging", "auto"])
def test_very_little_data_can_be_kriged(remainder):
    options = plain_options(exact="off", remainder=remainder)
    with pytest.warns(ValidationWarning, match="all observations are of one cell"):
        single = fit([[1, 2], [1, 2]], [2.0, 4.0], options)
    assert single.predict([[1, 2]]) == pytest.approx([3.0], rel=1e-6)
    assert (single.predictor.remainder is None) == (remainder == "auto")  # nothing to validate
    zeros = fitted(values=np.zeros(150), remainder=remainder)
    assert not zeros.predict(EVERY_CELL, unseen="mean").any()


CUBE_ROOT = (np.cbrt, lambda fitted: fitted**3)


@pytest.mark.parametrize(
    ("transform", "baseline", "radius"),
    [
        ("none", "additive", 0.9),
        ("sqrt", "none", 0.9),
        ("log1p", "additive", 0.9),
        (CUBE_ROOT, "none", 30.0),
        *(
            pytest.param(transform, baseline, radius, marks=pytest.mark.slow)
            for transform in ("none", "sqrt", "log1p", CUBE_ROOT)
            for baseline, radius in (("none", 0.9), ("none", 30.0), ("additive", 0.9))
        ),
    ],
)
def test_predictions_stay_in_range(transform, baseline, radius):
    found = fitted(values=NOISY.values**4, radius=radius, transform=transform, baseline=baseline)
    predicted = found.predict(EVERY_CELL, unseen="mean")
    assert np.all(np.isfinite(predicted))
    assert predicted.min() >= 0.0
    if baseline == "none":
        highest = found.predictor.transform.undo(np.array([radius]))[0]
        assert predicted.max() <= highest * (1.0 + 1e-12)
    else:
        assert found.predictor.fitted(EVERY_CELL).min() < 0.0  # there was something to clip
    assert np.abs(found.model.weights).sum() <= radius * (1.0 + 1e-12)


def test_proofs_hold_in_every_scale():
    options = {"exact": "auto", "radius": 0.9, "rtol": 1e-3, "values": 0.3 * NOISY.values}
    for transform in ("none", "sqrt", "log1p"):
        for baseline in ("none", "additive"):
            found = fitted(transform=transform, baseline=baseline, **options)
            assert found.status is Status.OPTIMAL
            assert checked(found, values=0.3 * NOISY.values).complete
            assert not found.verify(NOISY.coords, NOISY.values).ok


def test_the_versions_of_the_paper_fit_too():
    found = fitted(version=8, exact="auto", rtol=1e-2)
    assert found.result.version == 8
    assert found.status is Status.WITHIN_TOLERANCE
    assert found.result.bound_source != "within-cell variance"
    checked(found)


@pytest.mark.parametrize("options", [{}, {"transform": "auto", "baseline": "auto"}], ids=str)
@pytest.mark.parametrize("n_solutions", [1, 3])
def test_a_single_cell_is_fitted_without_validation(options, n_solutions):
    options = plain_options(exact="off", n_solutions=n_solutions, **options)
    with pytest.warns(ValidationWarning, match="all observations are of one cell"):
        found = fit([[1, 2], [1, 2]], [2.0, 4.0], options)
    assert found.validation is None
    assert found.n_solutions == n_solutions
    assert found.radius == 4.0
    assert found.predict([[1, 2]]) == pytest.approx([3.0], rel=1e-6)
    assert found.verify([[1, 2], [1, 2]], [2.0, 4.0]).ok


@pytest.mark.parametrize("baseline", ["none", "additive", "auto"])
def test_zeros_are_predicted_as_zeros(baseline):
    found = fitted(values=np.zeros(150), baseline=baseline)
    assert found.status is Status.OPTIMAL
    assert not found.predict(EVERY_CELL, unseen="mean").any()
    checked(found, values=np.zeros(150))


def test_two_cells_are_validated():
    found = fit([[0], [1]], [1.0, 3.0], plain_options(exact="off"))
    assert found.validation.held_out == 1.0
    assert found.n == 2
    assert found.predict([[0], [1]]).tolist() == pytest.approx([1.0, 3.0], abs=0.5)


def test_repeated_observations_all_count():
    coords, values = np.repeat(NOISY.coords, 3, axis=0), np.repeat(NOISY.values, 3)
    values[1::3] *= 1.5
    values[2::3] *= 0.5
    found = fit(coords, values, plain_options(exact="off", radius=0.8, rtol=1e-7), shape=(6, 6, 6))
    alone = fitted(radius=0.8, rtol=1e-7)
    assert found.n == 450
    assert found.objective > alone.objective
    np.testing.assert_allclose(found.predict(NOISY.coords), alone.predict(NOISY.coords), atol=2e-2)
    assert found.verify(coords, values).ok


def test_bad_data_is_refused():
    with pytest.raises(NegativeValueError, match=r"values\[0\] is -1"):
        fitted(values=np.full(150, -1.0))
    with pytest.raises(ValuesError, match="sample_weight has shape"):
        fitted(sample_weight=np.ones(3))
    with pytest.raises(EmptyDataError):
        fit(np.empty((0, 2), dtype=int), [], plain_options())
    with pytest.raises(CoordinateError):
        fit([[5, 0]], [1.0], plain_options(), shape=(3, 3))


def test_labels_give_the_shape():
    labels = Labels(modes=("a", "b"), indices=(np.arange(4), np.array(["x", "y"], dtype=object)))
    found = fit([[0, 0], [2, 1]], [1.0, 2.0], plain_options(exact="off"), labels=labels)
    assert found.labels is labels
    assert found.shape == (4, 2)
    plain = fit([[0, 0], [2, 1]], [1.0, 2.0], plain_options(exact="off"))
    assert plain.shape == (3, 2)
    assert plain.labels.plain
    assert plain.labels.modes == ("mode_0", "mode_1")


def test_inputs_are_not_changed():
    coords, values = NOISY.coords.copy(), NOISY.values.copy()
    weights = np.ones(150) * 2.0
    for array in (coords, values, weights):
        array.flags.writeable = False
    chosen = {"transform": "auto", "baseline": "auto", "n_solutions": 2, "n_radii": 2}
    options = plain_options(exact="off", **chosen)
    fit(coords, values, options, shape=(6, 6, 6), sample_weight=weights)
    assert np.array_equal(coords, NOISY.coords)
    assert np.array_equal(values, NOISY.values)


def test_progress_names_the_stage():
    def stages_of(data=NOISY, **options):
        stages = {}
        return fitted(data, callback=lambda now: stages.setdefault(now.stage), **options), [*stages]

    found, stages = stages_of(NOISY_EIGHT)
    assert found.validation.approach
    assert stages == [
        *(f"radius {radius:.4g}" for radius in found.path.radii),
        *(f"gap {gap:.3g}" for gap, _ in found.validation.approach),
        "fit",
    ]
    _, stages = stages_of(n_solutions=2, radius=0.8, validation=0.1)
    assert stages == [
        "radius 0.8",
        "validation, fit 1 of 2",
        "validation, fit 2 of 2",
        "fit 1 of 2",
        "fit 2 of 2",
    ]
    _, stages = stages_of(transform="auto", n_radii=1)
    named = [next(stage for stage in stages if stage.startswith(name)) for name in TRANSFORMS]
    assert [stage.split(", radius")[0] for stage in named] == [
        f"{name}, none" for name in TRANSFORMS
    ]
    assert stages[-1] == "fit"


def test_returning_false_ends_a_solve():
    found = fitted(radius=0.8, callback=lambda progress: progress.iteration < 4)
    assert found.status is Status.STOPPED
    assert found.result.counters.iterations == 4
    assert len(found.model) > 0
    checked(found)


STOPPED_PARTS = {
    "validation": ({}, "radius"),
    "validation within a wide tolerance": ({"rtol": 0.9}, "radius"),
    "the choice of the tolerance": ({"validation": 3}, "gap"),
    "the last fit": ({}, "fit"),
    "the last fit within a wide tolerance": ({"rtol": 0.9}, "fit"),
    "a second solution": ({"n_solutions": 2}, "fit 2"),
    "several solutions in a wide tolerance": ({"n_solutions": 3, "rtol": 0.9}, "fit 1"),
    "graded components": ({"components": "graded", "n_radii": 2}, "fit"),
    "exact proofs": ({"exact": "enumeration", "rtol": 0.5}, "radius"),
}


@pytest.mark.parametrize("part", STOPPED_PARTS)
def test_returning_false_once_in_any_part_is_reported(part):
    options, stage = STOPPED_PARTS[part]
    stages = []

    def stop(progress):
        stages.append(progress.stage)
        return not progress.stage.startswith(stage)

    found = fitted(NOISY_EIGHT, callback=stop, **options)
    assert stages[-1].startswith((stage, "fit"))
    assert found.status is Status.STOPPED
    checked(found, NOISY_EIGHT)


def test_a_callback_that_never_returns_false_stops_nothing():
    found = fitted(NOISY_EIGHT, callback=lambda progress: True, rtol=0.5)
    assert found.status is Status.WITHIN_TOLERANCE


def test_returning_false_all_the_time_still_gives_a_model():
    found = fitted(callback=lambda progress: False, n_solutions=2)
    assert found.status is Status.STOPPED
    assert np.all(found.predict(EVERY_CELL, unseen="mean") >= 0.0)
    checked(found)


@pytest.mark.parametrize(
    ("n_solutions", "version"),
    [
        (1, 8),
        (3, "fast"),
        pytest.param(1, "fast", marks=pytest.mark.slow),
        pytest.param(3, 8, marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_during_validation_gives_the_model_that_was_walked_to(n_solutions, version):
    before = signal.getsignal(signal.SIGINT)
    stages = []

    def press(progress):
        stages.append(progress.stage)
        if len(stages) == 9:
            os.kill(os.getpid(), signal.SIGINT)

    found = fitted(callback=press, n_solutions=n_solutions, version=version)
    assert stages[8].startswith("radius")
    assert len(stages) <= 10
    assert found.status is Status.INTERRUPTED
    assert found.n_solutions == 1
    assert len(found.model) > 3
    assert found.objective < 0.5 * np.mean(NOISY.values**2)
    assert found.result.version == "fast"
    assert signal.getsignal(signal.SIGINT) is before
    checked(found)


def test_ctrl_c_during_the_fit_gives_the_best_so_far():
    def press(progress):
        if progress.stage == "fit 2 of 3" and progress.iteration == 3:
            os.kill(os.getpid(), signal.SIGINT)

    found = fitted(callback=press, n_solutions=3)
    assert found.n_solutions == 1  # three rounds are far from enough to be averaged with it
    assert found.validation.averaged is not None
    assert len(found.model) > 0
    checked(found)


@pytest.mark.needs_jit
def test_the_time_limit_ends_a_fit():
    data = intensor.planted((25, 25, 25), 4000, noise=0.2)
    fitted(NOISY)  # so that nothing is compiled below
    found = fitted(data, time_limit=1.0, n_solutions=4, rtol=1e-9, transform="auto")
    assert found.status is Status.TIME_LIMIT
    assert len(found.model) > 0
    checked(found, data)


def test_no_time_at_all_still_gives_a_model():
    with pytest.warns(EmptyModelWarning, match="raise time_limit"):
        found = fitted(time_limit=1e-9)
    assert found.status is Status.TIME_LIMIT
    assert len(found.path) == 1
    checked(found)


def test_zeros_need_no_boxes_and_no_warning():
    assert len(fitted(values=np.zeros(150), time_limit=1e-9).model) == 0


# --- long modes of which few indices occur

FAR = 10**5


@pytest.fixture(scope="module")
def far_data():
    rng = np.random.default_rng(0)
    customers = np.sort(rng.choice(FAR, size=30, replace=False))
    near = intensor.planted((30, 6, 5), 400, noise=0.05)
    far = np.column_stack([customers[near.coords[:, 0]], near.coords[:, 1:]])
    return near, far, customers


def completer(**options):
    return TensorCompleter(remainder="none", random_state=3, **options)


@pytest.mark.parametrize("baseline", [pytest.param("none", marks=pytest.mark.slow), "additive"])
def test_the_fit_does_not_depend_on_where_the_indices_are(far_data, baseline):
    near, far, customers = far_data
    options = {"baseline": baseline, "n_solutions": 2, "n_radii": 3}
    one = completer(**options).fit(near.coords, near.values)
    two = completer(**options).fit(far, near.values)
    assert (one.fit_.radius, one.fit_.objective) == (two.fit_.radius, two.fit_.objective)
    assert two.fit_.shape == (customers.max() + 1, 6, 5)
    assert np.array_equal(one.predict(near.coords), two.predict(far))
    assert two.fit_.verify(far, near.values).ok


def test_unobserved_indices_are_averaged_over(far_data):
    near, far, customers = far_data
    options = {"baseline": "additive", "n_radii": 2}
    one = completer(**options).fit(near.coords, near.values)
    two = completer(**options).fit(far, near.values)
    unseen = int(np.setdiff1d(np.arange(100), customers)[0])
    cells = np.array([[unseen, 2, 3]])
    with pytest.raises(UnseenIndexError):
        two.fit_.predict(cells, unseen="error")
    expected = one.fit_.predict([[-1, 2, 3]], unseen="mean")
    assert np.allclose(two.fit_.predict(cells, unseen="mean"), expected, rtol=1e-12)


def test_a_model_file_holds_a_fit_of_long_modes(far_data, tmp_path):
    near, far, _ = far_data
    found = completer(radius=1.0, rtol=1e-2).fit(far, near.values).fit_
    found.save(tmp_path / "model.npz")
    again = intensor.load(tmp_path / "model.npz")
    assert np.array_equal(found.predict(far), again.predict(far))


def test_long_modes_are_not_kriged(far_data):
    near, far, _ = far_data
    with pytest.raises(SettingError, match=str(MAX_MODE_LENGTH)):
        TensorCompleter(remainder="kriging").fit(far, near.values)
    completer = TensorCompleter(remainder="auto", n_radii=1)
    assert completer.fit(far, near.values).fit_.predictor.remainder is None


def test_a_checkpoint_of_other_indices_is_refused(far_data, tmp_path):
    near, far, _ = far_data
    options = {"checkpoint": tmp_path / "run.npz", "radius": 1.0, "rtol": 1e-2}
    full = completer(radius=1.0, rtol=1e-2).fit(far, near.values)
    completer(max_iterations=2, **options).fit(far, near.values)
    moved = far.copy()
    moved[moved[:, 0] == far[:, 0].min(), 0] = 0
    with pytest.raises(CheckpointError, match="indices"):
        completer(resume=True, **options).fit(moved, near.values)
    resumed = completer(resume=True, **options).fit(far, near.values)
    assert resumed.fit_.objective == full.fit_.objective


def test_a_fit_of_long_modes_needs_little_memory(far_data, monkeypatch):
    near, far, _ = far_data
    needed = []
    monkeypatch.setattr(
        "intensor.fitting.fit.require_memory", lambda amount, *_, **__: needed.append(amount)
    )
    completer(radius=1.0, rtol=1e-2).fit(far, near.values)
    assert needed[0] < 40 * FAR
