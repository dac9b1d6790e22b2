import numpy as np
import pytest

from intensor.data.labels import Labels
from intensor.data.table import Table, smallest_unsigned


def small(values, weights=None):
    return Table(
        labels=Labels(
            modes=("a", "b"),
            indices=(np.array(["x", "y"], dtype=object), np.array([3, 5, 9])),
            value="rating",
        ),
        codes=(np.array([0, 1, 1], dtype=np.uint8), np.array([2, 0, 1], dtype=np.uint8)),
        values=np.array(values),
        weights=weights,
    )


def test_rows_with_and_without_a_value_are_told_apart():
    table = small([1.0, np.nan, 3.0], np.array([1.0, 2.0, 3.0]))
    coords, values, weights = table.observed()
    assert len(table) == 3
    assert table.shape == (2, 3)
    assert coords.dtype == np.int64
    assert coords.tolist() == [[0, 2], [1, 1]]
    assert values.tolist() == [1.0, 3.0]
    assert weights.tolist() == [1.0, 3.0]
    assert table.missing().tolist() == [[1, 0]]


def test_a_full_table_misses_nothing():
    table = small([1.0, 2.0, 3.0])
    coords, values, weights = table.observed()
    assert coords.tolist() == [[0, 2], [1, 0], [1, 1]]
    assert values is table.values
    assert weights is None
    assert table.missing().shape == (0, 2)


@pytest.mark.parametrize(
    ("length", "kind"),
    [(1, "u1"), (256, "u1"), (257, "u2"), (65536, "u2"), (65537, "u4"), (2**32 + 1, "u8")],
)
def test_the_smallest_type_holds_the_last_index(length, kind):
    assert smallest_unsigned(length) == np.dtype(kind)
