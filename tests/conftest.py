"""Set before Numba is imported: kernels for CUDA run in a simulator unless told otherwise.

    NUMBA_ENABLE_CUDASIM=0 python -m pytest tests/backends/cuda

runs them on a device. A run with ``NUMBA_BOUNDSCHECK=1`` keeps its compiled kernels in a folder of
its own, since Numba does not tell kernels with and without checks apart.
"""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")
INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"
PATIENCE = 30
"""Seconds that a test may take in plain Python, where it is run for its coverage alone."""

if os.environ.get("NUMBA_BOUNDSCHECK", "0") != "0":
    folder = Path(__file__).parents[1] / "build" / "numba-checked"
    os.environ.setdefault("NUMBA_CACHE_DIR", str(folder))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts background jobs so; tests of Ctrl-C need what an interpreter does by default.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes depends on what else the machine has to do.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


def pytest_configure(config):
    if INTERPRETED:
        # Unsigned numbers wrap in machine code; those of NumPy do too, but not silently.
        overflow = "ignore:overflow encountered in scalar:RuntimeWarning"
        config.addinivalue_line("filterwarnings", overflow)


def pytest_collection_modifyitems(items):
    if INTERPRETED:
        for item in items:
            if item.get_closest_marker("needs_jit"):
                item.add_marker(pytest.mark.skip(reason="hopeless without compiled kernels"))


if INTERPRETED:

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(item):
        """Skip the rest of a test that takes too long without compiled kernels."""
        reason = f"no end after {PATIENCE} seconds without compiled kernels"
        late = []

        def give_up(signum, frame):
            late.append(True)
            pytest.skip(reason)

        before = signal.signal(signal.SIGALRM, give_up)
        signal.alarm(PATIENCE)
        try:
            return (yield)
        except Exception:
            if late:  # doctest takes a skip for a failure
                pytest.skip(reason)
            raise
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
