"""Strings name the members of ``Unseen``."""

import pytest

from intensor.errors import SettingError
from intensor.options.unseen import Unseen, as_unseen


@pytest.mark.parametrize("member", Unseen)
def test_a_string_names_its_member(member):
    assert as_unseen(member.value) is member
    assert as_unseen(member) is member


@pytest.mark.parametrize("wrong", ["WARN", "", None, 1, ["mean"]])
def test_anything_else_is_refused(wrong):
    with pytest.raises(SettingError, match="expected 'warn', 'mean' or 'error'"):
        as_unseen(wrong)
