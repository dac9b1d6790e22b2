"""Pricing: what it proposes is new, gains what it says, and depends on the seed alone."""

import numpy as np
import pytest

from intensor.backends.cpu import CpuCells
from intensor.backends.packed_cells import pack_cells
from intensor.data.observations import observe
from intensor.problem.vertex import membership, mode_slices
from intensor.runtime.budget import Budget
from intensor.runtime.threads import Workers
from intensor.solver.fast import pricing
from intensor.solver.fast.gram_set import GramSet, key
from intensor.solver.fast.pricing import Pricing
from intensor.solver.fast.tuning import TUNING, Effort, Tuning

SHAPES = [(30,), (9, 8), (6, 5, 7), (4, 3, 5, 4)]
EFFORTS = [
    Effort(batches=1, starts=1, sweeps=1, max_vertices=1),
    Effort(batches=1, starts=16, sweeps=3, max_vertices=4),
    Effort(batches=3, starts=64, sweeps=60, max_vertices=100),
]


class Priced:
    """A Gram set with a few vertices, and pricing on its cells."""

    def __init__(
        self, shape, *, n=400, seed=0, n_threads=1, vertices=12, signed=False, tuning=TUNING
    ):
        rng = np.random.default_rng([n, *shape])
        coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
        self.observations = observe(coords, rng.uniform(size=n), shape=shape)
        cells = pack_cells(self.observations, 1.0)
        self.active = GramSet(CpuCells(cells, Workers(n_threads)))
        flags = (rng.uniform(size=(vertices, sum(shape))) < 0.7).astype(np.uint8)
        flags[0] = 1  # so that what is left to find varies
        signs = np.where(np.arange(vertices) % 3 == 1, -1.0, 1.0) if signed else np.ones(vertices)
        self.active.add(flags, signs)
        self.active.linearise()
        self.active.correct(1e-9)
        self.pricing = Pricing(np.random.default_rng(seed), signed=signed, tuning=tuning)

    def propose(self, effort, budget=None):
        return self.pricing.propose(self.active, effort, budget or Budget())

    def gains(self, flags, signs=None):
        """Return <c, x - v> of each vertex, from the definition."""
        cells, shape = self.active.cells.packed, self.observations.shape
        coords = [column[cells.order] for column in self.observations.coords]
        x = np.zeros(cells.n_cells)
        weights = self.active.weights * self.active.signs
        for row, weight in zip(self.active.flags, weights, strict=True):
            x += weight * membership(row, coords, shape)
        gradient = 2.0 * cells.shares * (x - cells.targets)
        costs = np.array([float(gradient @ membership(row, coords, shape)) for row in flags])
        return float(gradient @ x) - (costs if signs is None else signs * costs)


@pytest.mark.parametrize("shape", SHAPES)
def test_signed_proposals_gain_what_they_are_sorted_by(shape):
    priced = Priced(shape, signed=True)
    seen = set()
    for _ in range(3):
        proposals = priced.propose(EFFORTS[2])
        names = [key(*vertex) for vertex in zip(proposals.flags, proposals.signs, strict=True)]
        assert len(set(names)) == len(names)
        assert not set(names) & priced.active.known
        gains = priced.gains(proposals.flags, proposals.signs)
        assert np.all(np.diff(gains) <= 1e-14)
        assert np.all(gains > 0.0)
        assert proposals.best >= gains.max() - 1e-14
        seen.update(proposals.signs.tolist())
    assert seen == {1.0, -1.0}


@pytest.mark.parametrize("shape", SHAPES)
def test_proposals_are_new_distinct_and_sorted(shape):
    for effort in EFFORTS:
        check_proposals(Priced(shape), shape, effort)


def check_proposals(priced, shape, effort):
    for _ in range(3):
        proposals = priced.propose(effort)
        keys = [row.tobytes() for row in proposals.flags]
        assert proposals.flags.shape[1] == sum(shape)
        assert len(set(keys)) == len(keys) <= effort.max_vertices
        assert not set(keys) & priced.active.known
        gains = priced.gains(proposals.flags)
        assert np.all(np.diff(gains) <= 1e-14)
        assert np.all(gains > 0.0)
        assert np.all(gains >= pricing.ENTRY_SHARE * proposals.best - 1e-14)
        assert np.all(gains <= proposals.best + 1e-14)
        if len(gains) and effort.max_vertices > 1:
            priced.active.add(proposals.flags, proposals.signs)
            priced.active.linearise()
            priced.active.correct(1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_first_is_the_best_while_it_is_new(shape):
    priced = Priced(shape)
    proposals = priced.propose(EFFORTS[-1])
    assert len(proposals.flags)
    gains = priced.gains(proposals.flags)
    assert proposals.best == pytest.approx(gains[0], rel=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_single_mode_of_a_proposal_can_be_improved(shape):
    priced = Priced(shape)
    proposals = priced.propose(EFFORTS[-1])
    for row, gain in zip(proposals.flags[:5], priced.gains(proposals.flags[:5]), strict=True):
        for part in mode_slices(shape):
            others = np.repeat(row[np.newaxis], part.stop - part.start, axis=0)
            others[np.arange(len(others)), np.arange(part.start, part.stop)] ^= 1
            assert np.all(priced.gains(others) <= gain + 1e-14)


def test_the_best_counts_vertices_that_are_known():
    # On a single mode there is one best vertex, and every descent finds it.
    priced = Priced((30,))
    first = priced.propose(EFFORTS[1])
    assert len(first.flags) == 1
    priced.active.add(first.flags, first.signs)
    again = priced.propose(EFFORTS[1])
    assert len(again.flags) == 0
    assert again.flags.shape == (0, 30)
    assert again.best == pytest.approx(priced.gains(first.flags)[0], rel=1e-12)


@pytest.mark.needs_jit
def test_threads_do_not_change_the_proposals():
    found = []
    for n_threads in (1, 2):
        priced = Priced((100, 90, 60), n=1_000_000, n_threads=n_threads, vertices=3)
        proposals = priced.propose(EFFORTS[1])
        assert len(priced.active.cells._lane_blocks) > 1
        found.append((proposals.best, proposals.flags.tolist()))
    assert found[0] == found[1]


def test_the_seed_decides():
    found = [Priced((6, 5, 7), seed=seed).propose(EFFORTS[1]) for seed in (0, 0, 1)]
    flags = [each.flags.tolist() for each in found]
    assert flags[0] == flags[1] != flags[2]


def test_descents_are_counted():
    priced = Priced((6, 5, 7))
    priced.propose(EFFORTS[1])
    assert priced.pricing.runs == 16
    priced.propose(EFFORTS[2])
    assert priced.pricing.runs == 16 + 3 * 64


def test_a_spent_budget_ends_after_a_batch():
    priced = Priced((6, 5, 7))
    proposals = priced.propose(EFFORTS[2], Budget(0.0))
    assert priced.pricing.runs == 64
    assert len(proposals.flags)


def test_pricing_at_the_zero_vertex():
    priced = Priced((6, 5, 7), vertices=1)
    fresh = GramSet(CpuCells(priced.active.cells.packed, Workers(1)))
    proposals = priced.pricing.propose(fresh, EFFORTS[1], Budget())
    # All targets are positive: the full vertex is best, and no other comes close.
    assert proposals.best == pytest.approx(-float(fresh.cells.costs.sum()), rel=1e-12)
    assert proposals.flags[0].all()


def value_with(priced, index, row):
    """Return the objective when a vertex in use is exchanged for another."""
    packed, shape = priced.active.cells.packed, priced.observations.shape
    coords = [column[packed.order] for column in priced.observations.coords]
    x = np.zeros(packed.n_cells)
    weights = priced.active.weights * priced.active.signs
    for other, (flags, weight) in enumerate(zip(priced.active.flags, weights, strict=True)):
        x += weight * membership(row if other == index else flags, coords, shape)
    return float(packed.shares @ (x - packed.targets) ** 2) + packed.constant


@pytest.mark.parametrize(
    ("shape", "signed"), [((6, 5, 7), False), *((shape, True) for shape in SHAPES)]
)
def test_refined_vertices_do_better_in_the_place_of_another(shape, signed):
    priced = Priced(shape, signed=signed)
    active = priced.active
    refined = priced.pricing.refine(active, 1e-9)
    assert len(refined.flags)
    falls = []
    for row, sign in zip(refined.flags, refined.signs, strict=True):
        assert key(row, sign) not in active.known
        alike = np.flatnonzero((active.weights > 0.0) & (active.signs == sign))
        falls.append(active.value - min(value_with(priced, index, row) for index in alike))
    assert min(falls) >= 1e-9 * (1.0 - 1e-6)
    assert refined.best <= max(falls) + 1e-12


def test_nothing_is_refined_for_less_than_asked_for():
    priced = Priced((6, 5, 7))
    best = priced.pricing.refine(priced.active, 0.0).best
    assert best > 0.0
    nothing = priced.pricing.refine(priced.active, 1.01 * best)
    assert nothing.flags.shape == (0, 18)
    assert nothing.signs.shape == (0,)


def test_no_vertex_in_use_is_nothing_to_refine():
    priced = Priced((6, 5, 7), vertices=1)
    fresh = GramSet(CpuCells(priced.active.cells.packed, Workers(1)))
    assert priced.pricing.refine(fresh, 0.0).flags.shape == (0, 18)


def test_many_vertices_in_use_are_refined_in_turns():
    priced = Priced((12, 11, 13), n=3000, vertices=300)
    assert np.count_nonzero(priced.active.weights) > 64
    before = priced.pricing.runs
    priced.pricing.refine(priced.active, 1e-12)
    assert priced.pricing.runs == before + 64


SWEEP_BY_SWEEP = Tuning(max_unchecked_indices=1)


@pytest.mark.parametrize("signed", [False, True])
def test_sweeps_that_take_long_are_made_one_by_one_to_the_same_bits(signed, monkeypatch):
    found, sweeps = [], []
    for tuning in (TUNING, SWEEP_BY_SWEEP):
        priced = Priced((9, 8, 7), vertices=5, signed=signed, tuning=tuning)
        cells, counts = priced.active.cells, []
        descend = cells.descend

        def counting(lanes, count, n_sweeps, *, counts=counts, descend=descend, **options):
            counts.append(n_sweeps)
            return descend(lanes, count, n_sweeps, **options)

        monkeypatch.setattr(cells, "descend", counting)
        found.append(priced.propose(Effort(batches=1, starts=64, sweeps=60, max_vertices=40)))
        sweeps.append(counts)
    free, checked = found
    assert set(sweeps[0]) == {60}
    assert set(sweeps[1]) == {1}
    assert 2 * len(sweeps[0]) <= len(sweeps[1]) < 60 * len(sweeps[0])
    assert len(free.flags) > 1
    assert np.array_equal(free.flags, checked.flags)
    assert np.array_equal(free.signs, checked.signs)
    assert free.best == checked.best


@pytest.mark.parametrize(
    "tuning", [Tuning(max_unchecked_cells=1), Tuning(max_unchecked_cells_limited=1)]
)
def test_a_time_limit_ends_a_descent_between_two_sweeps(tuning):
    class Sweeps(Budget):
        asked = 0

        @property
        def spent(self):
            self.asked += 1
            return self.asked > 3

    limited = tuning.max_unchecked_cells_limited == 1
    budget = Sweeps(1e9 if limited else None)
    priced = Priced((9, 8, 7), vertices=5, tuning=tuning)
    proposals = priced.propose(Effort(batches=9, starts=64, sweeps=60, max_vertices=40), budget)
    assert budget.asked == 5  # after each of four sweeps, and after the batch
    assert len(proposals.flags) > 0
