"""The order of numbers by size: quicksort on their positions.

Numba's ``np.argsort`` gives the same order, that of equal numbers included, and takes four times as
long to compile.
"""

from __future__ import annotations

import numpy as np

from intensor._arrays import FloatArray, IndexArray
from intensor.runtime.compiling import njit

SHORT = 15
"""Parts with at most this many numbers are sorted by insertion."""


@njit(cache=True, nogil=True)
def sort_positions(  # noqa: PLR0912 - one loop without calls, which compiles faster
    values: FloatArray, count: int, out_order: IndexArray
) -> None:
    """Write the positions of the first ``count`` values, from the least to the largest.

    The middle one of three values divides a part, and the smaller half is sorted first, so that
    fewer halves wait than a count has binary digits. Equal values may change places.
    """
    waiting = np.empty((64, 2), dtype=np.int64)
    order = out_order
    for position in range(count):
        order[position] = position
    n_waiting, low, high = 0, 0, count - 1
    while True:
        while high - low >= SHORT:
            middle = (low + high) >> 1
            if values[order[middle]] < values[order[low]]:
                order[low], order[middle] = order[middle], order[low]
            if values[order[high]] < values[order[middle]]:
                order[high], order[middle] = order[middle], order[high]
            if values[order[middle]] < values[order[low]]:
                order[low], order[middle] = order[middle], order[low]
            pivot = values[order[middle]]
            order[high], order[middle] = order[middle], order[high]
            left, right = low, high - 1
            while True:
                while left < high and values[order[left]] < pivot:
                    left += 1
                while right >= low and pivot < values[order[right]]:
                    right -= 1
                if left >= right:
                    break
                order[left], order[right] = order[right], order[left]
                left += 1
                right -= 1
            order[left], order[high] = order[high], order[left]
            if high - left > left - low:
                waiting[n_waiting, 0], waiting[n_waiting, 1] = left + 1, high
                high = left - 1
            else:
                waiting[n_waiting, 0], waiting[n_waiting, 1] = low, left - 1
                low = left + 1
            n_waiting += 1
        for end in range(low + 1, high + 1):
            position, place = order[end], end
            while place > low and values[position] < values[order[place - 1]]:
                order[place] = order[place - 1]
                place -= 1
            order[place] = position
        if n_waiting == 0:
            return
        n_waiting -= 1
        low, high = waiting[n_waiting, 0], waiting[n_waiting, 1]
