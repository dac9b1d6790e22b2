"""Blocks cover the cells whatever the number of threads, and work is done once."""

import gc
import itertools
import os
import subprocess
import sys
import threading
import time
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intensor.runtime import threads
from intensor.runtime.threads import Pool, Workers, blocks_of, evenly, one_blas_thread


@given(st.integers(1, 10**9), st.sampled_from([1, 4, 16]))
def test_blocks_cover_the_cells_in_order(n_cells, ratio):
    blocks = blocks_of(n_cells, ratio)
    assert blocks[0][0] == 0
    assert blocks[-1][1] == n_cells
    assert all(end == start for (_, end), (start, _) in itertools.pairwise(blocks))
    assert all(start < end and start % 64 == 0 for start, end in blocks)
    assert len(blocks) <= threads.MAX_BLOCKS
    assert len(blocks) == 1 or n_cells >= 2 * ratio * threads.MIN_BLOCK_CELLS


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(1, 9))
def test_pieces_are_about_equal(first, length, count):
    ends = evenly(first, first + length, count)
    assert (ends[0], ends[-1], len(ends)) == (first, first + length, count + 1)
    sizes = {end - start for start, end in itertools.pairwise(ends)}
    assert max(sizes) - min(sizes) <= 1


def test_many_cells_make_several_blocks():
    assert len(blocks_of(threads.MIN_BLOCK_CELLS)) == 1
    assert len(blocks_of(10**7)) == threads.MAX_BLOCKS
    assert blocks_of(300, min_cells=64) == [(0, 128), (128, 256), (256, 300)]


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_every_piece_is_done_once(n_threads):
    for count in (0, 1, 5, 40):
        done = [0] * count
        workers = Workers(n_threads)

        def work(piece, done=done):
            done[piece] += 1

        workers.run(work, count)
        workers.run(work, count)
        workers.close()
        assert done == [2] * count


def test_pieces_run_at_the_same_time():
    meeting = threading.Barrier(2, timeout=10.0)
    workers = Workers(2)
    workers.run(lambda piece: meeting.wait() and None, 2)
    workers.close()


def test_one_thread_is_the_caller_itself():
    seen = []
    Workers(1).run(lambda piece: seen.append((piece, threading.get_ident())), 3)
    assert seen == [(piece, threading.get_ident()) for piece in range(3)]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_errors_reach_the_caller(n_threads):
    workers = Workers(n_threads)

    def fail(piece):
        raise ZeroDivisionError(piece)

    with pytest.raises(ZeroDivisionError):
        workers.run(fail, 3)
    workers.close()


def test_workers_can_be_closed_twice_and_used_again():
    seen = []
    workers = Workers(2)
    workers.close()
    for _ in range(2):
        workers.run(seen.append, 2)
        workers.close()
    workers.close()
    assert sorted(seen) == [0, 0, 1, 1]


def test_as_many_threads_as_cores(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    assert Workers().threads == 3
    monkeypatch.delattr("os.sched_getaffinity")
    monkeypatch.setattr("os.cpu_count", lambda: 7)
    assert Workers(None).threads == 7


# --- the pool


def test_a_pool_makes_every_call_on_a_thread_of_its_own():
    with Pool(2) as pool:
        futures = [pool.submit(lambda n: (n, threading.get_ident()), n) for n in range(20)]
        answers = [future.result(10.0) for future in futures]
    assert [number for number, _ in answers] == list(range(20))
    callers = {caller for _, caller in answers}
    assert threading.get_ident() not in callers
    assert len(callers) <= 2


def test_a_pool_passes_errors_on_and_stays_open():
    with Pool(1) as pool:
        broken = pool.submit(lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            broken.result(10.0)
        assert pool.submit(lambda: 7).result(10.0) == 7


@pytest.fixture
def no_threads(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", refuse)


def test_without_threads_the_caller_does_the_work(no_threads):
    seen = []
    with Pool(3) as pool:
        futures = [pool.submit(lambda n: seen.append(n) or n, n) for n in range(4)]
        assert [future.result(0.0) for future in futures] == [0, 1, 2, 3]
        with pytest.raises(ZeroDivisionError):
            pool.submit(lambda: 1 / 0).result(0.0)
    workers = Workers(3)
    workers.run(seen.append, 4)
    workers.close()
    assert sorted(seen) == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_workers_and_settings_work_in_a_fork():
    workers = Workers(2)
    meeting = threading.Barrier(2, timeout=10.0)
    workers.run(lambda piece: meeting.wait() and None, 2)  # there is a second thread now
    holding, done = threading.Event(), threading.Event()

    def hold():
        with one_blas_thread():
            holding.set()
            done.wait(10.0)

    other = threading.Thread(target=hold)
    other.start()
    holding.wait(10.0)
    child = os.fork()
    if child == 0:  # without the second thread, and without the one that holds the setting
        seen = []
        workers.run(seen.append, 5)
        workers.close()
        with one_blas_thread():
            os._exit(0 if sorted(seen) == [0, 1, 2, 3, 4] else 1)
    done.set()
    other.join()
    for _ in range(200):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        threading.Event().wait(0.05)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
        pytest.fail("the fork hangs")
    assert status == 0
    workers.close()


LATE = """
    import atexit, threading, time
    import numpy as np
    import intensor

    def work():
        main = threading.main_thread()
        while {wait} and main.is_alive():
            time.sleep(0.01)
        rng = np.random.default_rng(0)
        coords, values = rng.integers(0, 9, (300, 3)), rng.random(300)
        result = intensor.solve(
            coords, values, shape=(9, 9, 9), radius=1.0, threads=2, exact="branch", rtol=1e-2
        )
        print(result.status, len(result.model))

    {start}
"""


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    ("wait", "start"),
    [
        (True, "threading.Thread(target=work).start()"),
        pytest.param(False, "atexit.register(work)", marks=pytest.mark.slow),
        pytest.param(False, "work()", marks=pytest.mark.slow),
    ],
    ids=["after the main thread", "at exit", "before"],
)
def test_a_solve_works_at_the_end_of_a_process(wait, start):
    code = dedent(LATE).format(wait=wait, start=start)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.stdout.split()[:1] == ["WITHIN_TOLERANCE"], done.stderr
    assert done.stderr == ""


def test_threads_go_with_a_pool_that_nobody_closed():
    before = threading.active_count()
    workers = threads.Workers(4)
    workers.run(lambda piece: time.sleep(0.01), 8)
    assert threading.active_count() == before + 3
    del workers
    gc.collect()
    for _ in range(1000):
        if threading.active_count() <= before:
            break
        time.sleep(0.005)
    assert threading.active_count() <= before
