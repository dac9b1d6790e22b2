"""Linear algebra on dense tensors, cut into pieces so that it can stop when time is up.

A piece is one call of BLAS or LAPACK that takes a few hundredths of a second. Pieces depend on the
sizes alone and BLAS runs on one thread, so results are the same on any number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from intensor._arrays import AnyArray, FloatArray
from intensor.runtime.budget import Budget
from intensor.runtime.threads import Workers, evenly, one_blas_thread

MAX_PIECE = 1 << 28
"""Most multiplications in one piece of a matrix product."""
BLOCK_COLUMNS = 512
"""Number of columns of a factor or an inverse that are computed at a time."""
SECONDS_PER_EIGEN_CUBE = 5e-10
"""Estimated seconds of all eigenvectors of a matrix, per cube of its length."""
JITTER = 1e-6
"""Share of the mean variance that is added to every variance before a covariance is factored."""
MAX_FACTORISATIONS = 8
"""Most attempts to factor a covariance, with ten times the jitter each time."""


class OutOfTimeError(Exception):
    """The budget was spent before the work was done; never leaves ``fitting``."""


class FieldAlgebra:
    """Products, factors and inverses that stop when the budget is spent.

    At most ``threads`` pieces run at a time, with None one per core.
    """

    def __init__(
        self, budget: Budget, threads: int | None = 1, *, max_piece: int = MAX_PIECE
    ) -> None:
        self._budget = budget
        self._max_piece = max_piece
        self._workers = Workers(threads)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Keep BLAS on one thread inside this context, and let go of our threads after it."""
        import scipy.linalg  # noqa: F401, PLC0415  (loads a BLAS, which must be there to be set)

        try:
            with one_blas_thread():
                yield
        finally:
            self._workers.close()

    def check(self, seconds: float = 0.0) -> None:
        """Raise ``OutOfTimeError`` when the budget is spent, or would be after some seconds."""
        if self._budget.spent or self._budget.remaining < seconds:
            raise OutOfTimeError

    def multiply(self, field: AnyArray, matrices: Sequence[AnyArray]) -> AnyArray:
        """Multiply a tensor by one matrix per mode."""
        for mode, matrix in enumerate(matrices):
            field = self.multiply_mode(field, matrix, mode)
        return field

    def multiply_mode(self, field: AnyArray, matrix: AnyArray, mode: int) -> AnyArray:
        """Multiply a tensor by a matrix along one mode."""
        shape = field.shape
        out = np.empty(shape, dtype=np.result_type(field, matrix))
        stack = field.reshape(math.prod(shape[:mode]), shape[mode], -1)
        target = out.reshape(stack.shape)

        def multiply_rows(part: slice) -> None:
            np.matmul(stack[part, :, 0], matrix.T, out=target[part, :, 0])

        def multiply_columns(part: slice) -> None:
            np.matmul(matrix, stack[..., part], out=target[..., part])

        def multiply_slabs(part: slice) -> None:
            np.matmul(matrix, stack[part], out=target[part])

        work, length = multiply_slabs, len(stack)
        if mode == len(shape) - 1:
            work = multiply_rows
        elif len(stack) == 1:  # the first mode
            work, length = multiply_columns, stack.shape[2]
        self._in_pieces(work, length, field.size * shape[mode])
        return out

    def square(self, slabs: FloatArray) -> FloatArray:
        """Return a matrix times its transpose."""
        out = np.empty((len(slabs), len(slabs)))
        self._in_pieces(
            lambda part: np.matmul(slabs[part], slabs.T, out=out[part]),
            len(slabs),
            slabs.size * len(slabs),
        )
        return out

    def root(self, covariance: AnyArray) -> FloatArray:
        """Return a lower triangular L such that L L' is the covariance, or very nearly."""
        matrix = covariance.astype(np.float64)
        jitter = JITTER * np.trace(matrix) / len(matrix)
        for _ in range(MAX_FACTORISATIONS):
            try:
                return self._cholesky(matrix + jitter * np.eye(len(matrix)))
            except np.linalg.LinAlgError:  # single precision can cost a tiny eigenvalue its sign
                jitter *= 10.0
        return np.diag(np.sqrt(np.diag(matrix)))

    def eigen(self, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the eigenvalues of a covariance in rising order, and its eigenvectors.

        It is one call, however long it takes, so it is not begun unless there is time for it.
        """
        self.check(SECONDS_PER_EIGEN_CUBE * len(covariance) ** 3)
        found = np.linalg.eigh(covariance)
        return found.eigenvalues, found.eigenvectors

    def inverse(self, root: FloatArray) -> FloatArray:
        """Return the inverse of a lower triangular matrix."""
        from scipy.linalg import solve_triangular  # noqa: PLC0415

        length = len(root)
        if length <= BLOCK_COLUMNS:
            self.check()
            inverse: FloatArray = solve_triangular(root, np.eye(length), lower=True)
            return inverse
        out = np.zeros_like(root)
        for start in range(0, length, BLOCK_COLUMNS):
            self.check()
            identity = np.eye(length - start, min(BLOCK_COLUMNS, length - start))
            out[start:, start : start + BLOCK_COLUMNS] = solve_triangular(
                root[start:, start:], identity, lower=True
            )
        return out

    def _cholesky(self, matrix: FloatArray) -> FloatArray:
        """Factor a matrix, one block of columns at a time if it is large."""
        from scipy.linalg import solve_triangular  # noqa: PLC0415

        if len(matrix) <= BLOCK_COLUMNS:
            self.check()
            return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
        factor = np.zeros_like(matrix)
        for start in range(0, len(matrix), BLOCK_COLUMNS):
            self.check()
            here, below = slice(start, start + BLOCK_COLUMNS), slice(start + BLOCK_COLUMNS, None)
            left = matrix[start:, here] - factor[start:, :start] @ factor[here, :start].T
            factor[here, here] = np.linalg.cholesky(left[:BLOCK_COLUMNS])
            if start + BLOCK_COLUMNS < len(matrix):
                factor[below, here] = solve_triangular(
                    factor[here, here], left[BLOCK_COLUMNS:].T, lower=True
                ).T
        return factor

    def _in_pieces(self, work: Callable[[slice], object], length: int, size: int) -> None:
        """Do work over 0..length-1 in pieces that each multiply little enough."""
        count = max(1, min(length, -(-size // self._max_piece)))
        ends = evenly(0, length, count)

        def do(piece: int) -> None:
            self.check()
            work(slice(ends[piece], ends[piece + 1]))

        self._workers.run(do, count)
