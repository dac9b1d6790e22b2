"""Every getter returns what is there and passes its checks, and names the key otherwise."""

import math
from functools import partial

import numpy as np
import pytest

from intensor.errors import CheckpointError, ModelFileError
from intensor.storage.reader import MODEL_FILE, TreeReader, read_fields

TREE = {
    "text": "a",
    "control": "\x1b[2J",
    "flag": True,
    "none": None,
    "count": 2**100,
    "number": 0.1 + 0.2,
    "below": -1.0,
    "huge": 10**400,
    "inf": "inf",
    "parts": [{"a": np.arange(3)}, {"a": np.eye(2)}],
    "inner": {
        "flags": np.array([[0, 1]], dtype=np.uint8),
        "twos": np.array([[2, 2]], dtype=np.uint8),
        "odd": np.array([1.0, math.nan]),
    },
}


@pytest.fixture
def reader():
    return TreeReader(TREE, "run.npz")


def test_values_that_pass(reader):
    assert reader.text("text", ["a", "b"]) == reader.printable("text") == "a"
    assert reader.flag("flag") is True
    assert "none" not in reader
    assert "text" in reader
    assert reader.count("count", most=2**101) == 2**100
    assert reader.finite("number") == reader.amount("number") == 0.1 + 0.2
    assert reader.number("inf") == reader.amount("inf", infinite=True) == math.inf
    first, second = reader.branches("parts")
    assert first.array("a", "<i8", (None,)).tolist() == [0, 1, 2]
    assert first.array("a", None, (3,)).dtype == np.int64
    assert second.finite_array("a", (2, 2), largest=1.0).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert [type(part) for part in reader.elements("parts")] == [dict, dict]


def test_arrays_are_copies_that_may_be_written_to(reader):
    array = reader.branch("inner").vertices("flags", 2)
    array[0, 0] = 1
    assert reader.branch("inner").vertices("flags", 2).tolist() == [[0, 1]]


WRONG = {
    "a flag for a text": (lambda r: r.text("flag"), "'flag' is 'True', expected text"),
    "another choice": (lambda r: r.text("text", ["b", "c"]), "'text' is 'a', expected one of b, c"),
    "escape sequences": (lambda r: r.printable("control"), "control characters"),
    "a text for a count": (lambda r: r.count("text"), "expected an integer"),
    "a flag for a count": (lambda r: r.count("flag"), "expected an integer"),
    "a large count": (
        lambda r: r.count("count"),
        "expected an integer from 0 to 9223372036854775807",
    ),
    "a small count": (lambda r: r.count("count", least=2**101, most=2**102), f"is '{2**100}', exp"),
    "a text for a number": (lambda r: r.number("text"), "'text' is 'a', expected a number"),
    "too large": (lambda r: r.number("huge"), "'huge' is too large"),
    "infinite": (lambda r: r.finite("inf"), "expected a finite number"),
    "large": (lambda r: r.finite("below", largest=0.5), "that is not too large"),
    "an infinite amount": (lambda r: r.amount("inf"), "'inf' is 'inf'"),
    "a negative amount": (lambda r: r.amount("below"), "not negative"),
    "a large amount": (lambda r: r.amount("number", most=0.2), "in range"),
    "a number for a flag": (lambda r: r.flag("number"), "expected true or false"),
    "a list for a tree": (lambda r: r.branch("parts"), "'parts' is"),
    "a tree for a list": (lambda r: r.branches("inner"), "expected a list"),
    "type": (
        lambda r: r.branch("inner").array("flags", "<f8", (None, 2)),
        "'inner.flags' has type uint8, expected float64",
    ),
    "length": (
        lambda r: r.branch("inner").array("flags", "|u1", (None, 3)),
        r"'inner.flags' has shape \(1, 2\), expected \('any', 3\)",
    ),
    "dimensions": (lambda r: r.branch("inner").array("flags", "|u1", (None,)), "has shape"),
    "not finite": (lambda r: r.branch("inner").finite_array("odd", (2,)), "not all finite"),
    "too large an array": (
        lambda r: r.branches("parts")[1].finite_array("a", (2, 2), largest=0.5),
        "'parts.1.a' has .* too large",
    ),
    "flags": (lambda r: r.branch("inner").vertices("twos", 2), "flags other than 0 and 1"),
    "factors": (lambda r: r.branch("inner").factors("odd", (2,)), "not numbers from 0 to 1"),
    "missing": (lambda r: r.array("gone", "<f8", (None,)), "'gone' is missing, expected an array"),
    "none": (lambda r: r.text("none"), "'none' is missing"),
}


def test_values_that_do_not_pass_are_damage(reader):
    for name, (ask, message) in WRONG.items():
        with pytest.raises(CheckpointError, match=message) as caught:
            ask(reader)
        assert str(caught.value).startswith("run.npz: is a damaged checkpoint ("), name
        assert str(caught.value).endswith("; remove it to start anew, or name another file"), name


def test_a_list_that_holds_more_than_trees():
    with pytest.raises(CheckpointError, match="expected a list of groups"):
        TreeReader({"parts": [{}, 1]}, "run.npz").branches("parts")


def test_the_kind_of_file_decides_the_error():
    reader = TreeReader({"a": {}}, "m.npz", kind=MODEL_FILE, prefix="header.").branch("a")
    with pytest.raises(ModelFileError) as caught:
        reader.number("b")
    expected = "m.npz: is a damaged model file ('header.a.b' is missing, expected a number)"
    assert str(caught.value) == expected


def test_fields_are_read_by_their_getters(reader):
    getters = {"number": TreeReader.finite, "count": partial(TreeReader.count, most=2**101)}
    assert read_fields(reader, getters) == {"number": 0.1 + 0.2, "count": 2**100}
    with pytest.raises(CheckpointError, match="'flag'"):
        read_fields(reader, {"flag": TreeReader.text})
