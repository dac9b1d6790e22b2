"""Exact oracles that cut even small problems into blocks, pieces and subtrees."""

from __future__ import annotations

from intensor.oracles.exact.branch_bound import BranchOracle, TreeSearch
from intensor.oracles.exact.enumeration import EnumerationOracle, count_through
from intensor.oracles.exact.plan import plan_branching, plan_enumeration


def small_enumeration(blocks=None, **pieces):
    """Return an enumeration with options of ``plan_enumeration`` and of ``count_through``."""

    class SmallEnumeration(EnumerationOracle):
        def plan(self, lengths):
            return plan_enumeration(lengths, **(blocks or {}))

        def carry_out(self, search):
            count_through(search, **pieces)

    return SmallEnumeration


def small_branch(blocks=None, pieces=None, **subtrees):
    """Return a branch and bound with options of ``plan_branching`` and of ``TreeSearch``.

    With more than three modes, ``pieces`` are the options of ``count_through``.
    """

    class SmallBranch(BranchOracle):
        def plan(self, lengths):
            return plan_branching(lengths, **(blocks or {}))

        def carry_out(self, search):
            if search.costs.ndim > 3:
                count_through(search, **(pieces or {}))
            else:
                TreeSearch(search, **subtrees).run()

    return SmallBranch
