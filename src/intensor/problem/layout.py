"""Coordinates in the form that kernels take: positions of each cell's indices in the flags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from intensor._arrays import AnyArray, Shape
from intensor.problem.vertex import mode_offsets
from intensor.runtime.threads import Workers


def cell_matrix(coords: Sequence[AnyArray], shape: Shape) -> AnyArray:
    """Return (u, p) indices in the smallest unsigned type that holds the longest mode."""
    cells = np.empty((coords[0].shape[0], len(shape)), dtype=np.min_scalar_type(max(shape) - 1))
    for mode, column in enumerate(coords):
        cells[:, mode] = column
    return cells


def position_type(shape: Shape) -> np.dtype[Any]:
    """Return the smallest unsigned type that holds every position in the flags."""
    return np.min_scalar_type(sum(shape) - 1)


def positions(
    coords: Sequence[AnyArray],
    shape: Shape,
    order: AnyArray | None = None,
    workers: Workers | None = None,
) -> AnyArray:
    """Return (u, p) positions in flags and lanes, in the smallest unsigned type.

    ``order`` gives the u cells a new order.
    """
    offsets = mode_offsets(shape)
    rows = np.empty((coords[0].shape[0], len(shape)), dtype=position_type(shape))

    def write(mode: int) -> None:
        column = coords[mode] if order is None else coords[mode][order]
        np.add(column, offsets[mode], out=rows[:, mode], casting="unsafe")

    (Workers(1) if workers is None else workers).run(write, len(shape))
    return rows
