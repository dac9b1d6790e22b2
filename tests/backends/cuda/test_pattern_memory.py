"""The layout of the shared memory of the pattern kernel."""

import itertools

import pytest

from intensor.backends.cuda.pattern_memory import MAX_CHOICES, WARP, layout_of, shared_bytes
from intensor.oracles.exact.plan import SHARED_BYTES


@pytest.mark.parametrize("sizes", [(1, 1, 1), (20, 16, 2), (24, 24, 3)])
def test_parts_follow_each_other_without_gap_or_overlap(sizes):
    layout = layout_of(*sizes)
    n_columns, n_rows, n_blocks = sizes
    assert layout[:3] == sizes
    lengths = [after - before for before, after in itertools.pairwise(layout[3:])]
    named = dict(zip(layout._fields[3:], lengths, strict=False))
    assert layout.matrix == 0
    assert named["matrix"] == n_columns * n_rows
    assert named["multipliers"] == n_blocks * n_columns
    assert named["messages"] == 4 * n_blocks
    assert (named["counts"], named["success"]) == (n_blocks, 1)
    assert named["chosen"] == named["chosen_sums"] == MAX_CHOICES * n_blocks
    assert named["tables"] == n_blocks * n_columns * WARP
    assert shared_bytes(*sizes) == 4 * layout.end


def test_shared_memory_of_the_largest_search_fits():
    assert shared_bytes(24, 24, 3) <= SHARED_BYTES
