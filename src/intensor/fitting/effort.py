"""How much work a fit puts into its choices."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DEFAULT_EFFORT", "Effort"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Sizes and thresholds that trade the time of a fit for the quality of its choices.

    Attributes
    ----------
    scouting_rows
        Number of training observations that is enough to compare scales. Where there are more,
        scales are compared on a sample of this size, and the radius is then chosen on all of them.
    runner_up_ratio
        A runner-up among the scales is walked too when its error is at most this many times the
        least error.
    boxed_rows
        Most observations that boxes are fitted to while the remainder is kriged; kriging itself
        sees all of them.
    training_gap
        The walk leaves a radius when the best new vertex is estimated to gain less than this
        share of the training error. That is enough to compare radii by what they predict.
    held_out_gap
        The walk also leaves a radius when the gain is below this share of the held-out error:
        once noise is fitted, the training error alone would ask for more and more.
    kriging_gap_ratio
        Factor on ``held_out_gap`` when the remainder is kriged: boxes then only have to tell
        which indices are alike.
    distributed_cells
        Fewest cells that the workers of a cluster sum over together; for fewer, a round of
        messages takes as long as the sums.
    """

    scouting_rows: int = 1 << 14
    runner_up_ratio: float = 1.1
    boxed_rows: int = 1 << 16
    training_gap: float = 0.5
    held_out_gap: float = 0.25
    kriging_gap_ratio: float = 4.0
    distributed_cells: int = 1 << 20


DEFAULT_EFFORT = Effort()
"""The effort of every fit that a user asks for."""
