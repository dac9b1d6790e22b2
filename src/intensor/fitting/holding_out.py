"""Which cells to hold out: pieces that lie as far from the other observations as missing cells do.

Held-out cells tell how well missing cells are predicted only if they are missing in the same way. A
single cell that is held out at random has neighbours that a cell in a missing fibre or block does
not have. So cells are held out in *pieces*: boxes of the same extent in every mode, from a single
cell to entire fibres and slabs. The extents are chosen so that the distances from held-out cells to
the nearest observed cell, along every mode, are distributed as those from missing cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.data.observations import cell_numbers
from intensor.fitting.samples import Samples
from intensor.runtime.budget import Budget

DISTANCE_BINS = np.array([2, 4, 16])
"""Distances from which the second, third and fourth class of neighbours begin; the first class is
direct neighbours, and cells alone in their fibre are a class of their own."""
EXTENT_RATIO = 4
"""Factor between two extents of a piece that are tried in a mode."""
MAX_MISSING = 1 << 13
"""Most missing cells whose neighbours are looked at, and most held-out ones."""
MIN_MISSING = 1 << 6
"""Fewest missing cells that say how cells are missing."""
DRAWS_PER_MISSING = 8
"""Cells drawn at random for each missing cell that is wanted: many may be observed."""
MIN_COMPARED = 1 << 10
"""Fewest held-out cells that are compared with missing ones, if need be from several parts."""
MIN_HELD_OUT_PIECES = 3
"""Fewest pieces that are held out at a time, if pieces are more than single cells."""
FILLED_SHARE_OF_FIBRES, FILLED_SHARE_OF_BLOCKS = 0.9, 0.4
"""Least share of the cells of pieces with observations that is observed: of pieces that are entire
fibres or slabs, and of smaller ones."""
MIN_OBSERVED_SHARE_OF_BLOCKS = 0.1
"""Least share of all cells that is observed where pieces are smaller than a mode."""
MIN_IMPROVEMENT = 0.08
"""Least decrease of the discrepancy, which is at most the number of modes, for larger pieces."""
ENOUGH_HELD_OUT, ENOUGH_PIECES = 1 << 13, 1 << 8
"""Numbers of held-out observations, and of pieces that they lie in, beyond which it hardly matters
which ones are held out."""
FEW_OBSERVATIONS = 1 << 12
"""Observations up to which cells may be held out more often."""
MAX_FOLDS = (5, 4)
"""Most times that cells are held out to reach these numbers: of few observations, of many."""
MAX_REPEATED_SHARE = 0.5
"""If more than this share of new observations is expected in cells that have some already, single
cells are held out: such data is asked about the cells that it has."""
MAX_ROWS = 1 << 22
"""Most observations for which anything but single cells is held out."""


def splits(
    samples: Samples,
    *,
    folds: int | None,
    share: float,
    seed: int,
    enough_held_out: int = ENOUGH_HELD_OUT,
    max_folds: tuple[int, int] = MAX_FOLDS,
    extents: tuple[int, ...] | None = None,
) -> Iterator[tuple[Samples, Samples, IndexArray]]:
    """Yield training part, held-out part and the piece of each held-out observation.

    All observations of a cell are on the same side.

    Cells are held out in pieces that look like what is missing: single cells, or boxes of cells.
    With one fold, ``share`` of the pieces are held out; with more, the pieces are dealt out to this
    many folds and each is held out once. With None, ``share`` of the pieces are held out at a time,
    each at most once, until there are ``enough_held_out`` observations in ``ENOUGH_PIECES`` pieces,
    or ``max_folds`` parts. The ``extents`` of pieces are found if they are not given.
    """
    extents = extents or find_extents(samples, share=share, seed=seed)
    numbers = number_pieces(samples, extents, seed=seed)
    n_parts = int(numbers.max()) + 1
    if n_parts < 2:
        return
    order = np.random.default_rng([seed, 1]).permutation(n_parts)
    size = min(max(1, round(share * n_parts)), n_parts - 1)
    if folds is None:
        held_out = size * len(samples) / n_parts
        most = max_folds[len(samples) > FEW_OBSERVATIONS]
        wanted = max(enough_held_out / held_out, min(ENOUGH_PIECES, enough_held_out) / size)
        folds = min(most, math.ceil(wanted), n_parts // size)
        parts = np.split(order[: folds * size], folds)
    else:
        parts = np.array_split(order, min(folds, n_parts)) if folds > 1 else [order[:size]]
    for part in parts:
        held = np.zeros(n_parts, dtype=bool)
        held[part] = True
        rows = held[numbers]
        yield samples.part(~rows), samples.part(rows), numbers[rows]


def number_pieces(samples: Samples, extents: tuple[int, ...], *, seed: int) -> IndexArray:
    """Number the pieces in which cells are held out; return the number of each row's piece."""
    if max(extents) == 1:
        return samples.cell_numbers()
    return _tile(samples.coords, samples.shape, extents, seed)


def find_extents(
    samples: Samples, *, share: float, seed: int, budget: Budget | None = None
) -> tuple[int, ...]:
    """Return the extents of pieces whose cells look like the missing ones when held out.

    It is a greedy search from single cells, which are kept unless larger pieces are clearly more
    like what is missing. ``share`` is the share of the pieces to hold out at a time. When the
    budget is spent, the best extents so far are returned.
    """
    budget = Budget() if budget is None else budget
    shape = samples.shape
    single = (1,) * len(shape)
    if budget.spent:
        return single
    cells = np.stack(samples.groups().columns, axis=1).astype(np.int64)
    if len(shape) < 2 or len(cells) > MAX_ROWS or len(cells) == math.prod(shape):
        return single
    if budget.spent or _expect_repeats(samples) > MAX_REPEATED_SHARE:
        return single
    rng = np.random.default_rng([seed, 4])
    neighbours = _Neighbours(cells, shape, _draw_cells(cells, MAX_MISSING, rng))
    if neighbours.n_missing < MIN_MISSING or budget.spent:
        return single
    wanted = neighbours.of_missing()

    def discrepancy(extents: tuple[int, ...]) -> float:
        if budget.spent:
            return math.inf
        numbers = _tile(cells, shape, extents, seed)
        n_pieces = int(numbers.max()) + 1
        n_held_out = round(share * n_pieces)
        if max(extents) > 1:
            filled = len(cells) / (n_pieces * math.prod(extents))
            least_filled = _least_filled_share(extents, cells, shape)
            if n_held_out < MIN_HELD_OUT_PIECES or filled < least_filled:
                return math.inf
        if n_held_out < 1:
            return math.inf
        order = np.random.default_rng([seed, 5]).permutation(n_pieces)
        enough = math.ceil(MIN_COMPARED * n_pieces / (n_held_out * len(cells)))
        found = []
        for part in range(min(enough, n_pieces // n_held_out)):
            held = np.zeros(n_pieces, dtype=bool)
            held[order[part * n_held_out : (part + 1) * n_held_out]] = True
            found.append(neighbours.of_held_out(held[numbers], rng))
        return float(np.abs(np.mean(found, axis=0) - wanted).sum() / 2.0)

    best, least = single, discrepancy(single)
    while True:
        trials = [(discrepancy(extents), extents) for extents in _larger(best, shape)]
        found, extents = min(trials, default=(math.inf, single))
        if budget.spent or not found < least - MIN_IMPROVEMENT:
            return best
        best, least = extents, found


def _expect_repeats(samples: Samples) -> float:
    """Return the share of new observations that is expected in cells which have some already.

    By Good and Turing, a new observation is of a new cell as often as cells were observed once.
    """
    counts = np.bincount(samples.cell_numbers())
    return 1.0 - np.count_nonzero(counts == 1) / len(samples)


def _least_filled_share(extents: tuple[int, ...], cells: IndexArray, shape: Shape) -> float:
    """Return the share of cells that must be observed in pieces with observations.

    Otherwise cells are missing in such pieces too, and it is those that users ask for. Pieces that
    are part of a mode do not begin and end where the missing ones do, so that less can be asked of
    them; but in sparse data such runs are no sign of missing blocks.
    """
    if all(extent in (1, length) for extent, length in zip(extents, shape, strict=True)):
        return FILLED_SHARE_OF_FIBRES
    sparse = len(cells) < MIN_OBSERVED_SHARE_OF_BLOCKS * math.prod(shape)
    return math.inf if sparse else FILLED_SHARE_OF_BLOCKS


def _larger(extents: tuple[int, ...], shape: Shape) -> Iterator[tuple[int, ...]]:
    """Yield extents that are larger in one mode: by one step, and the whole mode."""
    for mode, (extent, length) in enumerate(zip(extents, shape, strict=True)):
        for longer in sorted({EXTENT_RATIO * extent, length}):
            if extent < longer <= length and (longer == length or 2 * longer <= length):
                yield (*extents[:mode], longer, *extents[mode + 1 :])


def _tile(cells: IndexArray, shape: Shape, extents: tuple[int, ...], seed: int) -> IndexArray:
    """Number the boxes of some extents that tile the tensor, from a random offset in each mode."""
    offsets = np.random.default_rng([seed, 6]).integers(0, np.array(extents))
    offsets = np.where(np.array(extents) == np.array(shape), 0, offsets)
    tiles = (cells + offsets) // np.array(extents)
    lengths = tuple(
        (length - 1 + int(offset)) // extent + 1
        for length, offset, extent in zip(shape, offsets, extents, strict=True)
    )
    return cell_numbers(np.ascontiguousarray(tiles), lengths)


def _draw_cells(cells: IndexArray, count: int, rng: np.random.Generator) -> IndexArray:
    """Draw cells whose indices occur as often as in observed cells, each mode for itself.

    Where some indices have far more observations than others, most missing cells are of rare
    indices, and held-out cells are not. These draws leave that difference out.
    """
    rows = rng.integers(0, len(cells), size=(DRAWS_PER_MISSING * count, cells.shape[1]))
    return np.take_along_axis(cells, rows, axis=0)


class _Neighbours:
    """Distances to the nearest observed cell of the same fibre, for observed and missing cells."""

    def __init__(self, cells: IndexArray, shape: Shape, drawn: IndexArray) -> None:
        self._n = len(cells)
        self._strides = [2 * length + 1 for length in shape]  # neighbours of two fibres are farther
        together = np.concatenate([cells, drawn])
        keys = [self._keys(together, shape, mode) for mode in range(len(shape))]
        self._orders = [np.argsort(one[: self._n], kind="stable") for one in keys]
        self._observed = [one[: self._n] for one in keys]
        in_order = self._observed[0][self._orders[0]]
        first = keys[0][self._n :]
        places = np.minimum(np.searchsorted(in_order, first), self._n - 1)
        missing = np.flatnonzero(in_order[places] != first)[:MAX_MISSING]
        self._missing = [one[self._n :][missing] for one in keys]
        self.n_missing = missing.size

    def _keys(self, cells: IndexArray, shape: Shape, mode: int) -> IndexArray:
        others = [other for other in range(len(shape)) if other != mode]
        fibres = cell_numbers(
            np.ascontiguousarray(cells[:, others]), tuple(shape[other] for other in others)
        )
        keys: IndexArray = fibres * self._strides[mode] + cells[:, mode]
        return keys

    def of_missing(self) -> FloatArray:
        """Return the shares of missing cells in every class of distances, mode by mode."""
        every = np.ones(self._n, dtype=bool)
        return self._shares(self._missing, every)

    def of_held_out(self, held: AnyArray, rng: np.random.Generator) -> FloatArray:
        """Return the same for held-out cells, with all others observed."""
        asked = np.flatnonzero(held)
        if asked.size > MAX_MISSING:
            asked = rng.choice(asked, MAX_MISSING, replace=False)
        return self._shares([keys[asked] for keys in self._observed], ~held)

    def _shares(self, asked: list[IndexArray], kept: AnyArray) -> FloatArray:
        n_classes = DISTANCE_BINS.size + 2
        shares = []
        for keys, order, stride, targets in zip(
            self._observed, self._orders, self._strides, asked, strict=True
        ):
            known = keys[order[kept[order]]]
            # sentinels that are farther away than any cell of the same fibre
            known = np.concatenate([[-stride], known, [np.iinfo(np.int64).max // 2]])
            after = np.searchsorted(known, targets)
            distance = np.minimum(targets - known[after - 1], known[after] - targets)
            classes = np.where(
                distance > stride // 2,
                n_classes - 1,
                np.searchsorted(DISTANCE_BINS, distance, side="right"),
            )
            shares.append(np.bincount(classes, minlength=n_classes) / max(1, targets.size))
        return np.array(shares)
