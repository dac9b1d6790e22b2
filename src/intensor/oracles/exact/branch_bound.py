"""Exact minimum by branch and bound, for tensors with more rows than can be enumerated.

Slabs are decided first, then columns, each time with the bound of ``kernels.decomposition``. The
tree is opened breadth first until there are enough subtrees for all threads; these are then
searched depth first. Stopped early, the open nodes still give a bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from intensor._arrays import AnyArray
from intensor.oracles.exact.decomposed import NOWHERE, DecomposedOracle, Found, Hunt
from intensor.oracles.exact.decomposition import fill_tables
from intensor.oracles.exact.enumeration import count_through
from intensor.oracles.exact.patterns import bits_of, with_ground
from intensor.oracles.exact.plan import Plan, plan_branching
from intensor.oracles.exact.search import bound_of, empty_pool, expand, root_node, search

__all__ = ["BranchOracle"]

SUBTREES = 32
"""Open nodes at which the search goes on subtree by subtree."""
WAVE = 8
"""Subtrees between two updates of the cutoff. Not the number of threads: that must not matter."""
POOL = 32
"""Boxes that a subtree remembers."""


class BranchOracle(DecomposedOracle):
    """Finds the cheapest vertex by branch and bound."""

    name = "branch"

    def plan(self, lengths: tuple[int, ...]) -> Plan:
        """Return the plan of a tree search."""
        return plan_branching(lengths)

    @property
    def _open_tables(self) -> int:
        """A node has a table of its own."""
        return SUBTREES + self._threads

    def search(self, hunt: Hunt) -> None:
        """Search one tree, or with more than three modes one for each pattern of the others."""
        if hunt.costs.ndim > 3:
            count_through(hunt)
        else:
            _Tree(hunt).search()


class _Tree:
    """The search of two or three modes."""

    def __init__(self, hunt: Hunt) -> None:
        self._hunt = hunt
        self._counts = np.zeros(2, dtype=np.int64)
        costs = hunt.costs
        self._slabs = costs[np.newaxis] if costs.ndim == 2 else with_ground(costs, axis=0)
        n_columns = costs.shape[-1]
        n_tables, n_choices = self._slabs.shape[0] - 1, hunt.plan.entries // n_columns
        self._tables = np.empty((n_tables, n_columns, n_choices), dtype=costs.dtype)
        for slab, table in zip(self._slabs[1:], self._tables, strict=True):
            fill_tables(slab, hunt.plan.firsts, table)

    def search(self) -> None:
        """Open the tree, then search its subtrees, the most promising first."""
        hunt = self._hunt
        nodes = sorted(self._subtrees(), key=bound_of)
        bounds = [int(bound_of(node)) for node in nodes]
        for start in range(0, len(nodes), WAVE):
            lowest = min(bounds)  # NOWHERE for subtrees that were searched to their end
            if hunt.stop[0] or hunt.good_enough(self._best, min(lowest, self._best)):
                hunt.lowest = lowest
                return
            wave = slice(start, start + WAVE)
            bounds[wave] = self._search_subtrees(nodes[wave])
            hunt.report(min(1.0, (start + WAVE) / len(nodes)))
            nodes[wave] = [None] * len(bounds[wave])  # they are large
        if hunt.stop[0]:
            hunt.lowest = min(bounds, default=NOWHERE)

    @property
    def _best(self) -> int:
        """What a box must beat: the target or the best one found."""
        found = self._hunt.found
        return min(self._hunt.target, found[0].cost) if found else self._hunt.target

    def _subtrees(self) -> list[Any]:
        """Open nodes breadth first until there are enough."""
        hunt = self._hunt
        nodes = [root_node(self._slabs, self._tables, hunt.plan.firsts, hunt.plan.bits)]
        while nodes and len(nodes) < SUBTREES and not hunt.budget.spent:
            pool = self._pool()
            count, *children = expand(
                nodes.pop(0),
                self._slabs,
                self._tables,
                0,
                np.int64(self._best),
                pool,
                self._counts,
            )
            nodes += children[:count]
            self._keep(pool)
        if hunt.budget.spent:
            hunt.stop[0] = 1
        return nodes

    def _search_subtrees(self, nodes: list[Any]) -> list[int]:
        """Search some subtrees to their end; return what bound each of them was left with."""
        hunt = self._hunt
        pools = [self._pool() for _ in nodes]
        bounds = [0] * len(nodes)
        best = np.int64(self._best)

        def work(piece: int) -> None:
            bounds[piece] = search(
                nodes[piece],
                self._slabs,
                self._tables,
                0,
                best,
                False,
                pools[piece],
                hunt.stop,
                np.zeros(2, dtype=np.int64),
            )

        hunt.run(work, len(nodes))
        for pool in pools:
            self._keep(pool)
        return bounds

    def _pool(self) -> tuple[AnyArray, ...]:
        _, n_rows, n_columns = self._slabs.shape
        return empty_pool(POOL, (n_rows + 63) // 64, n_columns)

    def _keep(self, pool: tuple[AnyArray, ...]) -> None:
        values, _, outers, rows, columns, (count, _) = pool
        n_outer, n_rows, _ = self._slabs.shape
        self._hunt.keep(
            [
                Found(
                    int(values[slot]),
                    [
                        columns[slot],
                        bits_of(rows[slot], n_rows),
                        bits_of(outers[slot : slot + 1], n_outer - 1),
                    ][: self._hunt.costs.ndim],
                )
                for slot in range(count)
            ]
        )
