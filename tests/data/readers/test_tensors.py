import numpy as np
import pytest
import scipy.io

from intensor import complete
from intensor.data.readers import read_table
from intensor.errors import (
    CoordinateError,
    EmptyDataError,
    FileFormatError,
    LabelError,
    NegativeValueError,
)

COORDS = np.array([[0, 4, 1], [2, 0, 0], [2, 0, 0]])
VALUES = np.array([1.5, 2.0, 1 / 3])


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(content, name="data.tns"):
    with open(name, "wb") as file:
        file.write(content)
    return name


def labels_of(table):
    """Return the labels of every row."""
    return np.stack([table.mode_labels(mode) for mode in range(len(table.codes))], 1).tolist()


def save_npz(**arrays):
    np.savez("data.npz", **arrays)
    return "data.npz"


def save_packed(**arrays):
    np.savez_compressed("data.npz", **arrays)
    return "data.npz"


def save_mat(**arrays):
    scipy.io.savemat("data.mat", arrays)
    return "data.mat"


@pytest.mark.parametrize("save", [save_npz, save_packed, save_mat])
def test_dense_arrays(save):
    array = np.arange(24.0).reshape(2, 3, 4)
    array[1, 2, 0] = np.nan
    table = read_table(save(counts=array))
    assert table.shape == (2, 3, 4)
    assert table.labels.value == "counts"
    assert table.missing().tolist() == [[1, 2, 0]]
    coords, values, _ = table.observed()
    assert np.array_equal(array[tuple(coords.T)], values)
    assert len(values) == 23
    name = save(counts=array, other=np.ones((2, 2)))
    assert len(read_table(name, value="counts")) == 24
    with pytest.raises(FileFormatError, match="found 'counts', 'other'"):
        read_table(name)
    with pytest.raises(FileFormatError, match=r"no array 'count'.*did you mean 'counts'"):
        read_table(name, value="count")
    with pytest.raises(FileFormatError, match="cannot have weights"):
        read_table(name, value="counts", weight="other")
    array[0, 1, 2] = -3.0
    with pytest.raises(NegativeValueError, match=r"cell \(0, 1, 2\): 'counts' is -3.0"):
        read_table(save(counts=array))
    with pytest.raises(EmptyDataError, match="'counts' has no value at all"):
        read_table(save(counts=np.full((2, 2), np.nan)))


@pytest.mark.parametrize("save", [save_npz, save_mat])
@pytest.mark.parametrize("kind", [np.float64, np.int32, np.uint64])
def test_lists_of_cells(save, kind):
    name = save(
        coords=COORDS.astype(kind), values=VALUES, w=np.array([1, 0, 2]), shape=np.array([9, 8, 7])
    )
    table = read_table(name, weight="w", one_based=False)
    assert table.coords().tolist() == COORDS.tolist()
    assert table.values.tolist() == VALUES.tolist()
    assert table.weights.tolist() == [1.0, 0.0, 2.0]
    assert table.shape == (9, 8, 7)


def test_where_indices_begin():
    arrays = {"coords": COORDS + 1, "values": VALUES}
    assert read_table(save_npz(**arrays)).coords().tolist() == (COORDS + 1).tolist()
    assert read_table("data.npz", one_based=True).coords().tolist() == COORDS.tolist()
    assert read_table(save_mat(**arrays)).coords().tolist() == COORDS.tolist()
    with pytest.raises(CoordinateError, match=r"coords\[0, 0\] is 0; expected at least 1"):
        read_table(save_mat(coords=COORDS, values=VALUES), one_based=True)


@pytest.mark.parametrize("save", [save_npz, save_mat])
@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"values": VALUES[:2]}, FileFormatError, "'values' has shape"),
        ({"values": -VALUES}, NegativeValueError, "row 0 of coords: 'values' is -1.5"),
        ({"coords": COORDS + 0.5}, FileFormatError, "'coords' .*not whole"),
        ({"coords": COORDS - 1}, CoordinateError, r"coords\[0, 0\] is -1"),
        ({"coords": np.ones((3, 2, 2), int)}, FileFormatError, r"expected \(n, p\)"),
        ({"shape": np.array([3, 4, 2])}, FileFormatError, "do not fit"),
        ({"shape": np.array([3, 5])}, FileFormatError, "do not fit"),
        ({"coords": COORDS * 10**9}, FileFormatError, "3 cells but"),
        ({"coords": COORDS[:0], "values": VALUES[:0]}, EmptyDataError, "has no cells"),
        ({"w": np.array([1, -1, 1])}, FileFormatError, "row 1 of coords: the weight"),
    ],
)
def test_lists_of_cells_that_are_wrong(save, changes, error, message):
    arrays = {"coords": COORDS, "values": VALUES, "w": np.ones(3), **changes}
    with pytest.raises(error, match=message) as caught:
        read_table(save(**arrays), weight="w", one_based=False)
    assert str(caught.value).startswith("data.")


def test_arrays_that_are_no_numbers():
    for array in (np.array(["a"]), np.array([1j]), np.array([(1, 2)], dtype="i4,i4")):
        with pytest.raises(FileFormatError, match="expected numbers"):
            read_table(save_npz(x=array))
    with pytest.raises(FileFormatError, match="Python objects"):
        read_table(save_npz(x=np.array([None])))
    with pytest.raises(FileFormatError, match="a single number"):
        read_table(save_npz(x=np.array(3.0)))
    with pytest.raises(FileFormatError, match="no 'values'"):
        read_table(save_npz(coords=COORDS))
    with pytest.raises(FileFormatError, match="found none"):
        read_table(save_mat(x="text"))
    with pytest.raises(FileFormatError, match="model file"):
        read_table(save_npz(header=np.zeros(1, np.uint8), words=np.zeros(1)))


@pytest.mark.parametrize("save", [save_npz, save_packed, save_mat])
def test_damaged_archives(save):
    name = save(x=np.random.default_rng(1).random((20, 20)))
    with open(name, "rb") as file:
        content = file.read()
    for length in range(1, len(content), 97):
        with pytest.raises(FileFormatError, match=f"^{name}: cannot be read"):
            read_table(put(content[:length], name))
    with pytest.raises(FileFormatError, match=f"^{name}: cannot be read"):
        read_table(put(b"x,value\n1,2\n" * 50, name))


def test_an_array_that_claims_too_much():
    name = save_npz(x=np.ones((4, 4)))
    with open(name, "rb") as file:
        content = file.read()
    claimed = content.replace(b"(4, 4), }          ", b"(99999, 99999), }  ")
    assert claimed != content
    with pytest.raises(FileFormatError, match=r"^data\.npz: "):
        read_table(put(claimed, name))


@pytest.mark.parametrize("shape", [(0, 10**12), (3, 0, 10**9), (0,)])
def test_an_array_without_cells_takes_no_memory(shape):
    with pytest.raises(EmptyDataError, match="no cells"):
        read_table(save_npz(x=np.empty(shape)))


@pytest.mark.parametrize("name", ["coords", "x"])
def test_narrow_numbers_are_measured_by_what_they_become(monkeypatch, name):
    arrays = {name: np.ones((40, 2), dtype=np.uint8)}
    if name == "coords":
        arrays["values"] = np.ones(40)
    file = save_npz(**arrays)
    assert len(read_table(file))
    monkeypatch.setattr("intensor.data.readers.tensors.largest_decompressed_size", lambda path: 500)
    with pytest.raises(FileFormatError, match=f"'{name}' has 80 numbers, which take 640 bytes"):
        read_table(file)


def test_numbers_that_float64_cannot_hold_are_no_warning():
    huge = np.longdouble("1e4000")
    with pytest.raises(FileFormatError, match="is inf; expected a finite number"):
        read_table(save_npz(x=np.array([1.0, huge])))
    signalling = np.array([0x7FA00001, 0x3F800000], dtype=np.uint32).view(np.float32)
    assert read_table(save_npz(x=signalling)).values.tolist()[1] == 1.0
    with pytest.raises(FileFormatError, match="'coords' has the type"):
        read_table(save_npz(coords=signalling[:, np.newaxis], values=np.ones(2)))


def test_parts_of_a_list_of_cells_are_not_passed_over():
    """Without its 'coords' the file would be read as a dense array."""
    cell = np.empty((1, 2), dtype=object)
    cell[0, :] = [1, "a"]
    good = {"coords": COORDS + 1, "values": VALUES}
    for name, wrong in (("coords", cell), ("values", cell), ("shape", "abc")):
        scipy.io.savemat("data.mat", {**good, name: wrong})
        with pytest.raises(FileFormatError, match=f"'{name}' is no array of numbers"):
            read_table("data.mat")


@pytest.mark.parametrize("kind", [object, "U1", "c16", "M8[s]", "V4", [("a", int)]])
def test_arrays_of_other_things_are_refused(kind):
    for name in ("coords", "values", "shape", "w"):
        arrays = {"coords": COORDS, "values": VALUES, "shape": [3, 5, 2], "w": VALUES}
        arrays[name] = np.zeros(np.shape(arrays[name]), dtype=kind)
        np.savez("data.npz", **arrays)
        with pytest.raises(FileFormatError, match=r"data\.npz"):
            read_table("data.npz", weight="w")
    np.savez("dense.npz", x=np.zeros((2, 2), dtype=kind))
    with pytest.raises(FileFormatError, match=r"dense\.npz"):
        read_table("dense.npz")


def test_names_of_modes_are_distinct():
    np.savez("data.npz", coords=COORDS, values=VALUES)
    with pytest.raises(LabelError, match="both called 'a'"):
        read_table("data.npz", modes=["a", "b", "a"])


def test_indices_from_2_to_the_63_on_are_shown_as_they_are():
    np.savez("data.npz", coords=np.full((3, 3), 2**63, dtype=np.uint64), values=VALUES)
    with pytest.raises(FileFormatError, match="has the entry 9223372036854775808; expected"):
        read_table("data.npz")


def test_indices_begin_at_0_unless_the_caller_says_1():
    save_npz(coords=[[1, 2], [3, 1]], values=[1.0, 2.0])
    assert read_table("data.npz").coords().tolist() == [[1, 2], [3, 1]]
    assert read_table("data.npz", one_based=True).coords().tolist() == [[0, 1], [2, 0]]


def test_a_single_array_is_dense():
    save_npz(counts=[[1.0, np.nan], [2.0, 3.0]])
    table = read_table("data.npz")
    assert table.labels.value == "counts"
    assert table.missing().tolist() == [[0, 1]]


def test_a_model_is_no_data():
    complete(np.array([1.0, np.nan]), radius=1.0, exact="off", unseen="mean")[1].save("data.npz")
    with pytest.raises(FileFormatError, match="is a model file; expected data"):
        read_table("data.npz")


def test_text_is_no_array_of_numbers():
    save_npz(names=["a", "b"])
    with pytest.raises(FileFormatError, match="'names' has the type <U1; expected numbers"):
        read_table("data.npz")
