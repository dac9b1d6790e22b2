from unittest import mock

import numpy as np
import pytest

from benchmarks.contenders import als
from benchmarks.problems import Problem, from_dense


def low_rank(shape, rank, rng):
    factors = [rng.random((length, rank)) for length in shape]
    return als.products(factors, np.argwhere(np.ones(shape))).sum(axis=1).reshape(shape)


def test_exact_rank_is_recovered(monkeypatch):
    monkeypatch.setattr(als, "MOST_SWEEPS", 800)
    rng = np.random.default_rng(0)
    tensor = low_rank((15, 15, 15), 3, rng)
    known = rng.random(tensor.shape) < 0.4
    problem = from_dense("rank 3", tensor, known, ~known)
    done = als.CONTENDER.complete(problem, 20.0, 0, 1)
    error = np.linalg.norm(done.predicted - problem.truth) / np.linalg.norm(problem.truth)
    assert error < 1e-4
    assert done.chosen.startswith("rank 3 of")


def test_one_update_against_lstsq_row_by_row():
    rng = np.random.default_rng(1)
    shape = (6, 5, 4, 3)
    coords = np.argwhere(rng.random(shape) < 0.5)
    values = rng.random(len(coords))
    factors = [rng.random((length, 2)) for length in shape]
    for mode, length in enumerate(shape):
        rows = als.Rows.of(mode, length, coords, values)
        found = als.least_squares_rows(rows, als.products(factors, rows.coords, skip=mode))
        for row in range(length):
            here = coords[:, mode] == row
            design = np.array(
                [
                    np.prod([factors[k][cell[k]] for k in range(4) if k != mode], axis=0)
                    for cell in coords[here]
                ]
            )
            wanted = np.linalg.lstsq(design, values[here], rcond=None)[0]
            np.testing.assert_allclose(found[row], wanted, rtol=0, atol=1e-5)


def test_row_without_cells_becomes_zero():
    coords = np.array([[0, 0], [2, 1]])
    rows = als.Rows.of(0, 3, coords, np.array([1.0, 2.0]))
    found = als.least_squares_rows(rows, np.ones((2, 1)))
    np.testing.assert_allclose(found[:, 0], [1.0, 0.0, 2.0], atol=1e-6)


def test_residual_falls_with_every_sweep(monkeypatch):
    rng = np.random.default_rng(2)
    coords = np.argwhere(rng.random((8, 7, 6)) < 0.5)
    values = rng.random(len(coords))
    residuals = []
    for sweeps in range(1, 12):
        monkeypatch.setattr(als, "MOST_SWEEPS", sweeps)
        factors, residual = als.fit_factors(
            coords, values, (8, 7, 6), rank=3, deadline=np.inf, rng=np.random.default_rng(3)
        )
        again = np.linalg.norm(values - als.products(factors, coords).sum(axis=1))
        assert residual == pytest.approx(again, rel=1e-9)
        residuals.append(residual)
    assert (np.diff(residuals) < 0.0).all()


def test_balance_keeps_the_model():
    rng = np.random.default_rng(4)
    factors = [rng.random((length, 2)) * scale for length, scale in ((3, 100.0), (4, 1e-3), (5, 1))]
    cells = np.argwhere(np.ones((3, 4, 5)))
    before = als.products(factors, cells)
    als.balance(factors)
    np.testing.assert_allclose(als.products(factors, cells), before, rtol=1e-12)
    norms = [np.linalg.norm(factor, axis=0) for factor in factors]
    np.testing.assert_allclose(norms[1:], norms[:-1], rtol=1e-12)


def test_repeated_cells_are_averaged():
    problem = Problem(
        name="twice",
        shape=(2, 2),
        coords=np.array([[0, 1], [1, 1], [0, 1]]),
        values=np.array([1.0, 5.0, 4.0]),
        asked=np.empty((0, 2), dtype=np.int64),
        truth=np.empty(0),
    )
    cells, values = als.average_repeats(problem)
    assert cells.tolist() == [[0, 1], [1, 1]]
    assert values.tolist() == [2.5, 5.0]


def test_clock_ends_it_after_a_sweep():
    rng = np.random.default_rng(5)
    coords = np.argwhere(rng.random((10, 10, 10)) < 0.3)
    values = rng.random(len(coords))
    with mock.patch.object(als, "least_squares_rows", wraps=als.least_squares_rows) as counted:
        als.fit_factors(coords, values, (10, 10, 10), rank=4, deadline=-np.inf, rng=rng)
    assert counted.call_count == 3
