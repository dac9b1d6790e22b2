"""The result of a fit: a predictor with its certificate, its labels and how it was chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from intensor._arrays import FloatArray, IndexArray, Shape
from intensor._text import describe_shape, one_line
from intensor._verify import Verification, verify
from intensor.certificate.proofs import Check
from intensor.data.labels import Labels
from intensor.data.lookup import look_up_cells, observed_cells
from intensor.fitting.description import fit_html
from intensor.fitting.explanation import Explanation, explain
from intensor.fitting.path import NEARLY_BEST, RadiusPath
from intensor.fitting.verdict import write_number
from intensor.model.model import Model, describe_terms
from intensor.model.predictor import Predictor, UnseenCells, index_counts, known_cells
from intensor.options import declared
from intensor.options.ranges import Clip
from intensor.options.unseen import Unseen, as_unseen
from intensor.problem.reindex import FullTensor
from intensor.solver.loop import Callback
from intensor.solver.result import Result, Status, expand_model, expand_result

if TYPE_CHECKING:
    from intensor.fitting.recipe import Recipe
    from intensor.fitting.simplify import Simplified

SHARE_ROUNDING = 1e-9
"""Largest difference between 1 and the sum of the shares of a blend."""


class ReferenceError(NamedTuple):
    """A predictor without terms: its error on held-out cells, and its share of the prediction."""

    name: str
    error: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Validation:
    """How held-out cells chose the radius, the scale and the tolerance.

    Attributes
    ----------
    metric
        Name of the error, which is in the units of the data.
    folds, held_out
        Number of folds, and the average number of observations held out in each.
    paths
        One path of radii per scale that was tried.
    chosen
        Index of the path whose scale was chosen.
    approach
        Pairs of a gap and the error of a fit that stops at it, at the chosen radius, for
        ``rtol="auto"``: the first gap whose error is nearly the best becomes the tolerance. Gaps
        are in the fitted scale.
    error_of_mean
        Error on the held-out cells when each is predicted by the mean of the other cells, which
        any fit should beat; None when it is not known (model files of earlier versions).
    single, averaged
        Error of one solution and of the average of ``n_solutions`` at the chosen radius; None
        when only one solution was asked for, or the remainder is kriged.
    blended
        Error of the blend of several members; None if there is only one.
    error, spread
        Error on held-out cells that is expected of the prediction, and the standard error of that
        error; None in model files of earlier versions.
    references
        The mean, main effects and other predictors without terms, each with its error on the same
        cells and its share of the prediction.
    """

    metric: str
    folds: int
    held_out: float
    paths: tuple[RadiusPath, ...]
    chosen: int
    approach: tuple[tuple[float, float], ...] = ()
    single: float | None = None
    averaged: float | None = None
    error_of_mean: float | None = None
    blended: float | None = None
    error: float | None = None
    spread: float | None = None
    references: tuple[ReferenceError, ...] = ()

    @property
    def path(self) -> RadiusPath:
        """The path of the scale that was chosen."""
        return self.paths[self.chosen]

    @property
    def expected_error(self) -> float:
        """Error on held-out cells that is expected of the prediction."""
        known = self.error if self.error is not None else self.blended
        return self.path.error if known is None else known

    @property
    def tolerance(self) -> float | None:
        """The first gap whose error is nearly the smallest; None when no gap was tried."""
        return find_tolerance(self.approach)

    def __repr__(self) -> str:
        mean = "" if self.error_of_mean is None else f", of the mean {self.error_of_mean:.4g}"
        spread = "" if self.spread is None else f" +- {self.spread:.2g}"
        return one_line(
            f"Validation: {self.metric} {write_number(self.expected_error)}{spread}{mean}, "
            f"{self.held_out:.0f} held out, folds: {self.folds}, paths: {len(self.paths)}"
        )


def find_tolerance(approach: Sequence[tuple[float, float]]) -> float | None:
    """Return the first of the gaps whose error is nearly the smallest; None if there is none."""
    if not approach:
        return None
    least = min(error for _, error in approach)
    return next(gap for gap, error in approach if error <= (1.0 + NEARLY_BEST) * least)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """A fitted tensor: it predicts any cell and knows how good it is.

    Attributes
    ----------
    predictor
        Transform, baseline and model.
    result
        Result of the solver in the fitted scale; that of the average, if solutions were averaged.
    labels
        Names of modes and indices.
    n
        Number of observations.
    n_solutions
        Number of models that were averaged.
    validation
        How held-out cells chose the radius and more; None when nothing had to be chosen.
    share, partners
        Predictions are those of this fit times its share, plus those of the partners times theirs.
        A partner is a fit of the same observations in another scale, with a result and a
        certificate of its own. Shares add up to 1. Most fits have no partners.
    clip
        Range (low, high) that predictions are clipped to; None for an end without a limit, or for
        no range at all: predictions are then clipped at 0 alone.
    recipe
        All that was given or chosen, with which ``refit`` fits other observations; None for
        partners and simplified fits, and in fits from model files of earlier versions.
    """

    predictor: Predictor
    result: Result
    labels: Labels
    n: int
    n_solutions: int = 1
    validation: Validation | None = None
    share: float = 1.0
    partners: tuple[Fit, ...] = ()
    clip: Clip | None = None
    recipe: Recipe | None = None

    @property
    def members(self) -> tuple[Fit, ...]:
        """The fit itself and its partners."""
        return (self, *self.partners)

    @property
    def model(self) -> Model:
        """The boxes and components, in the fitted scale."""
        return self.predictor.model

    @property
    def shape(self) -> Shape:
        """Lengths of the modes."""
        return self.model.shape

    @property
    def radius(self) -> float:
        """Bound on the weights, in the fitted scale."""
        return self.model.radius

    @property
    def status(self) -> Status:
        """The reason why the solver stopped."""
        return self.result.status

    @property
    def objective(self) -> float:
        """Mean squared error on the observations, in the fitted scale."""
        return self.result.objective

    @property
    def bound(self) -> float:
        """Proven lower bound: no model of this radius has a smaller objective."""
        return self.result.bound

    @property
    def gap(self) -> float:
        """Objective minus bound."""
        return self.result.gap

    @property
    def path(self) -> RadiusPath | None:
        """The path of radii from which the radius was chosen; None when it was given."""
        return None if self.validation is None else self.validation.path

    def predict(self, coords: Any, *, unseen: str = declared.UNSEEN.default) -> FloatArray:
        """Return predictions for cells, in the units of the data and within the range ``clip``.

        Parameters
        ----------
        coords
            A table holds labels: a table of pandas, polars or pyarrow, a mapping from names to
            columns or a structured array, whose columns are named like the modes; their order
            does not matter and other columns are passed over. An (n, p) array of integers holds
            positions, counted from 0. Anything else is refused.
        unseen
            What to do about a label or index that no observation of the fit has. "mean" and
            "warn" predict the average over the observed indices of that mode; "warn" also issues
            an ``UnseenIndexWarning``. "error" raises an ``UnseenIndexError``.
        """
        chosen = as_unseen(unseen)
        named = look_up_cells(coords, self.labels)
        if named is None:
            return predict_cells(self, coords, unseen=chosen, stacklevel=3)
        cells = known_cells(named.coords, self.predictor.counts, self.shape)
        found = UnseenCells()
        found.add(cells)

        def describe(row: int, mode: int) -> str:
            return f"{named.describe(row, mode)}, which no observation of the fit has"

        found.report(chosen, describe)
        return predict_cells(self, cells, unseen=Unseen.MEAN)

    def explain(self, cell: Any, *, unseen: str = declared.UNSEEN.default) -> Explanation:
        """Say which terms make up the prediction of one cell.

        Every component and box adds its weight times its entries at the indices of the cell; the
        baseline adds a mean and an effect per label, and kriging the remainder. In the fitted scale
        these contributions add up to the fitted value, which the inverse of the transform turns
        into the prediction. ``print(fit.explain(cell))`` lists them, the largest first.

        Parameters
        ----------
        cell
            One cell: a mapping from the names of the modes to labels, or a sequence with an entry
            per mode. Integers alone are positions, counted from 0, as in ``predict``; any other
            sequence holds labels. A table or an array of one row will do too.
        unseen
            What to do about a label or index that no observation of the fit has, as in
            ``predict``. The entries of terms are averages over such a mode.
        """
        return explain(self, cell, unseen=unseen)

    def verify(
        self, coords: Any, values: Any = None, *, sample_weight: Any = None, effort: float = 5e9
    ) -> Verification:
        """Recompute the certificate from the observations, independently of the solver.

        In addition to the checks of ``intensor.verify``, predictions must be made with the model
        of the result, and every index must have been observed as often as the fit claims.

        Parameters
        ----------
        coords
            The cells: a table holds labels and an array of integers positions, as in ``predict``.
        values
            (n,) values. With a table also the name of its column of values, by default the name
            that the fit has; rows without a value are left out.
        sample_weight
            (n,) weights of the observations, by default all equal. With a table also the name of
            a column.
        effort
            Most additions that the check of the bound may take.
        """
        cells, numbers, weights = observed_cells(
            coords, values, self.labels, sample_weight=sample_weight
        )
        targets = self.predictor.residual_targets(cells, numbers)
        found = verify(self.result, cells, targets, sample_weight=weights, effort=effort)
        checks = [*found.checks, self._check_predictor(), self._check_counts(cells, weights)]
        if self.partners:
            checks.append(self._check_shares())
        for number, partner in enumerate(self.partners, start=1):
            theirs = partner.verify(cells, numbers, sample_weight=weights, effort=effort)
            checks += [
                replace(check, name=f"partner {number}: {check.name}") for check in theirs.checks
            ]
        return replace(found, checks=tuple(checks))

    def _check_shares(self) -> Check:
        shares = [one.share for one in self.members]
        right = min(shares) >= 0.0 and abs(math.fsum(shares) - 1.0) <= SHARE_ROUNDING
        right &= all(one.shape == self.shape and not one.partners for one in self.partners)
        message = f"shares of the members are {'' if right else 'not '}at least 0 with sum 1"
        return Check(name="shares", passed=right, message=message)

    def _check_predictor(self) -> Check:
        mine, theirs = self.predictor.model, self.result.model
        same = mine is theirs or mine == theirs
        which = "the model of the result" if same else "another model than that of the result"
        message = f"predictions are made with {which}"
        return Check(name="predictor", passed=bool(same), message=message)

    def _check_counts(self, cells: IndexArray, weights: FloatArray | None) -> Check:
        """Compare how often each index was observed, up to the scale of the weights."""
        found = index_counts(tuple(cells.T), self.shape, weights)
        claimed = np.asarray(self.predictor.counts)
        fits = claimed.shape == found.shape
        if fits:
            share = float(claimed.sum()) / float(found.sum())
            fits = bool(np.allclose(claimed, share * found, rtol=1e-9, atol=0.0))
        message = f"indices were {'' if fits else 'not '}observed as often as the fit says"
        return Check(name="counts", passed=fits, message=message)

    def to_frame(self) -> Any:
        """Return the terms of the model as a table with the labels of the fit.

        Weights are in the fitted scale. ``Model.to_frame`` describes the columns.
        """
        return self.model.to_frame(self.labels)

    def simplify(
        self,
        n: int,
        coords: Any,
        values: Any = None,
        *,
        sample_weight: Any = None,
        validation: float | str = declared.VALIDATION.default,
        exact: str = "off",
        time_limit: float | None = declared.TIME_LIMIT.default,
        seed: int = declared.SEED.default,
        threads: int | None = declared.THREADS.default,
    ) -> Simplified:
        """Return a fit with at most ``n`` graded components, and what the simplicity costs.

        The model is solved at the radius and in the scale of this fit (its transform, and its
        baseline if it has one), twice: from the heaviest terms of this fit, and from nothing. The
        one with the lower objective is taken. It has no remainder. With so few components there
        may be local minima; the bound says how far from the best of any size the model is at most.
        On the observations of this fit the bound of this fit holds too, and the higher of the two
        is taken.

        Errors are measured on cells that are held out as in a fit. A small model and one like
        this fit (as many solutions, kriging if there is a remainder) are fitted to the other cells
        and predict the held-out ones.

        Parameters
        ----------
        n
            Most components.
        coords, values, sample_weight
            The observations of the fit, as in ``verify``.
        validation
            Share of the cells to hold out (0.1), number of folds (5), or "auto".
        exact
            Exact oracle that proves the bound, as in ``solve``; "off" leaves the free bound and
            that of this fit.
        time_limit
            Stop after this many seconds, with the best model so far; errors that there is no time
            for are None.
        seed
            Seed of all random choices.
        threads
            Largest number of threads, by default one per core.
        """
        from intensor.fitting.simplify import simplify  # noqa: PLC0415  (that module imports Fit)

        return simplify(
            self,
            n,
            coords,
            values,
            sample_weight=sample_weight,
            validation=validation,
            exact=exact,
            time_limit=time_limit,
            seed=seed,
            threads=threads,
        )

    def refit(
        self,
        data: Any,
        values: Any = None,
        *,
        sample_weight: Any = None,
        time_limit: float | None = declared.TIME_LIMIT.default,
        seed: int | None = None,
        threads: int | None = declared.THREADS.default,
        exact: str | None = None,
        callback: Callback | None = declared.CALLBACK.default,
        verbose: bool = declared.VERBOSE.default,
    ) -> Fit:
        """Fit other observations, or the same again, as this fit was fitted.

        Everything that this fit was given or has chosen is used again, for each of its members:
        transform, baseline, boxes or graded components and their number, radius, tolerance,
        number of solutions, kriging, shares, and the range of predictions. Nothing is held out
        and nothing is chosen, so it takes a fraction of the time. On the same observations with
        the same seed, the predictions are the same, unless a time limit or Ctrl-C has cut one of
        the two fits short.

        The radius and the tolerance stay as they are, in the fitted scale; observations that are
        larger than the radius allows are warned of. Main effects, covariances and noise are found
        anew. The new fit has no validation: the errors that this fit has measured on its own
        held-out cells say nothing certain about other observations.

        Parameters
        ----------
        data
            A table with columns named like the modes, as in ``verify``; its labels become those
            of the new fit, so some may be new and some may be missing. An (n, p) array of
            integers holds positions, beside ``values``. An array with NaN, and any other container
            that ``complete`` takes, will do too. Arrays keep the labels and at least the shape of
            this fit.
        values
            (n,) values. With a table also the name of its column of values, by default the name
            that the fit has; rows without a value are left out.
        sample_weight
            (n,) weights of the observations, by default all equal. With a table also the name of
            a column.
        time_limit
            Stop after this many seconds, with the best model so far.
        seed
            Seed of all random choices, by default that of this fit.
        threads
            Largest number of threads, by default one per core; the result does not depend on it.
        exact
            Exact oracle that proves the bound, as in ``complete``; by default that of this fit.
        callback, verbose
            As in ``complete``.

        Examples
        --------
        >>> import intensor
        >>> march = {"shop": ["a", "a", "b"], "day": [1, 2, 1], "value": [2.0, 4.0, 1.0]}
        >>> april = {"shop": ["a", "b", "c"], "day": [1, 1, 2], "value": [3.0, 2.0, 2.0]}
        >>> import pyarrow as pa
        >>> fit = intensor.fit(pa.table(march), radius=4.0, transform="none", baseline="none")
        >>> again = fit.refit(april)
        >>> again.radius, again.labels.indices[0].tolist()
        (4.0, ['a', 'b', 'c'])
        """
        from intensor.fitting.refitting import refit  # noqa: PLC0415  (that module imports Fit)

        return refit(
            self,
            data,
            values,
            sample_weight=sample_weight,
            time_limit=time_limit,
            seed=seed,
            threads=threads,
            exact=exact,
            callback=callback,
            verbose=verbose,
        )

    def save(self, path: Any) -> None:
        """Write the fit to a model file (``.npz``; read it back with ``intensor.load``)."""
        from intensor.fitting.model_file import save  # noqa: PLC0415  (that module imports Fit)

        save(self, path)

    def __repr__(self) -> str:
        count = len(self.partners)
        partners = f", {count} partner{'s' if count > 1 else ''}" if count else ""
        return one_line(
            f"Fit {describe_shape(self.shape)}: {self.status}, {describe_terms(self.model)}, "
            f"radius {self.radius:.4g}, objective {self.objective:.4g}, gap {self.gap:.3g}"
            f"{partners}"
        )

    def _repr_html_(self) -> str:
        return fit_html(self)


def predict_cells(
    fit: Fit, coords: Any, *, unseen: Unseen = Unseen.MEAN, stacklevel: int = 2
) -> FloatArray:
    """Return the predictions of a fit for (n, p) positions, -1 for labels that are not known."""
    predicted = fit.predictor.predict(coords, unseen=unseen, stacklevel=stacklevel + 1)
    if fit.partners:
        predicted *= fit.share
    for partner in fit.partners:
        predicted += partner.share * partner.predictor.predict(coords, unseen=Unseen.MEAN)
    return predicted if fit.clip is None else np.clip(predicted, *fit.clip)


def expand_fit(fit: Fit, full: FullTensor) -> Fit:
    """Return a fit without unused indices as a fit of the full tensor; it has no remainder."""
    predictor = fit.predictor
    result = expand_result(fit.result, full)
    model = result.model
    if predictor.model is not fit.result.model:
        model = expand_model(predictor.model, full)
    baseline = predictor.baseline
    if baseline is not None:
        effects = full.expand(baseline.effects)
        baseline = replace(baseline, shape=full.shape, effects=effects)
    counts = full.expand(predictor.counts)
    predictor = replace(predictor, model=model, counts=counts, baseline=baseline)
    partners = tuple(expand_fit(partner, full) for partner in fit.partners)
    return replace(fit, predictor=predictor, result=result, partners=partners)
