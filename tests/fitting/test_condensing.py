"""Fits of long modes of which few indices occur."""

import numpy as np
import pytest

import intensor
from intensor import TensorCompleter
from intensor.errors import CheckpointError, SettingError, UnseenIndexError
from intensor.fitting.kriging import LONGEST

FAR = 10**6


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    customers = np.sort(rng.choice(FAR, size=30, replace=False))
    near = intensor.planted((30, 6, 5), 700, noise=0.05)
    far = np.column_stack([customers[near.coords[:, 0]], near.coords[:, 1:]])
    return near, far, customers


def completer(**words):
    return TensorCompleter(remainder="none", random_state=3, **words)


@pytest.mark.parametrize("baseline", ["none", "additive"])
def test_the_same_fit_wherever_the_indices_are(data, baseline):
    near, far, customers = data
    one = completer(baseline=baseline, n_solutions=2).fit(near.coords, near.values)
    two = completer(baseline=baseline, n_solutions=2).fit(far, near.values)
    assert (one.fit_.radius, one.fit_.objective) == (two.fit_.radius, two.fit_.objective)
    assert two.fit_.shape == (customers.max() + 1, 6, 5)
    assert np.array_equal(one.predict(near.coords), two.predict(far))
    assert two.fit_.verify(far, near.values).ok


def test_what_was_not_observed_is_averaged_over(data):
    near, far, customers = data
    one = completer(baseline="additive").fit(near.coords, near.values)
    two = completer(baseline="additive").fit(far, near.values)
    unseen = int(np.setdiff1d(np.arange(100), customers)[0])
    cells = np.array([[unseen, 2, 3]])
    with pytest.raises(UnseenIndexError):
        two.fit_.predict(cells)
    expected = one.fit_.predict([[-1, 2, 3]], unseen="mean")
    assert np.allclose(two.fit_.predict(cells, unseen="mean"), expected, rtol=1e-12)


def test_a_model_file_holds_it(data, tmp_path):
    near, far, _ = data
    found = completer().fit(far, near.values).fit_
    found.save(tmp_path / "model.npz")
    again = intensor.load(tmp_path / "model.npz")
    assert np.array_equal(found.predict(far), again.predict(far))


def test_kriging_is_refused_and_auto_does_without(data):
    near, far, _ = data
    with pytest.raises(SettingError, match=str(LONGEST)):
        TensorCompleter(remainder="kriging").fit(far, near.values)
    found = TensorCompleter(remainder="auto", transform="none", baseline="none").fit(
        far, near.values
    )
    assert found.fit_.predictor.remainder is None


def test_a_checkpoint_knows_the_indices_apart(data, tmp_path):
    near, far, _ = data
    words = {"checkpoint": tmp_path / "run.npz", "radius": 1.0}
    whole = completer(radius=1.0).fit(far, near.values)
    completer(max_iterations=2, **words).fit(far, near.values)
    moved = far.copy()
    moved[moved[:, 0] == far[:, 0].min(), 0] = 0
    with pytest.raises(CheckpointError, match="indices"):
        completer(resume=True, **words).fit(moved, near.values)
    resumed = completer(resume=True, **words).fit(far, near.values)
    assert resumed.fit_.objective == whole.fit_.objective


def test_a_fit_of_long_modes_needs_little_memory(data, monkeypatch):
    near, far, _ = data
    needed = []
    monkeypatch.setattr(
        "intensor.fitting.entry.require_memory", lambda amount, *_, **__: needed.append(amount)
    )
    completer(radius=1.0).fit(far, near.values)
    assert needed[0] < 40 * FAR
