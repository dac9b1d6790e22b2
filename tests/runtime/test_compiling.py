"""Compiling is counted, whoever reports it, and no limit has to pay for it."""

import importlib.util
import os
import subprocess
import sys
from textwrap import dedent

import pytest
from numba.core import event

from intensor.runtime import compiling, kernel_files
from intensor.runtime.compiling import announce_device, listen, njit
from intensor.runtime.kernel_files import Files
from intensor.runtime.stopwatch import Stopwatch


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
