"""What is given to every method: cells with values, and the cells it is asked about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Problem:
    """One completion task.

    Attributes
    ----------
    name
        For tables.
    shape
        Lengths of the modes.
    coords, values
        (n, p) cells and (n,) values >= 0 that are known; a cell may occur more than once.
    asked, truth
        (m, p) cells and (m,) values that a method is scored on and never sees.
    """

    name: str
    shape: tuple[int, ...]
    coords: NDArray[np.int64]
    values: NDArray[np.float64]
    asked: NDArray[np.int64]
    truth: NDArray[np.float64]

    @property
    def n_cells(self) -> int:
        """Cells of the whole tensor."""
        return int(np.prod(np.array(self.shape, dtype=object)))


def from_dense(name: str, tensor: NDArray, known: NDArray, hidden: NDArray) -> Problem:
    """Make a task of a dense array and two masks."""
    coords, asked = np.argwhere(known), np.argwhere(hidden)
    return Problem(
        name=name,
        shape=tensor.shape,
        coords=coords,
        values=tensor[known].astype(float),
        asked=asked,
        truth=tensor[hidden].astype(float),
    )


def dense_of(problem: Problem) -> tuple[NDArray, NDArray]:
    """Return a dense array with 0 where nothing is known, and the mask; repeated cells averaged."""
    flat = np.ravel_multi_index(tuple(problem.coords.T), problem.shape)
    size = problem.n_cells
    counts = np.bincount(flat, minlength=size)
    sums = np.bincount(flat, problem.values, minlength=size)
    mask = counts > 0
    tensor = np.where(mask, sums / np.maximum(counts, 1), 0.0)
    return tensor.reshape(problem.shape), mask.reshape(problem.shape)
