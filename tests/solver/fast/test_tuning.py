"""Thresholds are in an order that makes sense, and efforts fit into bit lanes."""

import pytest

from intensor.solver.fast.tuning import TUNING


@pytest.mark.parametrize("efforts", [TUNING.efforts_few_cells, TUNING.efforts_many_cells])
def test_efforts_rise_and_fit_into_lanes(efforts):
    assert all(1 <= effort.starts <= 64 for effort in efforts)
    work = [effort.batches * effort.starts * effort.sweeps for effort in efforts]
    assert work == sorted(work)
    assert [effort.max_vertices for effort in efforts] == sorted(e.max_vertices for e in efforts)


def test_thresholds_are_in_order():
    assert TUNING.few_cells < TUNING.large_cells < TUNING.max_unchecked_cells_limited
    assert TUNING.max_unchecked_cells_limited < TUNING.max_unchecked_cells
    assert TUNING.max_refined_support < TUNING.exchange_support < TUNING.crowded_support
