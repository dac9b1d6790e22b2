"""Data sets that sub-tasks are cut from: what is read, and what is missing."""

from pathlib import Path

import numpy as np
import pytest
import scipy.io

from benchmarks.robustness.sources import SOURCES, check_sources

DATA = Path(__file__).parents[4] / "shared" / "data"


def read(name, folder, seed=0):
    file, load = SOURCES[name]
    return load(folder / file, np.random.default_rng(seed))


def test_the_first_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file transdim_hangzhou_tensor\.mat .*--data"):
        check_sources(tmp_path)


def test_zeros_of_traffic_are_missing_and_zeros_of_counts_are_not(tmp_path):
    tensor = np.arange(24).reshape(2, 3, 4)
    scipy.io.savemat(tmp_path / "transdim_hangzhou_tensor.mat", {"tensor": tensor})
    np.savez(tmp_path / "calls911_69x72x45.npz", X=tensor)
    assert len(read("Hangzhou", tmp_path).values) == 23
    assert len(read("911 calls", tmp_path).values) == 24


def test_a_graph_has_ones_for_its_triples(tmp_path):
    arrays = {}
    for name in ("kinships", "umls", "nations"):
        arrays[f"{name}_shape"] = np.array([2, 3, 4])
        for place, part in enumerate(("train", "valid", "test")):
            arrays[f"{name}_{part}"] = np.array([[1, 2, place]], dtype=np.int16)
    np.savez(tmp_path / "relational_kinships_umls_nations.npz", **arrays)
    found = read("relational", tmp_path)
    assert len(found.values) == 24
    np.testing.assert_array_equal(
        found.coords[found.values == 1.0], [[1, 2, 0], [1, 2, 1], [1, 2, 2]]
    )
    names = {read("relational", tmp_path, seed).name for seed in range(20)}
    assert names == {"kinships", "umls", "nations"}


@pytest.mark.skipif(not DATA.is_dir(), reason="the real data is not here")
@pytest.mark.parametrize("name", SOURCES)
def test_every_data_set_is_nonnegative_and_inside_its_shape(name):
    check_sources(DATA)
    found = read(name, DATA)
    assert found.values.min() >= 0.0
    assert np.isfinite(found.values).all()
    assert (found.coords < found.shape).all()
    assert len(found.coords) == len(found.values) > 4000
    assert set(found.ordered) <= set(range(len(found.shape)))
