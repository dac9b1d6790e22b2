import numpy as np
import pytest

from intensor import complete
from intensor.data.readers import read_table
from intensor.errors import FileFormatError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data.npz"


def test_indices_begin_at_0_unless_the_caller_says_1(path):
    np.savez(path, coords=[[1, 2], [3, 1]], values=[1.0, 2.0])
    assert read_table(path).coords().tolist() == [[1, 2], [3, 1]]
    assert read_table(path, one_based=True).coords().tolist() == [[0, 1], [2, 0]]


def test_a_single_array_is_dense(path):
    np.savez(path, counts=[[1.0, np.nan], [2.0, 3.0]])
    table = read_table(path)
    assert table.labels.value == "counts"
    assert table.missing().tolist() == [[0, 1]]


def test_a_model_is_no_data(path):
    complete(np.array([1.0, np.nan]), radius=1.0, exact="off", unseen="mean")[1].save(path)
    with pytest.raises(FileFormatError, match="is a model file; expected data"):
        read_table(path)


def test_text_is_no_array_of_numbers(path):
    np.savez(path, names=["a", "b"])
    with pytest.raises(FileFormatError, match="'names' has the type <U1; expected numbers"):
        read_table(path)
