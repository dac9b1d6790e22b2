"""Compiling is counted, whoever reports it, and no limit has to pay for it."""

import importlib.util
import os
import subprocess
import sys
import time
from textwrap import dedent

import numpy as np
import pytest
from numba.core import event

import intensor
from intensor.data.observations import observe
from intensor.fitting import combine
from intensor.oracles.cascade import TimeLimitedOracle, find_exact
from intensor.oracles.exact import branch_bound, enumeration
from intensor.runtime import compiling, kernel_files
from intensor.runtime.budget import Budget
from intensor.runtime.compiling import announce_device, listen, njit
from intensor.runtime.kernel_files import Files
from intensor.runtime.stopwatch import COMPILING, Stopwatch


@pytest.fixture
def watch(monkeypatch):
    fresh, files = Stopwatch(), Files()
    for module in (compiling, kernel_files):
        monkeypatch.setattr(module, "COMPILING", fresh)
        monkeypatch.setattr(module, "FILES", files)
    return fresh


class Events:
    """A compiler that reports to whoever registers."""

    Listener = event.Listener

    def __init__(self):
        self.kinds = []

    def register(self, kind, listener):
        self.kinds.append(kind)
        self.listener = listener


def test_other_compilers_count_too(watch, caplog):
    events = Events()
    listen(events, "theirs", announce_device)
    assert events.kinds == ["theirs"]
    watch.limited = True
    for _ in range(2):
        events.listener.on_start(None)
        assert watch.seconds() > 0.0
        events.listener.on_end(None)
        total = watch.seconds()
        assert total == watch.seconds()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "CUDA" in caplog.text


def test_without_a_cache_the_decorator_is_that_of_numba():
    @njit(nogil=True)
    def half(number):
        return number / 2

    assert half(3) == 1.5


PROGRAM = """
    import json
    import intensor
    data = intensor.planted((5, 5, 5), 90, noise=0.1)
    result = intensor.solve(
        data.coords,
        data.values,
        shape=data.shape,
        radius=1.0,
        time_limit={limit},
        version={version!r},
    )
    print(result.status, len(result.model))
"""


@pytest.mark.needs_jit
@pytest.mark.slow
@pytest.mark.parametrize(("version", "limit"), [("fast", 1.0), (5, 8.0)])
def test_a_short_limit_is_enough_when_everything_has_to_be_compiled(tmp_path, version, limit):
    # compiling, in a folder of its own, takes several times as long as the limit
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", dedent(PROGRAM).format(version=version, limit=limit)],
        env={
            **os.environ,
            "NUMBA_CACHE_DIR": str(tmp_path),
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    status, boxes = done.stdout.split()
    assert status == "OPTIMAL", done.stderr
    assert int(boxes) > 1
    assert done.stderr.count("does not count against time limits") == 1


def test_the_module_of_budgets_does_without_numba():
    code = "import sys, intensor.runtime.budget; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
    assert importlib.util.find_spec("numba") is not None


COMPILE_SECONDS = 1.0
"""Seconds that a kernel of these tests seems to be compiled for, on its first call."""


def slow_to_compile(monkeypatch, module, name):
    """Let a kernel look as if it were compiled for longer than any limit of these tests."""
    kernel, waited = getattr(module, name), []

    def call(*arguments):
        with COMPILING:
            if not waited:
                waited.append(time.sleep(COMPILE_SECONDS))
        return kernel(*arguments)

    monkeypatch.setattr(module, name, call)
    return waited


SEARCHES = [("enumeration", enumeration, "scan"), ("branch", branch_bound, "search_tree")]


@pytest.mark.parametrize(("exact", "module", "kernel"), SEARCHES)
@pytest.mark.parametrize("limited", ["budget", "cut off"])
def test_a_search_is_not_cut_off_while_it_is_compiled(monkeypatch, exact, module, kernel, limited):
    data = intensor.planted((5, 4, 3), 50, noise=0.1)
    observations = observe(data.coords, data.values, shape=data.shape)
    costs = observations.means - observations.means.mean()
    oracle = find_exact(exact).oracle(observations)
    wanted = oracle.minimise(costs)
    waited = slow_to_compile(monkeypatch, module, kernel)
    limit = COMPILE_SECONDS / 2.0
    if limited == "budget":
        found = oracle.minimise(costs, budget=Budget(limit))
    else:
        found = TimeLimitedOracle(oracle, limit).minimise(costs, budget=Budget())
    assert waited
    assert (found.value, found.bound) == (wanted.value, wanted.bound)
    assert np.array_equal(found.flags, wanted.flags)


@pytest.mark.parametrize(("exact", "module", "kernel"), SEARCHES)
def test_a_proof_is_found_within_a_limit_shorter_than_compiling(monkeypatch, exact, module, kernel):
    data = intensor.planted((5, 4, 3), 50, noise=0.1)
    options = {"shape": data.shape, "radius": 1.0, "rtol": 1e-2, "exact": exact}
    wanted = intensor.solve(data.coords, data.values, **options)
    waited = slow_to_compile(monkeypatch, module, kernel)
    limit = 0.8 * COMPILE_SECONDS
    found = intensor.solve(data.coords, data.values, time_limit=limit, **options)
    assert bool(waited) == (wanted.counters.exact_calls > 0)
    assert (found.status, found.bound) == (wanted.status, wanted.bound)
    assert found.seconds.solve < limit


def test_the_proof_of_a_fit_has_its_seconds_beside_compiling(monkeypatch):
    lost = []

    def prove_at(*_, budget, **__):
        before = budget.remaining
        with COMPILING:
            time.sleep(COMPILE_SECONDS)
        lost.append(before - budget.remaining)

    monkeypatch.setattr(combine, "prove_at", prove_at)
    data = intensor.planted((5, 4, 3), 60, noise=0.1)
    intensor.TensorCompleter(n_solutions=2, components="graded").fit(data.coords, data.values)
    assert lost
    assert all(seconds < COMPILE_SECONDS / 2.0 for seconds in lost)
