"""The oracle's problem as a mixed-integer programme, the same rows for every solver.

One binary ``theta`` per flag and one ``phi`` in [0, 1] per observed cell, flags first::

    minimise    sum_x c_x phi_x
    subject to  phi_x - theta_k[x_k]         <= 0        for every cell x and mode k
                sum_k theta_k[x_k] - phi_x   <= p - 1    for every cell x

With binary ``theta`` the rows leave ``phi_x`` one value, the product of its flags. Costs are
not part of the formulation: they change from call to call.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from intensor.arrays import FlagArray, FloatArray, IndexArray
from intensor.data.observations import Observations
from intensor.problem.vertex import mode_offsets

__all__ = ["Formulation", "formulate"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Formulation:
    """Rows ``A z <= rhs`` over the columns z = (theta, phi), A in compressed sparse rows.

    Attributes
    ----------
    members
        (u, p) column of the flag that each cell has in each mode.
    n_flags
        Number of binaries; the cell j has column ``n_flags + j``.
    starts
        (rows + 1,) where each row begins in ``columns`` and ``coefficients``.
    columns, coefficients
        (nonzeros,) entries of A, row by row.
    rhs
        (rows,) right-hand sides.
    """

    members: IndexArray
    n_flags: int
    starts: NDArray[np.int32]
    columns: NDArray[np.int32]
    coefficients: FloatArray
    rhs: FloatArray

    @property
    def n_cells(self) -> int:
        """Number of observed cells, u."""
        return int(self.members.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of variables, flags and cells together."""
        return self.n_flags + self.n_cells

    @property
    def n_rows(self) -> int:
        """Number of rows, p + 1 per cell."""
        return int(self.rhs.size)

    def complete(self, flags: FlagArray) -> FloatArray:
        """Return the (n_columns,) feasible point that a vertex stands for."""
        theta = flags.astype(np.float64)
        return np.concatenate((theta, theta[self.members].prod(axis=1)))


def formulate(observations: Observations) -> Formulation:
    """Return the rows of the observed cells, p + 1 next to each other per cell."""
    p = len(observations.shape)
    u = observations.n_cells
    offsets = mode_offsets(observations.shape)
    members = np.stack(observations.coords, axis=1).astype(np.int64) + offsets[:-1]
    cells = offsets[-1] + np.arange(u, dtype=np.int64)[:, None]

    pairs = np.stack(np.broadcast_arrays(members, cells), axis=2).reshape(u, 2 * p)
    columns = np.hstack((pairs, members, cells))
    one_cell = np.array([-1.0, 1.0] * p + [1.0] * p + [-1.0])
    lengths = np.tile([2] * p + [p + 1], u)
    return Formulation(
        members=members,
        n_flags=int(offsets[-1]),
        starts=np.concatenate(([0], np.cumsum(lengths))).astype(np.int32),
        columns=columns.ravel().astype(np.int32),
        coefficients=np.tile(one_cell, u),
        rhs=np.tile([0.0] * p + [p - 1.0], u),
    )
