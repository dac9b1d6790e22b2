"""Folds on the workers of a Dask cluster.

A fold walks along on one worker, from one radius to the next. Each step is a task that comes with
the whole way up to it: the worker that took the last step goes on from there, and any other, in the
place of one that was lost, walks the way again. With more threads than folds, several radii are
walked to at a time, each fold on as many *tracks*.
"""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from distributed import Client, wait

from intensor.backends.sharded.cluster import (
    LOST_WORKER_ERRORS,
    MAX_ATTEMPTS,
    WORKER_WAIT_SECONDS,
    check_workers,
    cluster_errors,
)
from intensor.errors import ClusterError, WorkerLostError
from intensor.fitting.fold import Fold, Step, capture_step, remainder_of, restore_step
from intensor.fitting.folds import step_name, word_for
from intensor.fitting.journal import NO_NOTES, Notes
from intensor.fitting.options import Options, Scale
from intensor.fitting.preparation import prepare
from intensor.fitting.samples import Samples
from intensor.model.model import Model
from intensor.runtime.budget import Budget
from intensor.runtime.stopwatch import COMPILING
from intensor.solver.result import Progress
from intensor.storage.codec import Branch, Tree

__all__ = ["RemoteFolds"]

POLL = 0.2
"""Seconds between two looks at the budget while workers are busy."""
MOST_AHEAD = 4
"""Radii at a time: those behind the best are walked to in vain."""
Call = tuple[str, tuple[float, ...]]
"""A method of ``Fold`` and its numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Spec:
    """What a fold is made of."""

    training: Samples
    held: Samples
    scale: Scale
    options: Options
    start: Model | None


@dataclass(slots=True, eq=False)
class Track:
    """One engine on its way: where its fold is, and what it has done.

    With a checkpoint, ``where`` is how the fold stood after its last step, so that nobody has to
    walk the way again.
    """

    fold: int
    name: str = field(default_factory=lambda: uuid.uuid4().hex)
    done: list[Call] = field(default_factory=list)
    where: Tree | None = None


class RemoteFolds:
    """Folds that are walked on workers, all at the same time.

    Parameters
    ----------
    client
        Of the cluster.
    pairs, scale, options, starts
        As in ``open_folds``.
    notes
        Of steps that were taken before, and of those to come.
    """

    def __init__(
        self,
        client: Client,
        pairs: Sequence[tuple[Samples, Samples]],
        scale: Scale,
        options: Options,
        starts: Sequence[Model],
        notes: Notes = NO_NOTES,
    ) -> None:
        self._client = client
        self._notes = notes
        self._taken = 0
        if options.solver.threads is None:  # a worker has other tasks on its other cores
            options = replace(options, solver=replace(options.solver, threads=1))
        self._specs = [
            Spec(training, held, scale, options, start)
            for (training, held), start in itertools.zip_longest(pairs, starts)
        ]
        walks = len(pairs) * len(options.scales)  # that may go on at a time
        self.ahead = max(1, min(MOST_AHEAD, check_workers(client) // walks))
        self._tracks = [
            [Track(fold) for fold in range(len(self._specs))] for _ in range(self.ahead)
        ]
        self._names = [track.name for tracks in self._tracks for track in tracks]
        self._sent = self._send()
        described = self._try_all(
            lambda: [client.submit(_describe, spec, pure=False) for spec in self._sent], Budget()
        )
        self.largest = max(largest for largest, _ in described)
        self.kriges = any(kriges for _, kriges in described)

    @property
    def remembers(self) -> bool:
        """Whether the next step was taken before."""
        return self._notes.recall(step_name(self._taken, 0)) is not None

    def walk_to(
        self, radii: Sequence[float], budget: Budget, watch: Callable[[str, Progress], bool]
    ) -> list[list[Step]]:
        """Return for each radius what every fold comes to; fewer radii when there is no time."""
        found = self._recall(len(radii))
        live = radii[len(found) :]
        calls = [
            (track, ("walk_to", (radius,)))
            for radius, tracks in zip(live, self._tracks, strict=False)
            for track in tracks
        ]
        steps = self._take(calls, budget) if calls else []
        size = len(self._specs)
        fresh = [steps[start : start + size] for start in range(0, len(steps), size)]
        for radius, here in zip(live, fresh, strict=True):
            _tell(here, partial(watch, word_for(radius)))
        return found + fresh

    def approach(
        self, radius: float, gap: float, budget: Budget, watch: Callable[[Progress], bool]
    ) -> list[Step]:
        """Return what every fold comes to at a radius, with a gap as the tolerance."""
        for remembered in self._recall(1):
            return remembered
        steps = self._take(
            [(track, ("approach", (radius, gap))) for track in self._tracks[0]], budget
        )
        _tell(steps, watch)
        return steps

    def close(self) -> None:
        """Let the workers forget their engines."""
        try:
            with cluster_errors(self._client):
                self._client.run(_forget, self._names, on_error="ignore")
        except (
            *LOST_WORKER_ERRORS,
            ClusterError,
            ValueError,
        ):  # no worker is left that could remember
            pass

    def _recall(self, most: int) -> list[list[Step]]:
        """Return the next steps of all folds, so far as they are in the notes."""
        found: list[list[Step]] = []
        places = range(len(self._specs))
        while len(found) < most:
            saved = [self._notes.recall(step_name(self._taken, place)) for place in places]
            steps = [
                restore_step(one, spec.training.shape)
                for one, spec in zip(saved, self._specs, strict=True)
                if one is not None
            ]
            if len(steps) < len(saved):
                break
            found.append(steps)
            self._taken += 1
        if found:
            for number, tracks in enumerate(self._tracks):
                for track in tracks:
                    where = self._notes.recall(f"track {number} of fold {track.fold}")
                    where = where or self._notes.recall(f"fold {track.fold}")
                    track.where = None if where is None else where.tree
        return found

    def _note(self, steps: Sequence[Step], seconds: float) -> None:
        """Note what all folds came to, and where they are."""
        size = len(self._specs)
        entries: dict[str, Tree] = {"clock": {"seconds": seconds}}
        for place, step in enumerate(steps):
            number, fold = divmod(place, size)
            where = self._tracks[number][fold].where
            entries[step_name(self._taken + number, fold)] = capture_step(step)
            if where is not None:
                entries[f"fold {fold}"] = entries[f"track {number} of fold {fold}"] = where
        self._notes.record(entries)

    def _take(self, calls: Sequence[tuple[Track, Call]], budget: Budget) -> list[Step]:
        """Let every track take a step."""
        seconds = budget.remaining
        start = time.perf_counter()

        def submit() -> list[Any]:
            return [
                self._client.submit(
                    _step,
                    self._sent[track.fold],
                    track.name,
                    tuple(track.done),
                    call,
                    seconds,
                    track.where,
                    self._notes.active,
                    pure=False,
                )
                for track, call in calls
            ]

        answers: list[tuple[Step, Tree | None, float]] = self._try_all(submit, budget)
        COMPILING.add(start, max((compiled for _, _, compiled in answers), default=0.0))
        for (track, call), (_, where, _) in zip(calls, answers, strict=True):
            track.done.append(call)
            track.where = where
        steps = [replace(step, seconds=budget.elapsed) for step, _, _ in answers]
        if self._notes.active and not any(step.cut for step in steps):
            self._note(steps, budget.elapsed)
        self._taken += len(steps) // len(self._specs)
        return steps

    def _try_all(self, submit: Callable[[], list[Any]], budget: Budget) -> list[Any]:
        """Run tasks, again when workers are lost."""
        problem: BaseException | None = None
        for _ in range(MAX_ATTEMPTS):
            check_workers(self._client, wait_seconds=WORKER_WAIT_SECONDS)
            try:
                with cluster_errors(self._client):
                    if problem is not None:
                        self._sent = self._send()
                    return self._run(submit(), budget)
            except LOST_WORKER_ERRORS as lost:
                problem = lost
        raise WorkerLostError(
            f"workers were lost in each of {MAX_ATTEMPTS} attempts at a step of the validation; "
            f"the last one said: {problem!r}"
        ) from problem

    def _run(self, futures: list[Any], budget: Budget) -> list[Any]:
        """Return the results of tasks; on Ctrl-C, have what is under way end with what it has."""
        while True:
            try:
                wait(futures, timeout=POLL)
                break
            except TimeoutError:
                if budget.interrupted:
                    self._client.run(_stop, self._names, on_error="ignore")
        return list(self._client.gather(futures))

    def _send(self) -> list[Any]:
        sent: list[Any] = self._client.scatter(self._specs, hash=False)
        return sent


def _tell(steps: Sequence[Step], watch: Callable[[Progress], bool]) -> None:
    for step in steps:
        if step.progress is not None:
            watch(step.progress)


@dataclass(slots=True, eq=False)
class _Walker:
    """A fold on a worker, and the way that it has gone."""

    fold: Fold
    done: list[Call]
    budget: Budget


_walkers: dict[str, _Walker] = {}
_lock = threading.Lock()


def _describe(spec: Spec) -> tuple[float, bool]:
    """Return the largest fitted value of a fold, and whether its remainder may be kriged."""
    prepared = prepare(spec.training, spec.scale)
    return prepared.largest, remainder_of(spec.options, prepared) != "none"


def _step(
    spec: Spec,
    name: str,
    before: tuple[Call, ...],
    call: Call,
    seconds: float,
    where: Tree | None,
    noted: bool,
) -> tuple[Step, Tree | None, float]:
    """Take a step, from where this worker is, from where the fold was, or from the beginning.

    Where the fold is after it is returned too, if that is to be noted, and for how many seconds
    this worker compiled meanwhile.
    """
    before_compiling = COMPILING.seconds()
    with _lock:
        walker = _walkers.pop(name, None)
    if walker is None or tuple(walker.done) != before:
        fold = Fold(spec.training, spec.held, spec.scale, spec.options, spec.start)
        walker = _Walker(fold, [], Budget())
        if where is not None:
            fold.restore(Branch(where, "the checkpoint"))
            walker.done = list(before)
        else:
            for earlier in before:
                _do(walker, earlier)
    walker.budget = Budget(seconds)
    with _lock:
        _walkers[name] = walker
    step = _do(walker, call)
    where = walker.fold.capture() if noted else None
    return step, where, COMPILING.seconds() - before_compiling


def _do(walker: _Walker, call: Call) -> Step:
    what, numbers = call
    step: Step = getattr(walker.fold, what)(*numbers, walker.budget, lambda progress: True)
    walker.done.append(call)
    return step


def _stop(names: Sequence[str]) -> None:
    """End the steps of some tracks that are under way on this worker, with what they have."""
    with _lock:
        for name in names:
            if name in _walkers:
                _walkers[name].budget.interrupted = True


def _forget(names: Sequence[str]) -> None:
    with _lock:
        walkers = [_walkers.pop(name, None) for name in names]
    for walker in walkers:
        if walker is not None:
            walker.fold.close()
