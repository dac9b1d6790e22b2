"""The integer programme: cells are held where they must be, by no more rows than needed."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from intensor.oracles.mip.formulation import formulate
from intensor.oracles.mip.oracle import error_margin
from intensor.problem.vertex import membership
from mip_cases import mixed_costs
from zoo import all_vertices, random_cells


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 2, 2), (2, 1, 2, 2)])
def test_every_cell_is_held_on_the_side_its_cost_pulls_to(shape):
    rng = np.random.default_rng(0)
    observations = random_cells(rng, shape, max(3, np.prod(shape) - 1))
    costs = mixed_costs(rng, observations.n_cells)
    rows = formulate(observations, costs)
    matrix = csr_array(
        (rows.coefficients, rows.columns, rows.starts), shape=(rows.n_rows, rows.n_columns)
    )
    for flags in all_vertices(shape):
        point = rows.complete(flags)
        inside = membership(flags, observations.coords, observations.shape)
        assert point[rows.n_flags :].tolist() == inside.tolist()
        assert np.all(matrix @ point <= rows.rhs)
        for cell, (cost, product) in enumerate(zip(costs, inside, strict=True)):
            for value in (0.0, 0.25, 1.0):
                other = point.copy()
                other[rows.n_flags + cell] = value
                feasible = bool(np.all(matrix @ other <= rows.rhs))
                assert feasible == (cost * value >= cost * product)


@pytest.mark.parametrize("shape", [(3, 4), (3, 3, 3), (2, 3, 2, 2)])
def test_cells_have_only_the_rows_that_can_bind(shape):
    rng = np.random.default_rng(1)
    p, count = len(shape), 12
    costs = mixed_costs(rng, count)
    rows = formulate(random_cells(rng, shape, count), costs)
    uses = np.bincount(rows.columns, minlength=rows.n_columns)[rows.n_flags :]
    assert uses.tolist() == np.choose(np.sign(costs).astype(int) + 1, (p, 0, 1)).tolist()
    assert rows.n_rows == 4 * p + 4
    assert np.diff(rows.starts).tolist().count(2) == 4 * p
    assert rows.starts[-1] == rows.columns.size == rows.coefficients.size == 4 * (2 * p + p + 1)
    margin = error_margin(rows, 1e-9)
    assert margin == pytest.approx(2e-9 * (sum(shape) + 12 + 4 * (3 * p + 1)))


def test_every_column_has_its_cost():
    costs = np.array([-1.0, 0.5, 0.25])
    rows = formulate(random_cells(np.random.default_rng(0), (2, 3), 3), costs)
    assert rows.column_costs.tolist() == [0.0] * 5 + costs.tolist()
