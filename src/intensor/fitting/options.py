"""What a fit is asked to do, checked once; words become objects here."""

from __future__ import annotations

import enum
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from intensor.backends.select import find_device
from intensor.errors import SettingError
from intensor.fitting.scoring import SCORINGS, Scoring
from intensor.model.transform import TRANSFORMS, Transform, find_transform
from intensor.options.checks import check_at_least, check_radius
from intensor.oracles.cascade import ExactChoice, find_exact
from intensor.solver.checkpoint import EVERY, Place, check_checkpoint
from intensor.solver.engine import Version
from intensor.solver.settings import Settings, check_settings
from intensor.solver.variants import find_version

__all__ = ["Options", "RemainderMethod", "Scale", "check_options"]

BASELINES = ("none", "additive")
AUTO = "auto"
MOST_RADII = 200
RTOL = 1e-4
"""Of the mean square of the values: the gap that "auto" asks for when nothing was held out."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scale:
    """One way to prepare the values: a transform, and whether main effects come out first."""

    transform: Transform
    additive: bool

    @property
    def name(self) -> str:
        """The two words it was made from."""
        return f"{self.transform.name}, {BASELINES[self.additive]}"


class RemainderMethod(enum.Enum):
    """What is done with the remainder: what the boxes leave of the observed values."""

    NONE = "none"
    KRIGING = "kriging"
    AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Options:
    """How to fit.

    Attributes
    ----------
    radius
        In the fitted scale; None to choose it by validation.
    scales
        What validation may choose from; a single one is taken as it is.
    remainder
        Whether cells that are alike predict the remainder of each other by kriging; with AUTO,
        validation decides.
    n_solutions
        Models to average.
    folds, share
        Validation: so many folds, or one share of the cells held out when ``folds`` is 1; as
        often as ``splits`` sees fit when it is None.
    scoring
        The validation error.
    n_radii
        Most radii on a path.
    version, exact
        As in ``solve``.
    adaptive
        Whether the tolerance follows the error on held-out cells, where that is known.
    solver
        Settings of every solve; its radius is replaced.
    checkpoint
        Where the fit is written to as it goes; None for nowhere.
    """

    radius: float | None
    scales: tuple[Scale, ...]
    remainder: RemainderMethod
    n_solutions: int
    folds: int | None
    share: float
    scoring: Scoring
    n_radii: int
    version: Version
    exact: ExactChoice
    adaptive: bool
    solver: Settings
    checkpoint: Place | None = None


def check_options(
    *,
    radius: Any = AUTO,
    transform: str | tuple[Callable[..., Any], Callable[..., Any]] = "none",
    baseline: str = "none",
    remainder: str = "none",
    n_solutions: int = 1,
    validation: float | str = 0.1,
    scoring: str = "rmse",
    n_radii: int = 20,
    version: int | str = "fast",
    tol: float = 0.0,
    rtol: float | str = AUTO,
    max_iterations: int | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    exact: str = "auto",
    device: str = "cpu",
    checkpoint: Any = None,
    checkpoint_every: float = EVERY,
    resume: bool = False,
) -> Options:
    """Return options that are in range, or raise what is wrong with them."""
    solver = find_version(version)
    if not isinstance(scoring, str) or scoring not in SCORINGS:
        names = ", ".join(repr(name) for name in SCORINGS)
        raise SettingError(f"scoring is {scoring!r}; expected one of {names}")
    if baseline not in (*BASELINES, AUTO):
        raise SettingError(f"baseline is {baseline!r}; expected 'none', 'additive' or 'auto'")
    if remainder not in [method.value for method in RemainderMethod]:
        raise SettingError(f"remainder is {remainder!r}; expected 'none', 'kriging' or 'auto'")
    additive = [False, True] if baseline == AUTO else [baseline == "additive"]
    if isinstance(transform, str) and transform == AUTO:
        transforms = list(TRANSFORMS.values())
    else:
        transforms = [find_transform(transform)]
    scales = tuple(
        Scale(transform=one, additive=effects) for one in transforms for effects in additive
    )
    if any(additive) and not solver.signed:
        raise SettingError(f'an additive baseline needs version="fast"; got {version!r}')
    where = find_device(device)
    if not (where.any_version or solver.anywhere):
        raise SettingError(f'{where} needs version="fast"; got {version!r}')
    adaptive = isinstance(rtol, str) and rtol == AUTO
    if isinstance(rtol, str) and not adaptive:
        raise SettingError(f"rtol is {rtol!r}; expected a number >= 0 or 'auto'")
    folds, share = _check_validation(validation)
    chosen = None if isinstance(radius, str) and radius == AUTO else _check_radius(radius)
    return Options(
        radius=chosen,
        scales=scales,
        remainder=RemainderMethod(remainder),
        n_solutions=check_at_least("n_solutions", n_solutions, 1, integer=True),
        folds=folds,
        share=share,
        scoring=SCORINGS[scoring],
        n_radii=min(check_at_least("n_radii", n_radii, 1, integer=True), MOST_RADII),
        version=solver,
        exact=find_exact(exact),
        adaptive=adaptive,
        solver=check_settings(
            radius=1.0 if chosen is None else chosen,
            tol=tol,
            rtol=RTOL if adaptive else rtol,
            max_iterations=max_iterations,
            time_limit=time_limit,
            seed=seed,
            threads=threads,
            device=device,
        ),
        checkpoint=check_checkpoint(checkpoint, checkpoint_every, resume),
    )


def _check_radius(radius: Any) -> float:
    if isinstance(radius, str):
        raise SettingError(f"radius is {radius!r}; expected a positive number or 'auto'")
    return check_radius(radius)


def _check_validation(validation: Any) -> tuple[int | None, float]:
    """Return folds and share: 5 means five folds, 0.1 that a tenth is held out once.

    "auto" holds a tenth out, as often as the number of observations asks for.
    """
    if isinstance(validation, str) and validation == AUTO:
        return None, 0.1
    if isinstance(validation, numbers.Integral) and not isinstance(validation, bool):
        folds = int(validation)
        if folds < 2:
            raise SettingError(f"validation is {folds}; expected at least 2 folds, or a share")
        return folds, 1.0 / folds
    if not isinstance(validation, numbers.Real) or not 0.0 < float(validation) < 1.0:
        raise SettingError(
            f"validation is {validation!r}; expected a share between 0 and 1 to hold out, a "
            "number of folds, or 'auto'"
        )
    return 1, float(validation)
