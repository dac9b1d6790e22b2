"""What a figure was measured on: processor, memory, versions."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from functools import cache
from pathlib import Path

PACKAGES = ("intensor", "numpy", "scipy", "numba", "highspy", "tensorly", "pyttb", "teneva")


@cache
def machine() -> str:
    """Return processor, cores and memory in words."""
    return f"{_processor()}, {cores()} cores, {_memory():.0f} GB, {platform.system()}"


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def version() -> str:
    """Return the version of intensor, with the commit where there is one."""
    told = importlib.metadata.version("intensor")
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return f"{told}+{done.stdout.strip()}" if done.returncode == 0 else told


def packages() -> dict[str, str]:
    """Return the installed versions of what takes part, Python first."""
    found = {"Python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory() -> float:
    if not hasattr(os, "sysconf"):
        return float("nan")
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
