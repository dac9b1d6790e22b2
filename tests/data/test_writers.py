"""What is written is what is read again, whatever the labels, names and values are."""

import datetime
import math
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from forall import forall
from intensor.data.labels import Labels
from intensor.data.readers import read_cells, read_table
from intensor.data.writers import write_table, write_tensor
from intensor.errors import CoordinateError, FileFormatError, LabelError, ValuesError
from strategies import seeds, shapes

COORDS = np.array([[0, 4, 1], [2, 0, 0], [2, 0, 0]])
VALUES = np.array([1.5, 2.0, 1 / 3])
TABLES = ("csv", "tsv", "csv.gz", "parquet")
TENSORS = ("tns", "tns.gz", "npz", "mat")
STRANGE = (
    *("NA", "nan", "NULL", "null", "None", "true", "1", "007", "1e5", "-0", "0x10", "inf"),
    *("a,b", "a;b;c", "a|b|c|d", "a\tb", "a\nb", "a\r\nb", '"', '""', "'", 'say "x"', "\\", "#"),
    *("=1+1", "<script>", "../x", "Zürich", "日本", "é", "\u200b", "\ufeffx", " a", "b ", "a  b"),
    *("2024-01-01", "12:30", "2024-01-01T00:00:00Z", "x" * 300, "%"),
)
any_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
texts = st.one_of(st.sampled_from(STRANGE), any_text).filter(lambda text: text.strip() != "")
NAMES = ("a;b;c", "a|b|c|d", "x\ty\tz", "\ufeffx", "a\rb", "a\nb", "a\r\nb", "a,b", '"', "#a")
name_texts = st.one_of(st.sampled_from(NAMES), texts)
values = st.one_of(
    st.floats(0.0, 1e70),
    st.floats(0.0, 1.0),
    st.sampled_from([0.0, 5e-324, 1e-300, 1e70, 0.1, 1 / 3, 1e22, 123456789.0, math.nan]),
)
weights = st.one_of(st.floats(0.0, 1e6), st.just(1.0))
LABELS = {
    "text": texts,
    "integer": st.integers(-(2**63), 2**63 - 1),
    "number": st.floats(-1e15, 1e15),
    "truth": st.booleans(),
    "day": st.dates(datetime.date(1700, 1, 1), datetime.date(2200, 1, 1)),
}
ANCHOR = "an anchor"
"""Among the labels of a column, it says that all of them are text."""


@dataclass
class Written:
    """Columns of a table, with their names."""

    names: list
    columns: list
    values: np.ndarray
    weights: np.ndarray | None

    def save(self, path):
        columns = dict(zip(self.names, self.columns, strict=True))
        columns["value"] = self.values
        if self.weights is not None:
            columns["weight"] = self.weights
        write_table(path, columns)

    def read(self, path, **options):
        weight = None if self.weights is None else "weight"
        return read_table(path, weight=weight, **options)


def unlike(pool):
    """Say whether labels stay different without the blanks around them."""
    return len({text.strip() for text in pool}) == len(set(pool))


@st.composite
def tables(draw, kinds=tuple(LABELS), anchored=True):
    names = draw(st.lists(name_texts.map(str.strip), min_size=1, max_size=3, unique=True))
    names = [name for name in names if name not in ("value", "weight")] or ["mode"]
    n = draw(st.integers(1, 8))
    columns = []
    for _ in names:
        kind = draw(st.sampled_from(kinds))
        pool = draw(
            st.lists(LABELS[kind], min_size=1, max_size=5).filter(
                unlike if kind == "text" else lambda pool: True
            )
        )
        chosen = draw(st.lists(st.sampled_from(pool), min_size=n, max_size=n))
        if kind == "text":
            column = np.array([*chosen[1:], ANCHOR] if anchored else chosen, dtype=object)
        else:
            column = np.array(chosen, dtype="M8[D]" if kind == "day" else None)
        columns.append(column)
    numbers = np.array(draw(st.lists(values, min_size=n, max_size=n)))
    numbers[0] = 1.0 if math.isnan(numbers[0]) else numbers[0]
    heavy = draw(st.one_of(st.none(), st.lists(weights, min_size=n, max_size=n)))
    return Written(names, columns, numbers, None if heavy is None else np.array(heavy))


def exact(column):
    return [(type(label), label) for label in column.tolist()]


def by_value(column):
    """Return numbers as numbers: in text files, 1.0 is written as 1."""
    return [float(label) if isinstance(label, (int, float)) else label for label in column.tolist()]


def assert_read(found, wanted, suffix):
    assert np.array_equal(found.values, wanted.values, equal_nan=True)
    if wanted.weights is None:
        assert found.weights is None
    else:
        assert found.weights.tolist() == wanted.weights.tolist()
    assert list(found.labels.modes) == wanted.names
    same = exact if suffix == "parquet" else by_value
    for labels, column in zip(found.labels.decode(found.coords()), wanted.columns, strict=True):
        assert same(labels) == same(column + 0.0 if column.dtype.kind == "f" else column)
    for known in found.labels.indices:
        assert len(set(known.tolist())) == known.size


@forall(few=15, many=1000, table=tables(), suffix=st.sampled_from(TABLES))
def test_tables_come_back(table, suffix):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"data.{suffix}"
        table.save(path)
        assert_read(table.read(path), table, suffix)
        cells = read_cells(path, modes=table.names)
        same = exact if suffix == "parquet" else by_value
        for mode, column in enumerate(table.columns):
            labels = cells.mode_labels(mode)
            assert same(labels) == same(column + 0.0 if column.dtype.kind == "f" else column)


@forall(few=10, many=500, table=tables(kinds=("text",), anchored=False))
def test_text_that_looks_like_something_else_is_text_beside_labels_that_are(table):
    known = Labels(
        modes=tuple(table.names),
        indices=tuple(np.array([ANCHOR], dtype=object) for _ in table.names),
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        table.save(path)
        assert_read(table.read(path, like=known), table, "parquet")


@st.composite
def tensors(draw):
    shape = draw(shapes(longest=9, indices=40))
    n = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(seeds))
    coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
    numbers = np.array(draw(st.lists(values, min_size=n, max_size=n)))
    numbers[0] = 1.0 if math.isnan(numbers[0]) else numbers[0]
    return shape, coords, numbers


@forall(few=10, many=500, tensor=tensors(), suffix=st.sampled_from(TENSORS))
def test_tensors_come_back(tensor, suffix):
    shape, coords, numbers = tensor
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"data.{suffix}"
        write_tensor(path, coords, numbers, shape)
        # What a text file of cells does not say, one must: that its indices begin at 1.
        found = read_table(path, one_based=suffix != "npz")
        assert found.coords().tolist() == coords.tolist()
        assert found.values.view(np.uint64).tolist() == numbers.view(np.uint64).tolist()
        listed = tuple((coords.max(axis=0) + 1).tolist())
        assert found.shape == (listed if suffix.startswith("tns") else shape)
        assert read_table(path).coords().tolist() == coords.tolist()


@pytest.mark.parametrize("suffix", ["tns", "tns.gz", "npz", "mat"])
def test_tensors_are_read_again(suffix, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = f"out.{suffix}"
    values = np.array([1.5, np.nan, 1 / 3])
    write_tensor(name, COORDS, values, (3, 5, 4))
    table = read_table(name, modes=["a", "b", "c"])
    assert table.coords().tolist() == COORDS.tolist()
    assert np.array_equal(table.values, values, equal_nan=True)
    assert table.shape == ((3, 5, 2) if suffix.startswith("tns") else (3, 5, 4))
    assert table.labels.modes == ("a", "b", "c")
    cells = read_cells(name, modes=["a", "b", "c"])
    assert np.stack(list(map(cells.mode_labels, range(3))), 1).tolist() == COORDS.tolist()
    with pytest.raises(FileFormatError, match="2 names"):
        read_table(name, modes=["a", "b"])
    with pytest.raises(FileFormatError, match="expected"):
        read_cells(name, modes=["a"])
    assert os.listdir() == [name]


def test_tensors_that_cannot_be_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CoordinateError, match="mode 1"):
        write_tensor("out.tns", COORDS, VALUES, (3, 4, 2))
    with pytest.raises(ValuesError, match="shape"):
        write_tensor("out.tns", COORDS, VALUES[:2], (3, 5, 2))
    with pytest.raises(FileFormatError, match=r"cannot be written as \.csv"):
        write_tensor("out.csv", COORDS, VALUES, (3, 5, 2))
    assert os.listdir() == []


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
