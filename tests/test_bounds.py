"""The whole suite once more with every index of every kernel checked.

    python -m pytest -m slow tests/test_bounds.py

A kernel that reads or writes beside its arrays goes unnoticed until the heap is corrupted; with
``NUMBA_BOUNDSCHECK=1`` it raises.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ELSEWHERE = ("benchmarks", "backends/cuda", "fuzz")
"""Folders of tests without a kernel for CPUs of their own."""


@pytest.mark.slow
@pytest.mark.needs_jit
def test_no_kernel_leaves_its_arrays():
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1"}
    for name in [name for name in environment if name.startswith("PYTEST_")]:
        del environment[name]
    environment.pop("NUMBA_CACHE_DIR", None)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal", "tests"]
    command += [f"--ignore=tests/{folder}" for folder in ELSEWHERE]
    # With checks the compiler adds up in another order, so that last bits differ, and with them
    # what solves and fits find on their way.
    for name in ("test_solves_give_what_they_did", "test_fits_give_what_they_did"):
        command.append(f"--deselect=tests/test_golden.py::{name}")
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    said = done.stdout[-20_000:] + done.stderr[-2000:]
    assert done.returncode == 0, said
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 3000, said


@pytest.mark.slow  # as the test whose word depends on it
@pytest.mark.needs_jit
def test_checking_finds_a_kernel_that_does(tmp_path):
    script = tmp_path / "beside.py"
    script.write_text(
        "import numpy as np\n"
        "from intensor.kernels.lanes import split_lanes\n"
        "lanes, chosen = np.zeros(4, dtype=np.uint64), np.arange(2)\n"
        "split_lanes(lanes, chosen, np.zeros((1, 4), dtype=np.uint8))\n"
    )
    environment = {
        **os.environ,
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": str(ROOT / "src"),
    }
    done = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "IndexError: index is out of bounds" in done.stderr
