"""The choice of a device, and the cells that it opens."""

import pickle

import pytest

from intensor.backends import select
from intensor.backends.cpu import CpuCells
from intensor.backends.select import BACKENDS, CPU, MIN_OBSERVATIONS_FOR_CUDA, find_device
from intensor.data.observations import observe
from intensor.errors import DeviceError, SettingError
from intensor.runtime.threads import Workers

CELLS = observe([[0, 1], [1, 0]], [1.0, 2.0])


@pytest.fixture
def machine(monkeypatch):
    """Return a function that pretends that a CUDA device and its package exist or not."""

    def check(present):
        if not present:
            raise DeviceError("none here")

    def make(*, package, device):
        monkeypatch.setattr(select, "check_device", lambda: check(device))
        found = object() if package else None
        monkeypatch.setattr(select.importlib.util, "find_spec", lambda name: found)

    return make


def test_auto_needs_no_device_and_cuda_does(machine):
    machine(package=True, device=False)
    assert not find_device("cpu").wants_cuda(10**9)
    assert not find_device("auto").wants_cuda(10**9)
    with pytest.raises(DeviceError, match="none here"):
        find_device("cuda").wants_cuda(10)


def test_auto_uses_a_device_for_many_observations(machine):
    machine(package=True, device=True)
    auto = find_device("auto")
    assert auto.wants_cuda(MIN_OBSERVATIONS_FOR_CUDA)
    assert not auto.wants_cuda(MIN_OBSERVATIONS_FOR_CUDA - 1)
    assert auto.has_cuda()
    machine(package=False, device=True)
    assert not auto.wants_cuda(MIN_OBSERVATIONS_FOR_CUDA)


@pytest.mark.parametrize("name", ["cpu", "auto"])
def test_few_observations_stay_in_memory(name):
    assert isinstance(select.open_cells(CELLS, 1.0, Workers(1), find_device(name)), CpuCells)


def test_a_registered_backend_opens_its_cells(monkeypatch):
    monkeypatch.setitem(BACKENDS, "mine", lambda observations, radius, workers: (radius, workers))
    device, workers = find_device("mine"), Workers(1)
    assert select.open_cells(CELLS, 2.0, workers, device) == (2.0, workers)
    assert not device.wants_cuda(10**9)
    assert not device.any_version
    assert device.memory_only
    assert str(device) == "device='mine'"


@pytest.mark.parametrize("name", ["cuda:1", 0, None, ["cpu"]])
def test_the_error_for_an_unknown_device_lists_the_devices(name):
    with pytest.raises(SettingError, match=r"expected one of 'cpu', 'cuda', 'auto'"):
        find_device(name)


def test_pickled_devices_are_still_equal():
    assert find_device("cpu") is CPU
    for name in ("cpu", "cuda", "auto"):
        assert pickle.loads(pickle.dumps(find_device(name))) == find_device(name)
    assert len({find_device(name) for name in ("cpu", "cuda", "auto")}) == 3
