"""Names of the array types that modules exchange, and their inner product."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Shape = tuple[int, ...]
AnyArray = NDArray[Any]
FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]
FlagArray = NDArray[np.uint8]
"""0 or 1 per index, the modes laid end to end: one vertex is ``sum(shape)`` flags."""
WordArray = NDArray[np.uint64]
"""64-bit words in which every bit belongs to another vertex, lane or cell."""


def inner(one: FloatArray, other: FloatArray) -> float:
    """Return the sum of products, the same on any number of threads.

    BLAS cuts long vectors into one piece per thread, so the last bits of its inner products
    depend on the number of cores.
    """
    return float((one * other).sum())
