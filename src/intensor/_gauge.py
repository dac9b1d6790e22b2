"""The nonnegative gauge norm of a tensor, between two proven bounds.

``|t|_+ = min { sum w : sum w_v v = t, w >= 0 }`` over all 0-1 boxes v: a linear program with
a column per vertex, solved by column generation. Its dual is ``max <t, y>`` subject to
``<v, y> <= 1`` for every vertex, so the oracle that prices vertices also scales any y into a
feasible one: that is where the lower bound comes from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from intensor._arrays import AnyArray, FlagArray, FloatArray
from intensor.data.checks import check_dense
from intensor.data.observations import Observations, observe
from intensor.errors import SolverFailedError
from intensor.model.model import Model, build_model
from intensor.options.ranges import check_at_least, check_positive
from intensor.oracles.alternating import AlternatingOracle
from intensor.oracles.cascade import ExactChoice, FreeBoundOracle, find_exact
from intensor.oracles.contraction import PerIndexRemembered
from intensor.oracles.mip.base import import_solver
from intensor.oracles.mip.oracle import MipOracle
from intensor.problem.vertex import membership, mode_offsets
from intensor.runtime.budget import Budget, listen_for_interrupt
from intensor.runtime.memory import require_memory

EPS = float(np.finfo(np.float64).eps)
STARTS_PER_ROUND = 60  # heuristic descents per round; each may give a column
FLIPPED_SHARES = (0.1, 0.25, 0.5)
"""Shares of a known vertex's flags that are flipped to make a start."""
ROUNDS_PER_EXACT_CALL = 10  # rounds between two calls of an exact search that is cheap


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GaugeNorm:
    """Proven bounds of a nonnegative norm.

    Attributes
    ----------
    lower, upper
        The norm lies between them.
    model
        A sum of boxes equal to the tensor whose weights sum to ``upper``.
    rounds
        Number of linear programs solved.
    """

    lower: float
    upper: float
    model: Model
    rounds: int

    @property
    def gap(self) -> float:
        """Upper minus lower."""
        return self.upper - self.lower

    def __repr__(self) -> str:
        return f"<GaugeNorm between {self.lower:.9g} and {self.upper:.9g}>"


def gauge_norm(
    tensor: ArrayLike,
    *,
    rtol: float = 1e-7,
    exact: str = "auto",
    time_limit: float | None = None,
    seed: int = 0,
) -> GaugeNorm:
    """Return lower and upper bounds of the nonnegative norm of a dense tensor.

    The norm is the least radius whose polytope holds the tensor. It is at least the largest
    entry, and at most the nonnegative rank times that.

    Parameters
    ----------
    tensor
        Finite nonnegative numbers, one axis per mode.
    rtol
        Stop when the bounds agree to this fraction.
    exact
        The exact oracle, as in ``solve``; with "off" the lower bound is the largest entry.
    time_limit
        Seconds after which the bounds found so far are returned.
    seed
        Seed of the heuristic that proposes boxes.

    Examples
    --------
    >>> norm = gauge_norm([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    >>> round(norm.lower, 6), round(norm.upper, 6)
    (3.0, 3.0)
    """
    numbers, shape = check_dense(tensor)
    rtol = check_at_least("rtol", rtol, 0.0)
    seed = check_at_least("seed", seed, 0, integer=True)
    choice = find_exact(exact)
    budget = Budget(None if time_limit is None else check_positive("time_limit", time_limit))
    largest = float(numbers.max())
    if largest == 0.0:
        nothing = np.zeros((0, sum(shape)), dtype=np.uint8)
        empty = build_model(nothing, np.empty(0), shape=shape, radius=0.0)
        return GaugeNorm(lower=0.0, upper=0.0, model=empty, rounds=0)
    # A flag for every index in every vertex, of which there is one per nonzero cell at first; and
    # as many again while they are put together and packed.
    flags = 2 * int(np.count_nonzero(numbers)) * sum(shape)
    require_memory(
        flags + numbers.size * (8 * len(shape) + 100),
        f"the norm of a tensor of {numbers.size} cells and {sum(shape)} indices",
        advice="take a smaller part of the tensor",
    )
    coords = np.stack(np.unravel_index(np.arange(numbers.size), shape), axis=1)
    cells = observe(coords, numbers / largest, shape=shape)
    with listen_for_interrupt(budget):
        return _Columns(cells, seed).generate(largest, choice, rtol, budget)


class _Columns:
    """Column generation on a tensor scaled to a largest entry of 1."""

    def __init__(self, cells: Observations, seed: int) -> None:
        self._cells = cells
        self._support = cells.means > 0.0
        self._target = cells.means[self._support]
        self._heuristic = AlternatingOracle(
            PerIndexRemembered(cells), cells.shape, rng=np.random.default_rng(seed)
        )
        self._rng = np.random.default_rng(seed)
        self._flags = list(self._single_cells())
        self._known = set(map(_key, self._flags))
        self._program = _LinearProgram(self._target)

    def generate(self, scale: float, choice: ExactChoice, rtol: float, budget: Budget) -> GaugeNorm:
        """Add columns until no vertex prices out, keeping the best bounds."""
        exact = choice.oracle(self._cells)
        slow = isinstance(exact, MipOracle | FreeBoundOracle)
        lower, rounds = 1.0, 0
        while True:
            rounds += 1
            weights, dual = self._program.solve()
            upper, exact_weights = self._program.repair(weights)
            if upper - lower <= rtol * upper or budget.spent:
                break
            costs = self._costs(dual)
            found = self._propose(costs, budget)
            due = not slow and rounds % ROUNDS_PER_EXACT_CALL == 0
            if (due or not found) and not budget.spent:
                answer = exact.minimise(costs, budget=budget)
                # No vertex holds more than -bound of the dual, so dual / -bound is feasible.
                most = max(1.0, -answer.bound)
                lower = max(lower, _sum_from_below(dual * self._target) / most * (1.0 - 4 * EPS))
                if upper - lower <= rtol * upper:
                    break
                found = self._new([*found, answer.flags])
            if not found:
                break
            for flags in found:
                self._append(flags)
        return GaugeNorm(
            lower=float(scale * lower),
            upper=float(scale * upper),
            model=self._model(exact_weights, scale=scale, radius=scale * upper),
            rounds=rounds,
        )

    def _model(self, weights: FloatArray, *, scale: float, radius: float) -> Model:
        """Return the columns with weight as a model in the units of the tensor."""
        used = np.flatnonzero(weights).tolist()
        flags = np.array([self._flags[column] for column in used], dtype=np.uint8)
        return build_model(
            flags.reshape(len(used), sum(self._cells.shape)),
            scale * weights[used],
            shape=self._cells.shape,
            radius=radius,
        )

    def _single_cells(self) -> FlagArray:
        """Return one vertex per nonzero cell: a first way to write the tensor."""
        offsets = mode_offsets(self._cells.shape)
        flags = np.zeros((self._target.size, sum(self._cells.shape)), dtype=np.uint8)
        for mode, column in enumerate(self._cells.coords):
            flags[np.arange(len(flags)), offsets[mode] + column[self._support]] = 1
        return flags

    def _costs(self, dual: FloatArray) -> FloatArray:
        """Return the costs whose cheapest vertex has the largest sum of duals.

        A vertex that touches a zero of the tensor is of no use: its cost is made positive.
        """
        costs = np.full(self._cells.n_cells, 1.0 + math.fsum(np.abs(dual)))
        costs[self._support] = -dual
        return costs

    def _propose(self, costs: FloatArray, budget: Budget) -> list[FlagArray]:
        """Return new vertices that price out, found by the heuristic from many starts."""
        found = []
        for _ in range(STARTS_PER_ROUND):
            if budget.spent:
                break
            # A box must avoid the zeros, so starts around one cell do better than random ones.
            start = self._flags[int(self._rng.integers(len(self._flags)))].copy()
            start[self._rng.random(start.size) < self._rng.choice(FLIPPED_SHARES)] ^= 1
            answer = self._heuristic.descend(start, costs)
            if answer.value < -1.0 - 1e-9:
                found.append(answer.flags)
        return self._new(found)

    def _new(self, found: list[FlagArray]) -> list[FlagArray]:
        fresh = {_key(flags): flags for flags in found}
        return [flags for key, flags in fresh.items() if key not in self._known]

    def _append(self, flags: FlagArray) -> None:
        inside = membership(flags, self._cells.coords, self._cells.shape)[self._support]
        self._known.add(_key(flags))
        self._flags.append(flags)
        self._program.append(np.flatnonzero(inside))


class _LinearProgram:
    """The linear program over the columns so far, kept warm in HiGHS.

    Its first columns are the single cells, so it is feasible from the start.
    """

    def __init__(self, target: FloatArray) -> None:
        self._target = target
        self._columns: list[AnyArray] = []
        highspy = self._highspy = import_solver("highspy", install="pip install highspy")
        self._solver: Any = highspy.Highs()
        self._solver.setOptionValue("output_flag", False)
        self._solver.setOptionValue("threads", 1)
        nothing = np.empty(0, dtype=np.int32)
        for value in target.tolist():
            self._solver.addRow(value, value, 0, nothing, np.empty(0))
        for cell in range(target.size):
            self.append(np.array([cell]))

    def append(self, cells: AnyArray) -> None:
        """Add a vertex, given which nonzero cells it holds."""
        self._columns.append(cells)
        rows = cells.astype(np.int32)
        infinity = self._highspy.kHighsInf
        self._solver.addCol(1.0, 0.0, infinity, rows.size, rows, np.ones(rows.size))

    def solve(self) -> tuple[FloatArray, FloatArray]:
        """Return the weights of the columns and the duals of the cells."""
        # HiGHS refuses another number of threads than its scheduler was started with.
        self._solver.resetGlobalScheduler(True)
        self._solver.run()
        if self._solver.getModelStatus() != self._highspy.HighsModelStatus.kOptimal:
            status = self._solver.modelStatusToString(self._solver.getModelStatus())
            raise SolverFailedError(f"HiGHS could not solve a linear program: {status}")
        solution = self._solver.getSolution()
        return np.maximum(solution.col_value, 0.0), np.array(solution.row_dual)

    def repair(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Return an upper bound of the norm, and weights that give the tensor to rounding.

        Shrink until nothing overshoots, then fill every cell up with its own vertex. A cell adds
        up as many weights as there are columns in use, and may be off by a rounding for each:
        shrinking by that share and filling up again costs at most twice that of every cell.
        """
        reached = np.zeros(self._target.size)
        for column in np.flatnonzero(weights).tolist():
            reached[self._columns[column]] += weights[column]
        shrink = min(1.0, float((self._target / np.maximum(reached, 1e-300)).min()))
        repaired = shrink * weights
        repaired[: self._target.size] += np.maximum(self._target - shrink * reached, 0.0)
        terms = np.count_nonzero(weights) + 4
        rounding = 2.0 * terms * EPS * math.fsum(self._target)
        return math.fsum(repaired) * (1.0 + 4 * EPS) + rounding, repaired


def _key(flags: FlagArray) -> bytes:
    """Return the bits of a vertex, to tell it from others."""
    return np.packbits(flags).tobytes()


def _sum_from_below(products: FloatArray) -> float:
    """Return a sum of rounded products that is not above the sum of the exact ones."""
    return math.fsum(products) - EPS * math.fsum(np.abs(products))
