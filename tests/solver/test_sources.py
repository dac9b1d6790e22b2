"""Observations are collapsed where they are, and what does not fit or fit together is refused."""

import numpy as np
import pytest

from intensor.data.observations import Observations
from intensor.errors import CoordinateError, MemoryLimitError, RadiusWarning, SettingError
from intensor.solver.settings import Settings
from intensor.solver.sources import collect
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
