"""One check of values and one of weights, for all data."""

import numpy as np
import pytest

from intensor.data.checks import (
    BadRow,
    NumberColumn,
    find_bad_value,
    find_bad_weight,
    raise_bad,
)
from intensor.errors import NegativeValueError, ValuesError


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (-1.0, NegativeValueError, "is -1.0; expected values >= 0"),
        (np.inf, ValuesError, "is inf; expected a finite number"),
        (-np.inf, ValuesError, "is -inf; expected a finite number"),
        (1e71, ValuesError, r"is 1e\+71; expected at most 1e\+70 in size \(rescale"),
    ],
)
def test_the_first_bad_value_is_found(value, error, text):
    problem = find_bad_value(np.array([0.0, np.nan, 1e70, value, -5.0]))
    assert problem.row == 3
    assert problem.error is error
    with pytest.raises(error, match=f"^number 3 {text}"):
        raise_bad(problem, lambda row: f"number {row}")


def test_good_values():
    values = np.array([0.0, 5e-324, 1e70, np.nan])
    assert find_bad_value(values) is None
    assert find_bad_value(-values, allow_negative=True) is None
    assert find_bad_value(np.empty(0)) is None
    raise_bad(None, str)


def test_missing_values_may_be_forbidden():
    problem = find_bad_value(np.array([1.0, np.nan]), allow_missing=False)
    assert problem.row == 1
    assert "leave missing cells out" in problem.text


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, 1e71])
def test_the_first_bad_weight_is_found(weight):
    problem = find_bad_weight(np.array([0.0, weight, -2.0]))
    assert problem.row == 1
    assert problem.error is ValuesError
    assert problem.text.startswith(f"is {weight}; expected a number >= 0")
    assert find_bad_weight(np.array([0.0, 1e70])) is None


def test_a_column_grows_and_is_emptied():
    column = NumberColumn()
    assert column.finish().tolist() == []
    batch = np.array([1.0, 2.0])
    column.add(batch)
    column.add(np.array([3]))
    batch[:] = 9.0
    assert column.finish().tolist() == [1.0, 2.0, 3.0]
    assert column.finish().size == 0


def test_a_bad_row_carries_what_the_reader_needs():
    bad = BadRow(3, "is bad", ValuesError).within(100, "the value")
    assert (bad.row, bad.text, bad.error) == (103, "the value is bad", ValuesError)
