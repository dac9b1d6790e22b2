"""Every CUDA kernel against its plain twin in ``naive_cuda``, on the zoo, in the simulator."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import naive_cuda
import zoo
from intensor.backends.cuda import components, gram, lanes, observations, sums
from intensor.backends.cuda.device import array_module, for_kernels, to_host
from intensor.backends.cuda.mode_order import sort_by_index
from intensor.backends.cuda.thread_blocks import TILE, grid_of
from intensor.data.observations import observe
from intensor.problem.layout import positions
from intensor.problem.vertex import mode_offsets

SCALE = 2.0**40


@dataclass
class Case:
    """Cells in the form that the kernels take, and random arguments of every other kind."""

    name: str

    def __post_init__(self):
        self.shape, coords, values, _ = zoo.observed(self.name)
        self.coords, self.values = coords, values
        self.cells = observe(coords, values, shape=self.shape)
        self.rng = np.random.default_rng(7)
        self.rows = np.ascontiguousarray(positions(self.cells.coords, self.shape).T)
        self.u, self.length = self.cells.n_cells, sum(self.shape)
        self.offsets = mode_offsets(self.shape)
        self.costs = self.rng.standard_normal(self.u)
        self.targets = self.rng.uniform(size=self.u)
        self.shares = (self.cells.counts, int(self.u > 0), 1.0 / self.cells.n)

    def words(self, *size):
        """Return random words with three bits of four set."""
        return np.bitwise_or(*self.rng.integers(0, 2**64, (2, *size), dtype=np.uint64))


def compare(module, name, case, arguments, outputs, *, grid=None, shared=0, rtol=1e-12, atol=1e-12):
    """Launch a kernel and call its twin on copies of the same outputs, and compare these."""
    xp, grid = array_module(), grid_of(case.u) if grid is None else grid
    sent = [for_kernels(xp.asarray(a)) if isinstance(a, np.ndarray) else a for a in arguments]
    plain = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    ours, theirs = [xp.asarray(out.copy()) for out in outputs], [out.copy() for out in outputs]
    getattr(module, name)[grid, TILE, 0, shared](*sent, *map(for_kernels, ours))
    getattr(naive_cuda, name)(*plain, *theirs)
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(to_host(mine), other, rtol=rtol, atol=atol, err_msg=name)


def fit_cells(case):
    weights = case.rng.uniform(size=128)
    tables = sums.byte_sums(weights)
    words = case.words(case.length, 2)
    partial = np.full(case.u, np.nan)
    arguments = case.rows, words, 0, 2, tables, case.targets, *case.shares, False
    outputs = [partial, np.zeros((grid_of(case.u), 3))]
    compare(sums, "fit_cells", case, arguments, outputs, shared=2 * 16384)
    half_done = [case.costs, np.zeros((grid_of(case.u), 3))]
    for more in (False, True):
        arguments = case.rows, words, 1, 2, tables, case.targets, *case.shares, more
        compare(sums, "fit_cells", case, arguments, half_done, shared=16384)


def vertex_sums(case):
    words = case.words(case.length, 2)
    outputs = [np.full((grid_of(case.u), 64), np.nan)]
    compare(sums, "vertex_sums", case, (case.rows, words, 1, case.costs), outputs)


def bound_sums(case):
    arguments = case.costs, case.targets, *case.shares
    compare(sums, "bound_sums", case, arguments, [np.full((grid_of(case.u), 4), np.nan)])


def compare_lane_sums(case, name, *, runs):
    """Compare the sums of every mode, with and without an exchange of vertices."""
    for mode, length in enumerate(case.shape):
        for exchange, sign in ((False, 1.0), (True, -1.0)):
            weights = case.rng.uniform(size=64) * exchange
            origins, moving = case.words(case.length, 1), case.words(case.length, 1)
            scaled = sign, SCALE, origins, weights, moving, case.words(1)[0]
            extra = (64, exchange) if runs else ()
            target = mode, int(case.offsets[mode])
            arguments = case.rows, case.costs, *case.shares, *scaled, *extra, *target
            outputs = [np.zeros((length, 64), dtype=np.int64)]
            compare(lanes, name, case, arguments, outputs, atol=2.0 * case.u)


def lane_sums(case):
    compare_lane_sums(case, "lane_sums", runs=False)


def lane_sums_runs(case):
    compare_lane_sums(case, "lane_sums_runs", runs=True)


def switch_lanes(case):
    length = case.shape[-1]
    found = case.rng.integers(-9, 10, (length, 64))
    low = int(case.offsets[-2])
    arguments = case.words(1)[0], 40, low
    outputs = [found, case.words(case.length, 1), np.zeros(64, dtype=np.int64)]
    xp = array_module()
    ours, theirs = [xp.asarray(out.copy()) for out in outputs], [out.copy() for out in outputs]
    views = list(map(for_kernels, ours))
    lanes.switch_lanes[grid_of(length), TILE](views[0], *arguments, *views[1:])
    naive_cuda.switch_lanes(theirs[0], *arguments, *theirs[1:])
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(to_host(mine), other)


def gram_block(case):
    planes = int(case.cells.counts.max() - 1).bit_length()
    words = case.words(case.length, 2)
    outputs = [case.rng.integers(0, 9, (64, 64))]
    for first, low, high, second, n_second in [(0, 0, 64, 1, 64), (1, 3, 20, 1, 20)]:
        digits = (n_second - 1).bit_length()
        arguments = case.rows, words, first, low, high, second, n_second, digits
        counted = case.cells.counts, 1, planes
        compare(gram, "gram_block", case, (*arguments, *counted), outputs, rtol=0, atol=0)


def gram_block_weighted(case):
    shares = case.rng.uniform(size=case.u)
    arguments = case.rows, case.words(case.length, 2), 0, 1, shares, SCALE
    outputs = [np.zeros((64, 64), dtype=np.int64)]
    compare(gram, "gram_block_weighted", case, arguments, outputs, rtol=0, atol=0)


def collapse_cells(case):
    keys = np.ravel_multi_index(tuple(case.coords.T), case.shape)
    order = np.argsort(keys, kind="stable")
    starts = np.unique(keys[order], return_index=True)[1]
    counts, means = np.zeros(starts.size, dtype=np.uint16), np.zeros(starts.size)
    outputs = [counts, means, np.zeros((grid_of(starts.size), 2))]
    compare(observations, "collapse_cells", case, (order, starts, case.values), outputs)


def components_of(case, count):
    """Return padded factors and weights of some components."""
    factors = case.rng.uniform(size=(case.length, count))
    weights = case.rng.uniform(-1.0, 1.0, (1, count))
    return components.padded(factors), components.padded(weights)


def fit_components(case):
    for count in (3, components.COLUMNS + 1):
        factors, weights = components_of(case, count)
        arguments = case.rows, factors, weights, case.targets, *case.shares
        outputs = [np.full(case.u, np.nan), np.zeros((1, 3))]
        compare(components, "fit_components", case, arguments, outputs, grid=1)


def cut(case, mode, most=20):
    """Return the order of the cells in a mode and chunks of the indices after the first."""
    low, high = case.offsets[mode : mode + 2].tolist()
    found = sort_by_index(array_module().asarray(case.rows), mode, low, high)
    first = min(1, high - low - 1)
    return to_host(found.order), first, *found.chunks(first, high - low, most)


def normal_equations(case):
    for mode, count in enumerate((3, components.COLUMNS + 1)[: len(case.shape)]):
        factors, weights = components_of(case, count)
        order, first, chunks, _ = cut(case, mode)
        owns = np.ascontiguousarray(weights * factors[case.offsets[mode] + first :])
        pairs, width = components.pairs_of(count), components.COLUMNS
        arguments = case.rows, order, chunks, pairs, mode, factors, owns, case.targets
        sizes = (len(chunks), len(pairs), width, width), (len(chunks), factors.shape[1])
        outputs = [np.full(size, np.nan) for size in (*sizes, len(chunks))]
        grid = len(chunks) * len(pairs)
        compare(
            components, "normal_equations", case, (*arguments, *case.shares), outputs, grid=grid
        )


def add_chunks(case):
    count, width = components.COLUMNS + 3, components.COLUMNS
    _, _, chunks, starts = cut(case, 0)
    matrices = case.rng.uniform(size=(len(chunks), 3, width, width))
    slopes = case.rng.uniform(size=(len(chunks), 2 * width))
    m = starts.size - 1
    outputs = [np.full((m, count, count), np.nan), np.full((m, count), np.nan)]
    compare(components, "add_chunks", case, (starts, matrices, slopes), outputs)


TWINS = {
    name: check for name, check in globals().items() if name in vars(naive_cuda) and callable(check)
}
"""The comparison of each kernel with its twin; it has the name of the kernel."""


def test_no_kernel_is_without_a_twin():
    # The kernel of patterns is not cached; test_pattern_filter.py compares it with its twin.
    code = "".join(path.read_text() for path in Path(gram.__file__).parent.glob("*.py"))
    names = re.findall(r"@cuda\.jit\(cache=True\)\ndef (\w+)", code)
    assert sorted(names) == sorted(TWINS)
    assert all(callable(getattr(naive_cuda, name)) for name in names)


@pytest.mark.parametrize("kernel", TWINS)
def test_every_kernel_is_its_twin(kernel):
    TWINS[kernel](Case("cube"))


@pytest.mark.slow
@pytest.mark.parametrize("name", zoo.OBSERVED)
@pytest.mark.parametrize("kernel", TWINS)
def test_every_kernel_is_its_twin_on_the_zoo(kernel, name):
    TWINS[kernel](Case(name))


def test_byte_sums_are_sums_over_subsets_of_eight_weights():
    weights = np.random.default_rng(0).random(128)
    found = sums.byte_sums(weights)
    assert found.shape == (16, 256)
    for pattern in (0, 1, 37, 255):
        bits = [bit for bit in range(8) if pattern >> bit & 1]
        expected = weights[64 + 8 * 3 :][bits].sum()
        assert found[11, pattern] == pytest.approx(expected, abs=1e-15)
