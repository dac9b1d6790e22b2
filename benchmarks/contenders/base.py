"""What a contender is: it completes a problem within a time, and says what it chose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from numpy.typing import NDArray

from benchmarks.problems import Problem


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Completion:
    """Predictions for the cells a problem asks about.

    Attributes
    ----------
    predicted
        (m,) numbers.
    seconds
        Of the whole method, choosing included.
    chosen
        What was chosen on held-out cells, in words ("rank 4 of 1, 2, 4, 8").
    boxes, objective, gap
        Of intensor.
    """

    predicted: NDArray
    seconds: float
    chosen: str = ""
    boxes: float | None = None
    objective: float | None = None
    gap: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contender:
    """A method under its name.

    Attributes
    ----------
    complete
        Called with a problem, the seconds it may take, a seed, and the number of threads.
    most_cells
        The largest tensor it is asked to hold densely; None when it works on coordinates.
    """

    name: str
    complete: Callable[[Problem, float, int, int], Completion]
    most_cells: int | None = None
