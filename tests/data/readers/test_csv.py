import gzip
import os

import numpy as np
import pytest

from intensor.data.labels import Labels
from intensor.data.readers import csv, read_cells, read_table
from intensor.data.readers.files import Request
from intensor.data.writers import write_table
from intensor.errors import (
    EmptyDataError,
    FileFormatError,
    InputError,
    LabelError,
    NegativeValueError,
)
from naming import naming

PLAIN = b"user,item,rating\n3,a,1.5\n1,b,2\n3,b,\n"


@pytest.fixture
def put(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(content, name="data.csv"):
        (tmp_path / name).write_bytes(content)
        return name

    return write


def columns(table):
    return [labels.tolist() for labels in table.labels.decode(table.coords())]


def test_a_table(put):
    table = read_table(put(PLAIN), value="rating")
    assert table.labels.modes == ("user", "item")
    assert table.labels.value == "rating"
    assert table.labels.indices[0].tolist() == [1, 3]
    assert [codes.dtype for codes in table.codes] == [np.uint8, np.uint8]
    assert columns(table) == [[3, 1, 3], ["a", "b", "b"]]
    assert table.values.tolist()[:2] == [1.5, 2.0]
    assert np.isnan(table.values[2])
    assert table.weights is None


@pytest.mark.parametrize("empty", ["", "NA", "NaN", "nan", "null", '""'])
def test_missing_values(put, empty):
    table = read_table(put(f"a,value\n1,{empty}\n2,5\n".encode()))
    assert table.missing().tolist() == [[0]]
    assert table.observed()[1].tolist() == [5.0]


@pytest.mark.parametrize(
    ("labels", "dtype", "sorted_labels"),
    [
        ("10,9,-1", np.int64, [-1, 9, 10]),
        ("10,9,x", object, ["10", "9", "x"]),
        ("1.5,-0.0,0", np.float64, [0.0, 1.5]),
        ("true,false,true", bool, [False, True]),
        ("2024-03-01,2024-02-01,2023-03-01", "M8[D]", None),
        ("2024-03-01 10:00:00,2024-02-01 00:00:01,2023-03-01 00:00:00", "M8[s]", None),
        ("2024-03-01T10:00:00Z,x,y", object, ["2024-03-01T10:00:00Z", "x", "y"]),
        ("2024-03-01T10:00:00Z,2024-03-01T10:00:00Z,2024-03-01T10:00:00Z", object, None),
        ("10:30,10:00,11:00", object, ["10:00", "10:30", "11:00"]),
        ("NA,b,c", object, ["NA", "b", "c"]),
        ("NA,NA,NA", object, ["NA"]),
        (
            "12345678901234567890,12345678901234567891,1",
            object,
            ["1", "12345678901234567890", "12345678901234567891"],
        ),
        ("9223372036854775807,-9223372036854775808,0", np.int64, None),
        ("4294967296,-5,300", np.int64, [-5, 300, 4294967296]),
    ],
)
def test_kinds_of_labels(put, labels, dtype, sorted_labels):
    texts = labels.split(",")
    text = "a,value\n" + "".join(f"{one},1\n" for one in texts)
    table = read_table(put(text.encode()))
    known = table.labels.indices[0]
    assert known.dtype == np.dtype(dtype)
    if sorted_labels is not None:
        assert known.tolist() == sorted_labels
    assert known.tolist() == sorted(known.tolist())
    assert len(table) == 3


def read_in_blocks(path):
    """Read a table in blocks of about 1000 bytes."""
    return csv.read(path, Request(), block_bytes=1000)


def test_labels_that_change_their_kind_far_down(put):
    texts = [str(number % 50) for number in range(2000)]
    for late in ("x", "1.5", "99999999999999999999"):
        text = "a,b,value\n" + "".join(f"{one},0,1\n" for one in [*texts, late])
        table = read_in_blocks(put(text.encode()))
        assert columns(table)[0] == [*texts, late]
        assert table.labels.indices[1].tolist() == [0]


def test_many_batches_give_what_one_gives(put):
    rng = np.random.default_rng(5)
    wide = rng.integers(-(10**12), 10**12, 40)
    rows = [
        f"{wide[rng.integers(40)]},{rng.integers(300)},s{rng.integers(700)},{rng.integers(9)}.5,"
        f"{number % 4}"
        for number in range(5000)
    ]
    name = put(("a,b,c,d,value\n" + "\n".join(rows)).encode())
    at_once = read_table(name)
    pieces = read_in_blocks(name)
    assert [labels.size for labels in at_once.labels.indices] == [40, 300, 699, 9]
    assert [codes.dtype.itemsize for codes in at_once.codes] == [1, 2, 2, 1]
    fields = [row.split(",") for row in rows]
    for table in (at_once, pieces):
        assert columns(table)[0] == [int(row[0]) for row in fields]
        assert columns(table)[1] == [int(row[1]) for row in fields]
        assert columns(table)[2] == [row[2] for row in fields]
        assert columns(table)[3] == [float(row[3]) for row in fields]
        assert table.values.tolist() == [float(row[4]) for row in fields]
    for one, other in zip(at_once.codes, pieces.codes, strict=True):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)


def test_columns_are_chosen_by_name_without_blanks(put):
    name = put(b'" user" ,item , w,rating \nu,i,2,3\nv,i,0,4\n')
    table = read_table(name, value=" rating", modes=["item"], weight="w ")
    assert table.labels.modes == ("item",)
    assert table.weights.tolist() == [2.0, 0.0]
    assert read_table(name, value="rating", weight="w").labels.modes == ("user", "item")


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_other_delimiters(put, mark):
    table = read_table(put(PLAIN.replace(b",", mark.encode()), "data.txt"), value="rating")
    assert columns(table) == [[3, 1, 3], ["a", "b", "b"]]


def test_tabs_alone_cut_a_tsv(put):
    table = read_table(put(b"a\tvalue\nx,y\t1\n", "data.tsv"))
    assert columns(table) == [["x,y"]]


def test_gzip_is_unpacked(put):
    for name in ("data.csv.gz", "data.csv"):
        table = read_table(put(gzip.compress(PLAIN), name), value="rating")
        assert columns(table) == [[3, 1, 3], ["a", "b", "b"]]
    with pytest.raises(FileFormatError, match="not gzipped"):
        read_table(put(PLAIN, "data.csv.gz"), value="rating")
    with pytest.raises(FileFormatError, match="cannot be unpacked"):
        read_table(put(gzip.compress(PLAIN * 100)[:-20], "data.csv.gz"), value="rating")
    damaged = bytearray(gzip.compress(PLAIN * 100))
    damaged[11:14] = b"\xff\xff\xff"  # where the codes are said
    with pytest.raises(FileFormatError, match="cannot be unpacked"):
        read_table(put(bytes(damaged), "data.csv.gz"))


def test_line_ends_marks_and_quotes(put):
    table = read_table(put(b'\xef\xbb\xbfa,value\r\n"x\ny",1\r\n\r\n"say ""hi""",2\r\n'))
    assert columns(table) == [["x\ny", 'say "hi"']]


def test_quoted_line_ends_across_blocks(put):
    text = "a,value\n" + "".join(f'"x\n{number}, 1\ny",1\n' for number in range(500))
    assert len(read_in_blocks(put(text.encode())).labels.indices[0]) == 500


def test_a_header_of_several_lines(put):
    table = read_table(put(b'\n"a\nb",value\nx,1\n'))
    assert table.labels.modes == ("a\nb",)
    assert columns(table) == [["x"]]


WRONG = {
    "no number": (b"a,value\nx,1\n\ny,1.5x\n", FileFormatError, "line 4: .*'1.5x'.*a number"),
    "comma": (b"a;value\nx;1\ny;1,5\n", FileFormatError, "line 3: .*'1,5'"),
    "hexadecimal": (b"a,value\nx,0x10\n", FileFormatError, "line 2: .*'0x10'"),
    "after a quoted line end": (
        b'a,value\n"x\n\ny",1\n"p\nq",?\n',
        FileFormatError,
        "line 5: .*'[?]'",
    ),
    "too few": (b"a,b,value\nx,y,1\nx,1\n", FileFormatError, "line 3: has 2 fields; expected 3"),
    "too many": (b"a,value\nx,y,1\n", FileFormatError, "line 2: has 3 fields; expected 2"),
    "negative": (b'a,value\n"x\n",1\ny,-2\n', NegativeValueError, "line 4: 'value' is -2.0"),
    "infinite": (b"a,value\nx,1\ny,inf\n", FileFormatError, "line 3: 'value' is inf"),
    "beyond floats": (b"a,value\nx,1\ny,1e999\n", FileFormatError, "line 3: 'value' is inf"),
    "huge": (b"a,value\nx,1\ny,1e71\n", FileFormatError, r"line 3: 'value' is 1e\+71"),
    "empty label": (b"a,value\nx,1\n,2\n", LabelError, "line 3: has no label in column 'a'"),
    "blank label": (b"a,value\nx,1\n  ,2\n", LabelError, "line 3: has no label in column 'a'"),
    "empty number": (b"a,value\n5,1\n\n,2\n", LabelError, "line 4: has no label in column 'a'"),
    "NaN label": (b"a,value\n0.5,1\nNAN,2\n", LabelError, "line 3: has no label in column 'a'"),
    "only empty labels": (b"a,value\n,1\n,2\n", LabelError, "line 2: has no label in column 'a'"),
    "blanks apart": (b"a,value\nx,1\nx ,2\n", LabelError, "column 'a' .*'x' and 'x '"),
    "names twice": (b"a,a ,value\nx,y,2\n", LabelError, "columns 1 and 2 are both called 'a'"),
    "no rows": (b"a,value\n", EmptyDataError, "no rows"),
    "no rows, no end": (b"a,value", EmptyDataError, "no rows"),
    "no value": (b"a,value\nx,\ny,NA\n", EmptyDataError, "'value' has no value at all"),
    "empty": (b"", EmptyDataError, "is empty"),
    "blank": (b"\n\n", EmptyDataError, "is empty"),
    "other name": (b"a,Rating\nx,1\n", FileFormatError, "no column 'value'.*are 'a', 'Rating'"),
    "near name": (b"a,Values\nx,1\n", FileFormatError, "did you mean value='Values'"),
    "values alone": (b"value\n1\n", FileFormatError, "no column of labels"),
    "Latin-1": (b"a,value\nx,1\nZ\xfcrich,2\n", FileFormatError, "line 3: is not UTF-8"),
    "Latin-1 header": (b"\xe4,value\nx,1\n", FileFormatError, "line 1: is not UTF-8"),
    "UTF-16": ("a,value\nx,1\n".encode("utf-16"), FileFormatError, "line 1: "),
    "zeros": (b"a,value\nx\0y,1,\n", FileFormatError, "line 2: "),
    "Parquet": (b"PAR1abcdPAR1", FileFormatError, "is a Parquet file"),
    "zip": (b"PK\x03\x04abcd", FileFormatError, "is a zip archive"),
    "a long row": (b"a,value\n" + b"x" * (1 << 21) + b",1\n", FileFormatError, "data.csv"),
    "open quote": (b'a,value\n"x,1\ny,2\n', FileFormatError, "data.csv"),
}


def test_what_is_wrong_is_said_with_its_line(put):
    for kind, (content, error, message) in WRONG.items():
        with naming(kind):
            with pytest.raises(error, match=message) as caught:
                read_table(put(content))
            assert str(caught.value).startswith("data.csv")
            assert "\n" not in str(caught.value)


def test_wrong_lines_far_down(put):
    good = "".join(f"{number},1\n" for number in range(3000))
    for bad, message in {
        "7,-1": "is -1.0",
        "7,x": "'x'",
        "7": "1 fields",
        ",3": "has no label",
    }.items():
        with pytest.raises(InputError, match=f"line 3002: .*{message}"):
            read_in_blocks(put(f"a,value\n{good}{bad}\n{good}".encode()))


@pytest.mark.parametrize("weight", ["", "-1", "inf", "nan"])
def test_weights_that_are_wrong(put, weight):
    with pytest.raises(FileFormatError, match="line 3: the weight in column 'w'"):
        read_table(put(f"a,w,value\nx,1,1\nx,{weight},1\n".encode()), weight="w")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"value": "ratting"}, "no column 'ratting'.*did you mean 'rating'"),
        ({"value": "rating", "modes": ["usr"]}, "no column 'usr'.*did you mean 'user'"),
        ({"value": "rating", "weight": "zzz"}, "no column 'zzz'.* 'user', 'item', 'rating'$"),
        ({"value": "rating", "modes": ["rating"]}, "'rating' is asked for twice"),
        ({"value": "rating", "modes": ["user", "user"]}, "twice"),
        ({"value": "rating", "modes": []}, "modes names no column"),
        ({"value": "rating", "weight": "rating"}, "'rating' is asked for twice"),
        ({"value": "item"}, "line 2: .*'a'"),
    ],
)
def test_wrong_columns(put, options, message):
    with pytest.raises(FileFormatError, match=message):
        read_table(put(PLAIN), **options)


def test_cells_come_in_the_order_of_the_file(put):
    table = read_cells(put(PLAIN), modes=["user", "item"])
    users, items = map(table.mode_labels, range(2))
    assert np.isnan(table.values).all()
    assert users.tolist() == [3, 1, 3]
    assert users.dtype == np.int64
    assert items.tolist() == ["a", "b", "b"]
    with pytest.raises(FileFormatError, match=r"no column 'use'.*did you mean 'user'"):
        read_cells("data.csv", modes=["use"])
    with pytest.raises(LabelError, match=r"^data\.csv: column 'a' has the labels"):
        read_cells(put(b"a\nx\n x\n"), modes=["a"])


def test_cells_are_read_as_the_kind_that_is_known(put):
    known = Labels(modes=("user",), indices=(np.array(["1", "x"], dtype=object),))
    name = put(b"user\n1\n01\n")
    users = read_cells(name, modes=["user"], like=known).mode_labels(0)
    assert users.tolist() == ["1", "01"]
    assert known.encode([users]).tolist() == [[0], [-1]]
    assert read_cells(name, modes=["user"]).mode_labels(0).tolist() == [1, 1]
    table = read_table(put(b"user,value\n1,2\n"), like=known)
    assert table.labels.indices[0].tolist() == ["1"]


def test_writing_and_reading_again(put):
    put(b"")
    written = {
        "text": np.array(["a,b", 'say "hi"', "x\ny"], dtype=object),
        "day": np.array(["2024-01-01", "2024-01-03", "2024-01-02"], dtype="M8[D]"),
        "number": np.array([3, -1, 10**15]),
        "flag": np.array([True, False, True]),
        "value": np.array([0.1 + 0.2, np.nan, 1e-300]),
    }
    for name in ("out.csv", "out.tsv", "out.csv.gz"):
        write_table(name, written)
        table = read_table(name)
        assert columns(table) == [written[mode].tolist() for mode in table.labels.modes]
        assert np.array_equal(table.values, written["value"], equal_nan=True)
    assert (np.fromfile("out.csv.gz", np.uint8, 2) == [0x1F, 0x8B]).all()
    assert sorted(os.listdir()) == ["data.csv", "out.csv", "out.csv.gz", "out.tsv"]


def test_writing_labels_of_several_kinds(put):
    put(b"")
    write_table("out.csv", {"a": np.array(["x", 1, 2.5], dtype=object), "value": [1, 2, 3]})
    assert columns(read_table("out.csv")) == [["x", "1", "2.5"]]


def test_what_cannot_be_written(put):
    put(b"")
    with pytest.raises(LabelError, match="one length"):
        write_table("out.csv", {"a": [1, 2], "b": [1]})
    with pytest.raises(FileFormatError, match=r"cannot be written as \.npz"):
        write_table("out.npz", {"a": [1, 2]})
    with pytest.raises(FileFormatError, match="no folder"):
        write_table("no/out.csv", {"a": [1, 2]})
    assert os.listdir() == ["data.csv"]


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("plain", "name,value\nplain,1.5\n"),
        ("a,b", '"name","value"\n"a,b",1.5\n'),
        ('say "a"', '"name","value"\n"say ""a""",1.5\n'),
        (" a", '"name","value"\n" a",1.5\n'),
    ],
)
def test_quotes_are_written_only_where_some_label_needs_them(tmp_path, label, text):
    path = tmp_path / "out.csv"
    write_table(path, {"name": np.array([label], dtype=object), "value": np.array([1.5])})
    assert path.read_text() == text
    assert read_table(path).labels.indices[0].tolist() == [label]


@pytest.mark.parametrize(
    "names",
    [
        ["a;b;c"],
        ["a|b|c|d"],
        ["x\ty\tz"],
        ["a;b;c", "a|b|c|d"],
        ["\ufeffx"],
        ["a\rb"],
        ["a\r\nb", "c\rd"],
        ["a\nb"],
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_names_that_look_like_something_else_come_back(tmp_path, names, suffix):
    path = tmp_path / f"out.{suffix}"
    labels = np.array(["u", "v"], dtype=object)
    write_table(path, {**dict.fromkeys(names, labels), "value": np.array([1.5, 2.5])})
    table = read_table(path)
    assert list(table.labels.modes) == names
    assert columns(table) == [["u", "v"]] * len(names)
    assert table.values.tolist() == [1.5, 2.5]


def test_a_delimiter_within_quotes_cuts_nothing_also_below_blank_lines(put):
    table = read_table(put(b'\n"a;b;c","d|e|f|g",value\nx,y,1\n'))
    assert table.labels.modes == ("a;b;c", "d|e|f|g")
    table = read_table(put(b'"a,b,c,d";value\nx;1\n'))
    assert table.labels.modes == ("a,b,c,d",)


@pytest.mark.parametrize("mark", [",", ";"])
def test_very_many_columns_are_refused(put, mark):
    header = mark.join(f"c{position}" for position in range(5000))
    with pytest.raises(FileFormatError, match=r"line 1: has 5000 columns; expected at most 4096"):
        read_table(put(header.encode() + b"\n"))
