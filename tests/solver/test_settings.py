"""The settings of a solve."""

import sys

import pytest

from intensor.errors import SettingError
from intensor.solver.settings import Settings, check_settings


def test_options_become_settings():
    settings = check_settings(radius=2, tol=1, rtol=0, threads=3, signed=1, device="cpu")
    assert settings == Settings(radius=2.0, tol=1.0, rtol=0.0, threads=3, signed=True)
    assert settings.signed is True
    assert settings.device.name == "cpu"
    assert check_settings(radius=2.0) == Settings(radius=2.0)
    with pytest.raises(SettingError, match=r"device is 'tpu'; expected one of 'cpu', 'cuda', "):
        check_settings(radius=2.0, device="tpu")


def test_the_larger_tolerance_counts_and_is_finite():
    assert Settings(radius=1.0, tol=0.5, rtol=0.1).tolerance(2.0) == 0.5
    assert Settings(radius=1.0, tol=0.5, rtol=0.1).tolerance(20.0) == 2.0
    assert Settings(radius=1.0, rtol=1e300).tolerance(1e300) == sys.float_info.max
