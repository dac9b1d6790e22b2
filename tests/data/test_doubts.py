"""Columns that nobody named as modes: a warning for those that are hardly meant, and no other."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import intensor
from intensor import complete, errors, planted
from intensor.cli import main
from intensor.data.doubts import doubtful_modes
from intensor.data.labels import Labels, factorise
from intensor.data.readers.dataset import open_dataset
from intensor.datasets import flights

QUICK = {"radius": 6.0, "exact": "off", "max_iterations": 3}


def doubts(table, rows=None):
    """Return the names of the columns that are doubted."""
    encoded = [factorise(table[name].to_numpy()) for name in table]
    labels = Labels(modes=tuple(map(str, table)), indices=tuple(known for _, known in encoded))
    columns = [codes if rows is None else codes[rows] for codes, _ in encoded]
    return list(doubtful_modes(columns, labels))


@pytest.fixture(scope="module")
def ratings():
    rng = np.random.default_rng(3)
    n = 300
    return pd.DataFrame(
        {
            "user": rng.integers(40, size=n) + 1,
            "item": rng.integers(30, size=n) + 100,
            "rating": rng.integers(1, 6, size=n).astype(float),
        }
    )


def with_column(table, name, content):
    return table[["user", "item"]].assign(**{name: content})


def test_sensible_tables_are_not_doubted(ratings):
    assert doubts(ratings[["user", "item"]]) == []
    rng = np.random.default_rng(0)
    n = len(ratings)
    for name, content in {
        "dose": rng.choice([0.1, 0.25, 2.5], n),
        "hour": pd.Timestamp("2024-05-01") + pd.to_timedelta(rng.integers(24, size=n), unit="h"),
        "day": pd.Timestamp("2024-05-01") + pd.to_timedelta(rng.integers(99, size=n), unit="D"),
        "country": ratings["user"] % 3,  # a function of another mode, as in a hierarchy
        "shop": [f"s{k}" for k in rng.integers(150, size=n)],
        "customer": rng.integers(10**9, 3 * 10**9, size=60)[rng.integers(60, size=n)],
    }.items():
        assert doubts(with_column(ratings, name, content)) == [], name


@pytest.mark.parametrize(
    ("shape", "n"),
    [((1000, 1000, 1000), 1000), ((1000, 1000, 1000), 100), ((1000, 10, 10), 500), ((40, 3), 25)],
)
def test_long_modes_that_are_hardly_observed_are_not_doubted(shape, n):
    data = planted(shape, n)
    assert doubts(pd.DataFrame(data.coords, columns=[f"m{k}" for k in range(len(shape))])) == []


def test_the_table_that_ships_is_not_doubted():
    table = flights()
    assert doubtful_modes(table.codes, table.labels) == {}


def test_columns_that_can_hardly_be_modes(ratings):
    rng = np.random.default_rng(1)
    n = len(ratings)
    seconds = rng.integers(981_250_949, 10**9, size=n)
    for name, content in {
        "Unnamed: 0": np.arange(n),
        "index": np.arange(1, n + 1),
        "id": [f"r{k}" for k in rng.permutation(n)],
        "timestamp": seconds[rng.integers(n, size=n)],
        "milliseconds": 1000 * (10**9 + rng.integers(10**6, size=n)),
        "when": pd.Timestamp("2024-05-01") + pd.to_timedelta(rng.integers(10**6, size=n), unit="s"),
        "price": np.round(100.0 * rng.random(n), 2),
        "year": np.full(n, 2013),
        "user_name": [f"u{k}" for k in ratings["user"]],
    }.items():
        assert doubts(with_column(ratings, name, content)) == [name], name


def test_small_tables_are_doubted_for_exported_row_numbers_only(ratings):
    few = ratings.head(6).assign(user=[1, 1, 2, 2, 3, 3], item=[1, 2, 1, 2, 1, 2])
    assert doubts(with_column(few, "index", np.arange(6))) == ["index"]
    assert doubts(with_column(few, "other", np.arange(6))) == []
    assert doubts(with_column(few, "index", np.arange(6) * 2)) == []
    assert doubts(with_column(few, "year", np.full(6, 2013))) == []
    # a row without a value is not observed, but has a number, too
    assert doubts(with_column(few, "index", np.arange(6)), rows=np.arange(4)) == ["index"]


def test_the_only_mode_is_not_doubted(ratings):
    assert doubts(pd.DataFrame({"index": np.arange(50)})) == []
    assert doubts(pd.DataFrame({"a": np.arange(50), "b": np.arange(50)[::-1]})) == []


@pytest.mark.parametrize(
    "make", [lambda table: table, pl.from_pandas, pa.Table.from_pandas], ids=["pd", "pl", "pa"]
)
@pytest.mark.filterwarnings("ignore::intensor.errors.NothingToFillWarning")
def test_complete_warns_and_names_the_fix(ratings, make):
    junk = ratings.assign(**{"Unnamed: 0": np.arange(len(ratings))})
    with pytest.warns(errors.ModeWarning) as caught:
        complete(make(junk), value="rating", modes=None, **QUICK)
    said = [warning for warning in caught if warning.category is errors.ModeWarning]
    assert len(said) == 1
    assert said[0].filename == __file__
    for text in ("'Unnamed: 0'", "row numbers", "all of the rows", "modes=['user', 'item']"):
        assert text in str(said[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error", errors.ModeWarning)
        warnings.simplefilter("ignore", errors.NothingToFillWarning)
        complete(make(junk), value="rating", modes=["user", "item", "Unnamed: 0"], **QUICK)
        complete(make(ratings), value="rating", **QUICK)


def test_the_warning_comes_before_what_is_too_large(ratings):
    """So that the reason is seen, too."""
    junk = pd.concat([ratings] * 30, ignore_index=True)
    junk["id"] = np.arange(len(junk))
    with (
        pytest.warns(errors.ModeWarning, match="'id'"),
        pytest.raises(errors.DenseTooLargeError),
    ):
        complete(junk, value="rating", cells="all", **QUICK)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_commands_say_it_on_stderr(ratings, tmp_path, capsys, suffix):
    path, model = tmp_path / f"data{suffix}", str(tmp_path / "model.npz")
    junk = ratings.rename(columns={"item": "film name"})
    if suffix == ".csv":
        junk.to_csv(path)  # pandas writes its index under no name
    else:
        junk.reset_index().to_parquet(path)
    arguments = ["--value", "rating", "--radius", "6", "--max-iterations", "3", "-q", "-o", model]
    assert main(["fit", str(path), *arguments]) == 0
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].startswith("warning: all columns but")
    assert said[0].endswith("name the modes: --mode user --mode 'film name')")
    assert ("column ''" if suffix == ".csv" else "column 'index'") in said[0]
    assert intensor.load(model).shape == (300, 40, 30)
    named = ["--mode", "user", "--mode", "film name"]
    assert main(["fit", str(path), *named, *arguments]) == 0
    assert capsys.readouterr().err == ""


def test_the_index_of_pandas_is_no_column_of_a_dataset(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table({"a": [0, 1], "value": [1.0, 2.0], "__index_level_0__": [5, 6]})
    parquet.write_table(table, path)
    assert open_dataset(path, "value").modes == ("a",)
