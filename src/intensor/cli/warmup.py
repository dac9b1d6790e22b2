"""``intensor warmup``: compiles the kernels of solves and fits, for images and clusters."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from intensor.cli.console import OK, rows
from intensor.cli.options import Common


class DeviceChoice(enum.StrEnum):
    """The devices that have kernels of their own."""

    CPU = "cpu"
    CUDA = "cuda"


def warmup(
    *,
    device: Annotated[
        DeviceChoice, typer.Option(help="cuda compiles the kernels of an NVIDIA device too.")
    ] = DeviceChoice.CPU,
    common: Common,
) -> int:
    """Compile all kernels for this machine and keep them in files.

    Later processes load them within a second. Files are kept where NUMBA_CACHE_DIR says, or beside
    the package.
    """
    from intensor._warmup import warmup as compile_all  # noqa: PLC0415
    from intensor.runtime.kernel_files import kernel_folder  # noqa: PLC0415

    seconds = compile_all(device=device.value)
    folder, total = kernel_folder(), sum(seconds.values())
    steps = rows((f"{taken:6.1f} s", name) for name, taken in seconds.items())
    common.show(
        "warmup",
        {"folder": str(folder), "seconds": {**seconds, "total": total}},
        f"{steps}{total:6.1f} s  in all; compiled kernels are in {folder}\n",
    )
    return OK
