"""Every option of ``solve``, ``complete``, ``TensorCompleter`` and the commands, declared once.

Options that name parts of a later stage (such as ``version``) are looked up and checked there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, TypedDict

from intensor.options import ranges
from intensor.options.option import REQUIRED, NumberOrText, Option
from intensor.options.unseen import Unseen, as_unseen

# How to solve.

SHAPE = Option(
    name="shape",
    summary="Lengths of the modes; by default they are just long enough for the coordinates.",
)
SOLVE_RADIUS = Option(
    name="radius",
    default=REQUIRED,
    summary="Bound on the sum of the boxes' weights, which no prediction exceeds.",
    details="It has the units of the values.",
    rule=lambda _, radius: ranges.check_radius(radius),
)
VERSION = Option(
    name="version",
    default="fast",
    summary="Version of the solver.",
    details='It is "fast", or a number from 0 to 10: a row in the table of the paper, '
    "which ran them with ``tol=1e-4, rtol=0``.",
    type=NumberOrText,
    metavar="fast|0-10",
)
TOL = Option(
    name="tol",
    default=0.0,
    summary="Absolute gap to reach.",
    details="A solve stops when the proven gap is at most "
    "``max(tol, rtol * mean(values**2))``, in the fitted scale.",
    rule=partial(ranges.check_at_least, low=0.0),
)
SOLVE_RTOL = Option(
    name="rtol",
    default=1e-6,
    summary="Gap to reach, relative to the mean square of the values (see ``tol``).",
    rule=partial(ranges.check_at_least, low=0.0),
)
TIME_LIMIT = Option(
    name="time_limit",
    summary="Stop after this many seconds, with the best model so far.",
    details="The time in which kernels are compiled, once per machine, or loaded, once per "
    "process, does not count.",
    rule=ranges.check_positive,
    type=float,
    metavar="SECONDS",
)
MAX_ITERATIONS = Option(
    name="max_iterations",
    summary="Stop every solve after this many iterations.",
    rule=partial(ranges.check_at_least, low=0, integer=True),
    type=int,
)
SEED = Option(
    name="seed",
    default=0,
    summary="Seed of all random choices; the same seed gives the same result.",
    rule=partial(ranges.check_at_least, low=0, integer=True),
)
THREADS = Option(
    name="threads",
    summary="Largest number of threads, by default one per core; the result does not depend on it.",
    rule=partial(ranges.check_at_least, low=1, integer=True),
    type=int,
    shown_default="one per core",
)
EXACT = Option(
    name="exact",
    default="auto",
    choices=("auto", "off", "enumeration", "branch", "highs", "scip", "gurobi"),
    extensible=True,
    summary="Exact oracle that proves the bound.",
    details='"enumeration" counts through all modes but two. "branch" is branch and bound, for '
    'two long modes. "highs", "scip" and "gurobi" are integer programming. "off" leaves only the '
    'free bound. "auto" takes "enumeration" or "branch", whichever should be faster, if a call '
    "should end within the time limit, or within a minute if there is none; otherwise versions "
    '0-10 use HiGHS, and "fast" uses none.',
)
DEVICE = Option(
    name="device",
    default="cpu",
    choices=("cpu", "cuda", "auto"),
    extensible=True,
    summary="Where to sum over cells; cuda needs the optional dependencies gpu.",
    details='"cuda" is an NVIDIA device (install ``intensor[gpu]``). "auto" uses it if there is '
    "one and the data is large enough to gain from it. Arrays that ``solve`` is given on a device "
    "stay there; coordinates may then be a sequence of p arrays.",
)
MEMORY_LIMIT = Option(
    name="memory_limit",
    summary='Largest number of bytes to use, as a number or as text like "4 GiB".',
    details="Data in memory is refused if it needs more; by default, more than is available. "
    "When ``solve`` reads files, it cuts the cells into shards that fit; by default, into a "
    "quarter of the machine's memory.",
    rule=ranges.check_memory,
    type=NumberOrText,
    metavar="BYTES",
    shown_default="what is available",
)
CLIENT = Option(
    name="client",
    summary="A ``distributed.Client``, over whose workers the work is distributed.",
    details="``solve`` distributes the cells. Its coordinates may then also be a Dask DataFrame, "
    "with ``values`` the name of a column; a path must be one that all workers can read. A fit "
    "distributes the folds, radii and scales of the validation, and the cells of the last fit if "
    "there are a million or more.",
)
ALLOW_NEGATIVE = Option(
    name="allow_negative",
    default=False,
    summary="Whether to fit negative values too (the model stays nonnegative).",
)
SIGNED = Option(
    name="signed",
    default=False,
    summary='Whether terms may have negative weights; only for the version "fast".',
    details="The radius then bounds the sum of the weights' sizes, and values may be negative.",
)
SOLVE_COMPONENTS = Option(
    name="components",
    default="boxes",
    choices=("boxes", "graded"),
    summary="Terms of the model: 0-1 boxes, or graded components with entries from 0 to 1.",
    details="Both describe the same tensors, and the bound holds for both. Graded components need "
    'far fewer terms on noisy data, and version="fast".',
)
COMPONENTS = Option(
    name="components",
    default="auto",
    choices=("boxes", "graded", "auto"),
    summary="Terms of the model: 0-1 boxes, graded components, or whichever predicts better.",
    details='It is "boxes", "graded" (entries from 0 to 1, far fewer terms on noisy data) or '
    '"auto" to choose by validation. A radius that is given, or a version other than "fast", means '
    "boxes unless graded components are asked for.",
)
MAX_COMPONENTS = Option(
    name="max_components",
    summary="Largest number of graded components.",
    details="By default 32 in ``solve``; a fit chooses it by validation. It needs graded "
    "components, since the number of boxes is not limited.",
    rule=partial(ranges.check_at_least, low=1, integer=True),
    type=int,
    metavar="NUMBER",
)
CALLBACK = Option(
    name="callback",
    summary="Function that is called with a ``Progress`` after every iteration.",
    details="Its ``stage`` says what is being solved. If the function returns False, the run stops "
    "with the best model so far.",
    rule=ranges.check_callable,
)
VERBOSE = Option(
    name="verbose",
    default=False,
    summary="Whether to show the progress on stderr.",
    details="It is a live line in terminals, and in notebooks that have ``ipywidgets``; elsewhere "
    "it is a plain line every two seconds. A ``callback`` is called too.",
)
CHECKPOINT = Option(
    name="checkpoint",
    summary="File (.npz) that the run is written to as it goes, to be resumed after a kill.",
    details="A run that Ctrl-C or a limit ended can be resumed, too. An existing file is never "
    "replaced unless ``resume`` is given. A file is for one run: searches over settings and "
    "cross-validation need one for each fit.",
    type=Path,
    metavar="FILE",
)
CHECKPOINT_EVERY = Option(
    name="checkpoint_every",
    default=60.0,
    summary="Seconds between two writes of the checkpoint; it is also written at the end.",
    metavar="SECONDS",
)
RESUME = Option(
    name="resume",
    default=False,
    summary="Whether to resume from the checkpoint, if the file exists.",
    details="Data and options must be the same as before, except limits, threads, device, client, "
    "callback, verbose and clip. The time spent before counts.",
)

# How to fit.

EFFORT = Option(
    name="effort",
    default="standard",
    choices=("quick", "standard", "thorough"),
    summary="How much work to spend on choosing and averaging.",
    details='The aim is 5 seconds for "quick", half a minute for "standard" and five minutes for '
    '"thorough", with 10^5 observations on two cores. It counts work, not time: use ``time_limit`` '
    "to bound the seconds.",
)
RADIUS = Option(
    name="radius",
    default="auto",
    summary=SOLVE_RADIUS.summary,
    details='It is in the fitted scale. "auto" chooses it by validation. A number asks for one '
    'problem and its proof: transform, baseline and remainder are then "none" unless they are '
    "named. To repeat an earlier fit, use ``Fit.refit``: its radius alone does not.",
    rule=ranges.check_radius_or_auto,
    type=NumberOrText,
    metavar="auto|NUMBER",
)
TRANSFORM = Option(
    name="transform",
    default="auto",
    choices=("none", "sqrt", "log1p", "auto"),
    extensible=True,
    summary="Scale to fit in.",
    details='It is "none", "sqrt", "log1p", a pair (function, inverse), or "auto" to choose by '
    "validation.",
)
BASELINE = Option(
    name="baseline",
    default="auto",
    choices=("none", "additive", "auto"),
    summary="Main effects to take out before boxes are fitted.",
    details='They are "none", "additive", or "auto" to choose by validation.',
)
REMAINDER = Option(
    name="remainder",
    default="auto",
    choices=("none", "kriging", "auto"),
    summary="What to add to the terms: nothing, or a correction kriged from similar cells.",
    details='It is "none", "kriging", or "auto" to choose by validation. Kriging needs a tensor '
    "that is small and not too sparse. It does not change the certificate, which is that of the "
    'terms. With "auto", predictors without terms may have a share of the prediction too.',
)
N_SOLUTIONS = Option(
    name="n_solutions",
    default="auto",
    summary="Number of models, from different seeds, to average.",
    details='"auto" takes as many graded models as held-out cells say are worth it, and one model '
    "of boxes. With a number, the prediction is a single model of terms.",
    rule=ranges.check_count_or_auto,
    type=NumberOrText,
    metavar="auto|NUMBER",
)
VALIDATION = Option(
    name="validation",
    default="auto",
    summary="Share of the cells to hold out (0.1), or number of folds (5).",
    details='"auto" holds out a tenth at a time, several times if that is few cells. Cells are '
    "held out in pieces that lie like the missing cells: single cells, or boxes of cells.",
    rule=ranges.check_validation,
    type=NumberOrText,
    metavar="SHARE|FOLDS|auto",
)
SCORING = Option(
    name="scoring",
    default="rmse",
    choices=("rmse", "mae", "mape"),
    summary="Validation error, by which everything is chosen.",
    details='It is "rmse", "mae" or "mape". With "rmse", candidates are compared by the errors of '
    "the values and of their square roots together, so that large values do not decide alone.",
)
N_RADII = Option(
    name="n_radii",
    default=20,
    summary="Largest number of radii to try.",
    rule=partial(ranges.check_at_least, low=1, integer=True),
)
RTOL = Option(
    name="rtol",
    default="auto",
    summary="Gap to reach, relative to the mean square of the values; auto chooses it on held-out "
    "cells.",
    details='If too few cells were held out, "auto" is 1e-4.',
    rule=ranges.check_rtol_or_auto,
    type=NumberOrText,
    metavar="auto|NUMBER",
)
RANDOM_STATE = Option(
    name="random_state",
    default=SEED.default,
    summary=SEED.summary,
    details="It is an integer, a ``RandomState`` or ``Generator`` to draw the seed from, or None "
    "for another seed each time.",
)
UNSEEN = Option(
    name="unseen",
    default="mean",
    choices=tuple(map(str, Unseen)),
    rule=lambda _, unseen: as_unseen(unseen),
    summary="What to do about an index without observations: predict the mean over its mode, "
    "without a warning or with one, or raise an error.",
    details='"mean" predicts silently, "warn" also issues an ``UnseenIndexWarning``, and "error" '
    "raises an ``UnseenIndexError``.",
)

CLIP = Option(
    name="clip",
    summary="Range that predictions are clipped to, such as 1 and 5 for one to five stars; an end "
    "is none where there is no limit.",
    details="It is a pair (low, high) with low < high, in which None is no limit. Without a range, "
    "predictions are clipped at 0 alone. The range is stored with the fit and its model file. "
    "Held-out errors are those of predictions before they are clipped.",
    rule=ranges.check_clip,
    type=tuple[NumberOrText, NumberOrText],
    metavar="LOW HIGH",
)

# Which part of the data to fit.

VALUE = Option(
    name="value",
    summary="Column of the values in a table.",
    details='By default it is the one called "value". Null or NaN in it is a missing value, to be '
    "filled.",
    shown_default='"value", or what the model says',
)
MODES = Option(
    name="modes",
    summary="Columns of labels in a table, one for each mode, that say which cell a row is.",
    details="By default they are all other columns.",
    type=list[str],
    spellings=("--mode",),
    shown_default="all other columns",
)
WEIGHT = Option(
    name="weight",
    summary="Column of a table that says how much each row counts.",
    details="By default all rows count the same.",
)
CELLS = Option(
    name="cells",
    default="missing",
    choices=("missing", "all"),
    summary="Which cells to return.",
    details='"missing" fills the cells that are there and have no value: NaN, masked, null. "all" '
    "returns every cell, also those that a table or sparse array does not list.",
)

# Which function has which options.

_LIMITS = (TIME_LIMIT, MAX_ITERATIONS, SEED, THREADS, EXACT, DEVICE, MEMORY_LIMIT)
_CHECKPOINTS = (CHECKPOINT, CHECKPOINT_EVERY, RESUME)
_CHOICES = (
    *(EFFORT, RADIUS, COMPONENTS, MAX_COMPONENTS, TRANSFORM, BASELINE, REMAINDER),
    *(N_SOLUTIONS, VALIDATION, SCORING, N_RADII, CLIP),
)

SOLVE_OPTIONS = (
    *(SHAPE, SOLVE_RADIUS, VERSION, TOL, SOLVE_RTOL, *_LIMITS),
    *(CLIENT, ALLOW_NEGATIVE, SIGNED, SOLVE_COMPONENTS, MAX_COMPONENTS, CALLBACK, VERBOSE),
    *_CHECKPOINTS,
)
SOLVER_OPTIONS = (VERSION, TOL, RTOL, *_LIMITS, *_CHECKPOINTS)
"""The options of a fit that go to every solve."""
FIT_OPTIONS = (*_CHOICES, *SOLVER_OPTIONS)
"""How to fit: the options that ``check_options`` takes."""
DATA_OPTIONS = (VALUE, MODES, WEIGHT, *FIT_OPTIONS, CLIENT, CALLBACK, VERBOSE)
"""Options of ``intensor.fit``."""
COMPLETE_OPTIONS = (CELLS, UNSEEN, *DATA_OPTIONS)
ESTIMATOR_OPTIONS = (
    *(RANDOM_STATE if option is SEED else option for option in FIT_OPTIONS),
    *(UNSEEN, SHAPE, CLIENT, CALLBACK, VERBOSE),
)
"""Options of ``TensorCompleter``; its seed is called ``random_state``, as in scikit-learn."""

# The types of the options of a fit, for editors and type checkers.

TransformPair = tuple[Callable[..., Any], Callable[..., Any]]
"""A function and its inverse."""


class FitOptions(TypedDict, total=False):
    """The options of ``FIT_OPTIONS``, as keywords; the seed also as ``random_state``."""

    effort: str
    radius: float | str
    components: str
    max_components: int | None
    transform: str | TransformPair
    baseline: str
    remainder: str
    n_solutions: int | str
    validation: float | str
    scoring: str
    n_radii: int
    clip: tuple[float | None, float | None] | None
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
