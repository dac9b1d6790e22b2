"""What the terms of a model contribute: their entries in a cell, and their shares of the fit."""

from __future__ import annotations

import math

import numpy as np

from intensor._arrays import FloatArray, IndexArray
from intensor.model.model import Model
from intensor.problem.vertex import INDICES_AT_ONCE, mode_slices


def cell_entries(model: Model, cell: IndexArray, counts: FloatArray) -> FloatArray:
    """Return the (p, k) entries of all terms at the indices of one cell, mode by mode.

    An index of -1 stands for the average over its mode, in which an index counts as often as
    ``counts`` says. The weight of a term times its p entries is what it adds to the cell.
    """
    entries = np.empty((len(model.shape), len(model)))
    for mode, (part, index) in enumerate(zip(mode_slices(model.shape), cell.tolist(), strict=True)):
        if index < 0:
            entries[mode] = _mean_entries(model, part, counts)
        else:
            entries[mode] = _entries_at(model, slice(part.start + index, part.start + index + 1))
    return entries


def term_shares(model: Model, counts: FloatArray | None = None) -> FloatArray:
    """Return the (k,) shares of all terms in the mean prediction, which add up to 1.

    The mean is over cells whose indices are drawn mode by mode, each as often as it was observed
    (``counts``), or all equally often. A term adds its weight times the product over the modes of
    its mean entry to that mean, so no cell is visited. Of signed terms the sizes count, since
    terms of both signs may cancel. If no term adds anything, all shares are 0.

    Examples
    --------
    >>> from intensor.model.model import build_model
    >>> rows = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 1.0, 0.5]])
    >>> model = build_model(rows, np.array([3.0, 8.0]), shape=(2, 2), radius=11.0)
    >>> term_shares(model).tolist()
    [0.5, 0.5]
    """
    if counts is None:
        counts = np.ones(sum(model.shape))
    sizes = np.abs(model.weights)
    largest = float(sizes.max(initial=0.0))
    if largest == 0.0:
        return np.zeros(len(model))
    added = sizes / largest  # so that tiny weights do not vanish in the products
    for part in mode_slices(model.shape):
        added *= _mean_entries(model, part, counts)
    total = math.fsum(added)
    return added / total if total > 0.0 else added


def _mean_entries(model: Model, part: slice, counts: FloatArray) -> FloatArray:
    """Return the (k,) mean entries of all terms in one mode."""
    total = np.zeros(len(model))
    for start in range(part.start, part.stop, INDICES_AT_ONCE):
        block = slice(start, min(start + INDICES_AT_ONCE, part.stop))
        total += counts[block] @ _entries_at(model, block)
    mean: FloatArray = total / counts[part].sum()
    return mean


def _entries_at(model: Model, positions: slice) -> FloatArray:
    """Return the (m, k) entries of all terms at some of the sum(shape) positions."""
    boxes = model.vertices.flags_at(positions).astype(np.float64)
    if not len(model.components):
        return boxes
    return np.concatenate((boxes, model.components.factors_at(positions)), axis=1)
