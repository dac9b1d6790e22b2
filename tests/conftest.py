"""Set before Numba is imported: kernels for CUDA run in a simulator unless told otherwise.

    NUMBA_ENABLE_CUDASIM=0 python -m pytest tests/kernels/cuda

runs them on a device.
"""

import os

os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")
