"""Compiling time counts once, whoever compiles, and can be read while it goes on."""

import os
import threading

import pytest

from intensor.runtime.stopwatch import Stopwatch


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("intensor.runtime.stopwatch.time.perf_counter", lambda: now[0])
    return now


def test_seconds_are_those_inside(clock):
    watch = Stopwatch()
    clock[0] += 5.0
    with watch:
        clock[0] += 2.0
        assert watch.seconds() == 2.0
    clock[0] += 5.0
    with watch:
        clock[0] += 1.0
    assert watch.seconds() == 3.0


def test_nested_time_counts_once(clock):
    watch = Stopwatch()
    with watch:
        clock[0] += 1.0
        with watch:
            clock[0] += 2.0
        clock[0] += 4.0
    assert watch.seconds() == 7.0


def test_time_that_threads_share_counts_once(clock):
    watch = Stopwatch()
    inside, leave = threading.Event(), threading.Event()

    def compile_for_a_while():
        with watch:
            inside.set()
            leave.wait(10.0)

    other = threading.Thread(target=compile_for_a_while)
    with watch:
        other.start()
        inside.wait(10.0)
        clock[0] += 3.0
    clock[0] += 2.0
    assert watch.seconds() == 5.0
    leave.set()
    other.join()
    clock[0] += 2.0
    assert watch.seconds() == 5.0


def test_an_error_ends_the_count(clock):
    watch = Stopwatch()

    def fail():
        with watch:
            clock[0] += 1.0
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    clock[0] += 9.0
    assert watch.seconds() == 1.0


def test_an_end_without_a_beginning_counts_nothing(clock):
    watch = Stopwatch()
    watch.__exit__()
    clock[0] += 1.0
    with watch:
        clock[0] += 1.0
    assert watch.seconds() == 1.0


def test_waiting_for_another_process_counts_as_far_as_it_took(clock):
    watch = Stopwatch()
    clock[0] += 10.0
    watch.add(100.0, 4.0)
    assert watch.seconds() == 4.0
    watch.add(102.0, 4.0)  # of which two seconds are counted already
    assert watch.seconds() == 6.0
    watch.add(100.0, 1e9)  # more than has passed since
    assert watch.seconds() == 10.0


def test_a_worker_in_this_process_does_not_count_twice(clock):
    watch = Stopwatch()
    with watch:
        clock[0] += 4.0
        watch.add(100.0, 4.0)
        assert watch.seconds() == 4.0
    watch.add(100.0, 4.0)
    assert watch.seconds() == 4.0
    clock[0] += 1.0
    with watch:
        clock[0] += 1.0
    assert watch.seconds() == 5.0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_fork_forgets_who_was_compiling(clock):
    watch = Stopwatch()
    watch.__enter__()
    clock[0] += 1.0
    watch.restart()
    clock[0] += 5.0
    assert watch.seconds() == 1.0
    with watch:
        clock[0] += 1.0
    assert watch.seconds() == 2.0
