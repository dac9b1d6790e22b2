"""Choose where the cells of a problem are kept: in memory, on a CUDA device, or by a plug-in."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from intensor.backends.base import Cells
from intensor.backends.cpu import CpuCells
from intensor.backends.cuda.device import check_device
from intensor.backends.packed_cells import pack_cells
from intensor.backends.sharded.cells import ShardedCells, ShardedObservations
from intensor.data.observations import Observations
from intensor.errors import DeviceError, SettingError
from intensor.runtime.threads import Workers

if TYPE_CHECKING:
    from intensor.backends.cuda.observations import DeviceObservations

OpenCells = Callable[[Observations, float, Workers], Cells]
BACKENDS: dict[str, OpenCells] = {}
"""Registered backends by name: each opens the cells of observations in units of a radius."""
Data: TypeAlias = "Observations | ShardedObservations | DeviceObservations"
"""Observations collapsed into unique cells, wherever they are."""
MIN_OBSERVATIONS_FOR_CUDA = 1 << 17
"""Fewest observations for which ``device="auto"`` uses a CUDA device."""


@dataclass(frozen=True, slots=True)
class Device:
    """The hardware that sums over cells; this class is the CPU."""

    name: str  # the value of the option ``device``
    any_version: bool = True  # False: only versions whose cells can be anywhere
    memory_only: bool = False  # whether coordinates and values must be arrays in memory

    def has_cuda(self) -> bool:
        """Say whether a CUDA device may be used; raise when it is required and missing."""
        return False

    def wants_cuda(self, n: int) -> bool:
        """Say whether n observations go to a CUDA device; raise when it is required and missing."""
        return self.has_cuda()

    def open(self, observations: Observations, radius: float, workers: Workers) -> Cells:
        """Return the cells of observations in memory, in units of the radius."""
        return CpuCells(pack_cells(observations, radius, workers), workers)

    def __str__(self) -> str:
        return f"device={self.name!r}"


class CudaDevice(Device):
    """An NVIDIA device, for data of any size."""

    __slots__ = ()

    def has_cuda(self) -> bool:
        """Return True, or raise when there is no device."""
        check_device()
        return True

    def open(self, observations: Observations, radius: float, workers: Workers) -> Cells:
        """Upload the observations if there are enough of them."""
        if not self.wants_cuda(observations.n):
            return CPU.open(observations, radius, workers)
        from intensor.backends.cuda.cells import CudaCells  # noqa: PLC0415  (imports numba.cuda)
        from intensor.backends.cuda.observations import upload  # noqa: PLC0415

        return CudaCells(upload(observations), radius, workers)

    def __str__(self) -> str:
        return "a CUDA device"


class AutomaticDevice(CudaDevice):
    """An NVIDIA device if there is one and the data is large enough to gain from it."""

    __slots__ = ()

    def has_cuda(self) -> bool:
        """Say whether there is a device."""
        if importlib.util.find_spec("cupy") is None:
            return False
        with contextlib.suppress(DeviceError):
            return super().has_cuda()
        return False

    def wants_cuda(self, n: int) -> bool:
        """Say whether there is a device and the data is large."""
        return n >= MIN_OBSERVATIONS_FOR_CUDA and self.has_cuda()


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredDevice(Device):
    """A backend of ``BACKENDS``."""

    opener: OpenCells

    def open(self, observations: Observations, radius: float, workers: Workers) -> Cells:
        """Return the cells of the backend."""
        return self.opener(observations, radius, workers)


CPU = Device("cpu")
DEVICES = {
    device.name: device
    for device in (CPU, CudaDevice("cuda", any_version=False), AutomaticDevice("auto"))
}
"""The devices of the package, by name."""


def devices() -> tuple[str, ...]:
    """Return the names of all devices, those of ``BACKENDS`` last."""
    return (*DEVICES, *BACKENDS)


def find_device(name: object) -> Device:
    """Return the device of a name, or raise a SettingError that lists the names."""
    if not isinstance(name, str) or name not in devices():
        expected = ", ".join(repr(known) for known in devices())
        raise SettingError(f"device is {name!r}; expected one of {expected}")
    if name in DEVICES:
        return DEVICES[name]
    return RegisteredDevice(name, any_version=False, memory_only=True, opener=BACKENDS[name])


def open_cells(data: Data, radius: float, workers: Workers, device: Device = CPU) -> Cells:
    """Return the cells of a problem in units of the radius, ready to be summed over."""
    if isinstance(data, Observations):
        return device.open(data, radius, workers)
    if isinstance(data, ShardedObservations):
        return ShardedCells(data, radius, workers)
    from intensor.backends.cuda.cells import CudaCells  # noqa: PLC0415  (imports numba.cuda)

    return CudaCells(data, radius, workers)


def on_device(array: object) -> bool:
    """Say whether an array is on a CUDA device already."""
    return hasattr(array, "__cuda_array_interface__")
