"""Tables hold labels and arrays hold positions, wherever cells are handed in."""

from collections import namedtuple
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr

import intensor
from intensor import TensorCompleter, errors, plots, report
from intensor.containers.frames import predict_frame
from intensor.data.labels import look_up
from naming import naming

RNG = np.random.default_rng(4)
USERS = RNG.permutation(np.arange(1, 31))[:20]
ITEMS = np.arange(0, 24, 2)
"""Labels that are positions, too, but other ones."""


def as_mapping(table):
    return {name: table[name].to_numpy() for name in table}


def as_records(table):
    return table.to_records(index=False)


KINDS = {
    "pandas": lambda table: table,
    "polars": pl.from_pandas,
    "pyarrow": lambda table: pa.Table.from_pandas(table, preserve_index=False),
    "batch": lambda table: pa.RecordBatch.from_pandas(table, preserve_index=False),
    "mapping": as_mapping,
    "lists": lambda table: table.to_dict("list"),
    "records": as_records,
}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def make(request):
    return request.param


@pytest.fixture(
    params=[pytest.param(kind, marks=[pytest.mark.slow] * (kind != "pandas")) for kind in KINDS]
)
def make_few(request):
    """Makes tables for reports and pictures, which read them with the function of ``verify``."""
    return KINDS[request.param]


@pytest.fixture(scope="module")
def ratings():
    """Every observed cell twice, with a weight and a value that may be missing."""
    rows = RNG.integers(USERS.size, size=150)
    columns = RNG.integers(ITEMS.size, size=150)
    return pd.DataFrame(
        {
            "user": USERS[rows],
            "item": ITEMS[columns],
            "rating": np.round(1.0 + (rows % 3) * 0.7 + (columns % 2) * 1.1, 1),
        }
    )


@pytest.fixture(scope="module")
def fit(ratings):
    found = intensor.complete(ratings, value="rating", cells="all", radius=6.0, exact="off")[1]
    assert not found.labels.plain
    return found


@pytest.fixture(scope="module")
def positions(fit, ratings):
    return fit.labels.encode([ratings["user"], ratings["item"]])


def test_a_table_is_labels_and_an_array_is_positions(fit, ratings, positions, make):
    expected = fit.predict(positions)
    np.testing.assert_allclose(expected, ratings["rating"], atol=0.3)
    for columns in (["user", "item"], ["item", "user"], ["rating", "item", "user"]):
        np.testing.assert_array_equal(fit.predict(make(ratings[columns])), expected)
    cells = ratings[["user", "item"]].to_numpy() % 10  # such positions exist
    np.testing.assert_array_equal(fit.predict(cells), fit.predict(cells.tolist()))
    assert not np.array_equal(fit.predict(cells), fit.predict(make(ratings)))


def test_verify_reads_a_table(fit, ratings, positions, make):
    expected = fit.verify(positions, ratings["rating"])
    assert expected.ok
    for found in (
        fit.verify(make(ratings)),
        fit.verify(make(ratings), "rating"),
        fit.verify(make(ratings[["item", "user"]]), ratings["rating"].to_numpy()),
    ):
        assert found.ok
        assert found.objective == expected.objective
    wrong = ratings.assign(other=ratings["rating"] + 1.0)
    assert not fit.verify(make(wrong), "other").ok


@pytest.fixture(scope="module")
def weighted_fit(ratings):
    """The data with a third of the weights 0, the same with missing values, and a fit to it."""
    weighted = ratings.assign(n=np.tile([1.0, 2.5, 0.0], 50))
    holes = pd.concat([weighted, weighted.head(5).assign(rating=np.nan)], ignore_index=True)
    found = intensor.complete(
        holes, value="rating", modes=["user", "item"], weight="n", radius=6.0, exact="off"
    )[1]
    return weighted, holes, found


def test_verify_reads_weights_and_leaves_out_what_is_missing(weighted_fit, make):
    weighted, holes, found = weighted_fit
    assert found.verify(make(holes), sample_weight="n").ok
    assert found.verify(make(weighted), "rating", sample_weight=weighted["n"].to_numpy()).ok
    assert not found.verify(make(holes)).ok  # without weights it is another objective


def test_reports_read_weights(weighted_fit, make_few):
    _, holes, found = weighted_fit
    assert "Certificate" in report.render(found, make_few(holes), sample_weight="n")


def test_reports_and_pictures_read_a_table(fit, ratings, positions, make_few):
    expected = report.render(fit, positions, ratings["rating"].to_numpy())
    assert report.render(fit, make_few(ratings)) == expected
    assert report.render(fit, make_few(ratings[["item", "user"]]), ratings["rating"]) == expected
    for draw in (plots.residuals, plots.slices):
        assert draw(fit, make_few(ratings)) is not None


def test_predict_frame_is_the_same(fit, ratings):
    predicted = predict_frame(fit, ratings)["rating"]
    np.testing.assert_array_equal(predicted, fit.predict(ratings))


def test_labels_that_the_fit_does_not_know(fit, ratings, make):
    strange = ratings.head(3).assign(user=[USERS[0], 999, 998])
    with pytest.raises(errors.UnseenIndexError, match=r"row 1 has the label .*999.* 2 of 3 cells"):
        fit.predict(make(strange), unseen="error")
    average = fit.predict(make(strange), unseen="mean")
    cells = fit.labels.encode([strange["user"], strange["item"]])
    np.testing.assert_array_equal(average, fit.predict(cells, unseen="mean"))
    with pytest.raises(errors.LabelError, match=r"row 1 has the label .*999.* 2 of 3 observ"):
        fit.verify(make(strange))
    with pytest.raises(errors.SettingError, match="unseen is 'zero'"):
        fit.predict(make(ratings), unseen="zero")


def test_text_for_numbers_is_refused_even_where_new_labels_are_allowed(fit, ratings, make):
    text = ratings.assign(user=ratings["user"].astype(str).astype(object))
    with pytest.raises(errors.LabelError, match=r"'user' holds text .* labels of the fit are numb"):
        fit.predict(make(text), unseen="mean")


def test_a_table_without_the_modes_is_refused(fit, ratings, make):
    for columns in (["user"], ["rating"], ["User", "Item"], [0, 1]):
        table = ratings[["user", "item"]].set_axis(["user", "item"], axis=1)
        table = table.set_axis(columns, axis=1) if len(columns) == 2 else ratings[columns]
        if make in (KINDS["polars"], KINDS["records"]):
            table = table.set_axis(list(map(str, columns)), axis=1)
        for call in (
            fit.predict,
            lambda cells: fit.verify(cells, np.ones(len(ratings))),
            lambda cells: report.render(fit, cells, np.ones(len(ratings))),
            lambda cells: plots.residuals(fit, cells, np.ones(len(ratings))),
        ):
            with (
                naming(columns),
                pytest.raises(errors.LabelError, match=r"there is no column .*to_numpy\(\)"),
            ):
                call(make(table))


def test_what_is_neither_table_nor_array_is_refused(fit, ratings):
    cells = ratings[["user", "item"]].head(2)
    row = namedtuple("row", ["user", "item"])
    for strange in (
        pl.from_pandas(cells).lazy(),
        [series for _, series in cells.iterrows()],
        list(cells.itertuples(index=False)),
        [row(1, 2), row(3, 4)],
        cells.to_dict("records"),
        [pl.Series([1, 2]), pl.Series([1, 2])],
    ):
        with pytest.raises(errors.LabelError, match=r"to_numpy\(\)"):
            fit.predict(strange)
    expected = fit.predict(cells)
    np.testing.assert_array_equal(fit.predict(cells.to_xarray()), expected)  # a mapping, too
    for strange in ("user", 3, None, cells["user"], cells.astype(str).to_numpy().tolist()):
        with pytest.raises(errors.InputError):
            fit.predict(strange)
    with pytest.raises(errors.LabelError, match="the same name"):
        fit.predict(pd.concat([cells, cells["user"]], axis=1))
    with pytest.raises(errors.LabelError, match="differ in length"):
        fit.predict({"user": [1, 2], "item": [1]})
    with pytest.raises(errors.LabelError, match="column 'user' has shape"):
        fit.predict({"user": [[1, 2]], "item": [1]})


def test_models_alone_know_no_labels(fit, ratings, make):
    for predict in (fit.model.predict, fit.predictor.predict):
        with pytest.raises(errors.CoordinateError, match="knows no labels"):
            predict(make(ratings[["user", "item"]]))


def test_names_of_columns_need_a_table(fit, positions):
    with pytest.raises(errors.SettingError, match="values is 'rating', the name of a column"):
        fit.verify(positions, "rating")
    with pytest.raises(errors.SettingError, match="sample_weight is 'n'"):
        fit.verify(positions, np.ones(len(positions)), sample_weight="n")
    with pytest.raises(errors.ValuesError, match="there are no values"):
        fit.verify(positions)


def test_tables_without_rows(fit, ratings, make):
    empty = make(ratings.head(0))
    assert fit.predict(empty).shape == (0,)
    with pytest.raises(errors.EmptyDataError):
        fit.verify(empty)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_the_estimator_takes_positions_under_names(ratings, kind):
    ratings = ratings.assign(user=ratings["user"] % 10, item=ratings["item"] // 2)  # for speed
    cells = KINDS[kind](ratings[["user", "item"]])
    completer = TensorCompleter(radius=6.0, exact="off").fit(cells, ratings["rating"])
    assert completer.fit_.labels.modes == ("user", "item")
    assert completer.fit_.labels.value == "rating"
    expected = completer.fit_.predict(ratings[["user", "item"]].to_numpy())
    np.testing.assert_array_equal(completer.predict(cells), expected)
    swapped = KINDS[kind](ratings[["item", "user"]])
    np.testing.assert_array_equal(completer.fit_.predict(swapped), expected)
    with pytest.raises(ValueError, match="feature names"):
        completer.predict(swapped)
    assert completer.fit_.verify(KINDS[kind](ratings)).ok


@pytest.mark.parametrize("known", [np.int64, np.uint64, np.float64, object])
def test_large_numbers_are_compared_exactly(known):
    """Floats hold only every second number from 2^53 on, and signed types end at 2^63."""
    for asked in (np.int64, np.uint64, np.float64, object):
        base = 2**53 if np.int64 in (known, asked) else 2**63
        numbers = [3, base, base + 4096]
        labels = np.array(numbers, dtype=known)
        column = np.array(numbers[::-1], dtype=asked)
        assert look_up(labels, column).tolist() == [2, 1, 0]
        if np.float64 not in (known, asked):
            near = np.array([base + 1, base - 1, 4], dtype=asked)
            assert look_up(labels, near).tolist() == [-1, -1, -1]
        if known is np.float64:
            assert look_up(labels, np.array([base + 1], dtype=object)).tolist() == [-1]


def test_signed_and_unsigned_numbers_do_not_wrap():
    assert look_up(np.array([-1, 5]), np.array([2**64 - 1, 5], dtype=np.uint64)).tolist() == [-1, 1]
    assert look_up(np.array([2**64 - 1], dtype=np.uint64), np.array([-1])).tolist() == [-1]
    assert look_up(np.array([2**63 - 1]), np.array([2.0**63, np.inf, np.nan])).tolist() == [-1] * 3
    assert look_up(np.array([2.0**63]), np.array([2**63 - 1])).tolist() == [-1]
    assert look_up(np.array([127], dtype=np.int8), np.array([127.0, 127.5])).tolist() == [0, -1]


def test_modes_of_one_name_cannot_be_told_apart():
    grid = xr.DataArray([[1.0, 2.0], [2.0, np.nan]], dims=("x", "y"))
    found = intensor.complete(grid, radius=4.0, exact="off")[1]
    assert found.predict({"x": [1], "y": [1]}).shape == (1,)
    same = replace(found, labels=replace(found.labels, modes=("x", "x")))
    assert same.predict([[1, 1]]).shape == (1,)
    with pytest.raises(errors.LabelError, match="modes of the fit have the same name"):
        same.predict({"x": [1], "y": [1]})
