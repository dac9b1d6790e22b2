"""Raw observations: samples of entire cells, and rows that are grouped once."""

import numpy as np
import pytest

from fitting_cases import cells_of, numbered_rows, rows_of_cells
from intensor.fitting.holding_out import splits
from intensor.fitting.options import check_options
from intensor.fitting.preparation import prepare
from intensor.fitting.samples import Samples, sample


@pytest.mark.parametrize("most", [10, 100, 250])
def test_a_sample_is_of_entire_cells_of(most):
    samples = numbered_rows()
    some = sample(samples, most, seed=0)
    rows = some.values.astype(int)
    assert np.array_equal(some.coords, samples.coords[rows])
    assert np.array_equal(some.weights, samples.weights[rows])
    assert 0.4 * most < len(some) < 2.0 * most
    others = samples.part(np.setdiff1d(np.arange(300), rows))
    assert not cells_of(some) & cells_of(others)
    assert np.array_equal(some.values, sample(samples, most, seed=0).values)
    assert not np.array_equal(some.values, sample(samples, most, seed=1).values)


def test_few_samples_are_not_sampled():
    samples = numbered_rows()
    assert sample(samples, 300, seed=0) is samples
    single = samples.part(np.zeros(50, dtype=int))
    assert all(len(sample(single, 1, seed=seed)) == 50 for seed in range(5))


# --- rows in standard order


def groups_of(samples):
    groups = samples.groups()
    return groups.order.tolist(), groups.starts.tolist(), [one.tolist() for one in groups.columns]


def test_rows_are_grouped_once_and_parts_of_them_stay_grouped(monkeypatch):
    samples = numbered_rows().in_order()
    assert samples.in_order() is samples
    some = samples.part(np.random.default_rng(0).random(300) < 0.4)
    sampled = sample(samples, 100, seed=0)
    ((training, held, _),) = splits(samples, folds=1, share=0.1, seed=0)
    for part in (samples, some, sampled, training, held):
        plain = Samples(
            coords=part.coords, values=part.values, weights=part.weights, shape=part.shape
        )
        assert part.starts is not None
        assert groups_of(part) == groups_of(plain)
        assert [one.dtype for one in part.groups().columns] == [
            one.dtype for one in plain.groups().columns
        ]
        assert part.n_cells == plain.n_cells == len(cells_of(part))
        assert part.cell_numbers().tolist() == plain.cell_numbers().tolist()
    monkeypatch.setattr("intensor.fitting.samples.group_rows", None)
    prepare(training, check_options(transform="sqrt").scales[0])  # needs no grouping


def test_the_standard_order_does_not_depend_on_the_given_order():
    samples = numbered_rows()
    shuffled = samples.part(np.random.default_rng(1).permutation(len(samples)))
    for name in ("coords", "values", "weights", "starts"):
        one, other = (getattr(some.in_order(), name) for some in (samples, shuffled))
        assert np.array_equal(one, other)
    assert samples.in_order().part(np.arange(5)).starts is None  # rows by number may be anywhere


def test_indices_that_do_not_occur_are_left_out():
    found = rows_of_cells([[7000, 1], [5, 0]], (9000, 2)).condensed()
    assert found.shape == (2, 2)
    assert found.full.shape == (9000, 2)
    assert found.coords.tolist() == [[1, 1], [0, 0]]
    assert found.condensed() is found
