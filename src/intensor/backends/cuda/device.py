"""Which CUDA device there is, if any, and how much room it has."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np
from numba.core import config as numba_config

from intensor.errors import DeviceError, DeviceMemoryError

__all__ = [
    "array_module",
    "check_device",
    "check_room",
    "for_kernels",
    "free_bytes",
    "simulated",
    "to_host",
]

config: Any = numba_config
HELP = "install intensor[gpu] on a machine with an NVIDIA device, or use device='cpu'"


def simulated() -> bool:
    """Whether kernels run under the CUDA simulator, on NumPy arrays."""
    return bool(config.ENABLE_CUDASIM)


def check_device() -> None:
    """Raise what is missing for a CUDA device to be used."""
    for package in ("numba_cuda",) if simulated() else ("numba_cuda", "cupy"):
        if importlib.util.find_spec(package) is None:
            raise DeviceError(f"device is 'cuda', but {package} is not installed: {HELP}")
    config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # small grids are small on purpose
    if simulated():
        return
    if not importlib.import_module("numba.cuda").is_available():
        raise DeviceError(f"device is 'cuda', but no CUDA device or driver was found: {HELP}")


def array_module() -> Any:
    """Return CuPy, or NumPy under the simulator."""
    return importlib.import_module("numpy" if simulated() else "cupy")


def for_kernels(array: Any) -> Any:
    """Return an array of the device as kernels take it: they look long at any other kind."""
    if simulated():
        return array
    return importlib.import_module("numba.cuda").as_cuda_array(array, sync=False)


def to_host(array: Any) -> Any:
    """Return an array of the device in the memory of the host."""
    return array.get() if hasattr(array, "get") else np.asarray(array)


def free_bytes() -> int | None:
    """Return how much memory of the device is free, None where that is not limited."""
    if simulated():
        return None
    cupy = array_module()
    cupy.get_default_memory_pool().free_all_blocks()
    free, _ = cupy.cuda.runtime.memGetInfo()
    return int(free)


def check_room(needed: int, what: str) -> None:
    """Refuse what would not fit on the device."""
    free = free_bytes()
    if free is not None and needed > free:
        raise DeviceMemoryError(
            f"{what} needs {needed / 2**30:.1f} GiB on the device and {free / 2**30:.1f} GiB are "
            "free; use device='cpu', a device with more memory, or fewer observations"
        )
