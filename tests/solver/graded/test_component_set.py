"""The components in use: sweeps lower the objective and never leave the polytope."""

import itertools

import numpy as np
import pytest

from fitting_cases import Countdown
from graded_cases import by_hand
from intensor.backends.cpu import CpuCells
from intensor.backends.packed_cells import pack_cells
from intensor.data.observations import observe
from intensor.errors import CheckpointError
from intensor.runtime.budget import Budget
from intensor.runtime.threads import Workers
from intensor.solver.graded import component_set as module
from intensor.solver.graded.component_set import ComponentSet
from intensor.storage.reader import TreeReader

SHAPES = [(9, 8), (6, 5, 4), (4, 3, 5, 3), (2, 3, 2, 2, 2, 3)]
RADIUS = 1.5


class Problem:
    """Random observations, some of them of the same cell, and a set of random boxes on them."""

    def __init__(self, shape, *, signed=False, weighted=False, k=5, n=150, seed=0):
        self.shape, self.signed = shape, signed
        self.rng = rng = np.random.default_rng([seed, n, *shape])
        self.coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
        self.coords[:9] = self.coords[9:18]
        self.values = rng.uniform(-1.0 if signed else 0.0, 1.0, n)
        self.importance = rng.uniform(0.1, 3.0, n) if weighted else np.ones(n)
        self.observations = observe(
            self.coords,
            self.values,
            shape=shape,
            sample_weight=self.importance if weighted else None,
            allow_negative=signed,
        )
        self.set = self.empty()
        self.flags = rng.integers(0, 2, (k, sum(shape))).astype(np.uint8)
        self.flags[:, np.cumsum(shape) - 1] = 1
        self.signs = np.where(signed & (np.arange(k) % 2 == 1), -1.0, 1.0)
        self.set.add(self.flags, self.signs)

    def empty(self):
        return ComponentSet(CpuCells(pack_cells(self.observations, RADIUS), Workers(1)))

    def objective(self, components=None, radius=RADIUS):
        """Return the objective from the dense tensor, in units of the radius."""
        dense = self.dense(components)
        apart = dense[tuple(self.coords.T)] - self.values / radius
        return np.average(apart**2, weights=self.importance)

    def dense(self, components=None):
        components = components or self.set
        return by_hand(components.factors.T, components.signed_weights, self.shape)


def check(problem, components=None):
    """Make sure that a set is a point of the polytope with the objective that it claims."""
    components = components or problem.set
    assert components.value == pytest.approx(problem.objective(components), rel=1e-9)
    assert components.weights.sum() <= 1.0 + 1e-12
    assert (components.weights > 0.0).all()
    assert components.factors.min() >= 0.0
    for low, high in itertools.pairwise(components.cells.offsets.tolist()):
        np.testing.assert_allclose(components.factors[low:high].max(axis=0), 1.0, rtol=1e-15)
    if not problem.signed:
        assert (components.signs == 1.0).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_sweeps_lower_the_objective_within_the_polytope(shape, signed, weighted):
    problem = Problem(shape, signed=signed, weighted=weighted)
    before = problem.set.value
    assert before == pytest.approx(problem.objective(), rel=1e-12)
    falls = []
    for _ in range(6):
        falls.append(problem.set.sweep(Budget()))
        assert problem.set.value <= before * (1.0 + 1e-14)
        assert falls[-1] == before - problem.set.value
        before = problem.set.value
        check(problem)
    assert falls[0] > 0.1 * before
    problem.set.evaluate()
    assert problem.set.value == pytest.approx(before, rel=1e-10)
    if signed:
        assert set(problem.set.signs) == {-1.0, 1.0}


def test_components_that_lose_their_weight_are_removed():
    problem = Problem((6, 5), k=2)
    problem.set.sweep(Budget())
    count = problem.set.count
    useless = np.zeros((1, 11), dtype=np.uint8)  # no cell is in it
    problem.set.add(useless, np.ones(1))
    problem.set.sweep(Budget())
    assert problem.set.count <= count
    assert problem.set.drops >= 1


def test_a_spent_budget_ends_a_sweep_after_the_first_mode():
    problem = Problem((6, 5, 4))
    problem.set.sweep(Budget(0.0))
    check_first = problem.set.factors[6:]
    assert set(np.unique(check_first)) == {0.0, 1.0}  # the other modes are those of boxes
    assert len(np.unique(problem.set.factors[:6])) > 2
    assert problem.set.value == pytest.approx(problem.objective(), rel=1e-9)


# --- long modes


def ranges_of(monkeypatch, size, k):
    """Let normal equations of this many indices of k components be held at a time."""
    monkeypatch.setattr(module, "MAX_EQUATION_BYTES", 8 * k**2 * size)


@pytest.mark.parametrize("signed", [False, True])
def test_long_modes_in_ranges_come_to_about_the_same(monkeypatch, signed):
    whole, parts = (Problem((40, 5, 4), signed=signed, k=3, n=400) for _ in range(2))
    for _ in range(30):
        whole.set.sweep(Budget())
    ranges_of(monkeypatch, 7, 3)
    before = parts.set.value
    for _ in range(30):
        parts.set.sweep(Budget())
        assert parts.set.value <= before * (1.0 + 1e-14)
        before = parts.set.value
        check(parts)
    assert parts.set.count == whole.set.count == 3
    assert parts.set.value == pytest.approx(whole.set.value, rel=0.1)


@pytest.mark.parametrize("signed", [False, True])
def test_new_components_enter_when_every_mode_is_long(monkeypatch, signed):
    ranges_of(monkeypatch, 2, 4)
    problem = Problem((20, 15), signed=signed, k=4, n=250)
    before = problem.set.value
    for _ in range(8):
        problem.set.sweep(Budget())
        assert problem.set.value <= before * (1.0 + 1e-14)
        before = problem.set.value
        check(problem)
    assert problem.set.count >= 2
    assert problem.set.value < 0.8 * problem.empty().value


def test_losses_do_not_depend_on_ranges(monkeypatch):
    problem = Problem((20, 15), k=4, n=250)
    problem.set.sweep(Budget())
    whole = problem.set.losses()
    ranges_of(monkeypatch, 2, 4)
    np.testing.assert_allclose(problem.set.losses(), whole, rtol=1e-9)


# --- the other verbs


@pytest.mark.parametrize("signed", [False, True])
def test_losses_are_those_of_least_squares_weights(signed):
    """At the best weights the loss is exact: what the others cannot make up for."""
    problem = Problem((6, 5, 4), signed=signed, k=4, n=300)
    problem.set.sweep(Budget())
    cells = tuple(problem.coords.T)
    columns = np.stack(
        [by_hand(row[None], [1.0], problem.shape)[cells] for row in problem.set.factors.T], axis=1
    )
    root = np.sqrt(1.0 / len(problem.values))
    target = columns @ problem.set.signed_weights
    for number, loss in enumerate(problem.set.losses()):
        rest = np.delete(columns, number, axis=1)
        best = np.linalg.lstsq(rest, target, rcond=None)[0]
        assert loss == pytest.approx(np.sum((root * (rest @ best - target)) ** 2), rel=1e-4)


def test_of_two_equal_components_neither_counts():
    problem = Problem((6, 5, 4), k=3)
    problem.set.sweep(Budget())
    factors, weights = problem.set.factors, problem.set.signed_weights
    twice = np.column_stack((factors, factors[:, 0]))
    problem.set.take(twice, np.append(weights, weights[0]) / 2.0)
    losses = problem.set.losses()
    assert max(losses[0], losses[-1]) < 1e-6 * losses[1:-1].min()


def test_level_sets_are_the_entries_above_a_height():
    problem = Problem((6, 5, 4))
    problem.set.sweep(Budget())
    found = problem.set.level_sets(np.random.default_rng(1))
    assert found.dtype == np.uint8
    assert found.shape == (problem.set.count, 15)
    for flags, factors in zip(found, problem.set.factors.T, strict=True):
        inside, outside = factors[flags == 1], factors[flags == 0]
        assert inside.min() > outside.max(initial=0.0)
    mean = np.mean([problem.set.level_sets(problem.rng) for _ in range(3000)], axis=0)
    np.testing.assert_allclose(mean, problem.set.factors.T, atol=0.05)


@pytest.mark.parametrize("factor", [2.0, 1.1, 0.9])
def test_rescaling_keeps_the_tensor_where_it_fits(factor):
    problem = Problem((6, 5, 4))
    problem.set.sweep(Budget())
    problem.set.weights *= 0.8 / problem.set.weights.sum()
    before = RADIUS * problem.dense()
    problem.set.rescale(factor)
    np.testing.assert_allclose(factor * RADIUS * problem.dense(), before, rtol=1e-12)
    assert problem.set.value == pytest.approx(problem.objective(radius=factor * RADIUS), rel=1e-9)


def test_rescaling_there_and_back_keeps_the_tensor():
    problem = Problem((6, 5, 4))
    problem.set.sweep(Budget())
    before = problem.dense()
    problem.set.rescale(4.0)
    problem.set.rescale(0.25)
    np.testing.assert_allclose(problem.dense(), before, rtol=1e-12)


def test_a_smaller_radius_shrinks_the_tensor():
    problem = Problem((6, 5, 4))
    problem.set.sweep(Budget())
    before = problem.dense()
    problem.set.rescale(0.1)
    assert problem.set.weights.sum() == pytest.approx(1.0)
    dense = problem.dense()
    np.testing.assert_allclose(dense / dense.max(), before / before.max(), rtol=1e-12)


def test_a_copy_is_changed_on_its_own():
    problem = Problem((6, 5, 4))
    problem.set.sweep(Budget())
    before = problem.dense()
    twin = problem.set.copy()
    twin.keep(np.arange(2))
    twin.add(problem.flags[:1], problem.signs[:1])
    twin.sweep(Budget())
    check(problem, twin)
    np.testing.assert_array_equal(problem.dense(), before)
    check(problem)


def restored(problem, saved):
    other = problem.empty()
    other.restore(TreeReader(saved, "here"))
    return other


@pytest.mark.parametrize("signed", [False, True])
def test_a_captured_set_goes_on_bit_by_bit(signed):
    problem = Problem((6, 5, 4), signed=signed)
    problem.set.sweep(Budget())
    saved = problem.set.capture()
    other = restored(problem, saved)
    for components in (problem.set, other):
        components.sweep(Budget())
        components.sweep(Budget())
    for name in ("factors", "weights", "signs"):
        np.testing.assert_array_equal(getattr(other, name), getattr(problem.set, name))
    for name in ("value", "price", "drops"):
        assert getattr(other, name) == getattr(problem.set, name)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("factors", lambda x: x + 0.5, "between 0 and 1"),
        ("weights", lambda x: -x, "polytope"),
        ("weights", lambda x: 3.0 * x / x.sum(), "polytope"),
        ("weights", lambda x: x * np.nan, "finite"),
        ("signs", lambda x: 2.0 * x, "signs"),
        ("factors", lambda x: x[:-1], "factors"),
        ("price", lambda x: float("nan"), "price"),
    ],
)
def test_damaged_files_are_refused(name, change, message):
    problem = Problem((6, 5, 4))
    problem.set.sweep(Budget())
    saved = problem.set.capture()
    with pytest.raises(CheckpointError, match=message):
        restored(problem, {**saved, name: change(saved[name])})


def test_equal_components_are_merged_and_the_tensor_stays():
    problem = Problem((6, 5, 4), signed=True)
    problem.set.sweep(Budget())
    factors, weights = problem.set.factors, problem.set.signed_weights
    twice = np.concatenate((factors, factors[:, :2]), axis=1)
    problem.set.take(twice, np.concatenate((weights / 2.0, weights[:2] / 2.0)))
    problem.set.evaluate()
    before, count = problem.set.value, problem.set.count
    problem.set.merge_equal()
    problem.set.evaluate()
    assert problem.set.count == count - 2
    assert problem.set.value == pytest.approx(before, rel=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_sweeps_in_pieces_are_those_in_one(shape, monkeypatch):
    whole, pieces = Problem(shape).set, Problem(shape).set
    whole.sweep(Budget())
    monkeypatch.setattr(module, "MAX_PIECE_WORK", 1000)
    pieces.sweep(Budget())
    assert pieces.value == pytest.approx(whole.value, rel=1e-12)
    assert pieces.factors == pytest.approx(whole.factors, abs=1e-9)


@pytest.mark.parametrize("at_once", [None, 2], ids=["at once", "in ranges"])
@pytest.mark.parametrize("checks", range(8))
def test_a_sweep_that_is_cut_off_leaves_a_point_of_the_polytope(checks, at_once, monkeypatch):
    problem = Problem((6, 5, 4))
    problem.set.sweep(Budget())
    before = problem.set.value
    monkeypatch.setattr(module, "MAX_PIECE_WORK", 1000)
    if at_once is not None:
        monkeypatch.setattr(module, "MAX_EQUATION_BYTES", at_once * 8 * problem.set.count**2)
    problem.set.sweep(Countdown(checks))
    value = problem.set.value
    assert value <= before * (1.0 + 1e-12)
    problem.set.evaluate()
    assert problem.set.value == pytest.approx(value, rel=1e-9)
    assert problem.set.weights.sum() <= 1.0 + 1e-9
    assert 0.0 <= problem.set.factors.min() <= problem.set.factors.max() <= 1.0
