"""Wide tables are read where there is no doubt, and otherwise the error says how to melt them."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import intensor
from intensor import errors
from intensor.containers import open_container
from intensor.containers.wide import WideContainer

QUICK = {"radius": 5.0, "exact": "off"}
RATINGS = pd.DataFrame(
    {
        "user": ["ann", "ann", "bob", "cyd", "bob"],
        "item": ["x", "y", "x", "z", "z"],
        "value": [1.0, 2.0, 3.0, 4.0, 1.0],
    }
)
WIDE = RATINGS.pivot(index="user", columns="item", values="value")
COLUMNS = {"user": ["ann", "bob"], "x": [1.0, 2.0], "y": [3.0, 4.0]}


def test_a_pivoted_table_is_the_long_one():
    before = WIDE.copy()
    completed, fit = intensor.complete(WIDE, **QUICK)
    assert (fit.labels.modes, fit.labels.value) == (("user", "item"), "value")
    long, other = intensor.complete(RATINGS, cells="all", **QUICK)
    assert fit.objective == other.objective
    expected = long.pivot(index="user", columns="item", values="value")
    pd.testing.assert_frame_equal(completed, expected)
    pd.testing.assert_frame_equal(WIDE, before)
    assert intensor.fit(WIDE, **QUICK).n == 5
    cells = pd.DataFrame({"item": ["y"], "user": ["cyd"]})
    assert fit.predict(cells)[0] == completed.loc["cyd", "y"]


def test_types_and_order_are_kept():
    table = pd.DataFrame(
        {3: pd.array([2, None], "Int64"), 1: [1, 4], 2: np.array([np.nan, 1], np.float32)},
        index=pd.Index([20, 10], name="row"),
    ).rename_axis(columns="column")
    completed, fit = intensor.complete(table, **QUICK)
    assert completed.columns.tolist() == [3, 1, 2]
    assert completed.columns.name == "column"
    assert completed.index.equals(table.index)
    assert [str(kind) for kind in completed.dtypes] == ["Float64", "int64", "float32"]
    assert completed[1].tolist() == [1, 4]
    assert not completed.isna().to_numpy().any()
    assert [labels.tolist() for labels in fit.labels.indices] == [[10, 20], [1, 2, 3]]
    assert completed.loc[10, 3] == fit.predict([[0, 2]])[0]


def test_nothing_missing_comes_back_as_it_is():
    full = WIDE.fillna(1.0)
    with pytest.warns(errors.NothingToFillWarning):
        completed, fit = intensor.complete(full, **QUICK)
    assert completed is full
    assert fit.n == 9


def test_rows_that_repeat_an_index_are_repeated_observations():
    table = pd.concat([WIDE, WIDE.loc[["ann"]]])
    completed, fit = intensor.complete(table, **QUICK)
    assert fit.shape == (3, 3)
    assert fit.n == 7
    assert completed.shape == (4, 3)
    assert completed.iloc[0, 2] == completed.iloc[3, 2]


@pytest.mark.parametrize(
    "table",
    [
        WIDE.reset_index(),
        WIDE.rename_axis(columns=None),
        WIDE.rename_axis(index=None),
        WIDE.assign(value=1.0),
        WIDE.assign(text="a"),
    ],
)
def test_anything_in_doubt_is_not_read_as_wide(table):
    try:
        container = open_container(table)
    except errors.LabelError:
        return
    assert not isinstance(container, WideContainer)


def melted(data, error):
    """Run the line of Python that an error gives."""
    (code,) = re.findall(r"make it long first: (.*)$", str(error))
    return eval(code, {"data": data})


@pytest.mark.parametrize(
    ("data", "modes"),
    [
        (pd.DataFrame(COLUMNS), ["user", "column"]),
        (pl.DataFrame(COLUMNS), ["user", "column"]),
        (pa.table(COLUMNS), ["user", "column"]),
        (pd.DataFrame(COLUMNS).set_index("user"), ["user", "column"]),
        (pd.DataFrame(COLUMNS).rename(columns={"user": "column"}), ["column", "mode"]),
        (pd.DataFrame(COLUMNS).replace({"user": {"ann": 1, "bob": 2}}), ["user", "column"]),
        (pd.DataFrame(COLUMNS | {"day": ["mo", "tu"]}), ["user", "day", "column"]),
        (WIDE.reset_index(), ["user", "item"]),
        (RATINGS.set_index(["user", "item"]).unstack("item"), ["user", "level_1", "item"]),
    ],
    ids=range(9),
)
def test_the_error_has_the_code_that_makes_it_long(data, modes):
    with pytest.raises(errors.LabelError, match=r"no column 'value'.*all hold values") as caught:
        intensor.fit(data, **QUICK)
    found = intensor.fit(melted(data, caught.value), **QUICK)
    assert list(found.labels.modes) == modes


def test_named_modes_are_kept():
    data = pd.DataFrame({"user": [1, 2], "x": [1.0, 2.0], "y": [3.0, 4.0], "text": ["a", "b"]})
    for modes in ("user", ["user"], iter(["user"])):
        with pytest.raises(errors.LabelError, match=r"id_vars=\['user'\]"):
            intensor.fit(data, modes=modes)
    with pytest.raises(errors.LabelError, match="did you mean 'user'"):
        intensor.fit(data, modes=["usr"])


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"user": ["a"], "item": ["x"], "rating": [1.0]}),
        pd.DataFrame({"a": [1.0], "b": [2.0]}),
        pl.DataFrame({f"{number} {'x' * 200}": [1.0] for number in range(4)}),
    ],
)
def test_other_tables_get_no_such_advice(data):
    with pytest.raises(errors.LabelError, match="no column 'value'") as caught:
        intensor.fit(data)
    assert "long first" not in str(caught.value)


def test_an_index_that_is_not_read_is_named():
    for data in (RATINGS.set_index(["user", "item"]), RATINGS.set_index(["user", "item"])):
        with pytest.raises(errors.LabelError, match=r"\('user', 'item'\) is not read.*reset_index"):
            intensor.fit(data)
    unnamed = RATINGS.rename(columns={"value": "stars"}).set_index(["user", "item"])
    with pytest.raises(errors.LabelError, match=r"no column 'value'.*is not read"):
        intensor.fit(unnamed)


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        (WIDE.rename_axis(columns="user"), errors.LabelError, "both called 'user'"),
        (WIDE.iloc[:0], errors.EmptyDataError, "no row"),
        (WIDE * np.nan, errors.EmptyDataError, "no observed value"),
        (-WIDE, errors.NegativeValueError, "the value in row 0 of column 'x'"),
        (WIDE.set_axis(["ann", None, "cyd"]).rename_axis("user"), errors.LabelError, "no label"),
        (WIDE.rename(columns={"y": "x"}), errors.LabelError, "same name"),
    ],
)
def test_wide_tables_that_cannot_be_read(table, error, message):
    with pytest.raises(error, match=message):
        intensor.fit(table, **QUICK)
