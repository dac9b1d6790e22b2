"""Types of the options of a fit, for editors and type checkers that look at ``complete``."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any, TypedDict

TransformPair = tuple[Callable[..., Any], Callable[..., Any]]
"""A function and its inverse."""


class FitOptions(TypedDict, total=False):
    """The options of ``FIT_OPTIONS``, as keywords; the seed also as ``random_state``."""

    radius: float | str
    transform: str | TransformPair
    baseline: str
    remainder: str
    n_solutions: int
    validation: float | str
    scoring: str
    n_radii: int
    version: int | str
    tol: float
    rtol: float | str
    max_iterations: int | None
    time_limit: float | None
    seed: int
    random_state: Any
    threads: int | None
    exact: str
    device: str
    memory_limit: int | str | None
    checkpoint: str | PathLike[str] | None
    checkpoint_every: float
    resume: bool
