"""Blocks cover the cells whatever the number of threads, and work is done once."""

import itertools
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intensor import threads
from intensor.threads import Workers, blocks_of, evenly


@given(st.integers(1, 10**9), st.sampled_from([1, 4, 16]))
def test_blocks_cover_the_cells_in_order(n_cells, share):
    blocks = blocks_of(n_cells, share)
    assert blocks[0][0] == 0
    assert blocks[-1][1] == n_cells
    assert all(end == start for (_, end), (start, _) in itertools.pairwise(blocks))
    assert all(start < end and start % 64 == 0 for start, end in blocks)
    assert len(blocks) <= threads.MOST_BLOCKS
    assert len(blocks) == 1 or n_cells >= 2 * share * threads.BLOCK


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(1, 9))
def test_pieces_are_about_equal(first, length, count):
    ends = evenly(first, first + length, count)
    assert (ends[0], ends[-1], len(ends)) == (first, first + length, count + 1)
    sizes = {end - start for start, end in itertools.pairwise(ends)}
    assert max(sizes) - min(sizes) <= 1


def test_many_cells_make_several_blocks(monkeypatch):
    assert len(blocks_of(threads.BLOCK)) == 1
    assert len(blocks_of(10**7)) == threads.MOST_BLOCKS
    monkeypatch.setattr(threads, "BLOCK", 64)
    assert blocks_of(300) == [(0, 128), (128, 256), (256, 300)]


@pytest.mark.parametrize("count", [0, 1, 5, 40])
@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_every_piece_is_done_once(n_threads, count):
    done = np.zeros(count, dtype=int)
    workers = Workers(n_threads)

    def work(piece):
        done[piece] += 1

    workers.run(work, count)
    workers.run(work, count)
    workers.close()
    assert done.tolist() == [2] * count


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
