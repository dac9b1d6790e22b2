"""Blocks of cells on several threads, which works because kernels release the interpreter's lock.

How cells are cut into blocks depends on their number alone, and results are added up in the order
of the blocks, so the answer does not depend on the number of threads. Where no thread can be
started, the calling thread does all the work, with the same answer.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager
from functools import cache
from queue import SimpleQueue
from typing import Any, Self

MIN_BLOCK_CELLS = 1 << 15
"""Fewest cells that are worth a thread of their own."""
MAX_BLOCKS = 8
"""Largest number of blocks that cells are cut into."""


def blocks_of(
    n_cells: int, ratio: int = 1, *, min_cells: int | None = None
) -> list[tuple[int, int]]:
    """Return the first and last + 1 cell of each block; blocks begin at multiples of 64.

    Blocks have at least ``min_cells`` cells (``MIN_BLOCK_CELLS`` by default) times the ratio, which
    is above 1 for work that is lighter per cell.

    Examples
    --------
    >>> blocks_of(1000)
    [(0, 1000)]
    >>> blocks_of(100_000)
    [(0, 33344), (33344, 66688), (66688, 100000)]
    """
    usual = MIN_BLOCK_CELLS if min_cells is None else min_cells
    count = max(1, min(MAX_BLOCKS, n_cells // (usual * ratio)))
    size = -(-n_cells // (count * 64)) * 64
    return [(start, min(start + size, n_cells)) for start in range(0, n_cells, size)]


def evenly(first: int, last: int, count: int) -> list[int]:
    """Cut first..last into ``count`` pieces of about equal length; return their ends."""
    return [first + (last - first) * piece // count for piece in range(count + 1)]


Task = tuple["Future[Any]", Callable[..., Any], tuple[Any, ...]]


class Pool:
    """Threads, at most ``threads`` of them, that are started as calls for them come in.

    Unlike ``ThreadPoolExecutor``, a pool works until the very end of a process: in threads that
    outlive the main one and in exit handlers. It also works in a fork, where the threads of the
    parent do not exist, and where the system cannot start any more threads.
    """

    def __init__(self, threads: int) -> None:
        self._max_threads = threads
        self._begin()

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Have a thread make a call; if there are no threads, make it at once."""
        if self._process != os.getpid():
            self._begin()
        future: Future[Any] = Future()
        self._tasks.put((future, work, arguments))
        if len(self._threads) < self._max_threads:
            self._start_one()
        if not self._threads:
            self._tasks.put(None)
            _serve(self._tasks)
        return future

    def close(self) -> None:
        """End the threads once all calls have been made."""
        if self._process == os.getpid():
            _dismiss(self._tasks, self._threads)
            for thread in self._threads:
                thread.join()
        self._threads.clear()

    def _begin(self) -> None:
        """Begin without threads; if the pool is never closed, they end when it is collected."""
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._process = os.getpid()
        # Not at exit: threads that outlive the main one may still use the pool then.
        weakref.finalize(self, _dismiss, self._tasks, self._threads).atexit = False

    def _start_one(self) -> None:
        # A process does not wait for daemons at its end, so a pool may be left open.
        thread = threading.Thread(target=_serve, args=(self._tasks,), daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the process is ending, or there are too many threads
            return
        self._threads.append(thread)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()


def _dismiss(tasks: SimpleQueue[Task | None], threads: list[threading.Thread]) -> None:
    """Tell the threads to end after the calls that have been submitted."""
    for _ in threads:
        tasks.put(None)


def _serve(tasks: SimpleQueue[Task | None]) -> None:
    """Make the submitted calls until a None comes."""
    while (task := tasks.get()) is not None:
        future, work, arguments = task
        try:
            future.set_result(work(*arguments))
        except BaseException as error:
            future.set_exception(error)
        del task, future, work, arguments  # otherwise they stay alive until the next call


class Workers:
    """Runs independent pieces of work on threads: by default one per core of this process."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = _available_cores() if threads is None else threads
        self._pool: Pool | None = None

    def run(self, work: Callable[[int], None], count: int) -> None:
        """Call ``work(0)`` ... ``work(count - 1)`` and wait for all of them."""
        if self.threads == 1 or count == 1:
            for piece in range(count):
                work(piece)
            return
        if self._pool is None:
            self._pool = Pool(self.threads - 1)
        pieces, lock = iter(range(count)), threading.Lock()

        def take_turns() -> None:
            while True:
                with lock:
                    piece = next(pieces, None)
                if piece is None:
                    return
                work(piece)

        # The caller works too: handing over every piece would take longer than some pieces do.
        others = [self._pool.submit(take_turns) for _ in range(min(self.threads, count) - 1)]
        try:
            take_turns()
        finally:
            wait(others)
        for other in others:
            other.result()

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None


class _OneBlasThread:
    """A setting of the process that holds while at least one thread has entered it.

    The first thread to enter makes the change and the last one to leave takes it back, so that
    several fits in threads of one process do not wait for each other. SciPy brings a BLAS of its
    own: if it was loaded since the change was made, the next thread to enter makes it there too.
    """

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Start afresh in a fork, where the threads that entered or hold the lock do not exist."""
        self._lock = threading.Lock()
        self._users = 0
        self._with_scipy = False
        self._limits: list[Any] = []

    def __enter__(self) -> None:
        with self._lock:
            with_scipy = "scipy.linalg" in sys.modules
            if self._users == 0 or (with_scipy and not self._with_scipy):
                self._limits.append(_blas(with_scipy).limit(limits=1, user_api="blas"))
                self._with_scipy = with_scipy
                _let_any_thread_set_blas()
            self._users += 1

    def __exit__(self, *raised: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                while self._limits:  # the last one first
                    self._limits.pop().restore_original_limits()
                _let_any_thread_set_blas()


_ONE_BLAS_THREAD = _OneBlasThread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_ONE_BLAS_THREAD.renew)


def one_blas_thread() -> AbstractContextManager[None]:
    """Return a context in which BLAS and LAPACK use one thread: their bits depend on the number."""
    return _ONE_BLAS_THREAD


@cache
def _blas(with_scipy: bool) -> Any:
    """Return the controller of the loaded libraries; cached with and without SciPy's."""
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415  (looks at all libraries)

    return ThreadpoolController()


def _let_any_thread_set_blas() -> None:
    """Let every thread change the setting, not only the one that changed it last.

    threadpoolctl 3.7 and later remember that thread and ignore all others.
    """
    import threadpoolctl  # noqa: PLC0415

    openblas: Any = getattr(threadpoolctl, "OpenBLASController", None)
    if hasattr(openblas, "clear_controlling_thread"):
        openblas.clear_controlling_thread()


def _available_cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
