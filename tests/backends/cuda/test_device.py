"""Whether there is a device, and what is said when there is none."""

import importlib
import types

import pytest

from intensor.backends.cuda import device
from intensor.errors import DeviceError, DeviceMemoryError


def test_the_simulator_needs_no_device():
    device.check_device()
    assert device.free_bytes() is None or device.free_bytes() > 0


@pytest.mark.parametrize("missing", ["numba_cuda", "cupy"])
def test_a_missing_package_is_named(monkeypatch, missing):
    find = importlib.util.find_spec
    monkeypatch.setattr(device, "simulated", lambda: False)
    monkeypatch.setattr(
        device.importlib.util,
        "find_spec",
        lambda name: None if name == missing else find("numpy"),
    )
    with pytest.raises(DeviceError, match=rf"{missing} is not installed.*intensor\[gpu\]"):
        device.check_device()


def test_a_missing_driver_is_said(monkeypatch):
    monkeypatch.setattr(device, "simulated", lambda: False)
    monkeypatch.setattr(device.importlib.util, "find_spec", lambda name: object())
    nothing = types.SimpleNamespace(is_available=lambda: False)
    monkeypatch.setattr(device.importlib, "import_module", lambda name: nothing)
    with pytest.raises(DeviceError, match=r"no CUDA device or driver was found.*device='cpu'"):
        device.check_device()


def test_too_little_memory_is_said_with_both_figures(monkeypatch):
    monkeypatch.setattr(device, "free_bytes", lambda: 3 * 2**30)
    device.check_memory(2**30, "this")
    with pytest.raises(DeviceMemoryError, match=r"this needs 5.0 GiB.*3.0 GiB are free"):
        device.check_memory(5 * 2**30, "this")
