"""The root of a search, against its naive twin."""

import numpy as np
import pytest

import naive_exact as naive
import zoo
from intensor.oracles.exact.nodes import bound_of, root_node, stack_slabs


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("cut", zoo.mostly_slow(zoo.CUTS, telling=["one block", "uneven blocks"]))
def test_the_root_is_that_of_its_twin(cut, kind):
    firsts = np.array(zoo.CUTS[cut])
    slabs = stack_slabs(zoo.integer_stack(cut, slabs=3)[0].astype(kind), firsts)
    for slab, table in zip(slabs.costs[1:], slabs.tables, strict=True):
        np.testing.assert_array_equal(table, naive.fill_tables(slab, firsts))
    for n_open in (0, 2, 3):
        ours, theirs = root_node(slabs, firsts, n_open), naive.root_node(slabs, firsts, n_open)
        for one, two in zip(ours.blocks, theirs.blocks, strict=True):
            np.testing.assert_array_equal(one, two)
        assert ours.choices.tolist() == theirs.choices.tolist()
        assert ours.columns.tolist() == theirs.columns.tolist()
        assert (ours.n_open, ours.slabs_on) == (n_open, 0)
        assert bound_of(ours) == naive.bound_of(theirs)


@pytest.mark.parametrize("cut", [cut for cut in zoo.CUTS if zoo.CUTS[cut][-1] < 10])
def test_the_bound_of_the_root_holds_for_all_patterns_of_open_slabs(cut):
    firsts = np.array(zoo.CUTS[cut])
    costs = zoo.integer_stack(cut, slabs=3)[0]
    best = naive.search_tree(costs)
    for n_open in range(4):
        bound = bound_of(root_node(stack_slabs(costs, firsts), firsts, n_open))
        assert bound <= min(cost for on, cost in best.items() if on < 1 << n_open)
