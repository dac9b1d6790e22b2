"""The oracle's problem as a mixed-integer programme, the same rows for every solver.

One binary ``theta`` per flag and one ``phi`` in [0, 1] per observed cell, flags first::

    minimise    sum_x c_x phi_x
    subject to  phi_x - theta_k[x_k]         <= 0        where c_x < 0, for every mode k
                sum_k theta_k[x_k] - phi_x   <= p - 1    where c_x > 0

Each cell has rows only on the side that its cost pulls to, and a cell without cost has none. With
binary ``theta`` the rows allow ``phi_x`` to be anything from 0 to the product of its flags, or
anything from the product to 1. The product is the cheap end of either range, so the minimum is
exact. The relaxation is no weaker than with both kinds of rows for every cell: at the cheap end
the other kind holds by itself, with fractional ``theta`` too.

The signs, and with them the rows, change from call to call, so every call has a formulation of
its own. Making it takes far less time than the search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from intensor._arrays import FlagArray, FloatArray, IndexArray
from intensor.data.observations import Observations
from intensor.problem.vertex import mode_offsets


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Formulation:
    """Rows ``A z <= rhs`` over the columns z = (theta, phi), A in compressed sparse rows."""

    costs: FloatArray  # (u,) cost of each cell; flags cost nothing
    members: IndexArray  # (u, p) column of the flag that each cell has in each mode
    n_flags: int  # Number of binaries; the cell j has column ``n_flags + j``
    # (rows + 1,) where each row begins in ``columns`` and ``coefficients``
    starts: NDArray[np.int32]
    # (nonzeros,) entries of A, row by row
    columns: NDArray[np.int32]
    coefficients: FloatArray
    rhs: FloatArray  # (rows,) right-hand sides

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
        """Number of rows: p per cell of negative cost, 1 per cell of positive cost."""
        return int(self.rhs.size)

    @property
    def column_costs(self) -> FloatArray:
        """(n_columns,) cost of every variable: 0 for the flags, then the costs of the cells."""
        return np.concatenate((np.zeros(self.n_flags), self.costs))

    def complete(self, flags: FlagArray) -> FloatArray:
        """Return the (n_columns,) feasible point of a vertex that costs what the vertex costs."""
        theta = flags.astype(np.float64)
        return np.concatenate((theta, theta[self.members].prod(axis=1)))


def formulate(observations: Observations, costs: FloatArray) -> Formulation:
    """Return the programme for one call, cell by cell (Gurobi is slower on rows sorted by sign)."""
    p = len(observations.shape)
    u = observations.n_cells
    offsets = mode_offsets(observations.shape)
    members = np.stack(observations.coords, axis=1).astype(np.int64) + offsets[:-1]
    cells = offsets[-1] + np.arange(u, dtype=np.int64)[:, None]

    pairs = np.stack(np.broadcast_arrays(members, cells), axis=2).reshape(u, 2 * p)
    columns = np.hstack((pairs, members, cells))
    coefficients = np.array([-1.0, 1.0] * p + [1.0] * p + [-1.0])
    lengths = np.array([2] * p + [p + 1])
    rhs = np.array([0.0] * p + [p - 1.0])
    needed = np.stack([costs < 0.0] * p + [costs > 0.0], axis=1)  # of the p + 1 rows of a cell
    entries = np.repeat(needed, lengths, axis=1)
    row_lengths = np.broadcast_to(lengths, needed.shape)[needed]
    return Formulation(
        costs=costs,
        members=members,
        n_flags=int(offsets[-1]),
        starts=np.concatenate(([0], np.cumsum(row_lengths))).astype(np.int32),
        columns=columns[entries].astype(np.int32),
        coefficients=np.broadcast_to(coefficients, entries.shape)[entries],
        rhs=np.broadcast_to(rhs, needed.shape)[needed],
    )
