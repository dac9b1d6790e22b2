"""What a solve returns: the model, how good it is, and how it went."""

from __future__ import annotations

import enum
import warnings
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from intensor._text import html_table, one_line
from intensor.errors import EmptyModelWarning
from intensor.model.model import Model, describe_terms
from intensor.problem.reindex import FullTensor

SMALL_GAP_SHARE = 0.01
"""Largest gap, as a share of the objective, of a result that is called OPTIMAL."""
EXACT_FIT_SHARE = 1e-6
"""Largest mean squared error from the means of the cells, as a share of the mean square of the
values, of a fit that counts as exact: its typical error is a thousandth of the typical value."""
USELESS_GAP_SHARE = 0.9
"""Smallest gap, as a share of the objective, at which the bound says nothing about the model."""

NO_USEFUL_BOUND = "no useful bound at this size"
NO_USEFUL_BOUND_MEANING = (
    "nothing is proven about how much better a model of this radius could be; an exact search "
    "(the option exact) proves more for smaller tensors, up to about 20 x 20 x 20, or in more time"
)


class Status(enum.Enum):
    """Why a solve ended; ``proven_status`` says when it is OPTIMAL or WITHIN_TOLERANCE."""

    OPTIMAL = (
        "The proven gap is within the tolerance, and at most "
        f"{100 * SMALL_GAP_SHARE:g} % of the objective unless the fit is exact."
    )
    WITHIN_TOLERANCE = (
        "The proven gap is within the tolerance, but more than "
        f"{100 * SMALL_GAP_SHARE:g} % of the objective, so this is no proof of an optimum."
    )
    STALLED = (
        "No further improvement was found, or the model has as many components as it may have; "
        "the gap is not proven to be within the tolerance."
    )
    TIME_LIMIT = "The time limit was reached first; the gap is what was proven by then."
    ITERATION_LIMIT = "The iteration limit was reached first; the gap is what was proven by then."
    STOPPED = "The callback asked to stop; the gap is what was proven by then."
    INTERRUPTED = "Ctrl-C was pressed; the model is the best so far."
    NO_TERMS = "This member of a fit predicts without terms, so there is nothing to solve or prove."

    @property
    def sentence(self) -> str:
        """The status as a sentence."""
        return self.value

    def __str__(self) -> str:
        return self.name


class Progress(NamedTuple):
    """One iteration, in the units of the data: a row of the trace and what a callback gets."""

    iteration: int
    step: str
    """"local" (weights of the active set) or "separation" (an oracle was asked)."""
    active: int
    """Vertices in the active set."""
    objective: float
    bound: float
    phi: float
    """Least gain for which a new vertex enters: half of the gap that the solver believes in."""
    pricing_gap: float
    """Gain of the best vertex of the last oracle call: an estimate of the gap, not a proof."""
    seconds: float
    """Seconds since the solve began, with set-up but without the time spent compiling kernels."""
    stage: str = "solve"
    """What the solve is for: in the callback of a fit "radius 3.2", "gap 0.01", "fit" or "fit 2 of
    4", and "solve" everywhere else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """How much work a solve took."""

    iterations: int
    local_steps: int
    altmin_runs: int
    exact_calls: int
    drops: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Seconds:
    """Wall-clock time of a solve, without the time in which kernels were compiled or loaded."""

    setup: float
    solve: float

    @property
    def total(self) -> float:
        """Set-up and solve together."""
        return self.setup + self.solve


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Result:
    """A fitted model with its certificate.

    Attributes
    ----------
    status
        Why the solve ended.
    objective
        Mean squared error of the model on the observations, recomputed from the model.
    bound
        Proven: no model of this radius has an objective below it.
    model
        The fit.
    witness
        The point at which the bound was proven, for ``verify``; None when the bound is the
        within-cell constant, which needs no proof.
    bound_source
        Which oracle proved the bound.
    tolerance
        The gap that was asked for.
    trace
        One row per iteration.
    """

    status: Status
    objective: float
    bound: float
    model: Model
    witness: Model | None
    bound_source: str
    tolerance: float
    version: int | str
    trace: tuple[Progress, ...]
    counters: Counters
    seconds: Seconds

    @property
    def gap(self) -> float:
        """Objective minus bound: the objective is at most this far above the global optimum."""
        return self.objective - self.bound

    def __repr__(self) -> str:
        return one_line(
            f"Result {self.status}: objective {self.objective:.4g}, bound {self.bound:.4g}, "
            f"gap {self.gap:.3g}, {describe_terms(self.model)}, {self.seconds.total:.3g} s"
        )

    def _repr_html_(self) -> str:
        certificate = (
            f"objective {self.objective:.6g}, proven bound {self.bound:.6g}, gap {self.gap:.3g} "
            f"(asked for: {self.tolerance:.3g})"
        )
        return html_table(
            "Result",
            [
                ("shape", " x ".join(map(str, self.model.shape))),
                ("model", f"{describe_terms(self.model)}, radius {self.model.radius:.6g}"),
                ("status", f"{self.status}: {self.status.sentence}"),
                ("certificate", certificate),
                ("bound proven by", str(self.bound_source)),
                ("seconds", f"{self.seconds.total:.3g}"),
            ],
        )


class Amounts(Protocol):
    """The two figures of the observations that ``proven_status`` uses."""

    @property
    def within(self) -> float:
        """Mean squared deviation from the mean of the cell: no objective is below it."""

    @property
    def mean_square(self) -> float:
        """Mean of the squared values."""


def proven_status(
    objective: float, bound: float, *, tolerance: float, observations: Amounts
) -> Status | None:
    """Return OPTIMAL or WITHIN_TOLERANCE, or None if the gap is above the tolerance.

    OPTIMAL needs a gap of at most ``SMALL_GAP_SHARE`` of the objective, or an exact fit: a model
    whose mean squared error from the means of the cells is at most ``EXACT_FIT_SHARE`` of the mean
    square of the values.
    """
    gap = objective - bound
    if not gap <= tolerance:
        return None
    small = gap <= SMALL_GAP_SHARE * objective
    exact = objective - observations.within <= EXACT_FIT_SHARE * observations.mean_square
    return Status.OPTIMAL if small or exact else Status.WITHIN_TOLERANCE


def has_useful_bound(result: Result) -> bool:
    """Say whether the bound of a result tells anything about its model."""
    far = result.gap > 0.0 and result.gap >= USELESS_GAP_SHARE * result.objective
    return result.status is Status.OPTIMAL or not far


def expand_model(model: Model, full: FullTensor) -> Model:
    """Return a model of the condensed tensor as one of the full tensor."""
    return replace(
        model,
        vertices=full.expand_vertices(model.vertices),
        components=full.expand_components(model.components),
    )


def expand_result(result: Result, full: FullTensor) -> Result:
    """Return a result for the condensed tensor as one for the full tensor."""
    witness = None if result.witness is None else expand_model(result.witness, full)
    return replace(result, model=expand_model(result.model, full), witness=witness)


def is_constant(model: Model) -> bool:
    """Say whether a model is one box with all cells, so that it has the same value everywhere."""
    return len(model) == len(model.vertices) == 1 and bool(model.vertices.flags().all())


def warn_if_empty(result: Result) -> None:
    """Warn of a model without boxes, or of a constant one, if a limit is the cause."""
    if result.status not in (Status.TIME_LIMIT, Status.ITERATION_LIMIT):
        return
    if not len(result.model):
        outcome = "its model had a single box, so that boxes add nothing to any prediction"
    elif result.status is Status.TIME_LIMIT and is_constant(result.model):
        outcome = "any model was better than a constant, so that its terms predict the mean"
    else:
        return
    limit = "time_limit" if result.status is Status.TIME_LIMIT else "max_iterations"
    warnings.warn(
        f"the run ended ({result.status}) before {outcome}; raise {limit}, or give fewer "
        "observations",
        EmptyModelWarning,
        stacklevel=3,
    )
