import os
import pathlib

import pytest

from intensor import load
from intensor.data.readers import read_cells, read_table
from intensor.data.readers.files import find_format
from intensor.data.writers import write_table
from intensor.errors import EmptyDataError, FileFormatError


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.csv", "csv"),
        ("A.CSV.GZ", "csv"),
        ("a.b.tsv", "tsv"),
        ("a.txt", "csv"),
        ("dir.csv/a.parquet", "parquet"),
        ("a.tns.gz", "tns"),
        ("a.npz", "npz"),
        ("a.mat", "mat"),
    ],
)
def test_the_suffix_says_the_kind(name, kind):
    assert find_format(name, None) == kind


@pytest.mark.parametrize("name", ["a", "a.xlsx", "a.gz", "a.npz.gz", ".csv", "csv"])
def test_a_suffix_that_says_nothing(name):
    with pytest.raises(FileFormatError, match="suffix does not say"):
        find_format(name, None)
    assert find_format(name, "tns") == "tns"


def test_a_kind_that_is_not_known():
    with pytest.raises(FileFormatError, match="the kind is 'xlsx'; expected one of 'csv'"):
        find_format("a.csv", "xlsx")


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "tns", "npz", "mat"])
def test_files_that_cannot_be_opened(tmp_path, monkeypatch, suffix):
    monkeypatch.chdir(tmp_path)
    name = f"a.{suffix}"
    with pytest.raises(FileFormatError, match=rf"^{name}: there is no such file"):
        read_table(name)
    os.mkdir(name)
    with pytest.raises(FileFormatError, match=rf"^{name}: is a folder"):
        read_table(name)
    os.rmdir(name)
    open(name, "w").close()
    with pytest.raises(EmptyDataError, match=rf"^{name}: is empty"):
        read_table(name)
    with pytest.raises(FileFormatError, match="cannot be opened"):
        read_table("a\0." + suffix)


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "stat", refuse)
    with pytest.raises(FileFormatError, match=r"a\.csv: cannot be opened \(Permission denied\)"):
        read_table("a.csv")


def test_the_kind_overrides_the_suffix(tmp_path):
    (tmp_path / "a.dat").write_text("1 2 3\n")
    assert read_table(tmp_path / "a.dat", kind="tns").coords().tolist() == [[0, 1]]


def test_long_names_are_shortened_in_messages(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(f"{'x' * 40_000},{'y' * 40_000}\n1,2\n")
    with pytest.raises(FileFormatError, match=r"'x{97}\.\.\.', 'y{97}\.\.\.'") as caught:
        read_table(path, value="y" * 40_000 + "z")
    assert len(str(caught.value)) < 1000
    path.write_text(f"{'x' * 40_000},{'x' * 40_000}\n1,2\n")
    with pytest.raises(ValueError, match="both called") as caught:
        read_table(path)
    assert len(str(caught.value)) < 1000


def test_paths_of_any_kind(tmp_path):
    path = tmp_path / "table.csv"
    write_table(path, {"a": [1, 2], "value": [1.0, 2.0]})
    for same in (path, str(path), bytes(path), pathlib.PurePath(path)):
        assert len(read_table(same)) == 2
    for wrong in (None, 3, ["table.csv"]):
        for call in (read_table, load, lambda path: read_cells(path, modes=["a"])):
            with pytest.raises(FileFormatError, match="is not the path of a file"):
                call(wrong)
