"""Sums at graded components: what follows from their definition, and many cells of one index.

Every kernel is compared with its plain twin in ``naive`` by ``test_twins.py`` too.
"""

import numpy as np
import pytest

import naive
from intensor.kernels.components import CELLS_AT_ONCE, fit_components, normal_equations


@pytest.fixture(params=[2, 3, 4, 5])
def cells(request):
    """Return rows, targets and shares of 150 cells in order of mode 0, of which index 1 is free."""
    rng = np.random.default_rng(request.param)
    modes = [np.sort(rng.choice([0, 2, 3], 150))]
    modes += [rng.integers(4 * mode, 4 * mode + 4, 150) for mode in range(1, request.param)]
    return np.stack(modes, axis=1).astype(np.uint16), rng.standard_normal(150), rng.random(150)


def solved(cells, count, kernel=normal_equations):
    """Return factors, weights and the normal equations of mode 0."""
    rows, targets, shares = cells
    rng = np.random.default_rng(count)
    factors, weights = rng.random((4 * rows.shape[1], count)), rng.uniform(-1.0, 1.0, count)
    starts = np.searchsorted(rows[:, 0], np.arange(5))
    found = np.full((4, count, count), np.nan), np.full((4, count), np.nan), np.full(4, np.nan)
    kernel(rows, targets, shares, starts, 0, factors, weights, 0, *found)
    return factors, weights, found


@pytest.mark.parametrize("count", [1, 3, 8, 33])
def test_many_cells_of_an_index_are_added_up_as_by_the_twin(cells, count):
    assert np.bincount(cells[0][:, 0])[0] % CELLS_AT_ONCE
    _, _, ours = solved(cells, count)
    _, _, theirs = solved(cells, count, naive.normal_equations)
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-12 * np.abs(other).max())
    assert not ours[0][1].any()
    np.testing.assert_array_equal(ours[0], ours[0].swapaxes(1, 2))


def test_slopes_are_half_the_derivative_of_the_error(cells):
    factors, weights, (matrices, slopes, errors) = solved(cells, 3)
    rows, targets, shares = cells
    costs, totals = np.empty(len(rows)), np.empty(2)
    fit_components(rows, factors, weights, targets, shares, costs, totals)
    assert totals[0] == pytest.approx(errors.sum(), rel=1e-12)
    step = np.array([0.1, -0.2, 0.05])
    moved = factors.copy()
    moved[2] += step / weights
    fit_components(rows, moved, weights, targets, shares, costs, totals)
    change = 2.0 * slopes[2] @ step + step @ matrices[2] @ step
    assert totals[0] == pytest.approx(errors.sum() + change, rel=1e-12)
