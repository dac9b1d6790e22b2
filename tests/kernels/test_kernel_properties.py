"""Every kernel against its plain twin, bit for bit, on any cells of 1 to 6 modes."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

import cells_cases
import naive as reference
from forall import forall
from intensor.backends.cpu import CpuCells
from intensor.backends.packed_cells import pack_cells
from intensor.data.observations import observe
from intensor.kernels import cells as cpu
from intensor.kernels import lanes, packed
from intensor.oracles.contraction import PerCell, PerIndex, PerIndexRemembered
from intensor.problem.layout import cell_matrix, positions
from intensor.problem.vertex import mode_offsets, mode_slices, pack_vertices
from intensor.runtime.threads import Workers
from strategies import any_weights, observations, random_flags, seeds, shapes, sizes_of_all_kinds

ALL = np.uint64(2**64 - 1)
raws = st.one_of(
    observations(shape=shapes(longest=4), most=80),
    observations(shape=shapes(longest=4), most=20, weights=any_weights),
)


def bits(array):
    """Return 64 bits for every number, so that 0.0 and -0.0 differ."""
    return np.ascontiguousarray(array).view(np.uint64).tolist()


@dataclass
class Case:
    """Cells in all the forms that kernels take, and a source of everything else."""

    raw: object
    seed: int

    def __post_init__(self):
        self.rng = np.random.default_rng(self.seed)
        raw = self.raw
        self.shape = raw.shape
        self.cells = observe(raw.coords, raw.values, shape=raw.shape, sample_weight=raw.weights)
        self.packed = pack_cells(self.cells, 2.0)
        self.rows = positions(self.cells.coords, self.shape)
        self.offsets = mode_offsets(self.shape)
        self.u = self.cells.n_cells
        self.length = sum(self.shape)

    def words(self, *size):
        """Return random words, sparse or dense."""
        found = self.rng.integers(0, 2**64, size, dtype=np.uint64)
        for _ in range(int(self.rng.integers(3))):
            found |= self.rng.integers(0, 2**64, size, dtype=np.uint64)
        return found

    def live(self):
        some = [ALL, np.uint64(0), np.uint64(1 << 63), self.words(1)[0]]
        return some[int(self.rng.integers(4))]

    def range(self, most):
        """Return where a part of so many begins and ends."""
        return sorted(self.rng.integers(0, most + 1, 2).tolist())

    def costs(self):
        return sizes_of_all_kinds(self.rng, self.u)

    def mode(self):
        mode = int(self.rng.integers(len(self.shape)))
        return mode, int(self.offsets[mode]), self.shape[mode]

    def members(self, count):
        """Return the packed members of so many vertices."""
        flags = random_flags(self.rng, count, self.shape)
        members = np.zeros((count, self.packed.n_words), dtype=np.uint64)
        for start in range(0, count, 64):
            part = members[start : start + 64]
            joined = np.zeros(self.length, dtype=np.uint64)
            lanes.join_lanes(flags, np.arange(start, start + len(part)), joined)
            packed.pack_members(self.packed.rows, joined, len(part), 0, self.packed.n_words, part)
        return members


def twins(name, module, arguments, outputs):
    """Call a kernel and its twin on copies of the same outputs, and compare these."""
    ours, theirs = ([array.copy() for array in outputs] for _ in range(2))
    got = getattr(module, name)(*arguments, *ours)
    wanted = getattr(reference, name)(*arguments, *theirs)
    assert got == wanted
    for mine, other in zip(ours, theirs, strict=True):
        kind = np.uint8 if mine.dtype == np.uint8 else np.uint64
        assert mine.view(kind).tolist() == other.view(kind).tolist(), name


def contract(case):
    flags, costs = random_flags(case.rng, 1, case.shape)[0], case.costs()
    mode, _, length = case.mode()
    expected = np.zeros(case.length)
    reference.contract(case.rows, mode, flags, costs, expected)
    expected = bits(expected[mode_slices(case.shape)[mode]])
    for way in (PerCell, PerIndex, PerIndexRemembered):
        assert bits(way(case.cells).index_costs(mode, flags, costs)) == expected, way
    column = case.cells.coords[mode]
    order = np.argsort(column, kind="stable").astype(np.int32)
    starts = np.searchsorted(column[order], np.arange(length + 1))
    out = np.full(length, np.nan)
    matrix = cell_matrix(case.cells.coords, case.shape)
    cpu.contract_by_index(matrix, case.offsets, order, starts, mode, flags, costs, out)
    assert bits(out) == expected


def predict(case):
    count = int(case.rng.choice([0, 1, 5, 64, 70]))
    words = pack_vertices(random_flags(case.rng, count, case.shape), case.shape).words
    weights = sizes_of_all_kinds(case.rng, count)
    ours, theirs = np.full((2, case.u), np.nan)
    cells = cell_matrix(case.cells.coords, case.shape).astype(np.int64)
    cpu.predict(words, weights, cells, case.offsets, ours)
    reference.predict(words, weights, case.rows, theirs)
    assert bits(ours) == bits(theirs)


def lane_sums(case):
    mode, low, length = case.mode()
    first, last = case.range(case.u)
    arguments = case.rows, case.costs(), case.words(case.length), case.live(), mode, low
    outputs = [np.full((length, 64), np.nan)]
    twins("lane_sums", lanes, (*arguments, first, last), outputs)


def lane_products(case):
    first, last = case.range(len(case.shape))
    arguments = case.rows, case.words(case.length), case.live(), first, last
    twins("lane_products", lanes, arguments, [case.words(case.u)])


def lane_sums_within(case):
    mode, low, length = case.mode()
    first = int(case.rng.integers(mode + 1))
    last = int(case.rng.integers(mode + 1, len(case.shape) + 1))
    others = case.words(case.u)
    arguments = case.rows, case.costs(), case.words(case.length), others, mode, first, last, low
    twins("lane_sums_within", lanes, arguments, [np.full((length, 64), np.nan)])


def lane_sums_around(case):
    mode, low, length = case.mode()
    first, last = case.range(case.u)
    shares, weights = case.cells.cell_shares(), np.abs(sizes_of_all_kinds(case.rng, 64))
    arguments = (case.rows, case.costs(), shares, case.words(case.u), weights)
    more = (case.words(case.length), case.live(), mode, low, first, last)
    twins("lane_sums_around", lanes, (*arguments, *more), [np.full((length, 64), np.nan)])


def switch_lanes(case):
    _, _, length = case.mode()
    sums = sizes_of_all_kinds(case.rng, 64 * length).reshape(length, 64)
    count = int(case.rng.integers(65))
    outputs = [case.words(length), np.full(64, np.nan)]
    twins("switch_lanes", lanes, (sums, case.live(), count), outputs)


def still_falling(case):
    values = case.rng.integers(-2, 3, 64).astype(float)
    best = np.where(case.rng.uniform(size=64) < 0.3, np.inf, case.rng.integers(-2, 3, 64))
    twins("still_falling", lanes, (case.live(), values), [best])


def descend_lanes(case):
    count, sweeps = int(case.rng.integers(1, 65)), int(case.rng.choice([0, 1, 2, 60]))
    room = np.full((max(case.shape), 64), np.nan)
    arguments = case.rows, case.offsets, case.costs(), count, sweeps, room
    twins("descend_lanes", lanes, arguments, [case.words(case.length), np.full(64, np.nan)])


def join_lanes(case):
    flags = random_flags(case.rng, 9, case.shape)
    chosen = case.rng.integers(0, 9, int(case.rng.integers(65)))
    twins("join_lanes", lanes, (flags, chosen), [case.words(case.length)])


def split_lanes(case):
    chosen = case.rng.permutation(64)[: int(case.rng.integers(65))]
    outputs = [np.full((chosen.size, case.length), 9, dtype=np.uint8)]
    twins("split_lanes", lanes, (case.words(case.length), chosen), outputs)


def mix_starts(case):
    noise, known = case.words(4, case.length), case.words(case.length)
    arguments = noise, known, int(case.rng.integers(65))
    twins("mix_starts", lanes, arguments, [case.words(case.length)])


def store_words(case):
    flags = random_flags(case.rng, 140, case.shape)
    twins("store_words", lanes, (flags, *case.range(140)), [case.words(case.length, 3)])


def pack_members(case):
    count = int(case.rng.integers(65))
    arguments = case.packed.rows, case.words(case.length), count
    outputs = [case.words(count, case.packed.n_words)]
    twins("pack_members", packed, (*arguments, *case.range(case.packed.n_words)), outputs)


def gram_rows(case):
    count = 12
    arguments = case.members(count), case.packed.extra, *case.range(count), case.packed.one_share
    twins("gram_rows", packed, arguments, [np.full((count, count), np.nan)])


def gram_rows_weighted(case):
    count = 12
    arguments = case.members(count), case.packed.shares, *case.range(count)
    twins("gram_rows_weighted", packed, arguments, [np.full((count, count), np.nan)])


def member_sums(case):
    count = int(case.rng.integers(1, 80))
    arguments = case.members(count), case.costs(), *case.range(count)
    twins("member_sums", packed, arguments, [np.full(count, np.nan)])


def fit_cells(case):
    count = int(case.rng.choice([0, 1, 64, 70]))
    words = case.words(case.length, 2)
    weights = np.zeros(128)
    weights[:count] = sizes_of_all_kinds(case.rng, count)
    cells = case.packed
    arguments = cells.rows, words, -(-count // 64), weights, cells.targets, cells.shares
    outputs = [np.full(case.u, np.nan), np.full(2, np.nan)]
    twins("fit_cells", packed, (*arguments, *case.range(case.u)), outputs)


KERNELS = [
    contract,
    predict,
    lane_sums,
    lane_products,
    lane_sums_within,
    lane_sums_around,
    switch_lanes,
    still_falling,
    descend_lanes,
    join_lanes,
    split_lanes,
    mix_starts,
    store_words,
    pack_members,
    gram_rows,
    gram_rows_weighted,
    member_sums,
    fit_cells,
]


def test_no_kernel_is_left_out():
    assert {kernel.__name__ for kernel in KERNELS} == {*reference.__all__, "lane_sums_around"}


@forall(few=40, many=300, raw=raws, seed=seeds)
def test_every_kernel_is_its_twin(raw, seed):
    for kernel in KERNELS:
        kernel(Case(raw, seed))


@forall(few=25, many=300, shape=shapes(longest=4), weighted=st.booleans(), n=st.integers(1, 90))
def test_sums_of_cells_are_those_of_dense_matrices(shape, weighted, n):
    def make(cells, radius):
        return CpuCells(pack_cells(cells, radius), Workers(1))

    cells_cases.check_sums(cells_cases.Case(make, shape, n=n, weighted=weighted))
