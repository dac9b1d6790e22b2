"""Memory: how much is available, how much a task needs, and the refusal if it does not fit.

Estimates count what is allocated beside the arrays that the caller already holds. They should be
right to within a factor of two. Each version of the solver estimates its own solves
(``Version.bytes_needed``).
"""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from typing import Protocol

from intensor._arrays import Shape
from intensor.errors import IntensorError, MemoryLimitError

UNLIMITED_BYTES = 1 << 60
"""Control groups state a limit of at least this many bytes if they have none."""
NEGLIGIBLE_BYTES = 1 << 26
"""Tasks that need fewer bytes are never refused, unless the user sets a limit."""


def available_memory(root: Path = Path("/")) -> int | None:
    """Return how many bytes this process can still allocate; None if the system does not say.

    This is what the machine has left, or what the control groups of the process (of a container or
    a batch system) leave of their limits, whichever is less. Only Linux says, in files below
    ``root``.
    """
    kibibytes = _number_in(root / "proc/meminfo", "MemAvailable:")
    found = [None if kibibytes is None else 1024 * kibibytes, *_from_groups(root)]
    known = [amount for amount in found if amount is not None]
    return max(0, min(known)) if known else None


def require_memory(
    needed: int,
    what: str,
    *,
    advice: str,
    limit: int | None = None,
    error: type[IntensorError] = MemoryLimitError,
) -> None:
    """Refuse a task that needs more bytes than are allowed, by default those that are available.

    The message begins with ``what`` the task is and ends with the advice.
    """
    if limit is None and needed < NEGLIGIBLE_BYTES:
        return
    allowed = available_memory() if limit is None else limit
    if allowed is not None and needed > allowed:
        source = "available" if limit is None else "allowed"
        raise error(
            f"{what} needs about {_as_text(needed)} of memory and {_as_text(allowed)} are "
            f"{source}; {advice}"
        )


def collapsing_bytes(n: int, n_modes: int, *, copied: bool = True) -> int:
    """Return how many bytes it takes to collapse n observations into cells.

    ``copied`` says whether coordinates and values have to be converted to int64 and float64.
    """
    return n * (44 + 2 * n_modes + (8 * n_modes + 8 if copied else 0))


class Solver(Protocol):
    """Anything that knows how much memory its solves take."""

    def bytes_needed(self, n_cells: int, shape: Shape) -> int:
        """Return the bytes that a solve of ``n_cells`` distinct cells takes."""
        ...


def cell_bytes(n_cells: int, shape: Shape) -> int:
    """Return how many bytes the cells of a solve take, whatever its version."""
    indices = sum(shape)
    position = 1 if indices < 1 << 8 else 2 if indices < 1 << 16 else 4
    return n_cells * (len(shape) * 2 * position + 64)


def expanding_bytes(shape: Shape) -> int:
    """Return how many bytes it takes to expand 64 boxes, and those of a witness, to a shape."""
    return 2 * 8 * sum(shape)


def fitting_bytes(n: int, shape: Shape, *, walk: Solver, solve: Solver, folds: int = 1) -> int:
    """Return how many bytes a fit of n observations takes.

    ``walk`` and ``solve`` are the versions of the solver that walk up the radii and make the last
    fit; ``folds`` is the number of folds that are validated at the same time.
    """
    n_cells = min(n, math.prod(shape))
    samples = n * (8 * len(shape) + 24)
    parts = (samples + walk.bytes_needed(n_cells, shape)) * folds
    return samples + max(
        parts + collapsing_bytes(n, len(shape), copied=False), solve.bytes_needed(n_cells, shape)
    )


def _number_in(path: Path, name: str) -> int | None:
    """Return the number after a name in a file of the system; None if there is none."""
    try:
        lines = path.read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(name))
    except (OSError, ValueError, IndexError, StopIteration):
        return None


def _from_groups(root: Path) -> list[int | None]:
    """Return how many bytes each control group of the process, and each above it, has left."""
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []
    found: list[int | None] = []
    for line in lines:
        number, controllers, path = (*line.split(":", 2), "", "")[:3]
        if "memory" in controllers.split(","):
            top = root / "sys/fs/cgroup/memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        elif number == "0" and not controllers:
            top = root / "sys/fs/cgroup"
            names = ("memory.max", "memory.current", "inactive_file")
        else:
            continue
        folder = top / path.lstrip("/")
        # In a container the path may be that of the host, which is not visible there.
        folders = [folder, *folder.parents] if folder.is_dir() else [top]
        found += [_left(one, *names) for one in folders if one.is_relative_to(top)]
    return found


def _left(folder: Path, limit_name: str, usage_name: str, cache_name: str) -> int | None:
    """Return how many bytes are left of a group's limit; its cache of files counts as free."""
    try:
        limit = int((folder / limit_name).read_text(encoding="ascii"))
        used = int((folder / usage_name).read_text(encoding="ascii"))
    except (OSError, ValueError):  # no such file, or "max"
        return None
    if limit >= UNLIMITED_BYTES:
        return None
    return limit - used + (_number_in(folder / "memory.stat", f"{cache_name} ") or 0)


def _as_text(amount: int) -> str:
    """Return a number of bytes as text, such as "96 bytes" or "1.5 GiB"."""
    if amount < 1 << 10:
        return f"{amount} bytes"
    for power, unit in enumerate(("KiB", "MiB", "GiB", "TiB"), start=1):
        if amount < 1 << (10 * power + 10):
            return f"{amount / (1 << 10 * power):.3g} {unit}"
    return f"{Decimal(amount):.3g} bytes"
