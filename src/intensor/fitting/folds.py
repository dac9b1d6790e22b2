"""The folds of a validation, here or spread over a cluster."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol

from intensor.fitting.fold import Fold, Step, capture_step, remainder_of, restore_step
from intensor.fitting.journal import NO_NOTES, Notes
from intensor.fitting.options import Options, Scale
from intensor.fitting.samples import Samples
from intensor.model.model import Model
from intensor.runtime.budget import Budget
from intensor.solver.result import Progress

__all__ = ["Folds", "open_folds"]


class Folds(Protocol):
    """What a walk asks of all folds together."""

    @property
    def ahead(self) -> int:
        """How many radii to ask for at a time."""
        ...

    @property
    def largest(self) -> float:
        """Largest size of a value in the fitted scale."""
        ...

    @property
    def kriges(self) -> bool:
        """Whether the remainder may be kriged."""
        ...

    @property
    def remembers(self) -> bool:
        """Whether the next step was taken before, and takes no time now."""
        ...

    def walk_to(
        self, radii: Sequence[float], budget: Budget, watch: Callable[[str, Progress], bool]
    ) -> list[list[Step]]:
        """Return for each radius what every fold comes to; fewer radii when there is no time."""
        ...

    def approach(
        self, radius: float, gap: float, budget: Budget, watch: Callable[[Progress], bool]
    ) -> list[Step]:
        """Return what every fold comes to at a radius, with a gap as the tolerance."""
        ...

    def close(self) -> None:
        """Let go of all folds."""
        ...


class LocalFolds:
    """Folds that are walked here, one after the other.

    Steps that are in the notes are not taken again: the first one that is not starts from where
    the fold was after them.
    """

    ahead = 1

    def __init__(
        self,
        pairs: Sequence[tuple[Samples, Samples]],
        scale: Scale,
        options: Options,
        starts: Sequence[Model],
        notes: Notes = NO_NOTES,
    ) -> None:
        self._notes = notes
        self._taken = [0] * len(pairs)
        self._recalled = [0] * len(pairs)
        self._folds = [
            Fold(training, held, scale, options, start)
            for (training, held), start in itertools.zip_longest(pairs, starts)
        ]
        self.largest = max(fold.prepared.largest for fold in self._folds)
        self.kriges = any(remainder_of(options, fold.prepared) != "none" for fold in self._folds)

    @property
    def remembers(self) -> bool:
        """Whether the next step was taken before."""
        return self._notes.recall(step_name(self._taken[0], 0)) is not None

    def walk_to(
        self, radii: Sequence[float], budget: Budget, watch: Callable[[str, Progress], bool]
    ) -> list[list[Step]]:
        """Return for each radius what every fold comes to."""
        return [
            self._take(
                partial(Fold.walk_to, radius=radius, budget=budget),
                partial(watch, word_for(radius)),
            )
            for radius in radii
        ]

    def approach(
        self, radius: float, gap: float, budget: Budget, watch: Callable[[Progress], bool]
    ) -> list[Step]:
        """Return what every fold comes to at a radius, with a gap as the tolerance."""
        return self._take(partial(Fold.approach, radius=radius, gap=gap, budget=budget), watch)

    def _take(self, take: Callable[..., Step], watch: Callable[[Progress], bool]) -> list[Step]:
        """Let every fold take a step, or remember what it came to."""
        return [self._step(place, take, watch) for place in range(len(self._folds))]

    def _step(
        self, place: int, take: Callable[..., Step], watch: Callable[[Progress], bool]
    ) -> Step:
        fold, name = self._folds[place], step_name(self._taken[place], place)
        self._taken[place] += 1
        saved = self._notes.recall(name)
        if saved is not None:
            self._recalled[place] += 1
            return restore_step(saved, fold.prepared.observations.shape)
        if self._recalled[place]:
            self._recalled[place] = 0
            where = self._notes.recall(f"fold {place}")
            if where is not None:
                fold.restore(where)
        step = take(fold, watch=watch)
        if self._notes.active and not step.cut:
            self._notes.record(
                {
                    name: capture_step(step),
                    f"fold {place}": fold.capture(),
                    "clock": {"seconds": step.seconds},
                }
            )
        return step

    def close(self) -> None:
        """Let go of all folds."""
        for fold in self._folds:
            fold.close()


def step_name(number: int, fold: int) -> str:
    """Return under which name a step of a fold is noted."""
    return f"step {number} of fold {fold}"


def word_for(radius: float) -> str:
    """Return what is said of a solve at a radius.

    Examples
    --------
    >>> word_for(2.0**0.5)
    'radius 1.414'
    """
    return f"radius {radius:.4g}"


@contextlib.contextmanager
def open_folds(
    pairs: Sequence[tuple[Samples, Samples]],
    scale: Scale,
    options: Options,
    starts: Sequence[Model] = (),
    *,
    client: Any = None,
    notes: Notes = NO_NOTES,
) -> Iterator[Folds]:
    """Make a fold of every pair of training and held-out cells, and close them in the end.

    Parameters
    ----------
    starts
        Models to go on from, one per fold, if any.
    client
        Of a Dask cluster that is to do the work.
    notes
        Of steps that were taken before, and of those to come.
    """
    folds: Folds
    if client is None:
        folds = LocalFolds(pairs, scale, options, starts, notes)
    else:
        from intensor.fitting.remote import RemoteFolds  # noqa: PLC0415  (imports distributed)

        folds = RemoteFolds(client, pairs, scale, options, starts, notes)
    try:
        yield folds
    finally:
        folds.close()
