"""Which container some data is."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from intensor import errors
from intensor.containers import open_container
from intensor.containers.base import MAX_DENSE_CELLS, check_size


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([[1.0, None]], "list of builtins .*numpy.array"),
        ({"value": [1]}, "dict of builtins .*pyarrow.table"),
        ("data.csv", "a str of builtins"),
        (None, "NoneType"),
        (pd.Series([1.0]), r"Series of pandas .*reset_index"),
        (pl.Series([1.0]), "Series of polars"),
        (pl.LazyFrame({"value": [1.0]}), r"LazyFrame of polars .*collect\(\)"),
    ],
)
def test_what_is_no_container(data, message):
    with pytest.raises(errors.ValuesError, match=message):
        open_container(data)


def test_columns_are_for_tables():
    with pytest.raises(errors.SettingError, match=r"weight is 'w'.*ndarray of numpy.*leave weight"):
        open_container(np.array([1.0]), weight="w")


def test_size():
    assert check_size((MAX_DENSE_CELLS,)) == MAX_DENSE_CELLS
    with pytest.raises(errors.DenseTooLargeError, match=f"{MAX_DENSE_CELLS + 1} cells"):
        check_size((MAX_DENSE_CELLS + 1,))


def test_no_package_is_imported_to_find_out():
    # All but sparse, which Numba loads by itself as one of its extensions.
    code = """
import sys
import numpy as np
from intensor import complete
complete(np.array([1.0, np.nan]), radius=1.0, exact="off")
packages = ("pandas", "polars", "pyarrow", "xarray", "sklearn", "narwhals")
print([name for name in packages if name in sys.modules])
"""
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"
