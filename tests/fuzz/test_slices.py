"""Every reader on damaged files: an answer that makes sense, or an error of ours, and no more.

By default a slice of every format; all of it with ``python -m pytest -m slow tests/fuzz``, one
batch with ``-k "csv-3"``, or without pytest, from the folder ``tests``::

    python -m fuzz csv 0 2000
"""

import json

import pytest

from fuzz.formats import FORMATS, made
from fuzz.pool import Worker, run_cases, tally

SLICE = {"fit": 60, "predict": 90, "info": 120, "checkpoint": 120}
"""Cases by default, where they take longer than those of a reader."""
PLAIN = 180
BATCH = 200
BATCHES = 10


@pytest.fixture(scope="module")
def worker():
    with Worker() as one:
        yield one


def check(worker, name, numbers):
    counts, faults = tally(run_cases(worker, name, numbers))
    assert faults == [], "\n".join(json.dumps(fault) for fault in faults[:5])
    assert counts.total() == len(numbers)
    return counts


@pytest.mark.parametrize("name", FORMATS)
def test_a_slice(worker, name):
    counts = check(worker, name, range(SLICE.get(name, PLAIN)))
    # a mutation that never gets through, or always does, tests nothing
    assert counts["refused"] > 0
    assert counts["accepted"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("name", FORMATS)
def test_the_whole(worker, name, batch):
    check(worker, name, range(batch * BATCH, (batch + 1) * BATCH))


@pytest.mark.parametrize("name", FORMATS)
def test_cases_are_the_same_every_time(name):
    one = FORMATS[name]
    first = len(made(one.crafted))
    assert first < SLICE.get(name, PLAIN)
    cases = [one.case(number) for number in range(first, first + 20)]
    assert cases == [one.case(number) for number in range(first, first + 20)]
    assert len({blob for _, blob in cases}) > 10
