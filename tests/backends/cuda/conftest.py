"""The CUDA tests need numba-cuda, and run under its simulator where there is no device."""

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("numba_cuda") else ["test_*.py"]
