"""Observations are collapsed where they are, and what does not fit or fit together is refused."""

import numpy as np
import pytest

import intensor
from intensor.data.observations import Observations, observe
from intensor.errors import (
    CheckpointError,
    CoordinateError,
    MemoryLimitError,
    RadiusWarning,
    SettingError,
)
from intensor.solver.settings import Settings
from intensor.solver.sources import collect, condense
from intensor.solver.variants import FAST

COORDS = np.array([[0, 0], [0, 1], [2, 1], [0, 0]])
VALUES = np.array([0.5, 0.25, 1.0, 0.0])


def collected(coords=COORDS, values=VALUES, *, radius=1.0, signed=False, **options):
    options = {"shape": None, "sample_weight": None, "memory_limit": None, "client": None} | options
    settings = Settings(radius=radius, signed=signed, threads=1)
    return collect(coords, values, settings, allow_negative=signed, version=FAST, **options)


def test_arrays_are_collapsed_and_condensed():
    cells, full = collected()
    assert isinstance(cells, Observations)
    assert (cells.shape, full.shape) == ((2, 2), (3, 2))
    assert (cells.n_cells, cells.n) == (3, 4)
    assert collected(COORDS[:2], VALUES[:2])[1] is None


@pytest.mark.parametrize(
    ("values", "signed", "above"), [([2.0, 0.0], False, 1), ([-2.0, 0.5], True, 1)]
)
def test_values_above_the_radius_are_a_warning(values, signed, above):
    with pytest.warns(RadiusWarning, match=f"{above} of 2 values"):
        collected(COORDS[:2], np.array(values), signed=signed)


@pytest.mark.filterwarnings("error")
def test_values_without_weight_are_not_looked_at():
    collected(values=VALUES * [4.0, 1.0, 1.0, 1.0], sample_weight=[0.0, 1.0, 1.0, 1.0])


def test_what_does_not_fit_is_refused_with_advice():
    with pytest.raises(MemoryLimitError, match=r"collapsing 4 observations of 2 modes.*Parquet"):
        collected(memory_limit=10)
    with pytest.raises(MemoryLimitError, match=r"a solve of 3 cells.*fewer indices"):
        collected(memory_limit=1000)


def test_a_dataset_needs_the_name_of_its_column(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pytest.importorskip("pyarrow").table({"a": [0, 1], "b": [0, 1], "v": [0.5, 1.5]})
    parquet.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(SettingError, match=r"name of the column.*got ndarray"):
        collected(tmp_path / "x.parquet", VALUES)
    with pytest.raises(CoordinateError, match=r"2 column.*shape \(2, 2, 2\) has 3"):
        collected(tmp_path / "x.parquet", "v", shape=(2, 2, 2))
    with pytest.warns(RadiusWarning):
        cells, full = collected(str(tmp_path / "x.parquet"), "v")
    assert (cells.n_cells, cells.shape, full) == (2, (2, 2), None)


# --- indices that never occur are left out of a solve, and off in what comes back

SHAPE = (7, 6, 5)


def stretched(data, *, far=1, seed=0):
    """Return the data with its indices among many others, and their new indices."""
    rng = np.random.default_rng(seed)
    new_indices = [
        np.sort(rng.choice(far * length, size=length, replace=False)) for length in data.shape
    ]
    columns = [new[data.coords[:, mode]] for mode, new in enumerate(new_indices)]
    return np.stack(columns, axis=1), tuple(far * length for length in data.shape), new_indices


@pytest.mark.parametrize("far", [1, 3, 1000])
def test_cells_are_the_same_but_for_their_numbers(far):
    data = intensor.planted(SHAPE, 60, noise=0.1)
    coords, shape, _ = stretched(data, far=far)
    cells = observe(coords, data.values, shape=shape)
    few, full = condense(cells)
    kept = (np.arange(length) for length in shape) if full is None else full.kept
    for before, after, indices in zip(cells.coords, few.coords, kept, strict=True):
        assert np.array_equal(indices[after], before)
        assert np.array_equal(np.unique(before), indices)
        assert after.dtype == np.min_scalar_type(len(indices) - 1)
    assert few.means is cells.means
    assert few.counts is cells.counts
    assert (few.n, few.within, few.mean_square) == (cells.n, cells.within, cells.mean_square)


def test_nothing_is_done_when_all_indices_occur():
    cells = observe(np.argwhere(np.ones((3, 2))), np.ones(6))
    few, full = condense(cells)
    assert few is cells
    assert full is None


@pytest.mark.parametrize("version", ["fast", 10])
def test_an_index_that_never_occurs_changes_nothing(version):
    data = intensor.planted(SHAPE, 120, noise=0.1)
    assert [len(np.unique(column)) for column in data.coords.T] == list(SHAPE)
    coords, shape, new_indices = stretched(data, far=4)
    options = {"radius": 1.0, "version": version, "tol": 1e-4, "max_iterations": 40}
    near = intensor.solve(data.coords, data.values, shape=SHAPE, **options)
    far = intensor.solve(coords, data.values, shape=shape, **options)
    assert (near.objective, near.bound, near.status) == (far.objective, far.bound, far.status)
    assert np.array_equal(near.model.weights, far.model.weights)
    for one, other in zip(near.model, far.model, strict=True):
        for mode, new in enumerate(new_indices):
            assert np.array_equal(new[one.indices[mode]], other.indices[mode])
    assert intensor.verify(far, coords, data.values).ok


def test_signed_boxes_and_weights():
    data = intensor.planted(SHAPE, 120, noise=0.1)
    coords, shape, _ = stretched(data, far=50)
    values = data.values - 0.3
    weights = np.random.default_rng(1).random(values.size)
    result = intensor.solve(
        coords, values, shape=shape, radius=1.0, signed=True, sample_weight=weights, tol=1e-3
    )
    assert result.model.shape == shape
    assert result.witness is None or result.witness.shape == shape
    assert intensor.verify(result, coords, values, sample_weight=weights).ok


def test_numbers_of_customers_can_be_coordinates():
    rng = np.random.default_rng(5)
    customers = rng.choice(10**7, size=40, replace=False)
    data = intensor.planted((40, 6, 6), 900)
    coords = np.column_stack([customers[data.coords[:, 0]], data.coords[:, 1:]])
    result = intensor.solve(coords, data.values, radius=1.0, memory_limit="1 GiB")
    assert result.status.name == "OPTIMAL"
    assert result.model.shape[0] == customers.max() + 1
    assert np.allclose(result.model.predict(coords), data.values, atol=0.05)
    unseen = np.setdiff1d(np.arange(50), customers)[:1]
    assert result.model.predict([[unseen[0], 0, 0]]).tolist() == [0.0]


def test_a_checkpoint_knows_the_indices_apart(tmp_path):
    data = intensor.planted(SHAPE, 120, noise=0.1)
    coords, shape, _ = stretched(data, far=4, seed=0)
    others, _, _ = stretched(data, far=4, seed=1)
    options = {"shape": shape, "radius": 1.0, "checkpoint": tmp_path / "run.npz", "tol": 1e-4}
    uninterrupted = intensor.solve(coords, data.values, shape=shape, radius=1.0, tol=1e-4)
    intensor.solve(coords, data.values, max_iterations=2, **options)
    with pytest.raises(CheckpointError, match="indices"):
        intensor.solve(others, data.values, resume=True, **options)
    resumed = intensor.solve(coords, data.values, resume=True, **options)
    assert resumed.objective == uninterrupted.objective
    assert np.array_equal(resumed.model.vertices.words, uninterrupted.model.vertices.words)
