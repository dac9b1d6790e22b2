"""Every kernel against its plain twin in ``naive``, on the zoo and on any cells of 1 to 6 modes."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

import naive
import zoo
from forall import forall
from intensor.kernels import (
    component_sums,
    components,
    gram,
    hashing,
    lanes,
    repeats,
    sorting,
    sums,
)
from intensor.problem.layout import cell_matrix
from intensor.problem.vertex import pack_vertices
from kernel_cases import Case, compare
from strategies import any_weights, observations, random_flags, seeds, shapes, sizes_of_all_kinds


def contract_by_index(case):
    flags, costs = random_flags(case.rng, 1, case.shape)[0], case.costs()
    mode, _, length = case.mode()
    column = case.cells.coords[mode]
    order = np.argsort(column, kind="stable").astype(np.int32)
    starts = np.searchsorted(column[order], np.arange(length + 1))
    matrix = cell_matrix(case.cells.coords, case.shape)
    arguments = matrix, case.offsets, order, starts, mode, flags, costs
    compare(sums, "contract_by_index", arguments, [np.full(length, np.nan)])


def predict(case):
    count = int(case.rng.choice([0, 1, 5, 64, 70]))
    words = pack_vertices(random_flags(case.rng, count, case.shape), case.shape).words
    weights = sizes_of_all_kinds(case.rng, count)
    cells = cell_matrix(case.cells.coords, case.shape).astype(np.int64)
    compare(sums, "predict", (words, weights, cells, case.offsets), [np.full(case.u, np.nan)])


def add_components(case):
    count = int(case.rng.choice([0, 1, 3, 4, 5, 20]))
    factors = case.rng.uniform(size=(case.length, count)).round(int(case.rng.integers(1, 17)))
    weights = sizes_of_all_kinds(case.rng, count)
    cells = cell_matrix(case.cells.coords, case.shape).astype(np.int64)
    arguments = factors, weights, cells, case.offsets
    compare(component_sums, "add_components", arguments, [case.costs()])


def lane_sums(case):
    mode, low, length = case.mode()
    arguments = case.rows, case.costs(), case.words(case.length), case.live(), mode, low
    compare(lanes, "lane_sums", arguments, [np.full((length, 64), np.nan)])


def lane_products(case):
    first, last = case.range(len(case.shape))
    arguments = case.rows, case.words(case.length), case.live(), first, last
    compare(lanes, "lane_products", arguments, [case.words(case.u)])


def lane_sums_within(case):
    mode, low, length = case.mode()
    first = int(case.rng.integers(mode + 1))
    last = int(case.rng.integers(mode + 1, len(case.shape) + 1))
    others = case.words(case.u)
    arguments = case.rows, case.costs(), case.words(case.length), others, mode, first, last, low
    compare(lanes, "lane_sums_within", arguments, [np.full((length, 64), np.nan)])


def lane_sums_around(case):
    mode, low, length = case.mode()
    shares, weights = case.cells.cell_shares(), np.abs(sizes_of_all_kinds(case.rng, 64))
    arguments = (case.rows, case.costs(), shares, case.words(case.u), weights)
    more = (case.words(case.length), case.live(), mode, low)
    compare(lanes, "lane_sums_around", (*arguments, *more), [np.full((length, 64), np.nan)])


def switch_lanes(case):
    _, _, length = case.mode()
    sums = sizes_of_all_kinds(case.rng, 64 * length).reshape(length, 64)
    count = int(case.rng.integers(65))
    outputs = [case.words(length), np.full(64, np.nan)]
    compare(lanes, "switch_lanes", (sums, case.live(), count), outputs)


def still_falling(case):
    values = case.rng.integers(-2, 3, 64).astype(float)
    best = np.where(case.rng.uniform(size=64) < 0.3, np.inf, case.rng.integers(-2, 3, 64))
    compare(lanes, "still_falling", (case.live(), values), [best])


def descend_lanes(case):
    count, sweeps = int(case.rng.integers(1, 65)), int(case.rng.choice([0, 1, 2, 60]))
    working = np.full((max(case.shape), 64), np.nan)
    arguments = case.rows, case.offsets, case.costs(), count, sweeps, working
    compare(lanes, "descend_lanes", arguments, [case.words(case.length), np.full(64, np.nan)])


def join_lanes(case):
    flags = random_flags(case.rng, 9, case.shape)
    chosen = case.rng.integers(0, 9, int(case.rng.integers(65)))
    compare(lanes, "join_lanes", (flags, chosen), [case.words(case.length)])


def split_lanes(case):
    chosen = case.rng.permutation(64)[: int(case.rng.integers(65))]
    outputs = [np.full((chosen.size, case.length), 9, dtype=np.uint8)]
    compare(lanes, "split_lanes", (case.words(case.length), chosen), outputs)


def mix_starts(case):
    noise, known = case.words(4, case.length), case.words(case.length)
    arguments = noise, known, int(case.rng.integers(65))
    compare(lanes, "mix_starts", arguments, [case.words(case.length)])


def store_words(case):
    flags = random_flags(case.rng, 140, case.shape)
    compare(lanes, "store_words", (flags, *case.range(140)), [case.words(case.length, 3)])


def pack_members(case):
    count = int(case.rng.integers(65))
    arguments = case.packed.rows, case.words(case.length), count
    outputs = [case.words(count, case.packed.n_words)]
    compare(gram, "pack_members", (*arguments, *case.range(case.packed.n_words)), outputs)


def gram_rows(case):
    count = 12
    arguments = case.members(count), case.packed.extra, *case.range(count), case.packed.one_share
    compare(gram, "gram_rows", arguments, [np.full((count, count), np.nan)])


def gram_rows_weighted(case):
    count = 12
    arguments = case.members(count), case.packed.shares, *case.range(count)
    compare(gram, "gram_rows_weighted", arguments, [np.full((count, count), np.nan)])


def member_sums(case):
    count = int(case.rng.integers(1, 80))
    arguments = case.members(count), case.costs(), *case.range(count)
    compare(sums, "member_sums", arguments, [np.full(count, np.nan)])


def fit_cells(case):
    count = int(case.rng.choice([0, 1, 64, 70]))
    words = case.words(case.length, 2)
    weights = np.zeros(128)
    weights[:count] = sizes_of_all_kinds(case.rng, count)
    cells = case.packed
    arguments = cells.rows, words, -(-count // 64), weights, cells.targets, cells.shares
    outputs = [np.full(case.u, np.nan), np.full(2, np.nan)]
    compare(sums, "fit_cells", arguments, outputs)


def some_components(case):
    """Return factors, some of them 0 or 1, and signed weights of some components."""
    count = int(case.rng.choice([1, 3, 8, 33]))
    factors = np.clip(case.rng.uniform(-0.2, 1.2, (case.length, count)), 0.0, 1.0)
    return factors, case.rng.uniform(-1.0, 2.0, count)


def fit_components(case):
    cells = case.packed
    arguments = cells.rows, *some_components(case), cells.targets, cells.shares
    outputs = [np.full(case.u, np.nan), np.full(2, np.nan)]
    compare(components, "fit_components", arguments, outputs, rtol=1e-12)


def normal_equations(case):
    mode, offset, length = case.mode()
    low, high = case.range(length)
    factors, weights = some_components(case)
    cells = case.packed.by_index(mode)
    arguments = cells.rows, cells.targets, cells.shares, cells.starts[low : high + 1], mode
    arguments += factors, weights, offset + low
    m, k = high - low, weights.size
    outputs = [np.full(size, np.nan) for size in ((m, k, k), (m, k), m)]
    compare(components, "normal_equations", arguments, outputs, rtol=1e-12)


def transpose_bits(case):
    compare(gram, "transpose_bits", (), [case.words(64)])


def fold_rows(case):
    shifts = np.cumsum([8, *((length - 1).bit_length() for length in case.shape[:-1])])
    n = len(case.values)
    arguments = case.coords, shifts, *case.range(n)
    compare(sorting, "fold_rows", arguments, [np.full(n, -1)])


def count_digits(case):
    keys, row_bits, _ = case.keys()
    outputs = [case.rng.integers(0, 9, 8)]
    compare(sorting, "count_digits", (keys, row_bits, *case.range(keys.size)), outputs)


def move_keys(case):
    keys, row_bits, _ = case.keys()
    first, last = case.range(keys.size)
    counts = np.zeros(8, dtype=np.int64)
    naive.count_digits(keys, row_bits, first, last, counts)
    outputs = [np.cumsum(counts) - counts, np.full(keys.size, -1)]
    compare(sorting, "move_keys", (keys, row_bits, first, last), outputs)


def split_keys(case):
    keys, row_bits, _ = case.keys()
    keys.sort()
    arguments = keys, row_bits, *case.range(keys.size)
    outputs = [np.zeros(keys.size, dtype=np.uint32), np.full(2, -1)]
    compare(sorting, "split_keys", arguments, outputs)


def pick_distinct(case):
    keys, row_bits, _ = case.keys()
    keys.sort()
    arguments = keys, row_bits, *case.range(keys.size), int(case.rng.integers(5))
    outputs = [np.full(keys.size + 5, -1), np.full(keys.size + 5, -1)]
    compare(sorting, "pick_distinct", arguments, outputs)


def some_weights(case):
    """Return integer weights that tie often, or none."""
    given = case.rng.integers(1, 4, len(case.values)).astype(float)
    return given if case.rng.uniform() < 0.5 else np.empty(0)


def sort_repeats(case):
    order, starts = case.groups()
    values = np.round(4.0 * case.values)  # ties
    arguments = starts, values, some_weights(case), *case.range(starts.size)
    compare(repeats, "sort_repeats", arguments, [order])


def collapse_repeats(case):
    order, starts = case.groups()
    arguments = order, starts, case.values, some_weights(case), *case.range(starts.size)
    outputs = [np.full(starts.size, 7.0), np.full(starts.size, 7.0), np.full(2, 7.0)]
    compare(repeats, "collapse_repeats", arguments, outputs)


def draw_cells(case):
    seed, threshold = case.words(2)
    compare(hashing, "draw_cells", (case.rows, seed, threshold), [np.zeros(case.u, dtype=int)])


TWINS = {
    name: check for name, check in globals().items() if name in vars(naive) and callable(check)
}
"""The comparison of each kernel with its twin; it has the name of the kernel."""


def kernels_in_package():
    """Yield module and name of every function under ``@njit`` in ``intensor.kernels``."""
    for path in Path(lanes.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and any(
                "njit" in ast.unparse(decorator) for decorator in node.decorator_list
            ):
                yield path.stem, node.name


def is_compared_in_its_own_test(module, name):
    """Return whether the test file of a module names a kernel and uses plain twins.

    Private kernels are compared through the public ones of their module.
    """
    path = Path(__file__).with_name(f"test_{module}.py")
    text = path.read_text() if path.exists() else ""
    named = name.startswith("_") or re.search(rf"\b{name}\b", text) is not None
    return "naive" in text and named


def test_no_kernel_is_without_a_twin():
    names = []
    for module, name in kernels_in_package():
        names.append(name)
        assert name in TWINS or is_compared_in_its_own_test(module, name), name
    assert len(set(names)) == len(names)
    assert set(TWINS) <= set(names)
    assert all(callable(getattr(naive, name)) for name in TWINS)


@pytest.mark.parametrize("kernel", TWINS)
def test_every_kernel_is_its_twin_on_the_zoo(kernel):
    for number, name in enumerate(zoo.OBSERVED):
        for weighted in (False, True):
            TWINS[kernel](Case(*zoo.observed(name, weighted=weighted), seed=number))


raws = st.one_of(
    observations(shape=shapes(longest=4), most=80),
    observations(shape=shapes(longest=4), most=20, weights=any_weights),
)


@forall(few=5, many=300, raw=raws, seed=seeds)
def test_every_kernel_is_its_twin(raw, seed):
    for check in TWINS.values():
        check(Case(raw.shape, raw.coords, raw.values, raw.weights, seed))
