"""Names for the array types that travel between modules."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["AnyArray", "FlagArray", "FloatArray", "IndexArray", "Shape", "WordArray"]

Shape = tuple[int, ...]
AnyArray = NDArray[Any]
FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]
FlagArray = NDArray[np.uint8]
"""0 or 1 per index, the modes laid end to end: one vertex is ``sum(shape)`` flags."""
WordArray = NDArray[np.uint64]
