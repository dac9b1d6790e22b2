"""Where the cells of a problem are kept: in memory, on a CUDA device, or in a backend of yours."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Protocol

from intensor.backends.base import Cells
from intensor.backends.cpu import CpuCells
from intensor.backends.cuda.device import check_device
from intensor.backends.packed_cells import pack_cells
from intensor.backends.sharded.cells import ShardedCells, ShardedObservations
from intensor.data.observations import Observations
from intensor.errors import DeviceError
from intensor.runtime.threads import Workers

__all__ = [
    "BACKENDS",
    "DEVICES",
    "Data",
    "devices",
    "has_device",
    "on_device",
    "open_cells",
    "wants_device",
]

DEVICES = ("cpu", "cuda", "auto")
BACKENDS: dict[str, Callable[[Observations, float, Workers], Cells]] = {}
"""Backends from outside by name: what makes the cells of observations in units of a radius."""
WORTH = 1 << 17
"""Observations from which on "auto" takes a device if there is one."""


class Data(Protocol):
    """Observations collapsed into unique cells, wherever they are (see ``Observations``)."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the modes."""
        ...

    @property
    def n_cells(self) -> int:
        """Number of distinct cells observed, u."""
        ...

    @property
    def n(self) -> int:
        """Number of observations."""
        ...

    @property
    def within(self) -> float:
        """Mean squared deviation of the observations from their cell's mean."""
        ...

    @property
    def mean_square(self) -> float:
        """Mean of the squared values."""
        ...

    def host(self) -> Observations:
        """Return the same in memory."""
        ...


def open_cells(data: Data, radius: float, workers: Workers, device: str = "cpu") -> Cells:
    """Return the cells of a problem in units of the radius, ready to be summed over."""
    if isinstance(data, Observations) and device in BACKENDS:
        return BACKENDS[device](data, radius, workers)
    if isinstance(data, Observations) and not wants_device(device, data.n):
        return CpuCells(pack_cells(data, radius, workers), workers)
    if isinstance(data, ShardedObservations):
        return ShardedCells(data, radius, workers)
    from intensor.backends.cuda.cells import CudaCells  # noqa: PLC0415  (imports numba.cuda)
    from intensor.backends.cuda.observations import DeviceObservations, upload  # noqa: PLC0415

    held = data if isinstance(data, DeviceObservations) else upload(data.host())
    return CudaCells(held, radius, workers)


def devices() -> tuple[str, ...]:
    """Return the names of where cells can be summed over, those of ``BACKENDS`` last."""
    return (*DEVICES, *BACKENDS)


def on_device(array: object) -> bool:
    """Whether an array lies on a CUDA device already."""
    return hasattr(array, "__cuda_array_interface__")


def wants_device(device: str, n: int) -> bool:
    """Say whether n observations go to a CUDA device; raise when it is asked for and not there."""
    return not (device == "auto" and n < WORTH) and has_device(device)


def has_device(device: str) -> bool:
    """Say whether a CUDA device may be used; raise when it is asked for and not there."""
    if device == "cpu" or device in BACKENDS:
        return False
    if device == "auto" and importlib.util.find_spec("cupy") is None:
        return False
    try:
        check_device()
    except DeviceError:
        if device == "cuda":
            raise
        return False
    return True
