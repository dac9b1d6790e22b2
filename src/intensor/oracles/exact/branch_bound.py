"""Exact minimum by branch and bound, for tensors with more rows than can be enumerated.

Slabs are decided first, then columns, each time with the bound of ``blocks``. The
tree is opened breadth first until there are enough subtrees for all threads; these are then
searched depth first. A search that is stopped early has a bound from its open nodes.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from intensor._arrays import FlagArray
from intensor.oracles.exact.arrangement import with_ground
from intensor.oracles.exact.enumeration import count_through
from intensor.oracles.exact.nodes import Node, bound_of, root_node, stack_slabs
from intensor.oracles.exact.oracle import SearchOracle
from intensor.oracles.exact.plan import Plan, plan_branching
from intensor.oracles.exact.pool import BoxPool, empty_pool, flags_of_number, found_boxes
from intensor.oracles.exact.search import NOWHERE, ExactSearch
from intensor.oracles.exact.tree import UNLIMITED, search_tree

SUBTREES = 32
"""Number of open nodes at which the search goes on subtree by subtree."""
WAVE = 8
"""Number of subtrees between two updates of the cutoff. It does not depend on the number of
threads, so that the answer does not either."""
SUBTREE_POOL = 32
"""Number of boxes that a subtree remembers."""


class BranchOracle(SearchOracle):
    """Finds the cheapest vertex by branch and bound."""

    name = "branch"

    def plan(self, lengths: tuple[int, ...]) -> Plan:
        """Return the plan of a tree search."""
        return plan_branching(lengths)

    @property
    def _open_tables(self) -> int:
        """Every open node has a table of its own."""
        return SUBTREES + self._threads

    def carry_out(self, search: ExactSearch) -> None:
        """Search one tree, or with more than three modes one for each pattern of the others."""
        if search.costs.ndim > 3:
            count_through(search)
        else:
            TreeSearch(search).run()


class TreeSearch:
    """The tree search of two or three modes.

    It goes on subtree by subtree once ``subtrees`` nodes are open, and updates the cutoff after
    every ``wave`` of them.
    """

    def __init__(self, search: ExactSearch, *, subtrees: int = SUBTREES, wave: int = WAVE) -> None:
        self._search = search
        self._subtrees = subtrees
        self._wave = wave
        costs = search.costs
        stacked = costs[np.newaxis] if costs.ndim == 2 else with_ground(costs, axis=0)
        self._slabs = stack_slabs(stacked, search.plan.firsts)

    def run(self) -> None:
        """Open the tree, then search its subtrees, the most promising first."""
        search = self._search
        nodes: list[Any] = sorted(self.open_nodes(), key=bound_of)
        bounds = [int(bound_of(node)) for node in nodes]
        for start in range(0, len(nodes), self._wave):
            lowest = min(bounds)  # NOWHERE for subtrees that were searched to their end
            if search.stop[0] or search.good_enough(search.best, min(lowest, search.best)):
                search.lowest = lowest
                return
            wave = slice(start, start + self._wave)
            bounds[wave] = self.search_subtrees(nodes[wave])
            search.report(min(1.0, (start + self._wave) / len(nodes)))
            nodes[wave] = [None] * len(bounds[wave])  # they are large
        if search.stop[0]:
            search.lowest = min(bounds, default=NOWHERE)

    def open_nodes(self) -> list[Node]:
        """Open nodes breadth first until there are enough; return them."""
        search = self._search
        nodes = [root_node(self._slabs, search.plan.firsts, search.plan.open_slabs)]
        while nodes and len(nodes) < self._subtrees and not search.budget.spent:
            pool = self._pool()
            nodes += search_tree(nodes.pop(0), self._slabs, 0, pool, search.stop, 1)
            self._keep(pool)
        search.check_budget()
        return nodes

    def search_subtrees(self, nodes: list[Node]) -> list[int]:
        """Search some subtrees to their end; return the bound that each of them was left with."""
        search = self._search
        pools = [self._pool() for _ in nodes]
        left = search.run(
            [
                partial(search_tree, node, self._slabs, 0, pool, search.stop, UNLIMITED)
                for node, pool in zip(nodes, pools, strict=True)
            ]
        )
        for pool in pools:
            self._keep(pool)
        return [min(map(bound_of, still_open), default=NOWHERE) for still_open in left]

    def _pool(self) -> BoxPool:
        shape = self._search.costs.shape[-2:]
        return empty_pool(SUBTREE_POOL, *shape, target=self._search.best)

    def _keep(self, pool: BoxPool) -> None:
        n_slabs, n_rows, _ = self._slabs.costs.shape

        def outer_flags(rest: int, slabs_on: int) -> list[FlagArray]:
            return flags_of_number(slabs_on, n_slabs - 1)[: self._search.costs.ndim - 2]

        self._search.keep(found_boxes(pool, n_rows, outer_flags))
