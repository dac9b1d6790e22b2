"""The folds of a validation, here or spread over a cluster."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol

from intensor.budget import Budget
from intensor.fitting.fold import Fold, Step, remainder_of
from intensor.fitting.options import Options, Scale
from intensor.fitting.samples import Samples
from intensor.model.model import Model
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
    """Folds that are walked here, one after the other."""

    ahead = 1

    def __init__(
        self,
        pairs: Sequence[tuple[Samples, Samples]],
        scale: Scale,
        options: Options,
        starts: Sequence[Model],
    ) -> None:
        self._folds = [
            Fold(training, held, scale, options, start)
            for (training, held), start in itertools.zip_longest(pairs, starts)
        ]
        self.largest = max(fold.prepared.largest for fold in self._folds)
        self.kriges = any(remainder_of(options, fold.prepared) != "none" for fold in self._folds)

    def walk_to(
        self, radii: Sequence[float], budget: Budget, watch: Callable[[str, Progress], bool]
    ) -> list[list[Step]]:
        """Return for each radius what every fold comes to."""
        return [
            [fold.walk_to(radius, budget, partial(watch, word_for(radius))) for fold in self._folds]
            for radius in radii
        ]

    def approach(
        self, radius: float, gap: float, budget: Budget, watch: Callable[[Progress], bool]
    ) -> list[Step]:
        """Return what every fold comes to at a radius, with a gap as the tolerance."""
        return [fold.approach(radius, gap, budget, watch) for fold in self._folds]

    def close(self) -> None:
        """Let go of all folds."""
        for fold in self._folds:
            fold.close()


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
) -> Iterator[Folds]:
    """Make a fold of every pair of training and held-out cells, and close them in the end.

    Parameters
    ----------
    starts
        Models to go on from, one per fold, if any.
    client
        Of a Dask cluster that is to do the work.
    """
    folds: Folds
    if client is None:
        folds = LocalFolds(pairs, scale, options, starts)
    else:
        from intensor.fitting.remote import RemoteFolds  # noqa: PLC0415  (imports distributed)

        folds = RemoteFolds(client, pairs, scale, options, starts)
    try:
        yield folds
    finally:
        folds.close()
