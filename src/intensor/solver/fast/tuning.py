"""The sizes at which the fast engine changes its method; tests and experiments pass their own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard one round of pricing looks for vertices.

    Attributes
    ----------
    batches, starts, sweeps
        Batches of descents, starts in each batch (at most 64), and most sweeps of each descent.
    max_vertices
        Most vertices that the round proposes.
    """

    batches: int
    starts: int
    sweeps: int
    max_vertices: int


HARDER = (Effort(1, 64, 60, 32), Effort(4, 64, 60, 48), Effort(32, 64, 60, 64))
"""Efforts that follow, in this order, when rounds of the first effort find nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Thresholds of the fast engine.

    Attributes
    ----------
    few_cells
        Most cells for which pricing is so cheap that each round may do more of it.
    efforts_few_cells, efforts_many_cells
        Efforts of pricing in rising order. A few short descents are enough while vertices are easy
        to find.
    crowded_support, effort_crowded
        Above this number of vertices in use the master takes so long that the first effort is
        replaced by longer descents from more starts.
    max_refined_support
        Most vertices in use for which refinement is tried: more of them follow noise.
    large_cells
        Fewest cells (roughly) for which a sample is solved first; half as many are in the smallest
        sample.
    sample_cells_per_index
        Fewest cells of a sample per index of any mode: fewer say too little about vertices.
    exact_pool
        Most vertices that a call of the exact oracle brings.
    spare_vertices
        Vertices without weight that are kept beside those in use, because the master prices them
        for free. A quarter of those in use is kept when that is more.
    exchange_support
        Fewest vertices in use for which the master first exchanges weight between pairs.
    exchanges_per_vertex
        Most exchanges of one call, per vertex.
    accepted_exchange_gap
        Gap that exchanges may leave, as a multiple of the tolerance: new vertices gain more than
        the rest would.
    exchange_pause
        Calls of the master without exchanges after exchanges were not enough.
    max_unchecked_indices, max_unchecked_cells
        Most indices and cells for which a descent is not interrupted: with more, the budget is
        asked after every sweep.
    max_unchecked_cells_limited
        The same for cells when there is a time limit.
    """

    few_cells: int = 1 << 12
    efforts_few_cells: tuple[Effort, ...] = (Effort(1, 32, 8, 6), *HARDER)
    efforts_many_cells: tuple[Effort, ...] = (Effort(1, 16, 3, 16), *HARDER)
    crowded_support: int = 768
    effort_crowded: Effort = Effort(1, 64, 20, 32)
    max_refined_support: int = 64
    large_cells: int = 1 << 15
    sample_cells_per_index: int = 64
    exact_pool: int = 64
    spare_vertices: int = 48
    exchange_support: int = 256
    exchanges_per_vertex: int = 4
    accepted_exchange_gap: float = 32.0
    exchange_pause: int = 8
    max_unchecked_indices: int = 1 << 20
    max_unchecked_cells: int = 1 << 22
    max_unchecked_cells_limited: int = 1 << 18


TUNING = Tuning()
"""The thresholds that the package uses."""
