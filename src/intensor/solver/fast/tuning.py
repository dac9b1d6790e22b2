"""The sizes at which the fast engine changes its method; tests and experiments pass their own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard one round of pricing looks for vertices."""

    batches: int  # batches of descents
    starts: int  # starts in each batch, at most 64
    sweeps: int  # most sweeps of each descent
    max_vertices: int  # most vertices that the round proposes


HARDER = (Effort(1, 64, 60, 32), Effort(4, 64, 60, 48), Effort(32, 64, 60, 64))
"""Efforts that follow, in this order, when rounds of the first effort find nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Thresholds of the fast engine."""

    few_cells: int = 1 << 12
    """Most cells for which pricing is so cheap that each round may do more of it."""
    efforts_few_cells: tuple[Effort, ...] = (Effort(1, 32, 8, 6), *HARDER)
    efforts_many_cells: tuple[Effort, ...] = (Effort(1, 16, 3, 16), *HARDER)
    """Efforts in rising order. A few short descents are enough while vertices are easy to find."""
    crowded_support: int = 768
    effort_crowded: Effort = Effort(1, 64, 20, 32)
    """Above this number of vertices in use the master takes so long that the first effort is
    replaced by longer descents from more starts."""
    max_refined_support: int = 64
    """Most vertices in use for which refinement is tried: more of them follow noise."""
    large_cells: int = 1 << 15
    """Fewest cells (roughly) for which a sample is solved first. The smallest sample has half."""
    sample_cells_per_index: int = 64
    """Fewest cells of a sample per index of any mode: fewer say too little about vertices."""
    exact_pool: int = 64  # most vertices that a call of the exact oracle brings
    spare_vertices: int = 48
    """Vertices without weight that are kept beside those in use, because the master prices them for
    free. A quarter of those in use is kept when that is more."""
    exchange_support: int = 256
    """Fewest vertices in use for which the master first exchanges weight between pairs."""
    exchanges_per_vertex: int = 4  # most exchanges of one call, per vertex
    accepted_exchange_gap: float = 32.0
    """Gap that exchanges may leave, in multiples of the tolerance: new vertices gain more than the
    rest would."""
    exchange_pause: int = 8  # calls of the master without exchanges after they were not enough
    max_unchecked_indices: int = 1 << 20
    max_unchecked_cells: int = 1 << 22
    max_unchecked_indices_limited: int = 1 << 16
    max_unchecked_cells_limited: int = 1 << 18
    """Most indices and cells, without and with a time limit, for which a descent is not
    interrupted. With more, the budget is asked after every sweep."""


TUNING = Tuning()  # the thresholds that the package uses
