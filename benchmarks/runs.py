"""Runs side by side in processes of their own, each with a time limit, each written down."""

from __future__ import annotations

import datetime
import multiprocessing
import os
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.ledger import Ledger, Row
from benchmarks.machine import cores, machine, version

GRACE, MORE = 1.25, 5.0
"""A process is killed when it has taken so many times its limit, and so many seconds more."""
START = 60.0
"""Seconds that starting, importing and compiling may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One line of the table that is to be: what to call, and the name to write it under.

    Attributes
    ----------
    section, task, method, rep
        The name.
    call
        A function of a module; returns columns of the table: at least ``seconds``.
    arguments
        What it is called with.
    limit
        Seconds it should take at most. The function is expected to keep to it (it is not passed
        on by itself); it is killed when it does not.
    expected
        Seconds it is thought to take, for the time that is left.
    """

    section: str
    task: str
    method: str
    rep: int
    call: Callable[..., Row]
    arguments: dict[str, Any] = field(default_factory=dict)
    limit: float = 120.0
    expected: float = 1.0

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What names it in the table."""
        return self.section, self.task, self.method, self.rep


def execute(
    runs: Sequence[Run],
    ledger: Ledger,
    *,
    jobs: int = 1,
    threads: int | None = None,
    fresh: bool = False,
    retry: bool = False,
    again: bool = False,
    skip: Callable[[Run], str | None] | None = None,
) -> None:
    """Run what the table does not hold yet.

    Parameters
    ----------
    jobs
        How many at a time; they share out the cores.
    threads
        Threads of each run; by default, the cores are shared out.
    fresh
        Whether every run has a process of its own, which ends with it.
    retry
        Run those again that failed or took too long.
    again
        Run all of them again.
    skip
        Asked right before a run starts: a reason not to, or None.
    """
    waiting = [run for run in runs if again or _is_open(run, ledger, retry)]
    if not waiting:
        return
    threads = threads or max(1, cores() // jobs)
    waiting.reverse()  # taken from the end
    workers: list[_Worker] = []
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        console=console,
    ) as bar:
        task = bar.add_task(runs[0].section, total=len(waiting), left="")
        clock = _Clock(waiting)
        try:
            while waiting or any(worker.run for worker in workers):
                while waiting and sum(worker.run is not None for worker in workers) < jobs:
                    run = waiting.pop()
                    if skip is not None and skip(run) is not None:
                        clock.ended(run, 0.0)
                        bar.advance(task)
                        continue
                    worker = next((one for one in workers if one.run is None), None)
                    if worker is None:
                        worker = _Worker(threads, once=fresh)
                        workers.append(worker)
                    worker.give(run)
                busy = [worker for worker in workers if worker.run]
                if busy:
                    wait([worker.pipe for worker in busy], timeout=0.2)
                for worker in busy:
                    row = worker.collect()
                    if row is None:
                        continue
                    assert worker.run is not None
                    ledger.add({"threads": threads, **row})
                    clock.ended(worker.run, worker.elapsed)
                    bar.advance(task)
                    worker.run = None
                    if row["status"] == "failed":
                        console.print(f"{_title(row)}: {row['message']}", markup=False)
                    if worker.dead:
                        workers.remove(worker)
                bar.update(task, left=clock.left(jobs), description=_describe(busy, runs[0]))
        finally:
            for worker in workers:
                worker.end()


def _is_open(run: Run, ledger: Ledger, retry: bool) -> bool:
    row = ledger.find(*run.key)
    return row is None or (retry and row["status"] != "done")


def _title(row: Row) -> str:
    return f"{row['task']}, {row['method']}, repetition {row['rep']}"


def _describe(busy: Sequence[_Worker], first: Run) -> str:
    running = next((worker.run for worker in busy if worker.run), None)
    return f"{first.section}: {running.task}, {running.method}" if running else first.section


class _Clock:
    """The time that is left, from what runs were expected to take and took."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._open = sum(run.expected for run in runs)
        self._expected = self._taken = 0.0

    def ended(self, run: Run, seconds: float) -> None:
        self._open -= run.expected
        self._expected += run.expected
        self._taken += seconds

    def left(self, jobs: int) -> str:
        if self._expected <= 0.0:
            return ""
        seconds = max(self._open, 0.0) * self._taken / self._expected / jobs
        return f"{datetime.timedelta(seconds=round(seconds))} left"


class _Worker:
    """A process that runs one thing after the other, or a single one."""

    def __init__(self, threads: int, *, once: bool = False) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.run: Run | None = None
        self.dead = False
        self.elapsed = 0.0
        self._began = 0.0
        self._fresh, self._once = True, once
        self._process = context.Process(target=_serve, args=(other, threads), daemon=True)
        self._process.start()
        other.close()

    def give(self, run: Run) -> None:
        self.run, self._began = run, time.monotonic()
        self.pipe.send(run)

    def collect(self) -> Row | None:
        """Return the row of the run when it has ended, one way or the other."""
        assert self.run is not None
        self.elapsed = time.monotonic() - self._began
        allowed = GRACE * self.run.limit + MORE + (START if self._fresh else 0.0)
        row: Row | None = None
        if self.pipe.poll():
            try:
                row = self.pipe.recv()
            except (EOFError, OSError):
                self.dead = True
                row = {"status": "failed", "message": "the process died (out of memory?)"}
        elif self.elapsed > allowed:
            self.end()
            row = {"status": "timeout", "message": f"killed after {self.elapsed:.0f} s"}
        if row is None:
            return None
        self._fresh = False
        if self._once:
            self.end()
        run = self.run
        return {
            "section": run.section,
            "task": run.task,
            "method": run.method,
            "rep": run.rep,
            "limit": run.limit,
            "version": version(),
            "machine": machine(),
            "date": datetime.date.today().isoformat(),
            **row,
        }

    def end(self) -> None:
        self.dead = True
        self._process.kill()
        self._process.join()


def _serve(pipe: Connection, threads: int) -> None:
    """Run what comes through the pipe until it closes."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)
    while True:
        try:
            run: Run = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            row = {"status": "done", **run.call(**run.arguments)}
        except KeyboardInterrupt:
            return
        except TimeoutError as error:
            row = {"status": "timeout", "message": str(error)}
        except Exception as error:  # a contender may fail in any way; that is a result
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{os.path.basename(last.filename)}:{last.lineno}"
            row = {"status": "failed", "message": f"{type(error).__name__}: {error} ({place})"}
        pipe.send(row)
