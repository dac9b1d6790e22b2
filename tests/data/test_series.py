"""Columns of any kind work as labels, values or weights, or are refused by an error of ours."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from data.odd_columns import (
    arrow_columns,
    arrow_columns_of_pandas,
    pandas_columns,
    polars_columns,
)
from intensor import complete, load
from intensor.containers import open_container
from intensor.data.lookup import look_up_cells
from intensor.data.readers import read_cells, read_table
from intensor.data.readers.dataset import open_dataset
from intensor.errors import IntensorError, LabelError, SettingError

KINDS = {
    "pandas": (pandas_columns, pd.DataFrame),
    "polars": (polars_columns, pl.DataFrame),
    "pyarrow": (arrow_columns, pa.table),
    "pandas of arrow": (arrow_columns_of_pandas, pd.DataFrame),
}
ROLES = ("mode", "value", "weight", "extra")
TELLING = {
    ("pandas", "mode"),
    ("pandas", "value"),
    ("polars", "mode"),
    ("polars", "weight"),
    ("pyarrow", "value"),
    ("pyarrow", "extra"),
}
OTHER = [0, 1, 2, 0, 1, 2]
VALUES = [1.0, 2.0, 3.0, 4.0, None, 5.0]
FIT = {"radius": 5.0, "exact": "off"}

pytestmark = [
    pytest.mark.filterwarnings("ignore::intensor.errors.IntensorWarning"),
    # of pandas, polars and narwhals, about what they make of odd columns
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]


def table_of(column, role):
    """Return the columns of a table in which one has a role, and the options for it."""
    columns = {"m": OTHER, "value": VALUES}
    if role == "value":
        return {**columns, "value": column}, {"modes": ["m"]}
    options = {
        "mode": {"modes": ["m", "x"]},
        "weight": {"modes": ["m"], "weight": "x"},
        "extra": {"modes": ["m"]},
    }
    return {**columns, "x": column}, options[role]


def check_table(table, options):
    """Check that a table is taken apart and put together, and that its own labels are found."""
    for every in (False, True):
        container = open_container(table, **options, every=every)
        assert container.fill(np.ones(container.n_missing)) is not None
    found = look_up_cells(table, container.table.labels)
    np.testing.assert_array_equal(found.coords, container.table.coords())


def check_fit(table, options, folder):
    """Check that a fit knows its own labels, also when it was saved."""
    _, fit = complete(table, **options, **FIT)
    predicted = fit.predict(table, unseen="mean")
    assert np.isfinite(predicted).all()
    fit.save(folder / "model.npz")
    again = load(folder / "model.npz").predict(table, unseen="mean")
    np.testing.assert_array_equal(again, predicted)


def check_columns(kind, role, check):
    columns, frame = KINDS[kind]
    refused, worked = [], []
    for name, column in columns(np.random.default_rng(5)):
        content, options = table_of(column, role)
        try:
            check(frame(content), options)
            worked.append(name)
        except IntensorError as problem:
            assert "\n" not in str(problem).strip()  # noqa: PT017
            refused.append(name)
    assert {"bool", "int64", "float32"} & set(worked) or role == "value"
    assert refused or role == "extra"


@pytest.mark.parametrize(
    ("kind", "role"),
    [
        # Other columns are hardly touched, and pandas hands Arrow's columns on. Files below hold
        # Arrow's columns, too.
        pytest.param(kind, role, marks=[pytest.mark.slow] * ((kind, role) not in TELLING))
        for kind in KINDS
        for role in ROLES
    ],
)
def test_tables_in_memory(kind, role):
    check_columns(kind, role, check_table)


@pytest.mark.slow
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", KINDS)
def test_fits_of_tables_in_memory(kind, role, tmp_path):
    check_columns(kind, role, lambda table, options: check_fit(table, options, tmp_path))


@pytest.mark.parametrize("role", ["mode", "value", "weight"])
def test_files(role, tmp_path):
    path, text = tmp_path / "table.parquet", tmp_path / "table.csv"
    worked = 0
    for _, column in arrow_columns(np.random.default_rng(6)):
        content, options = table_of(column, role)
        table = pa.table(content)
        for file, write in ((path, parquet.write_table), (text, csv.write_csv)):
            file.unlink(missing_ok=True)
            try:
                write(table, file)
            except pa.ArrowException:  # what cannot be written cannot be read
                continue
            try:
                found = read_table(file, **options)
                read_table(file, **options, like=found.labels)
                read_cells(file, modes=options["modes"], like=found.labels)
                worked += 1
            except IntensorError as problem:
                assert str(problem).startswith(str(file))  # noqa: PT017
        try:
            for part in open_dataset(path, "value").files if path.exists() else ():
                list(open_dataset(path, "value").batches(part))
        except IntensorError as problem:
            assert str(problem).startswith(str(path))  # noqa: PT017
    assert worked > 5


def random_table(rng):
    """Return a table of random columns with random names, some of them the same."""
    known = dict(arrow_columns(rng))
    chosen = rng.choice(list(known), rng.integers(0, 5))
    names = rng.choice(["a", "b", "value", "", " a", "a.b", "0", "__index_level_0__"], chosen.size)
    rows = int(rng.choice([0, 1, 6]))
    return pa.table([known[name].slice(0, rows) for name in chosen], names=names.tolist())


def as_pandas(table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return table.to_pandas()


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2))])
def test_random_tables(seed, tmp_path):
    rng = np.random.default_rng(seed)
    path = tmp_path / "table.parquet"
    for _ in range(25):
        table = random_table(rng)
        calls = [lambda: open_container(table)]  # noqa: B023
        try:
            data = as_pandas(table)
            calls.append(lambda: open_container(data, every=True))  # noqa: B023
        except (pa.ArrowException, ValueError, TypeError):
            pass  # pandas cannot hold it
        try:
            parquet.write_table(table, path)
            calls += [lambda: read_table(path), lambda: open_dataset(path, "value")]
        except pa.ArrowException:
            pass
        for call in calls:
            try:
                call()
            except IntensorError as problem:
                assert str(problem)  # noqa: PT017


def test_names_of_columns():
    pair = pd.DataFrame([[1, 2, 1.0], [3, 4, 2.0]], columns=[0, "0", "value"])
    with pytest.raises(LabelError, match="two columns are called '0'"):
        complete(pair, **FIT)
    same = pa.table([[1, 2], [1, 2], [1.0, 2.0]], names=["a", "a", "value"])
    for table in (same, pair.set_axis(["a", "a", "value"], axis=1)):
        with pytest.raises(LabelError, match="the same name"):
            complete(table, **FIT)
    with pytest.raises(SettingError, match="modes is 3; expected the names"):
        complete(pair, modes=3, **FIT)
    fit = complete(pair, modes=["0"], value="value", **FIT | {"radius": 2.0}, cells="all")[1]
    assert fit.labels.modes == ("0",)


def test_rows_that_cannot_be_repeated():
    view = pa.table({"a": pa.array(["x", "y"], pa.string_view()), "value": [1.0, None]})
    assert complete(view, **FIT)[1].shape == (2,)
    with pytest.raises(LabelError, match="column 'a' cannot be repeated"):
        complete(view, cells="all", **FIT)
    beside = pa.table({"a": [1, 2], "view": view["a"], "value": [1.0, None]})
    assert complete(beside, modes=["a"], cells="all", **FIT)[0].column_names == ["a", "value"]
