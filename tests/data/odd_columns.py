"""Columns of every kind that Arrow, pandas and polars have, to make odd tables of."""

import datetime as dt
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

BERLIN = "Europe/Berlin"
N = 6
"""Rows of a table."""


def _pick(entries, kind=None):
    def make(rng):
        chosen = [entries[index] for index in rng.integers(len(entries), size=N)]
        return pa.array(chosen, kind)

    return make


def _ints(kind, top):
    return _pick([0, 1, 5, top], kind)


def _dictionary(entries, kind=None, index=None):
    def make(rng):
        codes = rng.integers(len(entries), size=N)
        indices = pa.array(codes, pa.int8() if index is None else index)
        return pa.DictionaryArray.from_arrays(indices, pa.array(entries, kind))

    return make


WHEN = [dt.datetime(2024, 5, 1, 12, 30), dt.datetime(1969, 7, 20), dt.datetime(2024, 5, 2)]
DAYS = [dt.date(2024, 5, 1), dt.date(3000, 1, 1), dt.date(1, 1, 1)]
WORDS = ["a", "b", "\u00e9", " c "]
COLUMNS = {
    "bool": _pick([True, False]),
    "bool null": _pick([True, False, None]),
    "int8": _ints(pa.int8(), -128),
    "uint8": _ints(pa.uint8(), 255),
    "int64": _ints(pa.int64(), -(2**63)),
    "uint64": _ints(pa.uint64(), 2**64 - 1),
    "int null": _pick([1, 2, None], pa.int32()),
    "float16": _pick([np.float16(0.5), np.float16(2)], pa.float16()),
    "float32": _pick([0.1, 2.0], pa.float32()),
    "float64": _pick([0.1, -0.0, 0.0, 1e300]),
    "float odd": _pick([0.1, float("nan"), float("inf")]),
    "decimal": _pick([decimal.Decimal("1.10"), decimal.Decimal("2.25")], pa.decimal128(10, 2)),
    "decimal256": _pick([decimal.Decimal("1" * 50)], pa.decimal256(60, 2)),
    "string": _pick(WORDS),
    "string null": _pick([*WORDS, None]),
    "string empty": _pick(["", "x"]),
    "string numbers": _pick(["1", "2.5", "007"]),
    "large string": _pick(WORDS, pa.large_string()),
    "string view": _pick(WORDS, pa.string_view()),
    "binary": _pick([b"a", b"\xff\x00"], pa.binary()),
    "large binary": _pick([b"a", b"\xff\x00"], pa.large_binary()),
    "fixed binary": _pick([b"aa", b"\xff\x00"], pa.binary(2)),
    "date32": _pick(DAYS, pa.date32()),
    "date64": _pick(DAYS[:2], pa.date64()),
    "timestamp s": _pick(WHEN, pa.timestamp("s")),
    "timestamp ns": _pick(WHEN, pa.timestamp("ns")),
    "timestamp zone": _pick(WHEN, pa.timestamp("us", BERLIN)),
    "timestamp null": _pick([*WHEN, None], pa.timestamp("us")),
    "time32": _pick([dt.time(1, 2), dt.time(3)], pa.time32("s")),
    "time64": _pick([dt.time(1, 2), dt.time(3)], pa.time64("us")),
    "duration": _pick([dt.timedelta(1), dt.timedelta(seconds=5)], pa.duration("us")),
    "interval": _pick([(1, 2, 3), (0, 0, 1)], pa.month_day_nano_interval()),
    "null": _pick([None], pa.null()),
    "list": _pick([[1], [2, 3], []], pa.list_(pa.int64())),
    "list null": _pick([[1], None], pa.list_(pa.int64())),
    "fixed list": _pick([[1, 2], [3, 4]], pa.list_(pa.int64(), 2)),
    "large list": _pick([[1], [2]], pa.large_list(pa.int64())),
    "struct": _pick([{"a": 1}, {"a": 2}], pa.struct([("a", pa.int64())])),
    "map": _pick([[("a", 1)], []], pa.map_(pa.string(), pa.int64())),
    "dictionary": _dictionary(WORDS),
    "dictionary null": _dictionary(["a", None]),
    "dictionary ints": _dictionary([3, 4]),
    "dictionary unsigned": _dictionary(["a", "b"], index=pa.uint32()),
    "dictionary dates": _dictionary(DAYS[:2], pa.date32()),
    "dictionary twice": _dictionary(["a", "a", "b"]),
    "union": lambda rng: pa.UnionArray.from_sparse(
        pa.array(rng.integers(2, size=N), pa.int8()),
        [pa.array(range(N)), pa.array(["a"] * N)],
    ),
    "run ends": lambda rng: pa.RunEndEncodedArray.from_arrays([2, N], ["a", "b"]),
    "uuid": lambda rng: pa.array([bytes([number] * 16) for number in range(N)], pa.uuid()),
    "json": lambda rng: pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a": 1}'] * N)),
}

OBJECTS = {
    "mixed": [1, "a", 2.5, None, True, (1, 2)],
    "lists": [[1], [2], [1], [3], [], [1]],
    "arrays": [np.arange(2)] * 6,
    "dicts": [{"a": 1}] * 6,
    "sets": [frozenset([1]), frozenset([2])] * 3,
    "big ints": [2**70, 1, 2**70, 3, 2**64, 5],
    "bytes": [b"a", b"b"] * 3,
    "complex": [1j, 2.0, 1j, 3, 4j, 5],
    "surrogate": ["a\ud800", "b"] * 3,
    "numbers and text": [1, "1"] * 3,
    "nan and text": ["a", float("nan")] * 3,
    "na": [pd.NA, "a"] * 3,
    "timestamps": [pd.Timestamp("2024-05-01", tz=BERLIN), pd.Timestamp("2024-05-01")] * 3,
    "classes": [int, str] * 3,
    "nothing equal": [np.float64("nan")] * 6,
}

PANDAS = {
    "category": lambda rng: pd.Categorical(rng.choice(["x", "y"], N), ["y", "x", "z"]),
    "ordered": lambda rng: pd.Categorical(rng.choice(["x", "y"], N), ["y", "x", "z"], ordered=True),
    "category null": lambda rng: pd.Categorical(["x", None] * (N // 2)),
    "category ints": lambda rng: pd.Categorical(rng.choice([4, 3], N)),
    "category intervals": lambda rng: pd.cut(np.arange(N), 2),
    "interval": lambda rng: pd.array(pd.interval_range(0, N)),
    "period": lambda rng: pd.period_range("2024-01", periods=N, freq="M"),
    "sparse": lambda rng: pd.arrays.SparseArray(rng.integers(2, size=N)),
    "Int64": lambda rng: pd.array([1, 2, None, 3, 4, 5], dtype="Int64"),
    "Int64 full": lambda rng: pd.array(rng.integers(3, size=N), dtype="Int64"),
    "boolean": lambda rng: pd.array([True, False] * 3, dtype="boolean"),
    "string": lambda rng: pd.array(rng.choice(["x", "y"], N), dtype="string"),
    "zoned": lambda rng: pd.date_range("2024-03-31", periods=N, freq="h", tz=BERLIN),
    "timedelta": lambda rng: pd.to_timedelta(rng.integers(3, size=N), unit="s"),
    "complex": lambda rng: rng.integers(3, size=N) * 1j,
    "float128": lambda rng: rng.random(N).astype(np.longdouble),
    "datetime seconds": lambda rng: np.array(["2024-05-01"] * N, dtype="M8[s]"),
}

POLARS = {
    "enum": lambda rng: pl.Series(rng.choice(["x", "y"], N), dtype=pl.Enum(["y", "x"])),
    "categorical": lambda rng: pl.Series(rng.choice(["x", "y"], N), dtype=pl.Categorical),
    "object": lambda rng: pl.Series([object(), 1, "a"] * 2, dtype=pl.Object),
    "array": lambda rng: pl.Series([[1, 2]] * N, dtype=pl.Array(pl.Int64, 2)),
    "decimal": lambda rng: pl.Series(["1.5", "2.5"] * 3).cast(pl.Decimal(10, 2)),
    "int128": lambda rng: pl.Series([2**100, 1] * 3, dtype=pl.Int128),
    "duration": lambda rng: pl.Series([dt.timedelta(1)] * N),
    "time": lambda rng: pl.Series([dt.time(1)] * N),
    "null": lambda rng: pl.Series([None] * N),
}


def pandas_columns(rng):
    """Yield names and pandas columns: their own kinds, objects, and what it makes of Arrow's."""
    for name, make in PANDAS.items():
        yield name, pd.Series(make(rng))
    for name, entries in OBJECTS.items():
        column = np.empty(N, dtype=object)
        column[:] = entries
        yield f"objects {name}", pd.Series(column, dtype=object)
    for name, make in COLUMNS.items():
        try:
            yield name, make(rng).to_pandas()
        except (pa.ArrowException, ValueError):
            continue


def arrow_columns_of_pandas(rng):
    """Yield names and pandas columns that hold Arrow's."""
    for name, make in COLUMNS.items():
        chunks = pa.chunked_array([make(rng)])
        yield name, pd.Series(pd.arrays.ArrowExtensionArray(chunks))


def polars_columns(rng):
    """Yield names and polars columns: their own kinds, and what they make of Arrow's."""
    for name, make in POLARS.items():
        yield name, make(rng)
    for name, make in COLUMNS.items():
        try:
            series = pl.Series(make(rng))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, TypeError, ValueError):
            continue
        yield name, series


def arrow_columns(rng):
    """Yield names and Arrow columns."""
    for name, make in COLUMNS.items():
        yield name, make(rng)
