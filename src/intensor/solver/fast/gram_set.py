"""The active set in Gram space: vertices by their Gram matrix, weights by the master."""

from __future__ import annotations

import math

import numpy as np

from intensor._arrays import AnyArray, FlagArray, FloatArray, IndexArray, Shape, WordArray
from intensor.backends.base import Cells
from intensor.kernels.lanes import store_words
from intensor.problem.vertex import pack_vertices
from intensor.solver.fast.master import Master
from intensor.solver.fast.tuning import TUNING, Tuning
from intensor.storage.reader import Tree, TreeReader

NEARLY_PERFECT_SHARE = 1e-6
"""Share of the first objective below which a fit counts as close to perfect."""
MAX_DOUBLED_CAPACITY = 4096
"""Largest capacity that is still doubled: the Gram matrix grows with its square."""
MAX_RESTORED_CAPACITY = 1024
"""Largest capacity that a file may ask for, unless it holds a quarter of as many vertices."""
RESTORED_OBJECTIVE_SHARE = 1e-9
"""Share of the first objective by which the objective may differ when it is computed again."""


class GramSet:
    """Vertices with their Gram matrix, weights and half-gradient.

    The zero vertex is not stored: its weight is 1 minus the sum of the others. In the signed
    polytope a vertex is its flags times its sign.
    """

    def __init__(self, cells: Cells, capacity: int = 64, *, tuning: Tuning = TUNING) -> None:
        self.cells = cells
        self.count = 0  # vertices held, with and without weight
        self.drops = 0  # vertices removed so far
        self.value = self.product = 0.0  # objective, and gradient times iterate
        self.master = Master(capacity, tuning)
        self._tuning = tuning
        self.half_gradient: FloatArray = np.zeros(capacity)  # half the derivative in each weight
        length = int(cells.offsets[-1])
        self._flags: FlagArray = np.zeros((capacity, length), dtype=np.uint8)
        self._signs: FloatArray = np.ones(capacity)
        self._words: WordArray = np.zeros((length, capacity // 64), dtype=np.uint64)
        self._gram: FloatArray = np.zeros((capacity, capacity))
        self.known: set[bytes] = set()  # the keys of the vertices held
        self.evaluate()
        self.seen = 0  # vertices whose half-gradient is known
        self._start_value = self.value

    @property
    def flags(self) -> FlagArray:
        """The (count, sum(shape)) vertices held."""
        return self._flags[: self.count]

    @property
    def signs(self) -> FloatArray:
        """The (count,) signs of the vertices, 1 or -1."""
        return self._signs[: self.count]

    @property
    def weights(self) -> FloatArray:
        """The (count,) weights."""
        return self.master.weights[: self.count]

    def evaluate(self) -> None:
        """Compute gradient, objective and product on the cells."""
        weights = self.master.weights * self._signs
        error, self.product = self.cells.evaluate(self._words, self.count, weights)
        self.value = error + self.cells.constant

    def add(self, flags: FlagArray, signs: FloatArray) -> None:
        """Take in (m, sum(shape)) new vertices with their (m,) signs and weight 0."""
        for start in range(0, len(flags), 64):
            self._add_some(flags[start : start + 64], signs[start : start + 64])

    def rescale(self, factor: float) -> None:
        """Multiply the radius by ``factor``.

        The tensor stays the same when the radius grows, and shrinks with the radius.
        """
        self.cells.rescale(factor)
        self._start_value /= factor**2
        if factor > 1.0:
            self.master.weights /= factor
            self.master.full = False
        self.seen = 0
        self.evaluate()
        self.linearise()

    def linearise(self) -> None:
        """Compute the half-gradient from the gradient on the cells.

        The master keeps it up to date for the vertices it has seen, to the rounding of the
        Gram matrix. That is enough unless the fit is close to perfect; then it is computed
        for all vertices.
        """
        first = self.seen if self.value > NEARLY_PERFECT_SHARE * self._start_value else 0
        self.cells.vertex_sums(self._words, first, self.count, self.half_gradient)
        self.half_gradient[first : self.count] *= 0.5 * self._signs[first : self.count]
        self.seen = self.count

    def exchange_costs(self, chosen: IndexArray) -> FloatArray:
        """Return the costs of the chosen vertices in ``Cells.refine``, before any changes."""
        own = self._gram[chosen, chosen] * self.weights[chosen]
        costs: FloatArray = 2.0 * self.half_gradient[chosen] - own
        return costs

    def correct(self, tolerance: float, seconds: float = math.inf) -> None:
        """Solve the master in about the given seconds, and evaluate its weights."""
        self.master.solve(
            self._gram, self.count, self.half_gradient, tolerance=tolerance, seconds=seconds
        )
        self.evaluate()
        self._prune()

    def capture(self) -> Tree:
        """Return vertices and weights; the Gram matrix can be computed anew to the last bit."""
        return {
            "flags": self.flags.copy(),
            "signs": self.signs.copy(),
            "half_gradient": self.half_gradient[: self.count].copy(),
            "capacity": len(self._flags),
            "seen": int(self.seen),
            "drops": int(self.drops),
            "value": float(self.value),
            "start_value": float(self._start_value),
            "master": self.master.capture(self.count),
        }

    def restore(self, saved: TreeReader) -> None:
        """Take in what a set of the same cells held; this one must be empty."""
        flags = saved.vertices("flags", int(self.cells.offsets[-1]))
        count = len(flags)
        signs = saved.array("signs", "<f8", (count,))
        half_gradient = saved.finite_array("half_gradient", (count,))
        if not (np.abs(signs) == 1.0).all():
            raise saved.damaged("signs other than 1 and -1")
        capacity = saved.count("capacity", least=64)
        if capacity % 64 == 0 and capacity <= max(MAX_RESTORED_CAPACITY, 4 * count):
            self._grow(max(capacity, len(self._flags)))
        self.add(flags, signs)
        self.master.restore(saved.branch("master"), count)
        self.half_gradient[:count] = half_gradient
        self.seen = saved.count("seen", most=count)
        self.drops = saved.count("drops")
        self._start_value = saved.finite("start_value")
        self.evaluate()
        value = saved.finite("value")
        allowed = RESTORED_OBJECTIVE_SHARE * abs(self._start_value) + 1e-6 * abs(value)
        if not abs(self.value - value) <= allowed:
            raise saved.damaged(f"the objective is stored as {value} but is {self.value}")

    def _add_some(self, flags: FlagArray, signs: FloatArray) -> None:
        first, last = self.count, self.count + len(flags)
        while last > len(self._flags):
            capacity = len(self._flags)
            doubling = capacity < MAX_DOUBLED_CAPACITY
            self._grow(2 * capacity if doubling else capacity + MAX_DOUBLED_CAPACITY // 2)
        self._flags[first:last] = flags
        self._signs[first:last] = signs
        self.known.update(key(row, sign) for row, sign in zip(flags, signs, strict=True))
        store_words(self._flags, first, last, self._words)
        self.cells.add(self._words, first, last, self._gram)
        if self._signs[:last].min() < 0.0:
            self._gram[first:last, :last] *= np.outer(self._signs[first:last], self._signs[:last])
            self._gram[:first, first:last] = self._gram[first:last, :first].T
        self.count = last

    def _grow(self, capacity: int) -> None:
        self._flags = _enlarged(self._flags, (capacity, self._flags.shape[1]))
        self._signs = np.concatenate((self._signs, np.ones(capacity - self._signs.size)))
        self._words = _enlarged(self._words, (self._words.shape[0], capacity // 64))
        self._gram = _enlarged(self._gram, (capacity, capacity))
        self.half_gradient = _enlarged(self.half_gradient, (capacity,))
        self.master.grow(capacity)

    def _prune(self) -> None:
        """Remove the oldest vertices without weight when there are too many of them."""
        size = self.master.size
        spare = max(self._tuning.spare_vertices, size // 4)
        surplus = self.count - size - spare
        if surplus <= 0:
            return
        unused = np.setdiff1d(np.arange(self.count), self.master.support[:size])
        gone = unused[: surplus + spare // 2]
        keep = np.setdiff1d(np.arange(self.count), gone)
        for index in gone.tolist():
            self.known.discard(key(self._flags[index], self._signs[index]))
        self.drops += gone.size
        positions = np.full(self.count, -1, dtype=np.int64)
        positions[keep] = np.arange(keep.size)
        self.master.renumber(positions)
        self.count = self.seen = count = keep.size
        self._flags[:count] = self._flags[keep]
        self._signs[:count] = self._signs[keep]
        self.cells.keep(keep)
        self._gram[:count, :count] = self._gram[np.ix_(keep, keep)]
        self.half_gradient[:count] = self.half_gradient[keep]
        packed = pack_vertices(self.flags, self.cells.shape).words
        self._words[:, : packed.shape[1]] = packed


def key(flags: FlagArray, sign: float) -> bytes:
    """Return the bytes that tell a vertex from all others."""
    return flags.tobytes() if sign > 0.0 else b"-" + flags.tobytes()


def _enlarged(array: AnyArray, shape: Shape) -> AnyArray:
    larger = np.zeros(shape, dtype=array.dtype)
    larger[tuple(slice(0, length) for length in array.shape)] = array
    return larger
