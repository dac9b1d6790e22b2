"""How to fit, checked once: the options that users give become objects here."""

from __future__ import annotations

import difflib
import enum
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from intensor.backends.select import find_device
from intensor.errors import SettingError
from intensor.fitting.scoring import SCORINGS, Scoring
from intensor.model.transform import TRANSFORMS, Transform, find_transform
from intensor.options.declared import BASELINE, FIT_OPTIONS, RANDOM_STATE, SEED
from intensor.options.ranges import AUTO, Clip
from intensor.oracles.cascade import ExactChoice, find_exact
from intensor.solver.checkpoint import CheckpointTarget, check_checkpoint
from intensor.solver.engine import Version
from intensor.solver.settings import Settings
from intensor.solver.variants import find_version, with_components

BASELINES = BASELINE.choices[:2]
"""Names of the baselines without and with main effects."""
MAX_RADII = 200
"""Largest number of radii on a path, however many are asked for."""
DEFAULT_RTOL = 1e-4
"""Relative gap that "auto" asks for if too few cells were held out to choose it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scale:
    """One way to fit: a transform, whether main effects come out first, and the kind of terms."""

    transform: Transform
    additive: bool
    graded: bool = False  # graded components, not boxes

    @property
    def name(self) -> str:
        """Names of the transform, of the baseline and of the terms."""
        terms = ", graded" if self.graded else ""
        return f"{self.transform.name}, {BASELINES[self.additive]}{terms}"

    def prepares_like(self, other: Scale) -> bool:
        """Say whether observations are the same in both scales, whatever their terms."""
        return self.transform is other.transform and self.additive == other.additive


class RemainderMethod(enum.Enum):
    """How to predict the remainder: observed values minus boxes. With AUTO, validation decides."""

    NONE = "none"
    KRIGING = "kriging"
    AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Sizes and thresholds that trade the time of a fit for the quality of its choices.

    They count work and never look at the clock, so a busy machine takes longer and chooses the
    same. Triples are for few, many and very many observations (``by_size``).
    """

    name: str = "standard"
    # Scales of boxes are compared on a sample of this many training observations, if there are
    # more; the radius is then chosen on all of them.
    scouting_rows: int = 1 << 14
    # A runner-up among the scales is walked too if its error is at most this multiple of the least.
    max_runner_up_ratio: float = 1.1
    # Most scales that are walked in full after all were scouted.
    max_finalists: int = 1
    # Most other scales that follow the best one to where it ended, to be blended with it.
    max_companions: int = 4
    # Most observations that boxes are fitted to while the remainder is kriged on all of them.
    max_boxed_rows: int = 1 << 16
    # The walk leaves a radius when the best new vertex is estimated to gain less than this share of
    # the training error, or less than this share of the held-out error: once noise is fitted, the
    # training error alone would ask for more and more.
    training_gap: float = 0.5
    held_out_gap: float = 0.25
    # Factor on ``held_out_gap`` with kriging: boxes then only have to tell which indices are alike.
    kriging_gap_ratio: float = 4.0
    # Fewest cells that workers sum over together; for fewer, messages take as long as the sums.
    min_distributed_cells: int = 1 << 20
    # Graded models of each fold, whose average is measured: more for fewer observations, since
    # averages gain more there and cost less.
    members: tuple[int, int, int] = (3, 2, 2)
    # Most graded models that are averaged in the end, likewise.
    max_averaged: tuple[int, int, int] = (16, 8, 4)
    few_rows: int = 1 << 15
    many_rows: int = 1 << 18
    # Most graded components, unless a number is given, and most of a model that is kriged.
    max_components: int = 64
    max_kriged_components: int = 128
    # Numbers of components at which scales are compared, on this many folds at most, and on a
    # sample of this many training observations if there are more.
    scouted_sizes: tuple[int, ...] = (3, 12, 32)
    scouted_folds: int = 2
    graded_scouting_rows: int = 1 << 15
    # Most times that the radius is raised, and that the number of sweeps is doubled.
    max_radius_steps: int = 3
    max_polishing_steps: int = 3
    # Rounds in which kriging improves covariances, tried in turn for as long as the error falls.
    kriging_rounds: tuple[int, ...] = (1, 2)
    # Most multiplications of a step of kriging, the cells times the sum of the lengths, for which
    # it is tried in every scale, with more components and in rounds; beyond that, once per walk.
    max_kriging_work: int = 120_000_000
    # Most times that cells are held out if validation is automatic: of few observations, of many.
    max_folds: tuple[int, int] = (5, 4)
    # Most observations for which boxes are tried beside graded components.
    max_rows_for_both: int = 1 << 14

    def by_size(self, numbers: tuple[int, int, int], n: int) -> int:
        """Return the number for few, many or very many observations."""
        return numbers[0 if n <= self.few_rows else 1 if n <= self.many_rows else 2]


EFFORTS = {
    "quick": Effort(
        name="quick",
        max_companions=1,
        members=(2, 1, 1),
        max_averaged=(4, 2, 2),
        max_components=32,
        max_kriged_components=32,
        scouted_sizes=(8,),
        scouted_folds=1,
        graded_scouting_rows=1 << 14,
        max_radius_steps=1,
        max_polishing_steps=0,
        kriging_rounds=(1,),
        max_folds=(2, 1),
        max_rows_for_both=1 << 12,
    ),
    "standard": Effort(),
    "thorough": Effort(
        name="thorough",
        max_finalists=3,
        max_companions=5,
        members=(4, 4, 2),
        max_averaged=(32, 16, 8),
        max_components=256,
        max_kriged_components=256,
        scouted_folds=4,
        graded_scouting_rows=1 << 19,
        max_polishing_steps=5,
        kriging_rounds=(1, 2, 4),
        max_kriging_work=1 << 40,
        max_folds=(10, 4),
        max_rows_for_both=1 << 16,
    ),
}
"""Efforts by name; "standard" is the default."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Options:
    """How to fit: the options of ``FIT_OPTIONS``, as objects."""

    radius: float | None  # in the fitted scale; None to choose it by validation
    scales: tuple[Scale, ...]  # from which validation chooses, if there are several
    remainder: RemainderMethod
    max_components: int | None  # of graded models; None for as many as validation chooses
    n_solutions: int | None  # None for as many as validation says are worth it
    folds: int | None  # see ``HeldOut``
    share: float
    scoring: Scoring
    n_radii: int
    version: Version
    exact: ExactChoice
    adaptive: bool  # whether the tolerance follows the error on held-out cells
    solver: Settings  # of every solve; the radius in it is replaced
    clip: Clip | None = None  # range of the predictions
    memory_limit: int | None = None  # in bytes; None for all that are available
    checkpoint: CheckpointTarget | None = None
    effort: Effort = EFFORTS["standard"]

    @property
    def settled(self) -> bool:
        """Whether nothing is left to choose but how closely to fit boxes, and rtol says that."""
        chosen = self.radius is not None and len(self.scales) == 1 and not self.scales[0].graded
        return chosen and self.remainder is not RemainderMethod.AUTO

    @property
    def asks_for_validation(self) -> bool:
        """Whether the share or the number of folds to hold out was given."""
        return self.folds is not None

    @property
    def blends(self) -> bool:
        """Whether predictors without terms may have a share of the prediction."""
        return self.n_solutions is None and self.remainder is RemainderMethod.AUTO


def fit_options(given: Mapping[str, object]) -> Options:
    """Return checked options; the seed may be given, or drawn, as scikit-learn's random_state."""
    options = dict(given)
    if RANDOM_STATE.name in options:
        if SEED.name in options:
            raise SettingError("seed and random_state are the same option; give one of them")
        options[SEED.name] = _draw_seed(options.pop(RANDOM_STATE.name))
    return check_options(**options)


def check_options(**given: Any) -> Options:
    """Return options from some of ``FIT_OPTIONS`` by name, or raise if one is out of range."""
    _refuse_unknown(given)
    option = {one.name: one.check(given.get(one.name, one.default)) for one in FIT_OPTIONS}
    version, device = find_version(option["version"]), find_device(option["device"])
    if option["radius"] is not None:
        _settle_for_one_problem(option)
    kinds = _list_kinds(option, version)
    scales = _list_scales(option["transform"], option["baseline"], kinds, signed=version.signed)
    if any(scale.additive for scale in scales) and not version.signed:
        raise SettingError(f'an additive baseline needs version="fast"; got {version.name!r}')
    if not (device.any_version or version.anywhere):
        raise SettingError(f'{device} needs version="fast"; got {version.name!r}')
    radius, rtol, held_out = option["radius"], option["rtol"], option["validation"]
    return Options(
        radius=radius,
        scales=scales,
        remainder=RemainderMethod(option["remainder"]),
        max_components=option["max_components"],
        n_solutions=option["n_solutions"],
        folds=held_out.folds,
        share=held_out.share,
        scoring=SCORINGS[option["scoring"]],
        n_radii=min(option["n_radii"], MAX_RADII),
        version=version,
        exact=find_exact(option["exact"]),
        adaptive=rtol is None,
        solver=Settings(
            radius=1.0 if radius is None else radius,
            tol=option["tol"],
            rtol=DEFAULT_RTOL if rtol is None else rtol,
            max_iterations=option["max_iterations"],
            time_limit=option["time_limit"],
            seed=option["seed"],
            threads=option["threads"],
            device=device,
        ),
        clip=option["clip"],
        memory_limit=option["memory_limit"],
        checkpoint=check_checkpoint(
            option["checkpoint"], option["checkpoint_every"], option["resume"]
        ),
        effort=EFFORTS[option["effort"]],
    )


def _settle_for_one_problem(option: dict[str, Any]) -> None:
    """Take everything that is left open to be "none".

    A given radius is in the fitted scale, and asks for one problem and its proof rather than for
    the best prediction.
    """
    for name in ("transform", "baseline", "remainder"):
        if isinstance(option[name], str) and option[name] == AUTO:
            option[name] = "none"


def _refuse_unknown(given: Mapping[str, Any]) -> None:
    """Raise if a name is no option, and suggest the option that may be meant."""
    known = [option.name for option in FIT_OPTIONS]
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(known)}"
            raise SettingError(f"there is no option {name!r}; {hint}")


def _list_kinds(option: Mapping[str, Any], version: Version) -> tuple[bool, ...]:
    """Return which terms to choose from: True for graded components and False for boxes.

    A given radius asks for the optimum of one problem, which boxes reach and prove.
    """
    kind, most = option["components"], option["max_components"]
    if kind == AUTO and most is None:
        open_choice = version.gradable and option["radius"] is None
        return (True, False) if open_choice else (False,)
    graded = kind != "boxes"
    with_components(version, most, graded=graded)  # raises if they do not go together
    return (graded,)


def _list_scales(
    transform: Any, baseline: str, kinds: tuple[bool, ...], *, signed: bool
) -> tuple[Scale, ...]:
    """Return the scales to choose from; "auto" stands for every transform and baseline.

    What main effects leave can only be fitted by terms that may be negative (``signed``).
    """
    automatic = isinstance(transform, str) and transform == AUTO
    transforms = list(TRANSFORMS.values()) if automatic else [find_transform(transform)]
    additive = [False, True][: 1 + signed] if baseline == AUTO else [baseline == "additive"]
    return tuple(
        Scale(transform=one, additive=effects, graded=graded)
        for graded in kinds
        for one in transforms
        for effects in additive
    )


def _draw_seed(random_state: Any) -> int:
    """Return the integer that is given, or a seed drawn from a generator."""
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        return int(random_state)
    if random_state is None:
        random_state = np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise SettingError(
        f"random_state is {random_state!r}; expected an integer >= 0, a RandomState, a Generator "
        "or None"
    )
