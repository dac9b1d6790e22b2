"""Long tables of pandas, polars and pyarrow."""

import datetime as dt
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import strategies as st

import intensor
from forall import forall
from intensor import complete, errors
from intensor.containers import open_container
from intensor.containers.base import MAX_DENSE_CELLS
from intensor.containers.frames import predict_frame
from naming import naming

QUICK = {"radius": 4.0, "exact": "off", "unseen": "mean"}
MAKERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
PARIS = ZoneInfo("Europe/Paris")


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param]


def column(frame, name):
    """Return a column as a list, None for what is missing."""
    if isinstance(frame, pa.Table):
        return frame[name].to_pylist()
    if isinstance(frame, pl.DataFrame):
        return frame[name].to_list()
    return [None if pd.isna(item) else item for item in frame[name].tolist()]


def names(frame):
    return frame.column_names if isinstance(frame, pa.Table) else list(frame.columns)


TRIPS = {
    "city": ["Rome", "Oslo", "Rome", "Oslo", "Rome"],
    "trips": [4.0, 1.0, None, 2.0, 3.5],
    "day": [1, 1, 2, 2, 1],
}


def test_it_is_solve_and_predict(make):
    table = make(TRIPS)
    completed, fit = complete(table, value="trips", **QUICK)
    assert type(completed) is type(table)
    assert names(completed) == ["city", "trips", "day"]
    assert column(completed, "city") == TRIPS["city"]
    assert column(completed, "day") == TRIPS["day"]
    coords = np.array([[1, 0], [0, 0], [0, 1], [1, 0]])
    values = [4.0, 1.0, 2.0, 3.5]
    result = intensor.solve(coords, values, shape=(2, 2), radius=4.0, rtol=1e-4, exact="off")
    filled = result.model.predict([[1, 1]])[0]
    assert column(completed, "trips") == [4.0, 1.0, filled, 2.0, 3.5]
    assert column(table, "trips") == TRIPS["trips"]
    assert fit.labels.modes == ("city", "day")
    assert fit.labels.value == "trips"
    assert [labels.tolist() for labels in fit.labels.indices] == [["Oslo", "Rome"], [1, 2]]


def test_a_row_without_value_gets_a_prediction_even_if_its_cell_is_known(make):
    table = make({"a": ["x", "x", "y"], "value": [1.0, None, 2.0]})
    completed, fit = complete(table, **QUICK)
    assert column(completed, "value") == [1.0, fit.predict([[0]])[0], 2.0]


def test_all_cells(make):
    completed, fit = complete(make(TRIPS), value="trips", cells="all", **QUICK)
    assert names(completed) == ["city", "trips", "day"]
    assert column(completed, "city") == ["Oslo", "Oslo", "Rome", "Rome"]
    assert column(completed, "day") == [1, 2, 1, 2]
    assert column(completed, "trips") == [1.0, 2.0, 3.75, fit.predict([[1, 1]])[0]]
    if isinstance(completed, pd.DataFrame):
        assert completed.index.tolist() == [0, 1, 2, 3]


def test_weights(make):
    table = make(
        {
            "a": ["x", "x", "y", "z", "y"],
            "value": [1.0, 3.0, 2.0, None, 7.0],
            "n": [3.0, 1.0, 1.0, None, 0.0],
        }
    )
    completed, fit = complete(table, weight="n", cells="all", **QUICK)
    assert fit.labels.modes == ("a",)
    assert names(completed) == ["a", "value"]
    assert column(completed, "value")[:2] == [1.5, 2.0]
    same, _ = complete(table, weight="n", **QUICK)
    assert names(same) == ["a", "value", "n"]
    assert column(same, "n") == [3.0, 1.0, 1.0, None, 0.0]
    bad = make({"a": ["x", "y"], "value": [None, 1.0], "n": [1.0, -2.0]})
    with pytest.raises(errors.ValuesError, match=r"weight in row 1 of column 'n' is -2.0"):
        complete(bad, weight="n", **QUICK)


def test_other_columns_stay(make):
    table = make({**TRIPS, "note": [None, "a", None, "b", "c"]})
    completed, fit = complete(table, value="trips", modes=["day", "city"], **QUICK)
    assert fit.labels.modes == ("day", "city")
    assert column(completed, "note") == [None, "a", None, "b", "c"]


UTC = dt.UTC
LABELS = {
    "integers": [3, -1, 3, 2**40],
    "floats": [0.5, -0.25, 0.5, 3.0],
    "strings": ["b", "a", "b", " a"],
    "truth": [True, False, True, True],
    "dates": [dt.date(2024, 2, 1), dt.date(1960, 1, 1), dt.date(2024, 2, 1), dt.date(2024, 2, 2)],
    "times": [dt.datetime(2024, 2, 1, 5), dt.datetime(1960, 1, 1)] * 2,
    "zoned": [dt.datetime(2024, 7, 1, hour, tzinfo=PARIS) for hour in (5, 3, 5, 4)],
    "durations": [dt.timedelta(hours=hours) for hours in (2, 1, 2, 5)],
    "clock": [dt.time(12, 30), dt.time(1), dt.time(12, 30), dt.time(2)],
    "decimals": [Decimal("1.50"), Decimal("-0.25"), Decimal("1.50"), Decimal("0.10")],
    "bytes": [b"b", b"a", b"b", b"c"],
}


def test_labels_of_any_type_come_back(make):
    for kind, labels in LABELS.items():
        with naming(kind):
            check_labels(make, labels)


def check_labels(make, labels):
    table = make({"label": labels, "other": [0, 1, 0, 1], "value": [1.0, 2.0, None, 3.0]})
    same, fit = complete(table, **QUICK)
    assert column(same, "label") == column(table, "label")
    every, _ = complete(table, cells="all", **QUICK)
    distinct = sorted(set(labels))
    assert column(every, "label") == [label for label in distinct for _ in range(2)]
    if isinstance(table, pa.Table):
        assert every.schema.field("label").type == table.schema.field("label").type
    else:
        assert every["label"].dtype == table["label"].dtype
    assert fit.shape == (len(distinct), 2)
    predicted = predict_frame(fit, table)
    codes = [distinct.index(label) for label in labels]
    np.testing.assert_array_equal(
        column(predicted, "value"), fit.predict(np.stack((codes, [0, 1, 0, 1]), axis=1))
    )


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(
            pd.Categorical(["large", "small", "large"], ["small", "medium", "large"], ordered=True)
        ),
        pl.Series(["large", "small", "large"], dtype=pl.Enum(["small", "medium", "large"])),
    ],
    ids=["pandas", "polars"],
)
def test_ordered_categories(series):
    frame = pd.DataFrame if isinstance(series, pd.Series) else pl.DataFrame
    table = frame({"level": series, "b": [1, 2, 2], "value": [1.0, 2.0, None]})
    every, fit = complete(table, cells="all", **QUICK)
    assert fit.labels.indices[0].tolist() == ["small", "large"]
    assert every["level"].to_list() == ["small", "small", "large", "large"]
    assert every["level"].dtype == table["level"].dtype


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(["b", "a", "b"], dtype=pd.CategoricalDtype(["c", "b", "a"])),
        pl.Series(["b", "a", "b"], dtype=pl.Categorical),
        pa.array(["b", "a", "b"]).dictionary_encode(),
        pd.Series(["b", "a", "b"], dtype=object),
        pd.Series(["b", "a", "b"], dtype="string[pyarrow]"),
    ],
    ids=["pandas", "polars", "pyarrow", "objects", "arrow strings"],
)
def test_categories_and_kinds_of_text(series):
    kinds = {pl.Series: pl.DataFrame, pd.Series: pd.DataFrame}
    make = kinds.get(type(series), pa.table)
    table = make({"a": series, "b": [1, 2, 2], "value": [1.0, 2.0, None]})
    every, fit = complete(table, cells="all", **QUICK)
    assert fit.labels.indices[0].tolist() == ["a", "b"]
    assert column(every, "a") == ["a", "a", "b", "b"]
    if make is pa.table:
        assert every["a"].type == table["a"].type
    else:
        assert every["a"].dtype == table["a"].dtype


def test_objects_of_several_kinds():
    labels = pd.Series(["a", 1, dt.date(2024, 1, 1), "a"], dtype=object)
    completed, fit = complete(
        pd.DataFrame({"label": labels, "value": [1.0, 2.0, 3.0, None]}), **QUICK
    )
    assert fit.labels.indices[0].tolist() == ["a", 1, dt.date(2024, 1, 1)]
    assert completed["label"].tolist() == labels.tolist()
    dates = pd.Series([dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 5)], dtype=object)
    _, fit = complete(pd.DataFrame({"label": dates, "value": [1.0, None]}), **QUICK)
    assert fit.shape == (2,)
    periods = pd.DataFrame({"p": pd.period_range("2024", periods=2), "value": [1.0, None]})
    every, _ = complete(periods, cells="all", **QUICK)
    assert every["p"].dtype == periods["p"].dtype


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pd.Series([1, None], dtype="Float32"), "Float32"),
        (pd.Series([1, None], dtype="float32"), "float32"),
        (pd.Series([1, None], dtype="Int64"), "Float64"),
        (pd.Series([1, None], dtype="double[pyarrow]"), "double[pyarrow]"),
        (pd.Series([1, None], dtype="int8[pyarrow]"), "double[pyarrow]"),
        (pd.Series([True, None], dtype="boolean"), "Float64"),
        (pd.Series([Decimal(1), None], dtype=object), "float64"),
        (pl.Series([1, None], dtype=pl.Float32), pl.Float32),
        (pl.Series([1, None], dtype=pl.UInt8), pl.Float64),
        (pl.Series([True, None]), pl.Float64),
        (pl.Series([Decimal(1), None]), pl.Float64),
        (pl.Series([1.0, float("nan")]), pl.Float64),
        (pa.array([1, None], pa.float32()), pa.float32()),
        (pa.array([1, None], pa.int32()), pa.float64()),
        (pa.array([Decimal(1), None]), pa.float64()),
        (pa.array([True, None]), pa.float64()),
    ],
    ids=str,
)
def test_types_of_values(values, kind):
    kinds = {pl.Series: pl.DataFrame, pd.Series: pd.DataFrame}
    table = kinds.get(type(values), pa.table)({"a": ["x", "y"], "value": values})
    for cells in ("missing", "all"):
        completed, fit = complete(table, cells=cells, **QUICK)
        filled = completed["value"]
        assert (filled.type if isinstance(table, pa.Table) else filled.dtype) == kind
        expected = fit.predict([[1]], unseen="mean")[0]
        assert column(completed, "value")[0] == 1.0
        assert column(completed, "value")[1] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("every", [False, True])
def test_a_type_that_is_too_small_grows(every):
    table = pa.table({"a": ["x", "y"], "value": pa.array([1, None], pa.float32())})
    container = open_container(table, every=every)
    assert container.fill(np.array([1e39]))["value"].to_pylist() == [1.0, 1e39]
    assert container.fill(np.array([1e38]))["value"].type == pa.float32()


def test_pandas_index_and_attributes():
    table = pd.DataFrame(TRIPS, index=[9, 2, 2, 5, 7])
    table.attrs["source"] = "bus"
    completed, _ = complete(table, value="trips", **QUICK)
    assert completed.index.tolist() == [9, 2, 2, 5, 7]
    assert completed.attrs == {"source": "bus"}
    assert completed["trips"].isna().sum() == 0
    assert table["trips"].isna().sum() == 1
    objects = pd.DataFrame(
        {"a": ["x", "y"], "value": pd.Series([Decimal(2), None], dtype=object)}
    ).set_index(pd.Index([7, 3]))
    filled, _ = complete(objects, **QUICK)
    assert filled["value"].loc[7] == 2.0


def test_pandas_column_names_that_are_numbers():
    table = pd.DataFrame([[5, 1.0], [6, None]])
    completed, fit = complete(table, value=1, **QUICK)
    assert completed.columns.tolist() == [0, 1]
    assert fit.labels.modes == ("0",)
    assert not completed[1].isna().any()
    every, _ = complete(table, value=1, cells="all", **QUICK)
    assert every.columns.tolist() == [0, 1]
    assert predict_frame(fit, pd.DataFrame({0: [5]})).shape == (1, 2)


def test_arrow_metadata_and_chunks():
    table = pa.concat_tables([pa.table(TRIPS), pa.table(TRIPS)])
    table = table.replace_schema_metadata({"source": "bus"})
    completed, fit = complete(table, value="trips", **QUICK)
    assert completed.schema.metadata == {b"source": b"bus"}
    assert completed["trips"].null_count == 0
    assert fit.n == 8


def test_nothing_missing(make):
    table = make({"a": [1, 2], "value": [1, 2]})
    with pytest.warns(errors.NothingToFillWarning):
        completed, _ = complete(table, **QUICK)
    assert completed is table


def test_labels_without_observation(make):
    table = make({"a": ["x", "y", "z"], "value": [1.0, 3.0, None]})
    completed, _ = complete(table, **QUICK)
    assert column(completed, "value")[2] == pytest.approx(2.0, abs=0.05)
    with pytest.raises(errors.UnseenIndexError):
        complete(table, **QUICK | {"unseen": "error"})


@pytest.mark.parametrize(
    ("columns", "options", "error", "message"),
    [
        ({"valeu": [1.0], "a": [1]}, {}, errors.LabelError, r"value='valeu'\? .* 'valeu', 'a'"),
        ({"a": [1], "b": [1.0]}, {}, errors.LabelError, "no column 'value'"),
        ({"rating": [1.0]}, {"value": "ratng"}, errors.LabelError, "did you mean 'rating'"),
        ({"a": [1], "value": [1.0]}, {"modes": ["b"]}, errors.LabelError, "no column 'b'"),
        ({"a": [1], "value": [1.0]}, {"modes": "value"}, errors.LabelError, "asked for twice"),
        ({"a": [1], "value": [1.0]}, {"weight": "value"}, errors.LabelError, "asked for twice"),
        ({"value": [1.0]}, {}, errors.LabelError, "no column of labels beside"),
        ({"a": [], "value": []}, {}, errors.EmptyDataError, "no row"),
        ({"a": [1, 2], "value": [None, None]}, {}, errors.EmptyDataError, "no observed value"),
        ({"a": ["x", None], "value": [1.0, 2.0]}, {}, errors.LabelError, "row 1 .* column 'a'"),
        ({"a": [0.5, None], "value": [1.0, 2.0]}, {}, errors.LabelError, "row 1 .* column 'a'"),
        (
            {"a": [1, 2], "value": ["3", "4 "]},
            {},
            errors.ValuesError,
            "row 0 of the value column 'value' is '3'",
        ),
        (
            {"a": [1, 2, 3], "value": [None, 1.0, float("inf")]},
            {},
            errors.ValuesError,
            "in row 2 of column 'value' is inf",
        ),
        (
            {"a": [1, 2, 3], "value": [1.0, None, -2.0]},
            {},
            errors.NegativeValueError,
            "in row 2 of column 'value' is -2.0",
        ),
        ({"a": [[1], [2]], "value": [1.0, 2.0]}, {}, errors.LabelError, "column 'a'"),
    ],
)
def test_bad_tables(columns, options, error, message):
    for package, make in MAKERS.items():
        with naming(package), pytest.raises(error, match=message):
            complete(make(columns), **options, **QUICK)


def test_nan_labels_and_double_names():
    table = pl.DataFrame({"a": [0.5, float("nan")], "value": [1.0, 2.0]})
    with pytest.raises(errors.LabelError, match="row 1 has no label in column 'a'"):
        complete(table, **QUICK)
    double = pd.DataFrame([[1, 2, 3.0]], columns=["a", "a", "value"])
    with pytest.raises(errors.LabelError, match="same name"):
        complete(double, **QUICK)


def test_large_whole_numbers(make):
    table = make({"a": [1, 2], "value": [2**53 + 1, 1]})
    with pytest.warns(errors.NothingToFillWarning):
        completed, _ = complete(table, radius=1e16, exact="off")
    assert completed is table
    with pytest.raises(errors.ValuesError, match=r"2\^53"):
        complete(table, cells="all", radius=1e16, exact="off")


def test_too_many_cells(make):
    rows = list(range(4000))
    table = make({"a": rows, "b": rows, "value": [1.0] * 4000})
    assert MAX_DENSE_CELLS < 4000**2
    with pytest.raises(errors.DenseTooLargeError, match="16000000 cells"):
        complete(table, cells="all", **QUICK)


def test_predict_frame(make):
    _, fit = complete(make(TRIPS), value="trips", **QUICK)
    cells = make({"day": [2, 1], "id": ["p", "q"], "city": ["Oslo", "Rome"]})
    predicted = predict_frame(fit, cells)
    assert type(predicted) is type(cells)
    assert names(predicted) == ["day", "id", "city", "trips"]
    assert column(predicted, "id") == ["p", "q"]
    assert column(predicted, "trips") == fit.predict([[0, 1], [1, 0]]).tolist()
    again = predict_frame(fit, predicted)
    assert names(again) == names(predicted)


def test_predict_frame_across_packages():
    _, fit = complete(pl.DataFrame(TRIPS), value="trips", **QUICK)
    cells = pd.DataFrame(
        {"day": np.array([2.0, 1.0]), "city": pd.Categorical(["Oslo", "Rome"])}, index=[4, 4]
    )
    predicted = predict_frame(fit, cells)
    assert predicted.index.tolist() == [4, 4]
    assert predicted["trips"].tolist() == fit.predict([[0, 1], [1, 0]]).tolist()


def test_predict_frame_of_labels_that_are_not_known(make):
    _, fit = complete(make(TRIPS), value="trips", **QUICK)
    cells = make({"city": ["Oslo", "Bonn"], "day": [1, 1]})
    with pytest.raises(errors.UnseenIndexError, match=r"row 1 has the label 'Bonn' .* 1 of 2"):
        predict_frame(fit, cells, unseen="error")
    with pytest.warns(errors.UnseenIndexWarning, match=r"row 1 has the label 'Bonn' .* 1 of 2"):
        warned = column(predict_frame(fit, cells, unseen="warn"), "trips")
    known, strange = column(predict_frame(fit, cells), "trips")
    assert [known, strange] == warned
    assert known == fit.predict([[0, 0]])[0]
    assert strange == fit.predict([[9, 0]], unseen="mean")[0]
    with pytest.raises(errors.LabelError, match="no column 'day' for the mode"):
        predict_frame(fit, make({"city": ["Oslo"], "week": [1]}))
    with pytest.raises(errors.SettingError, match="unseen is 'zero'"):
        predict_frame(fit, cells, unseen="zero")
    with pytest.raises(errors.ValuesError, match="cells are a list"):
        predict_frame(fit, [["Oslo", 1]])


def test_predict_frame_of_labels_without_observation(make):
    table = make({"a": ["x", "y", "z"], "value": [1.0, 3.0, None]})
    _, fit = complete(table, **QUICK)
    with pytest.raises(errors.UnseenIndexError, match="row 2 has the label 'z' in column 'a'"):
        predict_frame(fit, table, unseen="error")
    predicted = predict_frame(fit, table, unseen="mean")
    assert column(predicted, "value")[2] == fit.predict([[2]], unseen="mean")[0]


@forall(
    few=15,
    many=200,
    rows=st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "ä", ""]),
            st.integers(-3, 3),
            st.one_of(st.none(), st.floats(0, 100)),
        ),
        min_size=1,
        max_size=12,
    ),
    package=st.sampled_from(sorted(MAKERS)),
)
def test_any_table_is_taken_apart_and_put_together(rows, package):
    text, number, values = (list(items) for items in zip(*rows, strict=True))
    schema = {"value": values} if any(v is not None for v in values) else None
    if schema is None:
        return
    table = MAKERS[package]({"t": text, "n": number, "value": values})
    container = open_container(table)
    coords, numbers, _ = container.table.observed()
    decoded = container.table.labels.decode(coords)
    there = [row for row in rows if row[2] is not None]
    assert list(zip(*(labels.tolist() for labels in decoded), numbers, strict=True)) == there
    filled = container.fill(np.full(container.n_missing, 7.0))
    assert column(filled, "value") == [7.0 if value is None else value for value in values]
    every = open_container(table, every=True)
    every_cell = every.fill(np.full(every.n_missing, np.pi))
    cells = {}
    for t, n, value in there:
        cells.setdefault((t, n), []).append(value)
    assert len(column(every_cell, "t")) == len(set(text)) * len(set(number))
    for t, n, value in zip(
        *(column(every_cell, name) for name in ("t", "n", "value")), strict=True
    ):
        expected = np.mean(cells[t, n]) if (t, n) in cells else np.pi
        assert value == pytest.approx(expected)
