"""The runner itself: whatever a reader may do wrong is seen."""

import os
import pickle
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest

from fuzz import pool
from fuzz.archives import Payload
from fuzz.formats import FORMATS, Case, RefusedError
from fuzz.worker import Watch, run_case
from intensor.errors import FileFormatError


@pytest.fixture(scope="module")
def watch():
    with Watch.in_this_process() as one:
        yield one


@pytest.fixture
def answer(watch, monkeypatch, tmp_path):
    """Return what is said of a reader that does something."""
    monkeypatch.chdir(tmp_path)

    def ask(read, **changes):
        return run_case(
            replace(FORMATS["tns"], read=read, **changes), Case("one cell", b"1 1 1\n"), watch
        )

    return ask


def refuse(path):
    raise FileFormatError("no")


def warn(path):
    warnings.warn("odd", RuntimeWarning, stacklevel=1)


def write_outside(path):
    (path.parent.parent / "escaped").write_text("x")


def unpickle(path):
    pickle.loads(pickle.dumps(Payload()))


def take_memory(path):
    np.ones(27_000_000)


def leave(path):
    path.with_name("more").write_text("x")


def fail(path):
    raise KeyError("x")


def run_something(path):
    os.system("true")


def test_good_readers(answer):
    assert answer(lambda path: None)["outcome"] == "accepted"
    assert answer(refuse)["outcome"] == "refused"
    assert answer(refuse, allowed=(RefusedError,))["outcome"] == "fault"


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (warn, "RuntimeWarning"),
        (write_outside, "write to"),
        (unpickle, "pickle.find_class"),
        (take_memory, "MB were used"),
        (leave, "left behind"),
        (fail, "KeyError"),
        (run_something, "os.system"),
    ],
)
def test_faults_are_seen(answer, read, message):
    found = answer(read)
    assert found["outcome"] == "fault"
    assert message in " ".join(found["faults"])


@pytest.mark.parametrize(
    ("then", "message"),
    [("input()", "died (0)"), ("import os; input(); os.abort()", "died (-6)")],
)
def test_a_worker_that_dies_is_a_fault(then, message):
    with pool.Worker(sys.executable, "-c", f"print('ready', flush=True); {then}") as worker:
        assert message in worker.run("tns", 0)["faults"][0]
        assert message in worker.run("tns", 1)["faults"][0]  # by another one


def test_a_worker_that_hangs_is_a_fault():
    code = "import time; print('ready', flush=True); time.sleep(1000)"
    with pool.Worker(sys.executable, "-c", code, patience=0.1) as worker:
        assert "took more" in worker.run("tns", 0)["faults"][0]
