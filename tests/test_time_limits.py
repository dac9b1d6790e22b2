"""Fits that a time limit cuts short: what is left predicts better than the mean, or says so."""

import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import intensor
from fitting_cases import Countdown
from intensor.data.labels import number_labels
from intensor.errors import EmptyModelWarning, ValidationWarning
from intensor.fitting import combine as combining
from intensor.fitting import preparation
from intensor.fitting.fit import fit
from intensor.fitting.holding_out import find_extents, splits
from intensor.fitting.journal import Journal
from intensor.fitting.options import Effort, RemainderMethod, check_options
from intensor.fitting.preparation import thinned
from intensor.fitting.record import Validation
from intensor.fitting.references import Kind, Reference, try_briefly
from intensor.fitting.samples import Samples
from intensor.fitting.session import Session
from intensor.runtime.budget import Budget

module = sys.modules[fit.__module__]

SHAPE = (40, 30, 12)
RNG = np.random.default_rng(4)
EFFECTS = [RNG.uniform(0.0, 4.0, length) for length in SHAPE]
CELLS = RNG.permutation(np.argwhere(np.ones(SHAPE)))
VALUES = sum(effect[CELLS[:, mode]] for mode, effect in enumerate(EFFECTS))
VALUES = VALUES + RNG.uniform(0.0, 0.5, len(VALUES))
KNOWN, HIDDEN = slice(0, 3000), slice(3000, 6000)
LARGE = Effort(scouting_rows=100, graded_scouting_rows=500)
"""Takes the 3000 observations for many."""


def options_of(**given):
    options = check_options(exact="off", **given)
    object.__setattr__(options, "effort", LARGE)
    return options


def fitted(**given):
    return fit(CELLS[KNOWN], VALUES[KNOWN], options_of(**given), shape=SHAPE)


def rmse(found):
    predicted = found.predict(CELLS[HIDDEN], unseen="mean")
    return float(np.sqrt(np.mean((predicted - VALUES[HIDDEN]) ** 2)))


OF_MEAN = float(np.sqrt(np.mean((VALUES[KNOWN].mean() - VALUES[HIDDEN]) ** 2)))


@pytest.mark.filterwarnings("ignore::intensor.errors.EmptyModelWarning")
def test_a_limit_shorter_than_reading_leaves_main_effects_and_a_warning():
    with pytest.warns(ValidationWarning, match="prediction is that of the main effects"):
        found = fitted(time_limit=1e-9)
    assert found.validation is None
    assert [partner.share for partner in found.partners] == [1.0]
    assert rmse(found) < 0.5 * OF_MEAN


@pytest.mark.filterwarnings("ignore::intensor.errors.EmptyModelWarning")
def test_a_model_of_terms_alone_is_the_mean_when_there_is_no_time():
    with pytest.warns(ValidationWarning, match="terms that were fitted in no time"):
        found = fitted(time_limit=1e-9, remainder="none", baseline="none")
    assert rmse(found) == pytest.approx(OF_MEAN, rel=1e-6)


def test_seconds_spent_on_reading_count():
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        fit(CELLS[KNOWN], VALUES[KNOWN], options_of(time_limit=5.0), shape=SHAPE, spent=60.0)
    assert {one.category for one in raised} == {ValidationWarning, EmptyModelWarning}


def session_of(**given):
    samples = Samples(coords=CELLS[KNOWN], values=VALUES[KNOWN], weights=None, shape=SHAPE)
    options = options_of(**given)
    return Session(samples.in_order(), options, budget=Budget(), journal=Journal(None))


def test_the_mean_and_main_effects_are_compared_on_a_small_sample():
    brief = try_briefly(session_of(), rows=500)
    assert brief.reference.kind is Kind.MAIN_EFFECTS
    noise = session_of()
    noise.samples.values[:] = np.random.default_rng(0).permutation(VALUES[KNOWN]) % 1.0
    assert try_briefly(noise, rows=500).error > 0.0


@pytest.mark.parametrize("checks", range(6))
def test_extents_are_the_best_so_far_when_time_runs_out(checks):
    slab = (CELLS[:, 0] < 20) | (CELLS[:, 1] % 3 > 0)
    samples = Samples(coords=CELLS[slab], values=VALUES[slab], weights=None, shape=SHAPE).in_order()
    full = find_extents(samples, share=0.1, seed=0)
    found = find_extents(samples, share=0.1, seed=0, budget=Countdown(checks))
    assert all(1 <= one <= length for one, length in zip(found, SHAPE, strict=True))
    assert find_extents(samples, share=0.1, seed=0, budget=Countdown(10_000)) == full
    if checks < 2:
        assert found == (1, 1, 1)


def test_given_extents_are_used():
    samples = session_of().samples
    pieces = {(1, 1, 1): 3000, (40, 1, 1): 360}
    for extents, most in pieces.items():
        ((_, held, numbers),) = splits(samples, folds=1, share=0.5, seed=0, extents=extents)
        assert 0.4 * most < np.unique(numbers).size <= 0.51 * most
        assert 0 < len(held) < len(samples)


def test_rows_of_coordinates_are_thinned_like_values(monkeypatch):
    monkeypatch.setattr(preparation, "MAX_KEPT_PREDICTIONS", 100)
    assert (thinned(CELLS[:250]) == CELLS[:250:3]).all()
    assert len(thinned(VALUES[:250])) == len(thinned(CELLS[:250]))


@pytest.mark.parametrize("checks", [5, 20, 60, 120, 240])
def test_a_choice_that_is_cut_anywhere_gives_a_fit_no_worse_than_the_mean(checks, monkeypatch):
    """The budget is spent after so many questions, in whatever part of the fit that is."""

    class Within(Session):
        def __post_init__(self):
            super().__post_init__()
            self.choosing = countdown

    countdown = Countdown(checks)
    monkeypatch.setattr(module, "Session", Within)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fitted()
    assert rmse(found) < OF_MEAN


def test_shares_that_are_lost_go_to_the_fallback(monkeypatch):
    session = session_of(max_components=1, remainder="auto")
    field = Reference(kind=Kind.FIELD)
    choice = combining.Choice(
        scale=session.options.scales[0],
        radius=None,
        remainder=RemainderMethod.NONE,
        max_components=1,
        share=0.0,
        references=((field, 1.0),),
        fallback=Reference(kind=Kind.MAIN_EFFECTS),
    )
    fit_references = combining.fit_references

    def without_fields(session, references, labels):
        kept = [one for one in references if one[0].kind is not Kind.FIELD]
        return fit_references(session, kept, labels)

    monkeypatch.setattr(combining, "fit_references", without_fields)
    found = combining.combine(session, choice, number_labels(SHAPE))
    assert found.share == 0.0
    assert [one.share for one in found.partners] == [1.0]
    assert rmse(found) < 0.5 * OF_MEAN


def validation_of(error, *, of_mean=1.0, spread=0.1, held_out=100.0):
    return Validation(
        metric="rmse",
        folds=1,
        held_out=held_out,
        paths=(),
        chosen=0,
        error=error,
        spread=spread,
        error_of_mean=of_mean,
    )


def test_a_fit_that_is_worse_than_the_mean_says_so():
    with pytest.warns(ValidationWarning, match=r"rmse 1.3, of the mean 1; allow more time"):
        module._warn_if_poor(validation_of(1.3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module._warn_if_poor(validation_of(1.1))  # which may be chance
        module._warn_if_poor(validation_of(0.5))
        module._warn_if_poor(validation_of(2.0, of_mean=None))
        module._warn_if_poor(validation_of(2.0, held_out=3.0))


def blas_threads():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.mark.parametrize("face", ["solve", "fit"])
def test_blas_has_one_thread_in_all_of_a_run(face):
    seen = []

    def look(progress):
        seen.append(blas_threads())
        return len(seen) < 5

    with threadpool_limits(3, user_api="blas"):
        before = blas_threads()
        if face == "solve":
            intensor.solve(CELLS[KNOWN], VALUES[KNOWN], radius=20.0, callback=look)
        else:
            options = options_of(effort="quick")
            fit(CELLS[KNOWN], VALUES[KNOWN], options, shape=SHAPE, callback=look)
        assert blas_threads() == before
    assert seen
    assert all(one == {1} for one in seen)


def test_a_blas_that_is_loaded_later_has_one_thread_too():
    """SciPy's own library is loaded inside the context, and limited when it is entered again."""
    script = """
import numpy, sys
from threadpoolctl import threadpool_info
from intensor.runtime.threads import one_blas_thread
threads = lambda: [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]
assert "scipy.linalg" not in sys.modules
with one_blas_thread():
    import scipy.linalg
    before = threads()
    with one_blas_thread():
        assert set(threads()) == {1}, threads()
after = threads()
assert len(after) == len(before) and max(after) >= max(before), (before, after)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0.5, 2.0])
def test_limits_hold(limit):
    fitted(time_limit=5.0)  # loads the kernels
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fitted(time_limit=limit)
    assert time.perf_counter() - started < limit + 5.0, "the machine may be busy"
    assert rmse(found) < OF_MEAN
