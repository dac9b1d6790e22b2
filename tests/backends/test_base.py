"""Descents mode by mode against the kernel that does all modes at once."""

import numpy as np
import pytest

import zoo
from intensor.backends.base import descend_by_mode
from intensor.data.observations import observe
from intensor.kernels.lanes import descend_lanes, lane_sums
from intensor.problem.layout import positions
from intensor.problem.vertex import mode_offsets

TELLING = ["one cell", "cube", "long mode"]


@pytest.mark.parametrize("name", zoo.mostly_slow(zoo.OBSERVED, telling=TELLING))
@pytest.mark.parametrize("sweeps", [0, 1, 60])
def test_it_finds_the_vertices_that_the_kernel_finds(name, sweeps):
    shape, coords, observed, _ = zoo.observed(name)
    cells = observe(coords, observed, shape=shape)
    rows, offsets = positions(cells.coords, shape), mode_offsets(shape)
    rng = np.random.default_rng(sweeps)
    costs = rng.standard_normal(cells.n_cells)
    ours = rng.integers(0, 2**64, sum(shape), dtype=np.uint64)
    theirs, values = ours.copy(), np.empty(64)

    def sum_mode(lanes, live, mode):
        sums = np.empty((shape[mode], 64))
        lane_sums(rows, costs, lanes, live, mode, int(offsets[mode]), sums)
        return sums

    found = descend_by_mode(sum_mode, offsets, ours, 40, sweeps)
    descend_lanes(rows, offsets, costs, 40, sweeps, np.empty((max(shape), 64)), theirs, values)
    assert ours.tolist() == theirs.tolist()
    assert found.tolist() == values[:40].tolist()
