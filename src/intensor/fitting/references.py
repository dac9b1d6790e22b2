"""Reference predictors: the mean, main effects, interpolation and smooth fields.

They need no model of terms and take a moment, so every fit tries them first. They are candidates
like all others, and a share of the prediction goes to those that lower the error on held-out cells.
So a fit is no worse there than they are, and where neighbours say more than terms it is as good.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from intensor._arrays import FloatArray
from intensor.fitting.holding_out import splits
from intensor.fitting.kriging import can_krige, kriging_work
from intensor.fitting.options import Scale
from intensor.fitting.preparation import Prepared, Split, thinned
from intensor.fitting.samples import sample
from intensor.fitting.scoring import Scoring
from intensor.fitting.session import Session
from intensor.fitting.smooth_field import ROUGH, SMOOTH, smooth
from intensor.model.model import build_model
from intensor.model.predictor import INTERPOLATION, Predictor, Remainder
from intensor.model.transform import IDENTITY, Transform
from intensor.options.unseen import Unseen
from intensor.runtime.budget import Budget
from intensor.storage.reader import Tree, TreeReader

MIN_GAIN = 5e-3
"""Least relative decrease of the error for which a field is improved in another round."""
NOISE_RATIOS = (0.25, 4.0)
"""Multiples of the noise that correlations tell, which held-out cells may prefer."""
MAX_ROUNDS = 2  # most rounds in which the covariances of a field are improved
MAX_COMPARED_FOLDS = 2
"""Most folds on which references of one kind are compared; it is one for many observations."""
BRIEF_ROWS = 1 << 13
"""Observations of the sample on which the mean and main effects are compared without any time."""
EFFECTS_GRACE_SECONDS = 0.25
"""Most seconds that main effects may take when there is no time left."""
REFERENCE_SHARE = 0.25
"""Share of the time for choosing that references may take."""


class Kind(enum.Enum):
    """A way to predict without terms; the value is its name for people."""

    MEAN = "mean"
    MAIN_EFFECTS = "main effects"
    INTERPOLATION = "interpolation"
    FIELD = "smooth field"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A reference predictor, with all that was chosen for it."""

    kind: Kind
    transform: Transform = IDENTITY
    mode: int = -1  # along which to interpolate
    smoothness: float = ROUGH
    rounds: int = 0
    noise_ratio: float = 1.0

    @property
    def name(self) -> str:
        """Name for people."""
        parts = [self.kind.value]
        if self.kind is Kind.INTERPOLATION:
            parts.append(f"along mode {self.mode}")
        if self.transform is not IDENTITY:
            parts.append(f"of {self.transform.name}")
        return " ".join(parts)

    @property
    def scale(self) -> Scale:
        """The scale in which values are predicted."""
        return Scale(transform=self.transform, additive=True)

    def capture(self) -> Tree:
        """Return the reference as a tree."""
        return {
            "kind": self.kind.name,
            "transform": self.transform.name,
            "mode": self.mode,
            "smoothness": self.smoothness,
            "rounds": self.rounds,
            "noise_ratio": self.noise_ratio,
        }


class Tried(NamedTuple):
    """A reference predictor with its predictions of the held-out cells."""

    reference: Reference
    error: float
    predicted: tuple[FloatArray, ...]  # of every fold, thinned
    cut: bool = False
    members: int = 1
    variance: float = 0.0

    @property
    def plain(self) -> bool:
        """Whether no blend may be worse on the held-out cells; a field is no plain predictor."""
        return self.reference.kind is not Kind.FIELD


def make_predictor(
    reference: Reference,
    prepared: Prepared,
    *,
    budget: Budget,
    threads: int | None,
    seed: int,
    rough: bool,
) -> Predictor | None:
    """Return the predictor of a reference for observations; None when there was no time for it."""
    shape = prepared.observations.shape
    nothing = build_model(
        np.zeros((0, sum(shape)), dtype=np.uint8),
        np.zeros(0),
        shape=shape,
        radius=prepared.largest_value,
        signed=True,
    )
    predictor = prepared.predictor(nothing)
    baseline = predictor.baseline
    if baseline is None:
        raise ValueError("references are predicted in scales with a baseline")
    if reference.kind is Kind.MEAN:
        return replace(predictor, baseline=replace(baseline, effects=0.0 * baseline.effects))
    if reference.kind is Kind.MAIN_EFFECTS:
        return predictor
    if reference.kind is Kind.INTERPOLATION:
        return replace(predictor, remainder=_interpolate(prepared, reference.mode))
    field = smooth(
        prepared.observations,
        smoothness=reference.smoothness,
        rounds=reference.rounds,
        noise_ratio=reference.noise_ratio,
        budget=budget,
        threads=threads,
        seed=seed,
        rough=rough,
    )
    return None if field is None else replace(predictor, remainder=field)


def _interpolate(prepared: Prepared, mode: int) -> Remainder:
    """Return what linear interpolation along a mode adds to the main effects in every cell.

    Beyond the first and the last observed cell of a fibre, these are repeated. Fibres without
    observations are left to the main effects.
    """
    observations, baseline = prepared.observations, prepared.baseline
    shape = observations.shape
    columns = tuple(column.astype(np.int64) for column in observations.coords)
    effects = np.zeros(shape)
    if baseline is not None:
        every = np.indices(shape, sparse=True)
        effects += baseline.mean
        start = 0
        for length, index in zip(shape, every, strict=True):
            effects = effects + baseline.effects[start : start + length][index]
            start += length
    values = np.zeros(shape)
    known = np.zeros(shape, dtype=bool)
    values[columns], known[columns] = observations.means + effects[columns], True
    along, there = np.moveaxis(values, mode, 0), np.moveaxis(known, mode, 0)
    length = shape[mode]
    places = np.arange(length).reshape(-1, *[1] * (len(shape) - 1))
    before = np.maximum.accumulate(np.where(there, places, -1), axis=0)
    after = np.minimum.accumulate(np.where(there, places, length)[::-1], axis=0)[::-1]
    first = np.where(before >= 0, before, np.minimum(after, length - 1))
    last = np.where(after < length, after, np.maximum(before, 0))
    gap = np.maximum(last - first, 1)
    part = np.clip((places - first) / gap, 0.0, 1.0)
    left = np.take_along_axis(along, first, axis=0)
    right = np.take_along_axis(along, last, axis=0)
    filled = (1.0 - part) * left + part * right
    empty = ~there.any(axis=0)
    field = np.where(empty, 0.0, filled - np.moveaxis(effects, mode, 0))
    return Remainder(field=np.ascontiguousarray(np.moveaxis(field, 0, mode)), method=INTERPOLATION)


def brief_budget(budget: Budget) -> Budget:
    """Return a budget for main effects, which may take a moment when another one is spent.

    They take little time, and without them there may be nothing but the mean.
    """
    return Budget(max(EFFECTS_GRACE_SECONDS, budget.remaining))


def try_references(session: Session, held_out: Sequence[Split]) -> list[Tried]:
    """Return the references that the options allow, one of each kind, with their errors."""
    transforms = {one.transform.name: one.transform for one in session.options.scales}
    saved = session.journal.recall("references")
    if saved is not None:
        return [_restore(one, transforms) for one in saved.branches("tried")]
    budget = session.reserve("references/time", REFERENCE_SHARE)
    trials = _Trials(session, held_out, budget)
    mean = trials.best([Reference(kind=Kind.MEAN)])
    effects = trials.best(
        Reference(kind=Kind.MAIN_EFFECTS, transform=one) for one in transforms.values()
    )
    found = [mean, effects]
    if all(can_krige(split.training) for split in held_out):
        modes = range(len(session.samples.shape))
        lines = (Reference(kind=Kind.INTERPOLATION, mode=mode) for mode in modes)
        good = dict.fromkeys(one.reference.transform for one in found if one is not None)
        found += [trials.best(lines), _choose_field(trials, good)]
    best = [one.reference for one in found if one is not None]
    tried = [one for one in map(trials.on_all_folds, best) if one is not None]
    session.journal.record({"references": {"tried": [_capture(one) for one in tried]}})
    return tried


def try_briefly(session: Session, rows: int = BRIEF_ROWS) -> Tried | None:
    """Return the mean or main effects, whichever is better on a few cells of a small sample.

    It takes a moment on any data. None is returned if nothing can be held out.
    """
    options = session.options
    seed = options.solver.seed
    some = sample(session.samples, rows, seed=seed).condensed()  # which may have long modes
    single = (1,) * len(some.shape)
    pairs = splits(some, folds=1, share=options.share, seed=seed, extents=single)
    trials = _Trials(session, [Split(*parts) for parts in pairs], Budget())
    if not trials.n_folds:
        return None
    transform = options.scales[0].transform
    effects = Reference(kind=Kind.MAIN_EFFECTS, transform=transform)
    return trials.best([Reference(kind=Kind.MEAN), effects])


def _choose_field(trials: _Trials, transforms: Iterable[Transform]) -> Tried | None:
    """Choose transform, smoothness, rounds and noise of a smooth field, one after the other."""
    best = trials.best(Reference(kind=Kind.FIELD, transform=one) for one in transforms)
    if best is None:
        return None
    first = best.reference
    best = trials.best([first, replace(first, smoothness=SMOOTH)]) or best
    if trials.kriges_seldom:
        return best
    others = [replace(first, smoothness=one, rounds=1) for one in (ROUGH, SMOOTH)]
    best = trials.best([best.reference, *others]) or best
    chosen = best.reference
    noisy = [replace(chosen, noise_ratio=one) for one in NOISE_RATIOS]
    best = trials.best([chosen, *noisy]) or best
    while 0 < best.reference.rounds < MAX_ROUNDS:
        more = trials.best([replace(best.reference, rounds=best.reference.rounds + 1)])
        if more is None or more.error > (1.0 - MIN_GAIN) * best.error:
            break
        best = more
    return best


class _Trials:
    """Predictions of held-out cells by references, each made once."""

    def __init__(self, session: Session, held_out: Sequence[Split], budget: Budget) -> None:
        self._session = session
        self._splits = held_out
        self._budget = budget
        self._predicted: dict[tuple[Reference, int], FloatArray | None] = {}

    @property
    def kriges_seldom(self) -> bool:
        """Whether a field takes so long that few are tried."""
        work = kriging_work(self._session.samples.shape)
        return work > self._session.options.effort.max_kriging_work

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self._splits)

    def best(self, references: Iterable[Reference]) -> Tried | None:
        """Return the reference of the least error on a few folds.

        Those that there is no time for are passed over; None is returned when that is all.
        """
        few = len(self._session.samples) <= self._session.options.effort.few_rows
        count = min(MAX_COMPARED_FOLDS if few else 1, len(self._splits))
        tried = (self._try(reference, count) for reference in references)
        found = [one for one in tried if one is not None]
        return min(found, key=lambda one: one.error, default=None)

    def on_all_folds(self, reference: Reference) -> Tried | None:
        """Return a reference with its predictions of all folds; None if there is no time."""
        return self._try(reference, len(self._splits))

    def _try(self, reference: Reference, n_folds: int) -> Tried | None:
        predicted = [self._predict(reference, fold) for fold in range(n_folds)]
        complete = tuple(one for one in predicted if one is not None)
        if len(complete) < n_folds:
            return None
        return Tried(reference, self._error(complete), complete)

    def _error(self, predicted: Sequence[FloatArray]) -> float:
        scoring: Scoring = self._session.options.scoring
        errors = [
            scoring.measure(thinned(split.held.values), column, _thinned_weights(split))
            for split, column in zip(self._splits, predicted, strict=False)
        ]
        return float(np.exp(np.mean(np.log(np.maximum(errors, 1e-300)))))

    def _predict(self, reference: Reference, fold: int) -> FloatArray | None:
        key = (reference, fold)
        if key not in self._predicted:
            self._predicted[key] = self._make(reference, self._splits[fold])
        return self._predicted[key]

    def _make(self, reference: Reference, split: Split) -> FloatArray | None:
        needed = self._is_needed(reference)
        if self._budget.spent and not needed:
            return None
        solver = self._session.options.solver
        budget = brief_budget(self._session.choosing) if needed else self._budget
        predictor = make_predictor(
            reference,
            split.prepared(reference.scale, budget),
            budget=self._budget,
            threads=solver.threads,
            seed=solver.seed,
            rough=True,
        )
        if predictor is None:
            return None
        return predictor.predict(thinned(split.held.coords), unseen=Unseen.MEAN)

    def _is_needed(self, reference: Reference) -> bool:
        """Whether a reference is tried without any time: the mean, and main effects once."""
        first = self._session.options.scales[0].transform
        effects = reference.kind is Kind.MAIN_EFFECTS and reference.transform is first
        return effects or reference.kind is Kind.MEAN


def _thinned_weights(split: Split) -> FloatArray | None:
    return None if split.held.weights is None else thinned(split.held.weights)


def _capture(tried: Tried) -> Tree:
    return {
        **tried.reference.capture(),
        "error": tried.error,
        "predicted": [{"values": values} for values in tried.predicted],
    }


def restore_reference(saved: TreeReader, transforms: Mapping[str, Transform]) -> Reference:
    """Return what ``Reference.capture`` was made of; transforms are found by their names."""
    known = {IDENTITY.name: IDENTITY, **transforms}
    return Reference(
        kind=Kind[saved.text("kind", Kind.__members__)],
        transform=known[saved.text("transform", known)],
        mode=int(saved.finite("mode")),
        smoothness=saved.amount("smoothness"),
        rounds=saved.count("rounds"),
        noise_ratio=saved.amount("noise_ratio"),
    )


def _restore(saved: TreeReader, transforms: Mapping[str, Transform]) -> Tried:
    reference = restore_reference(saved, transforms)
    predicted = tuple(fold.finite_array("values", (None,)) for fold in saved.branches("predicted"))
    return Tried(reference, saved.number("error"), predicted)


def best_plain(tried: Sequence[Tried]) -> Reference | None:
    """Return the mean or main effects, whichever has the least error; None if neither was tried."""
    kinds = (Kind.MEAN, Kind.MAIN_EFFECTS)
    plain = [one for one in tried if one.reference.kind in kinds]
    return min(plain, key=lambda one: one.error).reference if plain else None


def least_error(tried: Sequence[Tried]) -> float:
    """Return the least error of some references; infinite when there are none."""
    return min((one.error for one in tried), default=math.inf)
