"""The checks for a CUDA device, its packages and its memory."""

import importlib
import types

import pytest

from intensor.backends.cuda import device
from intensor.errors import DeviceError, DeviceMemoryError


def test_the_simulator_needs_no_device():
    device.check_device()
    assert device.free_bytes() is None or device.free_bytes() > 0


@pytest.mark.parametrize("missing", ["numba_cuda", "cupy"])
def test_the_error_names_the_missing_package(monkeypatch, missing):
    find = importlib.util.find_spec
    monkeypatch.setattr(device, "simulated", lambda: False)
    monkeypatch.setattr(
        device.importlib.util,
        "find_spec",
        lambda name: None if name == missing else find("numpy"),
    )
    with pytest.raises(DeviceError, match=rf"{missing} is not installed.*intensor\[gpu\]"):
        device.check_device()


def test_the_error_says_that_there_is_no_driver(monkeypatch):
    monkeypatch.setattr(device, "simulated", lambda: False)
    monkeypatch.setattr(device.importlib.util, "find_spec", lambda name: object())
    nothing = types.SimpleNamespace(is_available=lambda: False)
    monkeypatch.setattr(device.importlib, "import_module", lambda name: nothing)
    with pytest.raises(DeviceError, match=r"no CUDA device or driver was found.*device='cpu'"):
        device.check_device()


def test_the_error_says_how_much_memory_is_needed_and_free(monkeypatch):
    monkeypatch.setattr(device, "free_bytes", lambda: 3 * 2**30)
    device.check_memory(2**30, "this")
    with pytest.raises(DeviceMemoryError, match=r"this needs 5.0 GiB.*3.0 GiB are free"):
        device.check_memory(5 * 2**30, "this")
