"""Set before Numba is imported: kernels for CUDA run in a simulator unless told otherwise.

    NUMBA_ENABLE_CUDASIM=0 python -m pytest tests/kernels/cuda

runs them on a device.
"""

import os
import signal

os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts background jobs so; tests of Ctrl-C need what an interpreter does by default.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config):
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        # Unsigned numbers wrap in machine code; those of NumPy do too, but not silently.
        overflow = "ignore:overflow encountered in scalar:RuntimeWarning"
        config.addinivalue_line("filterwarnings", overflow)
