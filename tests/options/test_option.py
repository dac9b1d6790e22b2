"""What a declaration does: it checks values and writes docstrings."""

import pytest

from intensor.errors import SettingError
from intensor.options.option import Option, documented

KIND = Option(name="kind", default="a", choices=("a", "b", "c"), summary="Kind.")


def test_choices_are_checked_and_listed():
    assert KIND.check("b") == "b"
    for wrong in ("d", None, 1, ["a"]):
        with pytest.raises(SettingError, match=r"^kind is .*; expected 'a', 'b' or 'c'$"):
            KIND.check(wrong)


def test_extensible_choices_are_checked_elsewhere():
    option = Option(name="kind", default="a", choices=("a",), extensible=True, summary="Kind.")
    assert option.check("one of yours") == "one of yours"


def test_a_rule_converts_and_is_told_the_name():
    option = Option(name="size", summary="Size.", rule=lambda name, value: (name, int(value)))
    assert option.check("3") == ("size", 3)


def test_a_flag_is_the_truth_of_a_value():
    flag = Option(name="loud", default=False, summary="Loud.")
    assert (flag.check(1), flag.check("")) == (True, False)


def test_none_is_only_valid_as_the_default():
    rule = {"rule": lambda name, value: f"{name} is checked"}
    assert Option(name="x", summary="X.", **rule).check(None) is None
    assert Option(name="x", default=1, summary="X.", **rule).check(None) == "x is checked"


def test_docstrings_list_options_in_numpydoc_style():
    long = Option(name="long", summary="One. " * 40, details="The end.")

    @documented([KIND, long])
    def function():
        """Do something.

        Parameters
        ----------
        first
            Some data.
        {options}

        Returns
        -------
        None
        """

    text = function.__doc__
    assert "        kind\n            Kind.\n        long\n            One. One." in text
    assert "The end.\n\n        Returns" in text
    assert "{options}" not in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_function_may_have_no_docstring():
    def function():
        pass

    assert documented([KIND])(function).__doc__ is None
