"""Labels of every kind come back from a model file, and damaged ones are refused."""

import datetime
import os

import numpy as np
import pytest

from fuzz.seeds import model_of
from intensor.data.labels import Labels
from intensor.errors import LabelError, ModelFileError
from intensor.fitting.label_columns import capture_labels, restore_labels
from intensor.fitting.model_file import load, save
from intensor.storage.reader import MODEL_FILE, TreeReader

COLUMNS = {
    "strings": np.array(["Zürich", "", "a\nb", "日本"], dtype=object),
    "numbers": np.array([0.5, -1.0, 3.0, 1e300]),
    "days": np.array(["2024-01-01", "2023-01-01", "1800-02-03", "2024-01-02"], dtype="M8[D]"),
    "quarters": np.array([0, 1, 2, 3]).astype("M8[25s]"),
    "spans": np.array([1, 2, 3, 4]).astype("m8[h]"),
    "bytes": np.array([3, 1, 2, 255], dtype=np.uint8),
    "mixed": np.array(["a", 1, 2.5, datetime.datetime(2024, 1, 2, 3, tzinfo=datetime.UTC)], object),
    "dates": np.array([datetime.date(2024, 1, day) for day in (1, 2, 3, 4)], dtype=object),
}


def labels_of(column):
    return Labels(modes=("ä", "b"), indices=(column, np.arange(2)), value="rating")


def restored(labels, *, mode=None, **changes):
    """Capture labels, change the first mode's header and some arrays, and restore them."""
    modes, arrays = capture_labels(labels)
    modes[0] |= mode or {}
    header = {"modes": modes, "value": labels.value}
    return restore_labels(
        TreeReader(header, "m.npz", kind=MODEL_FILE),
        TreeReader({**arrays, **changes}, "m.npz", kind=MODEL_FILE),
        (4, 2),
    )


@pytest.mark.parametrize("kind", COLUMNS)
def test_labels_of_any_kind_come_back(tmp_path, kind):
    column = COLUMNS[kind]
    save(model_of(labels_of(column)), tmp_path / "model.npz")
    back = load(tmp_path / "model.npz").labels
    assert back.modes == ("ä", "b")
    assert back.value == "rating"
    assert back.indices[0].dtype == column.dtype
    assert back.indices[0].tolist() == column.tolist()
    assert list(map(type, back.indices[0].tolist())) == list(map(type, column.tolist()))


@pytest.mark.parametrize("label", [(1, 2), None, object(), "\ud800"])
def test_labels_that_cannot_be_saved_are_refused(tmp_path, label):
    column = np.empty(4, dtype=object)
    column[:] = ["a", "b", "c", "d"]
    column[1] = label
    with pytest.raises(LabelError, match="mode 'ä' cannot be saved"):
        save(model_of(labels_of(column)), tmp_path / "model.npz")
    assert os.listdir(tmp_path) == []


NUMBERS = np.array([0, 1, 2, 3])
TEXT = np.array(list("abcd"), dtype=object)
DAMAGE = {
    "kind": (NUMBERS, {"mode": {"kind": "x"}}, "'modes.0.kind' is 'x', expected one of number"),
    "no text": (NUMBERS, {"mode": {"kind": "string"}}, "'labels_0_text' is missing"),
    "no step": (NUMBERS, {"mode": {"kind": "date", "unit": "D", "step": 0}}, "step"),
    "no name": (NUMBERS, {"mode": {"name": None}}, "'modes.0.name' is missing"),
    "twice": (NUMBERS, {"labels_0": np.array([0, 0, 2, 3])}, "not all different"),
    "of a strange type": (NUMBERS, {"labels_0": NUMBERS.astype("S2")}, "type"),
    "of long doubles": (NUMBERS, {"labels_0": NUMBERS.astype(np.longdouble)}, "type"),
    "too few": (NUMBERS, {"labels_0": NUMBERS[:-1]}, "shape"),
    "not a number": (NUMBERS, {"labels_0": np.array([np.nan, 1.0, 2.0, 3.0])}, "missing"),
    "a date that is none": (
        NUMBERS.astype("M8[D]"),
        {"labels_0": np.array([-(2**63), 1, 2, 3])},
        "missing",
    ),
    "ends beyond the text": (TEXT, {"labels_0_ends": np.array([1, 2, 3, 5])}, "do not fit"),
    "ends that fall": (TEXT, {"labels_0_ends": np.array([1, 3, 2, 4])}, "do not fit"),
    "an end below 0": (TEXT, {"labels_0_ends": np.array([-1, 2, 3, 4])}, "do not fit"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_labels_are_refused(kind):
    column, changes, message = DAMAGE[kind]
    assert restored(labels_of(column)).indices[0].tolist() == column.tolist()
    with pytest.raises(ModelFileError, match=message):
        restored(labels_of(column), **changes)


def test_a_mode_without_a_name_is_refused():
    with pytest.raises(ModelFileError, match="1 modes have names, the shape has 2"):
        restored(Labels(modes=("a",), indices=(NUMBERS,)))


def altered(path, **changes):
    with np.load(path, allow_pickle=False) as file:
        entries = {name: file[name] for name in file.files}
    np.savez(path, **{**entries, **changes})


@pytest.mark.parametrize("label", ["null", "[1]", "{}", '"\\ud800"', "NaN", '{"os": "system"}'])
def test_json_that_is_no_label_is_refused(tmp_path, label):
    path = tmp_path / "model.npz"
    save(model_of(labels_of(np.array(["a", 2, True, 0.5], dtype=object))), path)
    texts = [label.encode(), b"2", b"true", b"0.5"]
    altered(
        path,
        labels_0_text=np.frombuffer(b"".join(texts), np.uint8),
        labels_0_ends=np.cumsum(list(map(len, texts))),
    )
    with pytest.raises(ModelFileError, match="damaged"):
        load(path)


def test_bytes_that_are_not_text_are_refused(tmp_path):
    path = tmp_path / "model.npz"
    save(model_of(labels_of(TEXT)), path)
    altered(path, labels_0_text=np.full(4, 255, dtype=np.uint8))
    with pytest.raises(ModelFileError, match="damaged"):
        load(path)
