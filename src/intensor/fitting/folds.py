"""All folds of a validation, in this process or on the workers of a cluster."""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from intensor.fitting.fold import FoldSpec, Request, Step, capture_step, restore_step
from intensor.fitting.graded_fold import make_fold
from intensor.fitting.journal import NO_JOURNAL, Journal
from intensor.fitting.kriging import kriging_work
from intensor.runtime.budget import Budget
from intensor.solver.loop import Callback
from intensor.storage.reader import Tree, TreeReader


class Job(NamedTuple):
    """A step for one fold to take; each of several requests at a time has its own track."""

    track: int
    fold: int
    request: Request


class Folds(abc.ABC):
    """Folds of the same scale and options that take the same steps, one after the other.

    Steps that are in the journal are not taken again: the first step that is not in it begins with
    the state that its fold had after the last step that is.
    """

    largest_value: float  # size of a training value in the fitted scale, over all folds

    def __init__(
        self, specs: Sequence[FoldSpec], journal: Journal, *, ahead: int = 1, at_once: bool = False
    ) -> None:
        self.ahead = ahead  # number of requests to make at a time
        self.scale, self.options = specs[0].scale, specs[0].options
        self.may_krige = any(spec.may_krige for spec in specs)
        self.specs = specs
        self._journal = journal
        self._at_once = at_once  # all jobs of a call are done and recorded together
        self._n_taken = 0
        self._behind: set[tuple[int, int]] = set()  # folds whose last steps are in the journal

    @property
    def max_averaged(self) -> int:
        """Most graded models that the last fit averages."""
        given, effort = self.options.n_solutions, self.options.effort
        n = len(self.specs[0].split.training)
        return effort.by_size(effort.max_averaged, n) if given is None else given

    @property
    def kriges_seldom(self) -> bool:
        """Whether kriging takes so long that it is tried once per walk only."""
        work = kriging_work(self.specs[0].split.training.shape)
        return work > self.options.effort.max_kriging_work

    @property
    def knows_next_step(self) -> bool:
        """Whether the next step is in the journal, so that it takes no time."""
        return self._journal.recall(_step_name(self._n_taken, 0)) is not None

    def take(
        self, requests: Sequence[Request], budget: Budget, callback: Callback
    ) -> list[list[Step]]:
        """Return the steps of all folds for each request."""
        rows = [
            [Job(track, fold, request) for fold in range(len(self.specs))]
            for track, request in enumerate(requests)
        ]
        jobs = [job for row in rows for job in row]
        found: dict[Job, Step] = {}
        for batch in [jobs] if self._at_once else [[job] for job in jobs]:
            known = {job: step for job in batch if (step := self._recall(job)) is not None}
            self._behind |= {(job.track, job.fold) for job in known}
            fresh = [job for job in batch if job not in known]
            for job in fresh:
                self._catch_up(job)
            steps = self._advance(fresh, budget, callback) if fresh else []
            found |= known | dict(zip(fresh, steps, strict=True))
            if fresh and self._journal.active and not any(step.cut for step in steps):
                self._record({job: found[job] for job in fresh}, budget.elapsed)
        self._n_taken += len(requests)
        return [[found[job] for job in row] for row in rows]

    def _recall(self, job: Job) -> Step | None:
        saved = self._journal.recall(_step_name(self._n_taken + job.track, job.fold))
        shape = self.specs[job.fold].split.training.shape
        return None if saved is None else restore_step(saved, shape)

    def _catch_up(self, job: Job) -> None:
        """Restore the state after the last step, if that came from the journal."""
        if (job.track, job.fold) in self._behind:
            self._behind.discard((job.track, job.fold))
            names = (_state_name(job), f"fold {job.fold}")
            state = next(filter(None, map(self._journal.recall, names)), None)
            if state is not None:
                self._restore(job, state)

    def _record(self, steps: dict[Job, Step], seconds: float) -> None:
        """Record steps together with the states of their folds."""
        entries: dict[str, Tree] = {"clock": {"seconds": seconds}}
        for job, step in steps.items():
            entries[_step_name(self._n_taken + job.track, job.fold)] = capture_step(step)
            entries[f"fold {job.fold}"] = state = self._capture(job)
            if self.ahead > 1:
                entries[_state_name(job)] = state
        self._journal.record(entries)

    @abc.abstractmethod
    def _advance(self, jobs: Sequence[Job], budget: Budget, callback: Callback) -> list[Step]:
        """Do the jobs."""

    @abc.abstractmethod
    def _capture(self, job: Job) -> Tree:
        """Return the state of a job's fold after its step."""

    @abc.abstractmethod
    def _restore(self, job: Job, state: TreeReader) -> None:
        """Let a job begin with a state."""

    @abc.abstractmethod
    def close(self) -> None:
        """Let go of all folds."""


def _step_name(number: int, fold: int) -> str:
    return f"step {number} of fold {fold}"


def _state_name(job: Job) -> str:
    return f"track {job.track} of fold {job.fold}"


def with_stage(callback: Callback, stage: str) -> Callback:
    """Return a callback that names the stage which the solve belongs to."""
    return lambda progress: callback(progress._replace(stage=stage))


class LocalFolds(Folds):
    """Folds in this process, one after the other."""

    def __init__(self, specs: Sequence[FoldSpec], journal: Journal = NO_JOURNAL) -> None:
        super().__init__(specs, journal)
        self._folds = [make_fold(spec) for spec in specs]
        self.largest_value = max(spec.largest_value for spec in specs)

    def _advance(self, jobs: Sequence[Job], budget: Budget, callback: Callback) -> list[Step]:
        return [
            self._folds[job.fold].step(job.request, budget, with_stage(callback, job.request.stage))
            for job in jobs
        ]

    def _capture(self, job: Job) -> Tree:
        return self._folds[job.fold].capture()

    def _restore(self, job: Job, state: TreeReader) -> None:
        self._folds[job.fold].restore(state)

    def close(self) -> None:
        """Let go of all engines."""
        for fold in self._folds:
            fold.close()


@contextlib.contextmanager
def open_folds(
    specs: Sequence[FoldSpec], *, client: Any = None, journal: Journal = NO_JOURNAL
) -> Iterator[Folds]:
    """Make folds, on the cluster of a Dask client if there is one, and close them in the end."""
    folds: Folds
    if client is None:
        folds = LocalFolds(specs, journal)
    else:
        from intensor.fitting.remote import RemoteFolds  # noqa: PLC0415  (imports distributed)

        folds = RemoteFolds(client, specs, journal)
    with contextlib.closing(folds):
        yield folds
