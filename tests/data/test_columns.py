"""Choosing the columns of a table, wherever it comes from."""

import pytest

from intensor.data.columns import Choice, choose_columns, choose_modes, find_column
from intensor.errors import LabelError, SettingError

NAMES = ["user", "item", "rating", "n"]


def test_all_other_columns_are_modes_by_default():
    assert choose_columns(["a", "value", "b"]) == Choice(("a", "b"), "value", None)
    found = choose_columns(NAMES, value="rating", weight="n")
    assert found == Choice(("user", "item"), "rating", "n")


def test_named_modes_keep_their_order():
    assert choose_columns(NAMES, value="rating", modes=["item", "user"]).modes == ("item", "user")
    assert choose_modes(NAMES, "item") == ("item",)
    assert choose_modes(NAMES, (name for name in ["n", "user"])) == ("n", "user")


def test_names_are_found_as_text_and_without_blanks():
    assert find_column("0", [1, 0], role="modes") == 0
    assert find_column(" user ", NAMES, role="modes") == "user"
    assert find_column("0", ["0", 0], role="modes") == "0"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, LabelError, "no column 'value'; say .*--value.* 'user', 'item'"),
        ({"value": "ratings"}, LabelError, "no column 'ratings' for the values; did you mean 'rat"),
        ({"value": "rating", "weight": "zz"}, LabelError, "no column 'zz' for the weights; the"),
        ({"value": "rating", "modes": ["USER"]}, LabelError, "did you mean 'user'"),
        ({"value": "rating", "modes": []}, LabelError, "modes names no column"),
        ({"value": "rating", "modes": 3}, SettingError, "modes is 3; expected the names"),
        ({"value": "rating", "modes": ["n", "n"]}, LabelError, "'n' is asked for twice"),
        ({"value": "rating", "modes": ["rating"]}, LabelError, "'rating' is asked for twice"),
        ({"value": "rating", "weight": "rating"}, LabelError, "'rating' is asked for twice"),
    ],
)
def test_choices_that_cannot_be(options, error, message):
    with pytest.raises(error, match=message):
        choose_columns(NAMES, **options)


def test_a_table_needs_a_mode():
    with pytest.raises(LabelError, match="no column of labels beside the values in 'value'"):
        choose_columns(["value"])


def test_modes_differ_as_text():
    with pytest.raises(LabelError, match="two columns are called '0'"):
        choose_columns([0, "0", "value"])


def test_messages_stay_short():
    names = [f"{number}{'x' * 1000}" for number in range(40)]
    with pytest.raises(LabelError, match=r"\.\.\.' and 28 more$") as caught:
        find_column("y" * 5000, names, role="modes")
    assert len(str(caught.value)) < 2000
