"""Folds on the workers of a Dask cluster.

Each step is a task that gets the state of its fold and returns it, so that any worker can take the
next step, also when the worker of the last one was lost. With more threads than folds, several
radii are tried at a time, each on its own *track*.

Tasks are submitted to the client itself rather than by joblib's Dask backend. There, Ctrl-C loses
the results of running tasks, which go on nevertheless, and a client that is closed is waited for
without end.
"""

from __future__ import annotations

import contextlib
import operator
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from distributed import Client, wait

from intensor.backends.sharded.cluster import check_workers, run_until_done
from intensor.fitting.fold import FoldSpec, Request, Step
from intensor.fitting.folds import Folds, Job, with_stage
from intensor.fitting.graded_fold import make_fold
from intensor.fitting.journal import NO_JOURNAL, Journal
from intensor.runtime.budget import Budget
from intensor.runtime.stopwatch import COMPILING
from intensor.solver.loop import Callback
from intensor.storage.reader import Tree, TreeReader

POLL_SECONDS = 0.2
"""Seconds between two looks at the budget while workers are busy."""
MAX_AHEAD = 4
"""Most radii that are tried at a time: trying those beyond the best one is a waste."""


class Answer(NamedTuple):
    """Result of a task: the step, the state of the fold after it, and seconds of compiling."""

    step: Step
    state: Tree
    compiling_seconds: float


class RemoteFolds(Folds):
    """Folds whose steps are taken on the workers of a client, all at the same time."""

    def __init__(
        self, client: Client, specs: Sequence[FoldSpec], journal: Journal = NO_JOURNAL
    ) -> None:
        n_walks = len(specs) * len(specs[0].options.scales)  # walks that may go on at a time
        ahead = max(1, min(MAX_AHEAD, check_workers(client) // n_walks))
        super().__init__(
            [_limit_threads(spec) for spec in specs], journal, ahead=ahead, at_once=True
        )
        self._client = client
        self._run_name = uuid.uuid4().hex
        self._states: dict[tuple[int, int], Tree] = {}
        self._sent: list[Any] = []  # the specs, as futures
        find = operator.attrgetter("largest_value")
        self.largest_value = max(
            self._run_tasks(
                lambda sent: [client.submit(find, spec, pure=False) for spec in sent], Budget()
            )
        )

    def close(self) -> None:
        """Let go of the specs that were sent; workers hold nothing else between two steps."""
        self._sent.clear()

    def _capture(self, job: Job) -> Tree:
        return self._states[job.track, job.fold]

    def _restore(self, job: Job, state: TreeReader) -> None:
        self._states[job.track, job.fold] = state.tree

    def _advance(self, jobs: Sequence[Job], budget: Budget, callback: Callback) -> list[Step]:
        seconds = budget.remaining
        start = time.perf_counter()

        def submit(sent: list[Any]) -> list[Any]:
            return [
                self._client.submit(
                    _take_step,
                    sent[job.fold],
                    job.request,
                    state=self._states.get((job.track, job.fold)),
                    seconds=seconds,
                    run_name=self._run_name,
                    pure=False,
                )
                for job in jobs
            ]

        answers: list[Answer] = self._run_tasks(submit, budget)
        COMPILING.add(start, max(answer.compiling_seconds for answer in answers))
        for job, answer in zip(jobs, answers, strict=True):
            self._states[job.track, job.fold] = answer.state
            if answer.step.progress is not None:
                with_stage(callback, job.request.stage)(answer.step.progress)
        return [replace(answer.step, seconds=budget.elapsed) for answer in answers]

    def _run_tasks(self, submit: Callable[[list[Any]], list[Any]], budget: Budget) -> list[Any]:
        """Return the results of tasks that ``submit`` makes of the specs on the workers.

        When workers are lost, specs are sent and tasks are submitted again.
        """

        def attempt() -> list[Any]:
            sent = self._sent or self._client.scatter(self.specs, hash=False)
            self._sent = []  # they may be lost if this attempt fails
            answers = self._wait(submit(sent), budget)
            self._sent = sent
            return answers

        return run_until_done(self._client, attempt, task="a step of the validation")

    def _wait(self, futures: list[Any], budget: Budget) -> list[Any]:
        """Return the results of tasks; on Ctrl-C, they end early with what they have."""
        while True:
            try:
                wait(futures, timeout=POLL_SECONDS)
                break
            except TimeoutError:
                if budget.interrupted:
                    self._client.run(_interrupt, self._run_name, on_error="ignore")
        return list(self._client.gather(futures))


def _limit_threads(spec: FoldSpec) -> FoldSpec:
    """Return a spec that uses one thread by default: workers have other tasks too."""
    options = spec.options
    if options.solver.threads is not None:
        return spec
    return replace(spec, options=replace(options, solver=replace(options.solver, threads=1)))


# --- on the workers

_running: set[tuple[str, Budget]] = set()
"""Names of runs with the budgets of their steps that are under way on this worker."""
_lock = threading.Lock()


def _take_step(
    spec: FoldSpec, request: Request, *, state: Tree | None, seconds: float, run_name: str
) -> Answer:
    """Take one step of a fold, from the state that it had after the last one."""
    before = COMPILING.seconds()
    with contextlib.closing(make_fold(spec)) as fold, _interruptible(run_name, seconds) as budget:
        if state is not None:
            fold.restore(TreeReader(state, "the checkpoint"))
        step = fold.step(request, budget, lambda progress: True)
        return Answer(step, fold.capture(), COMPILING.seconds() - before)


@contextlib.contextmanager
def _interruptible(run_name: str, seconds: float) -> Iterator[Budget]:
    """Yield a budget that ``_interrupt`` can end while the task is running."""
    entry = run_name, Budget(seconds)
    with _lock:
        _running.add(entry)
    try:
        yield entry[1]
    finally:
        with _lock:
            _running.discard(entry)


def _interrupt(run_name: str) -> None:
    """End the steps of a run that are under way on this worker, with what they have."""
    with _lock:
        for name, budget in _running:
            if name == run_name:
                budget.interrupted = True
