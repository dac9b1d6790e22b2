"""Tables of any package have the same columns behind one protocol."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from intensor.data.any_table import open_any_table
from intensor.data.labels import Labels, factorise
from intensor.data.table import Source, Table
from intensor.errors import LabelError, ValuesError

COLUMNS = {"city": ["b", "a", "b"], "value": [1.0, float("nan"), 3.0], "w": [1.0, 2.0, 0.5]}
MAKERS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "batch": pa.RecordBatch.from_pydict,
    "mapping": dict,
    "records": lambda columns: pd.DataFrame(columns).to_records(index=False),
}


@pytest.mark.parametrize("name", MAKERS)
def test_columns_of_tables_in_memory(name):
    table = open_any_table(MAKERS[name](COLUMNS))
    assert list(table.names) == ["city", "value", "w"]
    assert len(table) == 3
    codes, labels = table.encoded("city")
    assert labels[codes].tolist() == ["b", "a", "b"]
    np.testing.assert_array_equal(table.numbers("value", "value"), COLUMNS["value"])
    assert (table.value, table.weight, table.prefix) == (None, None, "")
    assert table.where(1) == "row 1"
    with pytest.raises(ValuesError, match="value column 'city'"):
        table.numbers("city", "value")


def test_columns_of_a_file():
    codes, labels = factorise(COLUMNS["city"])
    table = Table(
        labels=Labels(modes=("city",), indices=(labels,)),
        codes=(codes,),
        values=np.array(COLUMNS["value"]),
        weights=np.array(COLUMNS["w"]),
        source=Source(path="a.csv"),
    )
    opened = open_any_table(table)
    assert opened.encoded("city").labels is labels
    assert opened.numbers(opened.value, "value") is table.values
    assert opened.numbers(opened.weight, "weight") is table.weights
    assert opened.where(1) == "a.csv, row 2"
    assert opened.prefix == "a.csv: "


def test_arrays_are_no_tables():
    for data in (np.zeros((2, 2)), [[1, 2]], ((1, 2),), 3, None, "a"):
        assert open_any_table(data) is None


def test_a_missing_label_is_named():
    table = open_any_table({"city": ["a", None]})
    with pytest.raises(LabelError, match="column 'city': row 1 has no label"):
        table.encoded("city")
