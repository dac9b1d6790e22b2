"""The CUDA tests need numba-cuda, and run under its simulator where there is no device."""

import importlib.util
import threading

import numpy as np
import pytest

from intensor.backends.cuda.device import check_device, simulated

collect_ignore_glob = [] if importlib.util.find_spec("numba_cuda") else ["test_*.py"]


@pytest.fixture(autouse=True, scope="package")
def _threads_take_turns():
    """Let the threads of a simulated block run one after the other from barrier to barrier.

    The simulator runs all of them at once and asks each in a loop whether it waits, so that most
    of its time goes into changes between threads.
    """
    check_device()
    if not simulated():
        yield
        return
    kernel = importlib.import_module("numba.cuda.simulator.kernel")

    def start(thread):
        thread.turn, thread.is_done = threading.Lock(), False
        thread.turn.acquire()
        threading.Thread.start(thread)

    def syncthreads(thread):
        thread._manager.pause.release()
        thread.turn.acquire()
        if thread.abort:
            raise RuntimeError("another thread of the block failed")

    def run_thread(thread):
        thread.turn.acquire()
        run_alone(thread)
        thread.is_done = True
        thread._manager.pause.release()

    def run_block(manager, grid_point, *arguments):
        manager.pause = threading.Lock()
        manager.pause.acquire()
        live = [
            kernel.BlockThread(
                lambda: manager._f(*arguments), manager, grid_point, point, manager._debug
            )
            for point in np.ndindex(*manager._block_dim)
        ]
        for thread in live:
            thread.start()
        while live:
            for thread in live:
                thread.turn.release()
                manager.pause.acquire()
                if thread.exception and not thread.abort:
                    for other in live:
                        other.abort = True
                    problem, trace = thread.exception
                    raise problem.with_traceback(trace)
            live = [thread for thread in live if not thread.is_done]

    run_alone = kernel.BlockThread.run
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel.BlockThread, "start", start)
        patch.setattr(kernel.BlockThread, "syncthreads", syncthreads)
        patch.setattr(kernel.BlockThread, "run", run_thread)
        patch.setattr(kernel.BlockManager, "run", run_block)
        yield
