"""Sub-tasks drawn by a seed: a part of a real tensor, and which of its cells are hidden."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.problems import Problem
from benchmarks.robustness.sources import SOURCES, Source

__all__ = ["KINDS", "SubTask", "draw"]

KINDS = ("random", "fibre", "block")
MIN_KNOWN, MAX_KNOWN = 2000, 60_000
"""Fewest and most known cells of a sub-task."""
MIN_RATE, MAX_RATE = 0.2, 0.95
"""Smallest and largest share of hidden cells."""
MIN_LENGTH = 3
"""Shortest mode of a sub-tensor, unless the mode of the whole tensor is shorter."""
MAX_TRIES = 200
"""Draws after which a data set counts as unable to give a sub-task."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SubTask:
    """A problem with the words that describe how it was made.

    Attributes
    ----------
    number, seed
        Of the draw.
    source
        Name of the data set.
    kind
        "random", "fibre along mode 1", or "block ...".
    rate
        Share of the cells that are hidden.
    ordered
        Modes of the problem that have an order.
    problem
        Known cells, and hidden cells with their values.
    """

    number: int
    seed: int
    source: str
    kind: str
    rate: float
    ordered: tuple[int, ...]
    problem: Problem


def draw(number: int, *, seed: int, folder: Path) -> SubTask:
    """Make the sub-task of a number and a seed; the same pair gives the same sub-task."""
    rng = np.random.default_rng([seed, number])
    file, load = SOURCES[_source_name(number, seed)]
    source = load(folder / file, rng)
    for _ in range(MAX_TRIES):
        rate = float(rng.uniform(MIN_RATE, _max_rate(source)))
        part = cut(source, rng, wanted=_draw_size(source, rate, rng))
        kind, hidden = _hide(part, rate, rng)
        known = _count_cells(part, ~hidden)
        if MIN_KNOWN <= known <= MAX_KNOWN and hidden.any() and np.ptp(part.values[~hidden]) > 0.0:
            share = _count_cells(part, hidden) / (_count_cells(part, hidden) + known)
            return SubTask(
                number=number,
                seed=seed,
                source=source.name,
                kind=kind,
                rate=share,
                ordered=part.ordered,
                problem=Problem(
                    name=f"{seed}.{number:02d} {source.name}",
                    shape=part.shape,
                    coords=part.coords[~hidden],
                    values=part.values[~hidden],
                    asked=part.coords[hidden],
                    truth=part.values[hidden],
                ),
            )
    raise RuntimeError(
        f"{MAX_TRIES} draws from {source.name} gave no sub-task with {MIN_KNOWN} to {MAX_KNOWN} "
        "known cells"
    )


def _source_name(number: int, seed: int) -> str:
    """Return the data set of a sub-task: each run of ``len(SOURCES)`` numbers has all of them."""
    turn, place = divmod(number, len(SOURCES))
    return str(np.random.default_rng([seed, turn, len(SOURCES)]).permutation(list(SOURCES))[place])


def _max_rate(source: Source) -> float:
    """Return the largest rate that leaves enough known cells in the whole tensor."""
    total = _count_cells(source, np.ones(len(source.values), dtype=bool))
    return min(MAX_RATE, 1.0 - 1.2 * MIN_KNOWN / total)


def _draw_size(source: Source, rate: float, rng: np.random.Generator) -> float:
    """Return about how many cells the sub-tensor should have; sizes are even on a log scale."""
    total = _count_cells(source, np.ones(len(source.values), dtype=bool))
    low, high = 1.1 * MIN_KNOWN / (1.0 - rate), 0.9 * MAX_KNOWN / (1.0 - rate)
    return float(np.exp(rng.uniform(np.log(low), np.log(max(low, min(high, total))))))


def cut(source: Source, rng: np.random.Generator, *, wanted: float) -> Source:
    """Cut out a sub-tensor of about as many cells as wanted.

    Ordered modes keep a contiguous range of indices, others a random subset.
    """
    total = _count_cells(source, np.ones(len(source.values), dtype=bool))
    powers = rng.dirichlet(np.ones(len(source.shape)))
    kept = np.ones(len(source.values), dtype=bool)
    coords, shape = source.coords.copy(), []
    for mode, length in enumerate(source.shape):
        share = min(1.0, wanted / total) ** powers[mode]
        count = min(length, max(MIN_LENGTH, round(share * length)))
        if mode in source.ordered:
            first = int(rng.integers(length - count + 1))
            chosen = np.arange(first, first + count)
        else:
            chosen = np.sort(rng.choice(length, count, replace=False))
        place = np.full(length, -1)
        place[chosen] = np.arange(count)
        coords[:, mode] = place[source.coords[:, mode]]
        kept &= coords[:, mode] >= 0
        shape.append(count)
    return Source(
        name=source.name,
        shape=tuple(shape),
        coords=coords[kept],
        values=source.values[kept],
        ordered=source.ordered,
    )


def _hide(part: Source, rate: float, rng: np.random.Generator) -> tuple[str, NDArray[np.bool_]]:
    """Draw a kind of mask; return its name and which observations it hides."""
    kind = str(rng.choice(KINDS))
    if kind == "random":
        return kind, hide_groups(part.coords, rate, rng)
    if kind == "fibre":
        mode = int(rng.integers(len(part.shape)))
        return f"fibre along mode {mode}", hide_groups(np.delete(part.coords, mode, 1), rate, rng)
    return hide_blocks(part, rate, rng)


def hide_blocks(
    part: Source, rate: float, rng: np.random.Generator
) -> tuple[str, NDArray[np.bool_]]:
    """Hide contiguous ranges of one mode for all or a part of another, at one index of the rest."""
    mode = int(rng.choice(part.ordered or range(len(part.shape))))
    other = int(rng.choice([one for one in range(len(part.shape)) if one != mode]))
    length = int(rng.integers(2, max(2, part.shape[mode] // 4) + 1))
    n_parts = int(rng.choice([1, 2, 3]))
    keys = part.coords.copy()
    keys[:, mode] = (keys[:, mode] + int(rng.integers(length))) // length
    keys[:, other] = rng.integers(n_parts, size=part.shape[other])[keys[:, other]]
    reach = "all" if n_parts == 1 else f"1/{n_parts}"
    name = f"block of {length} along mode {mode}, for {reach} of mode {other}"
    return name, hide_groups(keys, rate, rng)


def hide_groups(keys: NDArray, rate: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Hide whole groups of observations with the same key until the share is reached."""
    _, group, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    order = rng.permutation(len(counts))
    before = np.cumsum(counts[order]) - counts[order] / 2.0
    chosen = np.zeros(len(counts), dtype=bool)
    chosen[order] = before < rate * len(keys)
    return chosen[group.ravel()]


def _count_cells(source: Source, mask: NDArray[np.bool_]) -> int:
    """Return the number of distinct cells among some observations."""
    flat = np.ravel_multi_index(tuple(source.coords[mask].T), source.shape)
    return len(np.unique(flat))
