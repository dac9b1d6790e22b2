"""Deadlines run out, Ctrl-C sets a flag, and the old handler comes back."""

import math
import signal
import threading
import time

import pytest

from intensor.runtime.budget import Budget, listen_for_interrupt
from intensor.runtime.stopwatch import Stopwatch


@pytest.fixture
def handler():
    """Install a handler of our own, so that a stray Ctrl-C cannot end the test run."""
    seen = []
    previous = signal.signal(signal.SIGINT, lambda *_: seen.append("outer"))
    yield seen
    signal.signal(signal.SIGINT, previous)


@pytest.fixture
def clock(monkeypatch):
    """Replace the clock by one that is moved by hand."""
    now = [100.0]
    monkeypatch.setattr("intensor.runtime.budget.time.perf_counter", lambda: now[0])
    return now


def test_without_a_limit_time_never_runs_out(clock):
    budget = Budget()
    clock[0] += 1e9
    assert budget.remaining == math.inf
    assert budget.elapsed == 1e9
    assert not budget.spent


def test_a_limit_runs_out_on_time(clock):
    budget = Budget(2.0)
    assert (budget.elapsed, budget.remaining, budget.spent) == (0.0, 2.0, False)
    clock[0] += 1.5
    assert (budget.elapsed, budget.remaining, budget.spent) == (1.5, 0.5, False)
    clock[0] += 0.5
    assert (budget.elapsed, budget.remaining, budget.spent) == (2.0, 0.0, True)
    clock[0] += 7.0
    assert (budget.elapsed, budget.remaining, budget.spent) == (9.0, 0.0, True)


def test_no_time_at_all_is_spent_at_once():
    assert Budget(0.0).spent


def test_the_clock_is_a_real_one():
    budget = Budget(0.02)
    time.sleep(0.03)
    assert budget.spent
    assert 0.03 <= budget.elapsed < 10.0


def test_an_interrupt_spends_the_budget(clock):
    budget = Budget()
    budget.interrupted = True
    assert budget.spent
    assert budget.remaining == math.inf


def test_the_first_interrupt_is_noted_and_the_second_raises(handler):
    budget = Budget()
    with listen_for_interrupt(budget):
        assert not budget.interrupted
        signal.raise_signal(signal.SIGINT)
        assert budget.interrupted
        assert budget.spent
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert handler == []


def test_the_old_handler_comes_back(handler):
    with listen_for_interrupt(Budget()):
        pass
    signal.raise_signal(signal.SIGINT)
    assert handler == ["outer"]


def test_the_old_handler_comes_back_after_an_error(handler):
    with pytest.raises(RuntimeError, match="broke"), listen_for_interrupt(Budget()):
        raise RuntimeError("broke")
    signal.raise_signal(signal.SIGINT)
    assert handler == ["outer"]


def test_listeners_nest(handler):
    outer, inner = Budget(), Budget()
    with listen_for_interrupt(outer):
        with listen_for_interrupt(inner):
            signal.raise_signal(signal.SIGINT)
        assert (outer.interrupted, inner.interrupted) == (False, True)
        signal.raise_signal(signal.SIGINT)
        assert outer.interrupted


def test_other_threads_leave_signals_alone(handler):
    before = signal.getsignal(signal.SIGINT)
    during, failures = [], []

    def work():
        try:
            with listen_for_interrupt(Budget()):
                during.append(signal.getsignal(signal.SIGINT))
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(timeout=10.0)
    assert failures == []
    assert during == [before]


def test_a_handler_from_outside_python_is_left_alone(handler, monkeypatch):
    # getsignal answers None for a handler that C code installed; it could not be put back.
    monkeypatch.setattr("intensor.runtime.budget.signal.getsignal", lambda _: None)
    budget = Budget()
    with listen_for_interrupt(budget):
        signal.raise_signal(signal.SIGINT)
    assert handler == ["outer"]
    assert not budget.interrupted


def test_time_spent_before_counts(monkeypatch):
    monkeypatch.setattr("intensor.runtime.budget.time.perf_counter", lambda: 50.0)
    budget = Budget(10.0, before=4.0)
    assert budget.elapsed == 4.0
    assert budget.remaining == 6.0
    assert Budget(10.0, before=10.0).spent
    assert not Budget(before=1e9).spent


@pytest.fixture
def compiling(monkeypatch):
    """Replace the stopwatch of the process by one that nobody else uses."""
    watch = Stopwatch()
    monkeypatch.setattr("intensor.runtime.budget.COMPILING", watch)
    return watch


def test_compiling_does_not_count(clock, compiling):
    with compiling:
        clock[0] += 50.0  # before the budget was made, which is nothing to it
    budget = Budget(3.0, before=1.0)
    clock[0] += 1.0
    with compiling:
        clock[0] += 26.0
        assert (budget.elapsed, budget.remaining, budget.spent) == (2.0, 1.0, False)
    assert (budget.elapsed, budget.remaining, budget.spent) == (2.0, 1.0, False)
    clock[0] += 1.0
    assert (budget.elapsed, budget.remaining, budget.spent) == (3.0, 0.0, True)


def test_compiling_does_not_count_for_a_part_of_a_budget_either(clock, compiling):
    outer = Budget(10.0)
    part = Budget(4.0, within=outer)
    with compiling:
        clock[0] += 100.0
    assert (part.remaining, outer.remaining) == (4.0, 10.0)
    later = Budget(60.0, within=outer)
    clock[0] += 5.0
    assert part.spent
    assert (later.elapsed, later.remaining, outer.remaining) == (5.0, 5.0, 5.0)


def test_an_interrupt_ends_a_budget_while_something_is_compiled(clock, compiling):
    budget = Budget(3.0)
    with compiling:
        budget.interrupted = True
        assert budget.spent


def test_only_limits_make_a_compilation_worth_a_warning(compiling):
    Budget()
    Budget(math.inf)
    Budget(1.0, within=Budget())
    assert not compiling.limited
    Budget(1.0)
    assert compiling.limited
