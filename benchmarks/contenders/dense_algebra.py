"""Dense steps that SiLRTC and TNCP share: unfolding, Khatri-Rao products, shrinkage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from benchmarks.problems import Problem, dense_of


def unfold(tensor: NDArray, mode: int) -> NDArray:
    """Return the (length of mode, all the rest) matrix; the rest in order, the last one fastest."""
    return np.moveaxis(tensor, mode, 0).reshape(tensor.shape[mode], -1)


def fold(matrix: NDArray, mode: int, shape: tuple[int, ...]) -> NDArray:
    """Undo :func:`unfold`."""
    rest = shape[:mode] + shape[mode + 1 :]
    return np.moveaxis(matrix.reshape(shape[mode], *rest), 0, mode)


def khatri_rao(factors: Sequence[NDArray]) -> NDArray:
    """Return the (product of lengths, rank) columnwise Kronecker product, the last one fastest."""
    rank = factors[0].shape[1]
    return reduce(lambda left, right: (left[:, None] * right).reshape(-1, rank), factors)


def from_factors(factors: Sequence[NDArray]) -> NDArray:
    """Return the dense tensor of a CP model."""
    shape = tuple(len(factor) for factor in factors)
    longest = int(np.argmax(shape))
    rest = [factor for mode, factor in enumerate(factors) if mode != longest]
    return np.ascontiguousarray(fold(factors[longest] @ khatri_rao(rest).T, longest, shape))


def project(tensor: NDArray, factors: Sequence[NDArray], mode: int) -> NDArray:
    """Return ``unfold(tensor, mode) @ khatri_rao(all factors but that of the mode)``.

    The longest mode is summed over first: the Khatri-Rao product of the others may be several
    times as large as the tensor.
    """
    longest = int(np.argmax(tensor.shape))
    others = [factor for k, factor in enumerate(factors) if k != mode]
    if mode == longest or len(others) == 1:
        return unfold(tensor, mode) @ khatri_rao(others)
    rest = [factor for k, factor in enumerate(factors) if k not in (mode, longest)]
    summed = np.tensordot(tensor, factors[longest], axes=(longest, 0))
    summed = np.moveaxis(summed, mode - (longest < mode), 0)
    summed = summed.reshape(len(factors[mode]), -1, summed.shape[-1])
    return np.einsum("ikr,kr->ir", summed, khatri_rao(rest))


def shrink(matrix: NDArray, amount: float) -> tuple[NDArray, float]:
    """Lower every singular value by an amount, at most to 0.

    This minimises ``amount * trace norm(M) + ||M - matrix||^2 / 2`` over M.

    Singular values are roots of the eigenvalues of the smaller Gram matrix, as unfoldings are far
    wider than high. Those under about 1e-8 of the largest are blurred so, and M with them by as
    little.

    Returns
    -------
    M, and its trace norm.
    """
    if matrix.shape[0] > matrix.shape[1]:
        turned, norm = shrink(matrix.T, amount)
        return turned.T, norm
    squares, vectors = np.linalg.eigh(matrix @ matrix.T)
    sizes = np.sqrt(np.maximum(squares, 0.0))
    kept = sizes > amount
    vectors, sizes = vectors[:, kept], sizes[kept]
    less = (vectors * (1.0 - amount / sizes)) @ vectors.T
    return less @ matrix, float(np.sum(sizes - amount))


def known_cells(problem: Problem) -> tuple[NDArray, NDArray, float]:
    """Return the tensor in units of its root mean square, the mask of what is known, the unit.

    Unknown cells are 0; repeated cells are averaged.
    """
    tensor, known = dense_of(problem)
    unit = math.sqrt(float(np.mean(tensor[known] ** 2))) or 1.0
    return tensor / unit, known, unit
