"""Memory: how much there is, how much a task would take, and the refusal when it would not fit.

Estimates count what is allocated beside the arrays that the caller holds already. They are meant
to be right to within a factor of two. What a solve takes beside its cells is known to its version
(``Version.bytes_needed``).
"""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from typing import Protocol

from intensor._arrays import Shape
from intensor.errors import IntensorError, MemoryLimitError

__all__ = [
    "available_memory",
    "cell_bytes",
    "collapsing_bytes",
    "fitting_bytes",
    "require_memory",
    "spreading_bytes",
]

UNLIMITED = 1 << 60
"""A limit of a control group from here on is none."""
NEGLIGIBLE = 1 << 26
"""Bytes below which nobody is asked whether they are there."""


def available_memory(root: Path = Path("/")) -> int | None:
    """Return how many bytes this process can still have; None where that cannot be told.

    That is what the machine has left, or what the control groups that the process is in (of a
    container, a batch system) leave of their limits. On systems other than Linux it is not known.

    Parameters
    ----------
    root
        Where ``proc`` and ``sys`` are.
    """
    found = [_from_meminfo(root), *_from_groups(root)]
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
    """Refuse a task that would not fit.

    Parameters
    ----------
    needed
        Bytes that it takes.
    what
        The task in words, the subject of the message.
    advice
        What to do instead.
    limit
        Bytes that are allowed; by default what is available, and any amount where that is not
        known.
    """
    if limit is None and needed < NEGLIGIBLE:
        return
    allowed = available_memory() if limit is None else limit
    if allowed is not None and needed > allowed:
        whence = "available" if limit is None else "allowed"
        raise error(
            f"{what} needs about {_words(needed)} of memory and {_words(allowed)} are {whence}; "
            f"{advice}"
        )


def collapsing_bytes(n: int, n_modes: int, *, copied: bool = True) -> int:
    """Return what it takes to collapse n observations into cells.

    Parameters
    ----------
    copied
        Whether coordinates and values have to be converted to int64 and float64.
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


def spreading_bytes(shape: Shape) -> int:
    """Return what it takes to spread 64 boxes, and those of a witness, over a larger tensor."""
    return 2 * 8 * sum(shape)


def fitting_bytes(n: int, shape: Shape, *, walk: Solver, solve: Solver, folds: int = 1) -> int:
    """Return how many bytes a fit of n observations takes.

    Parameters
    ----------
    walk, solve
        The versions of the solver that walk up the radii and make the last fit.
    folds
        Folds that are validated at the same time.
    """
    n_cells = min(n, math.prod(shape))
    samples = n * (8 * len(shape) + 24)
    parts = (samples + walk.bytes_needed(n_cells, shape)) * folds
    return samples + max(
        parts + collapsing_bytes(n, len(shape), copied=False), solve.bytes_needed(n_cells, shape)
    )


def _from_meminfo(root: Path) -> int | None:
    """Return what the machine has left."""
    try:
        lines = (root / "proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvail"))
    except (OSError, ValueError, IndexError, StopIteration):
        return None


def _from_groups(root: Path) -> list[int | None]:
    """Return what each control group with a limit, and each above it, has left."""
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
        # In a container the path may be that of the host, of which only the top is to be seen.
        places = [folder, *folder.parents] if folder.is_dir() else [top]
        found += [_left(place, *names) for place in places if place.is_relative_to(top)]
    return found


def _left(folder: Path, limit_name: str, usage_name: str, cache_name: str) -> int | None:
    """Return what is left of a group's limit; files in its cache can be let go."""
    try:
        limit = int((folder / limit_name).read_text(encoding="ascii"))
        used = int((folder / usage_name).read_text(encoding="ascii"))
    except (OSError, ValueError):  # no such file, or "max"
        return None
    if limit >= UNLIMITED:
        return None
    try:
        lines = (folder / "memory.stat").read_text(encoding="ascii").splitlines()
        cached = next(int(line.split()[1]) for line in lines if line.startswith(f"{cache_name} "))
    except (OSError, ValueError, IndexError, StopIteration):
        cached = 0
    return limit - used + cached


def _words(amount: int) -> str:
    """Return a number of bytes in words.

    Examples
    --------
    >>> _words(96), _words(3 << 29)
    ('96 bytes', '1.5 GiB')
    """
    if amount < 1 << 10:
        return f"{amount} bytes"
    for power, unit in enumerate(("KiB", "MiB", "GiB", "TiB"), start=1):
        if amount < 1 << (10 * power + 10):
            return f"{amount / (1 << 10 * power):.3g} {unit}"
    return f"{Decimal(amount):.3g} bytes"
