"""Our reader of MATLAB files against SciPy's writer and reader, and against what lies."""

import functools
import warnings

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from fuzz.crafted import crafted_mat
from intensor.data.readers import read_table
from intensor.data.readers.mat import read_elements
from intensor.errors import FileFormatError

ARRAYS = {
    "double": np.arange(6.0).reshape(2, 3) / 7.0,
    "single": np.float32([[1.5, np.nan]]),
    "small": np.array([[1, 2], [3, 4]], dtype=np.int8),
    "large": np.array([[2**63 - 1, -(2**63)]]),
    "unsigned": np.array([[2**64 - 1]], dtype=np.uint64),
    "flags": np.array([[True, False]]),
    "cube": np.arange(24.0).reshape(2, 3, 4),
    "nothing": np.empty((0, 3)),
    "a": np.array([[7.0]]),
}


crafted = functools.cache(crafted_mat)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data.mat"


@pytest.mark.parametrize("packed", [False, True])
def test_arrays_are_what_scipy_says(path, packed):
    others = {"text": "letters", "many": np.array([[1, "a"]], dtype=object), "part": {"x": 1.0}}
    others |= {"sparse": scipy.sparse.eye(3), "complex": np.ones((2, 2)) * 1j}
    scipy.io.savemat(path, {**ARRAYS, **others}, do_compression=packed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of what sparse matrices will become
        expected = scipy.io.loadmat(path)
    found = {element.name: element for element in read_elements(path, list(ARRAYS))}
    assert {name for name in found if found[name].numeric} == set(ARRAYS)
    assert set(others) <= set(found)
    for name in ARRAYS:
        np.testing.assert_array_equal(found[name].array, expected[name])
        assert found[name].array.shape == found[name].shape == expected[name].shape
    assert all(element.array is None for element in read_elements(path))


def test_version_4(path):
    arrays = {name: ARRAYS[name] for name in ("double", "single", "a")}
    scipy.io.savemat(path, {**arrays, "text": "letters"}, format="4")
    found = {element.name: element for element in read_elements(path, [*arrays, "text"])}
    assert found["text"].array is None
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name].array, array)


def test_big_endian(path):
    scipy.io.savemat(path, {"double": ARRAYS["double"]}, format="4")
    content = path.read_bytes()
    head = np.frombuffer(content[:20], "<i4").astype(">i4")
    head[0] += 1000
    data = np.frombuffer(content[27:], "<f8").astype(">f8")
    path.write_bytes(head.tobytes() + content[20:27] + data.tobytes())
    (element,) = read_elements(path, ["double"])
    np.testing.assert_array_equal(element.array, ARRAYS["double"])
    assert element.array.dtype.isnative


CLAIMS = {
    "bomb": "more than the file can hold",
    "narrow bomb": "more than the file can hold",
    "claims 4 GB": "an element claims 4294967288 bytes",
    "packed claims 4 GB": "an element claims 4294967288 bytes",
    "shape (1, 10000000)": "more than the file can hold",
    "packed shape (1, 10000000)": "more than the file can hold|has 6 numbers",
    "shape (2147483647, 2147483647)": "more than the file can hold",
    "shape (-1, 3)": "claims the shape",
    "version 4 of 10^9": "more than there are",
    "version 4, negative": "makes no sense",
    "version 4, long name": "claims 2147483647 letters",
    "unknown element": "of type 99",
    "header alone": "expected 'coords' and 'values'",
}


@pytest.mark.parametrize("name", CLAIMS)
def test_claims_are_not_believed(path, name):
    path.write_bytes(crafted()[name])
    with pytest.raises(FileFormatError, match=CLAIMS[name]) as caught:
        read_table(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("packed", [False, True])
def test_every_flipped_byte_is_an_error_of_ours_or_harmless(path, packed):
    scipy.io.savemat(path, {"dense": np.ones((2, 3))}, do_compression=packed)
    content = path.read_bytes()
    for position in range(120, len(content)):
        for flip in (0x10, 0xFF):
            path.write_bytes(
                content[:position] + bytes([content[position] ^ flip]) + content[position + 1 :]
            )
            try:
                table = read_table(path)
            except ValueError as problem:
                assert str(problem).startswith(str(path))  # noqa: PT017
            else:
                assert len(table) <= 6


def test_matlab_7_3_is_named(path):
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF\r\n\x1a\n")
    with pytest.raises(FileFormatError, match=r"version 7\.3 .*save"):
        read_table(path)
