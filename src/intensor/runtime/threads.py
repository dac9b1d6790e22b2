"""Blocks of cells on several threads: the kernels release the interpreter's lock.

The cells are cut into blocks by their number alone, and results are added up in the order of
the blocks, so that the answer does not depend on how many threads there are. Where no thread can
be started, the calling one does all the work, with the same answer.
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

__all__ = ["Pool", "Workers", "blocks_of", "evenly", "one_blas_thread"]

BLOCK = 1 << 15
"""Cells below which a block is not worth a thread."""
MOST_BLOCKS = 8


def blocks_of(n_cells: int, share: int = 1) -> list[tuple[int, int]]:
    """Return where each block of cells begins and ends; beginnings are multiples of 64.

    Parameters
    ----------
    share
        Make blocks this many times larger than usual, for work that is lighter per cell.

    Examples
    --------
    >>> blocks_of(1000)
    [(0, 1000)]
    >>> blocks_of(100_000)
    [(0, 33344), (33344, 66688), (66688, 100000)]
    """
    count = max(1, min(MOST_BLOCKS, n_cells // (BLOCK * share)))
    size = -(-n_cells // (count * 64)) * 64
    return [(start, min(start + size, n_cells)) for start in range(0, n_cells, size)]


def evenly(first: int, last: int, count: int) -> list[int]:
    """Return the ends of ``count`` pieces of first..last of about the same length.

    Examples
    --------
    >>> evenly(10, 20, 3)
    [10, 13, 16, 20]
    """
    return [first + (last - first) * piece // count for piece in range(count + 1)]


Task = tuple["Future[Any]", Callable[..., Any], tuple[Any, ...]]


class Pool:
    """Threads that calls can be handed over to.

    Other than ``ThreadPoolExecutor``, it works to the very end of a process: in threads that
    outlive the main one and in exit handlers. It also works in a fork, whose parent's threads are
    gone, and where the system has no thread left to give.

    Parameters
    ----------
    threads
        How many there may be; they are started as calls come in.
    """

    def __init__(self, threads: int) -> None:
        self._most = threads
        self._begin()

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Have a thread make a call; without threads, make it here and now."""
        if self._process != os.getpid():
            self._begin()
        future: Future[Any] = Future()
        self._tasks.put((future, work, arguments))
        if len(self._threads) < self._most:
            self._start_one()
        if not self._threads:
            self._tasks.put(None)
            _serve(self._tasks)
        return future

    def close(self) -> None:
        """Let the threads go, once all calls have been made."""
        if self._process == os.getpid():
            _dismiss(self._tasks, self._threads)
            for thread in self._threads:
                thread.join()
        self._threads.clear()

    def _begin(self) -> None:
        """Begin without a thread; a pool that nobody has closed lets them go with itself."""
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._process = os.getpid()
        # Not at the end of the process, where threads that outlive the main one may still use it.
        weakref.finalize(self, _dismiss, self._tasks, self._threads).atexit = False

    def _start_one(self) -> None:
        # Nobody waits for a daemon at the end of the process: a pool may be left open.
        thread = threading.Thread(target=_serve, args=(self._tasks,), daemon=True)
        try:
            thread.start()
        except RuntimeError:  # too late in the life of the process, or too many of them
            return
        self._threads.append(thread)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()


def _dismiss(tasks: SimpleQueue[Task | None], threads: list[threading.Thread]) -> None:
    """Have the threads end after the calls that have come in."""
    for _ in threads:
        tasks.put(None)


def _serve(tasks: SimpleQueue[Task | None]) -> None:
    """Make the calls that come in, up to a None."""
    while (task := tasks.get()) is not None:
        future, work, arguments = task
        try:
            future.set_result(work(*arguments))
        except BaseException as error:
            future.set_exception(error)
        del task, future, work, arguments  # or they would be kept until the next call


class Workers:
    """Runs independent pieces of work, on threads when there are several.

    Parameters
    ----------
    threads
        How many may run at a time; None for one per core that this process may use.
    """

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

        # The caller takes its turns too: handing over every piece costs more than some take.
        others = [self._pool.submit(take_turns) for _ in range(min(self.threads, count) - 1)]
        try:
            take_turns()
        finally:
            wait(others)
        for other in others:
            other.result()

    def close(self) -> None:
        """Let the threads go."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None


class _OneBlasThread:
    """The setting of the whole process, in force while anyone asks for it.

    The first one to ask makes the change and the last one to leave takes it back, so that several
    fits in threads of one process do not wait for each other.
    """

    def __init__(self) -> None:
        self._limit: Any = None
        self.renew()

    def renew(self) -> None:
        """Begin anew, in a fork: the thread that holds the lock, or asked for this, is gone."""
        self._lock = threading.Lock()
        self._users = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._limit = _blas("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas")
                _let_any_thread_set_blas()
            self._users += 1

    def __exit__(self, *raised: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limit.restore_original_limits()
                _let_any_thread_set_blas()


_ONE_BLAS_THREAD = _OneBlasThread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_ONE_BLAS_THREAD.renew)


def one_blas_thread() -> AbstractContextManager[None]:
    """Have BLAS and LAPACK work on one thread: what they return depends on the number."""
    return _ONE_BLAS_THREAD


@cache
def _blas(with_scipy: bool) -> Any:
    """Return what sets the threads of the libraries that are loaded, SciPy's own among them."""
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415  (looks at all libraries)

    return ThreadpoolController()


def _let_any_thread_set_blas() -> None:
    """Give up that only the thread that changed the setting may change it again.

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
