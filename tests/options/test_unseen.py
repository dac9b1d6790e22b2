"""Strings name the members of ``Unseen``."""

import pytest

from intensor.errors import SettingError
from intensor.options.unseen import Unseen, as_unseen


def test_a_string_names_its_member():
    for member in Unseen:
        assert as_unseen(member.value) is member
        assert as_unseen(member) is member


def test_anything_else_is_refused():
    for wrong in ("WARN", "", None, 1, ["mean"]):
        with pytest.raises(SettingError, match="expected 'mean', 'warn' or 'error'"):
            as_unseen(wrong)
