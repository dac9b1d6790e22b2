"""Columns of any kind work as labels, values or weights, or are refused by an error of ours."""

import pathlib
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from containers.odd_columns import arrow_columns, pandas_columns, polars_columns
from intensor import complete, load
from intensor.data.readers import read_cells, read_table, write_table, write_tensor
from intensor.data.readers.dataset import open_dataset
from intensor.errors import FileFormatError, IntensorError, LabelError, SettingError, ValuesError

KINDS = {
    "pandas": (pandas_columns, pd.DataFrame),
    "polars": (polars_columns, pl.DataFrame),
    "pyarrow": (arrow_columns, pa.table),
}
ROLES = ("mode", "value", "weight", "extra")
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
    """Return the columns of a table in which one has a role, and the words for it."""
    columns = {"m": OTHER, "value": VALUES}
    if role == "value":
        return {**columns, "value": column}, {"modes": ["m"]}
    words = {
        "mode": {"modes": ["m", "x"]},
        "weight": {"modes": ["m"], "weight": "x"},
        "extra": {"modes": ["m"]},
    }
    return {**columns, "x": column}, words[role]


def check_fit(fit, table, folder):
    """Check that a fit knows its own labels, also when it was saved."""
    predicted = fit.predict(table, unseen="mean")
    assert np.isfinite(predicted).all()
    seen = fit.predictor.counts.all()
    if seen:
        np.testing.assert_array_equal(fit.predict(table), predicted)
    fit.save(folder / "model.npz")
    again = load(folder / "model.npz").predict(table, unseen="mean")
    np.testing.assert_array_equal(again, predicted)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", KINDS)
def test_tables_in_memory(kind, role, tmp_path):
    columns, frame = KINDS[kind]
    refused, worked = [], []
    for name, column in columns(np.random.default_rng(5)):
        content, words = table_of(column, role)
        table = frame(content)
        try:
            for cells in ("missing", "all"):
                _, fit = complete(table, cells=cells, **words, **FIT)
            worked.append(name)
            check_fit(fit, table, tmp_path)
        except IntensorError as problem:
            assert "\n" not in str(problem).strip()  # noqa: PT017
            refused.append(name)
    assert {"bool", "int64", "float32"} & set(worked) or role == "value"
    assert refused or role == "extra"


@pytest.mark.parametrize("role", ["mode", "value", "weight"])
def test_files(role, tmp_path):
    path, text = tmp_path / "table.parquet", tmp_path / "table.csv"
    worked = 0
    for _, column in arrow_columns(np.random.default_rng(6)):
        content, words = table_of(column, role)
        table = pa.table(content)
        for place, write in ((path, parquet.write_table), (text, csv.write_csv)):
            place.unlink(missing_ok=True)
            try:
                write(table, place)
            except pa.ArrowException:  # what cannot be written cannot be read
                continue
            try:
                found = read_table(place, **words)
                read_table(place, **words, like=found.labels)
                read_cells(place, modes=words["modes"], like=found.labels)
                worked += 1
            except IntensorError as problem:
                assert str(problem).startswith(str(place))  # noqa: PT017
        try:
            for file in open_dataset(path, "value").files if path.exists() else ():
                list(open_dataset(path, "value").batches(file))
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


@pytest.mark.parametrize("seed", range(6))
def test_random_tables(seed, tmp_path):
    rng = np.random.default_rng(seed)
    path = tmp_path / "table.parquet"
    for _ in range(25):
        table = random_table(rng)
        calls = [lambda: complete(table, **FIT)]  # noqa: B023
        try:
            data = as_pandas(table)
            calls.append(lambda: complete(data, cells="all", **FIT))  # noqa: B023
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


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("a", [1j]),
        ("a", np.zeros((2, 2))),
        ("a", np.array(["\ud800"], dtype=object)),
        ("a", np.array([b"\xff"], dtype=object)),
        ("a\ud800", [1]),
    ],
)
def test_columns_that_cannot_be_written(tmp_path, name, column):
    for path in (tmp_path / "table.csv", tmp_path / "table.parquet"):
        with pytest.raises(LabelError, match=r"table\.(csv|parquet): "):
            write_table(path, {name: column})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("values", [["a"], [1j]])
def test_values_that_cannot_be_written(tmp_path, values):
    with pytest.raises(ValuesError, match="values cannot be written"):
        write_tensor(tmp_path / "cells.tns", [[0]], values, (1,))


def test_paths_of_any_kind(tmp_path):
    path = tmp_path / "table.csv"
    write_table(path, {"a": [1, 2], "value": [1.0, 2.0]})
    for same in (path, str(path), bytes(path), pathlib.PurePath(path)):
        assert len(read_table(same)) == 2
    for wrong in (None, 3, ["table.csv"]):
        for call in (read_table, load, lambda path: read_cells(path, modes=["a"])):
            with pytest.raises(FileFormatError, match="is not the path of a file"):
                call(wrong)
