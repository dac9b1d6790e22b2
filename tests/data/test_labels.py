"""Labels of every kind: to indices and back, and what cannot be a label."""

import datetime

import numpy as np
import pytest

from intensor.data.labels import Labels, as_labels, factorise, look_up, number_labels
from intensor.errors import LabelError


def objects(*items):
    column = np.empty(len(items), dtype=object)
    column[:] = items
    return column


DAY = datetime.date
COLUMNS = {
    "ints": np.array([30, -7, 30, 4, -7]),
    "small": np.array([200, 3, 200, 1], dtype=np.uint8),
    "floats": np.array([2.5, -1.0, 1e300, 2.5, 0.0]),
    "strings": np.array(["pear", "fig", "Äpfel", "", "fig"]),
    "string objects": objects("pear", "fig", "日本", "fig"),
    "truth values": np.array([True, False, True]),
    "days": np.array(["2024-03-01", "1969-12-31", "2024-03-01"], dtype="M8[D]"),
    "moments": np.array(["2024-03-01T12:00", "1969-12-31T01:02"], dtype="M8[ns]"),
    "spans": np.array([5, 1, 5, 3], dtype="m8[h]"),
    "date objects": objects(DAY(2024, 3, 1), DAY(1999, 1, 1), DAY(2024, 3, 1)),
    "tuples": objects((2, "b"), (1, "a"), (2, "b"), (1, "c")),
    "mixed": objects("a", 3, 2.5, "a", (1, 2), 3),
    "bytes": np.array([b"x", b"aa", b"x"]),
    "one": np.array([4, 4, 4]),
}
UNORDERED = {"mixed"}


@pytest.mark.parametrize("name", COLUMNS)
def test_there_and_back(name):
    column = COLUMNS[name]
    codes, known = factorise(column)
    assert codes.dtype == np.int64
    assert codes.shape == column.shape
    assert known[codes].tolist() == column.tolist()
    assert len(known) == len(set(column.tolist())) == codes.max() + 1
    if name not in UNORDERED:
        assert known.tolist() == sorted(known.tolist())
    labels = Labels(modes=("only",), indices=(known,))
    assert labels.encode([column])[:, 0].tolist() == codes.tolist()
    (decoded,) = labels.decode(codes[:, np.newaxis])
    assert decoded.tolist() == column.tolist()


@pytest.mark.parametrize("name", COLUMNS)
def test_numbers_dates_and_truth_values_keep_their_type(name):
    column = COLUMNS[name]
    _, known = factorise(column)
    assert known.dtype == (column.dtype if column.dtype.kind in "biufmM" else object)


def test_labels_without_an_order_keep_that_of_appearance():
    codes, known = factorise(COLUMNS["mixed"])
    assert known.tolist() == ["a", 3, 2.5, (1, 2)]
    assert codes.tolist() == [0, 1, 2, 0, 3, 1]


def test_lists_will_do():
    codes, known = factorise(["b", "a", "b"])
    assert (codes.tolist(), known.tolist()) == ([1, 0, 1], ["a", "b"])
    assert type(known[0]) is str
    codes, known = factorise([3, 1, 3])
    assert (codes.tolist(), known.tolist()) == ([1, 0, 1], [1, 3])


STRANGERS = {
    "ints": ([5, 30, 10**12, -8], [-1, 2, -1, -1]),
    "floats": ([2.5, float("nan"), float("inf"), -1.5], [2, -1, -1, -1]),
    "strings": (["fig", "plum", "FIG", "fig "], [1, -1, -1, -1]),
    "truth values": ([False, True], [0, 1]),
    "days": (np.array(["2024-03-01", "2024-03-02", "NaT"], dtype="M8[D]"), [1, -1, -1]),
    "tuples": (objects((1, "c"), (1, "d"), 3, None), [1, -1, -1, -1]),
    "mixed": (objects(3.0, None, "b", (1, 2)), [1, -1, -1, 3]),
}


@pytest.mark.parametrize("name", STRANGERS)
def test_labels_that_are_not_known(name):
    column, expected = STRANGERS[name]
    _, known = factorise(COLUMNS[name])
    found = look_up(known, np.asarray(column))
    assert found.dtype == np.int64
    assert found.tolist() == expected


@pytest.mark.parametrize("name", ["ints", "floats", "days", "strings", "tuples"])
def test_labels_of_another_kind_are_not_known(name):
    _, known = factorise(COLUMNS[name])
    others = ["strings", "ints", "days"] if name != "floats" else ["strings", "days"]
    for other in others:
        if other != name:
            assert set(look_up(known, COLUMNS[other]).tolist()) == {-1}


def test_whole_numbers_match_whatever_their_type():
    known = np.array([1, 5, 9])
    assert look_up(known, np.array([9.0, 5.5, 1.0])).tolist() == [2, -1, 0]
    assert look_up(known, np.array([9, 1], dtype=np.uint8)).tolist() == [2, 0]
    assert look_up(known, objects(9, "x")).tolist() == [2, -1]


def test_known_labels_need_not_be_sorted():
    assert look_up(np.array([7, 2, 5]), np.array([5, 2, 7, 6])).tolist() == [2, 1, 0, -1]
    assert look_up(objects("b", "a"), np.array(["a", "b", "c"])).tolist() == [1, 0, -1]


def test_dates_match_whatever_their_unit():
    days = np.array(["2024-03-01", "2024-03-05"], dtype="M8[D]")
    moments = np.array(["2024-03-05T00:00", "2024-03-01T00:01"], dtype="M8[s]")
    assert look_up(days, moments).tolist() == [1, -1]
    assert look_up(days, objects(DAY(2024, 3, 5), DAY(2024, 3, 6))).tolist() == [1, -1]


@pytest.mark.parametrize(
    "column",
    [
        [1.0, float("nan")],
        np.array(["2024-01-01", "NaT"], dtype="M8[D]"),
        np.array([1, "NaT"], dtype="m8[s]"),
        objects("a", None),
        objects("a", float("nan")),
        objects("a", np.datetime64("NaT")),
    ],
    ids=["nan", "date", "span", "none", "nan object", "date object"],
)
def test_a_missing_label_is_named_by_its_row(column):
    with pytest.raises(LabelError, match="row 1 has no label; expected one"):
        factorise(column)
    with pytest.raises(LabelError, match="row 1"):
        as_labels(column)


def test_a_column_has_one_dimension():
    with pytest.raises(LabelError, match=r"shape \(2, 2\); expected one dimension"):
        factorise([[1, 2], [3, 4]])


def test_several_modes():
    labels = Labels(
        modes=("who", "when"),
        indices=(objects("ann", "bob"), np.array(["2024-01-01", "2024-01-02"], dtype="M8[D]")),
        value="hours",
    )
    assert labels.shape == (2, 2)
    assert not labels.plain
    coords = labels.encode([["bob", "ann", "eve"], np.array(["2024-01-01"] * 3, dtype="M8[D]")])
    assert coords.tolist() == [[1, 0], [0, 0], [-1, 0]]
    who, when = labels.decode([[1, 1], [0, 0]])
    assert who.tolist() == ["bob", "ann"]
    assert when.tolist() == [DAY(2024, 1, 2), DAY(2024, 1, 1)]
    with pytest.raises(LabelError, match=r"got 1 columns; expected one per mode.*'who', 'when'"):
        labels.encode([["bob"]])


def test_numbers_are_their_own_labels():
    labels = number_labels((3, 2), value="count")
    assert labels.modes == ("mode_0", "mode_1")
    assert labels.value == "count"
    assert labels.shape == (3, 2)
    assert labels.plain
    assert labels.encode([[2, 3], [0, 1]]).tolist() == [[2, 0], [-1, 1]]
    assert number_labels(iter((4,))).shape == (4,)


@pytest.mark.parametrize(
    ("column", "plain"),
    [
        (np.arange(3), True),
        (np.arange(3, dtype=np.uint8), True),
        (np.array([0, 2, 1]), False),
        (np.arange(1, 4), False),
        (np.arange(3.0), False),
        (objects(0, 1, 2), False),
    ],
)
def test_plain_means_numbered_from_zero(column, plain):
    assert Labels(modes=("a", "b"), indices=(np.arange(5), column)).plain is plain


def test_the_missing_value_of_pandas_is_missing():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(LabelError, match="row 1"):
        factorise(objects("a", pandas.NA))


def test_date_objects_match_nanoseconds():
    known = np.array(["2024-03-01", "2024-03-05"], dtype="M8[ns]")
    assert look_up(known, objects(datetime.datetime(2024, 3, 5))).tolist() == [1]


def test_an_unknown_index_has_no_label():
    with pytest.raises(LabelError):
        number_labels((3,)).decode([[-1]])
    with pytest.raises(LabelError, match="an index of mode 0 is 9223372036854775808"):
        number_labels((3,)).decode(np.array([[2**63]], dtype=np.uint64))
    for wrong in ([1, 2], [[0.5]], [[0, 1]]):
        with pytest.raises(LabelError, match=r"expected \(n, 1\) integers"):
            number_labels((3,)).decode(wrong)
