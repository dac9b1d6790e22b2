"""The CUDA device, if there is one: its packages, its arrays and its free memory."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np
from numba.core import config as numba_config

from intensor.errors import DeviceError, DeviceMemoryError

config: Any = numba_config
HELP = "install intensor[gpu] on a machine with an NVIDIA device, or use device='cpu'"


def simulated() -> bool:
    """Say whether kernels run under the CUDA simulator, on NumPy arrays."""
    return bool(config.ENABLE_CUDASIM)


def check_device() -> None:
    """Raise a DeviceError that names the package or device that is missing."""
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
    """Return an array of the device as a type that kernels accept without a slow conversion."""
    if simulated():
        return array
    return importlib.import_module("numba.cuda").as_cuda_array(array, sync=False)


def to_host(array: Any) -> Any:
    """Copy an array of the device to the memory of the host."""
    return array.get() if hasattr(array, "get") else np.asarray(array)


def free_bytes() -> int | None:
    """Return the free bytes of the device; None in the simulator, which has no limit."""
    if simulated():
        return None
    cupy = array_module()
    cupy.get_default_memory_pool().free_all_blocks()
    free, _ = cupy.cuda.runtime.memGetInfo()
    return int(free)


def check_memory(needed: int, what: str) -> None:
    """Raise a DeviceMemoryError when more bytes are needed than are free on the device."""
    free = free_bytes()
    if free is not None and needed > free:
        raise DeviceMemoryError(
            f"{what} needs {needed / 2**30:.1f} GiB on the device and {free / 2**30:.1f} GiB are "
            "free; use device='cpu', a device with more memory, or fewer observations"
        )
