"""Which container some data is, and tables from files, which are completed like data frames."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from intensor import complete, errors
from intensor.containers import open_container
from intensor.containers.base import MAX_DENSE_CELLS, check_size
from intensor.data.readers import read_table


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


@pytest.mark.parametrize(
    "use",
    [
        "from intensor.containers import open_container as use",
        pytest.param(
            "from functools import partial; from intensor import complete; "
            "use = partial(complete, radius=1.0, exact='off')",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["container", "complete"],
)
def test_no_package_is_imported_to_find_out(use):
    # All but sparse, which Numba loads by itself as one of its extensions.
    code = f"""
import sys
import numpy as np
{use}
use(np.array([1.0, np.nan]))
packages = ("pandas", "polars", "pyarrow", "xarray", "sklearn", "narwhals")
print([name for name in packages if name in sys.modules])
"""
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


# --- tables from files

ROWS = "w,value,b, a ,other\n1,3,x,1,p\n2,,y,1,q\n1,4,y,2,r\n3,8,y,2,r\n"
QUICK = {"radius": 9.0, "exact": "off"}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(ROWS)
    return path


@pytest.fixture
def table(path):
    return read_table(path, modes=["a", "b"], weight="w")


@pytest.mark.parametrize("cells", ["missing", "all"])
def test_a_file_and_a_frame_are_filled_alike(path, table, cells):
    frame = pd.read_csv(path).rename(columns=str.strip)
    expected, theirs = complete(frame, modes=["a", "b"], weight="w", cells=cells, **QUICK)
    filled, ours = complete(table, cells=cells, **QUICK)
    assert ours.objective == theirs.objective
    assert ours.labels.modes == theirs.labels.modes
    for name in ("a", "b", "value"):
        assert filled.columns()[name].tolist() == expected[name].tolist()


def test_rows_keep_their_order_and_columns(table):
    container = open_container(table)
    assert container.n_missing == 1
    assert container.missing(slice(0, 9)).tolist() == [[0, 1]]
    filled = container.fill(np.array([7.0]))
    assert filled.values.tolist() == [3.0, 7.0, 4.0, 8.0]
    assert filled.predicted.tolist() == [False, True, False, False]
    assert list(filled.columns()) == ["w", "value", "b", "a"]
    assert np.isnan(table.values[1])


def test_every_combination_has_the_weighted_mean(table):
    container = open_container(table, every=True)
    filled = container.fill(np.array([5.0, 6.0]))
    assert filled.coords().tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert filled.values.tolist() == [3.0, 5.0, 6.0, 7.0]
    assert filled.predicted.tolist() == [False, True, True, False]
    assert list(filled.columns()) == ["a", "b", "value"]


def test_columns_were_chosen_when_the_file_was_read(table):
    with pytest.raises(errors.SettingError, match="value is 'x', which names columns"):
        open_container(table, value="x")
