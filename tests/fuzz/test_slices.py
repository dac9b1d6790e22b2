"""Every reader on damaged files: an answer that makes sense, or an error of ours, and no more.

By default a few mutations of every format, in this process. ``python -m pytest -m slow tests/fuzz``
runs all of them in a process of their own; ``-k "csv-3"`` selects one batch. Without pytest, from
the folder ``tests``::

    python -m fuzz csv 0 2000
"""

import json
import os

import pytest

from fuzz.formats import FORMATS, made
from fuzz.pool import Worker, run_cases, tally
from fuzz.worker import Watch, run_case

N_MUTATIONS = 20
FEWER_MUTATIONS = {"model": 8, "info": 14, "predict": 14, "fit": 8, "checkpoint": 12}
"""Number of mutations per format in the default tests, and of those that take long to read."""
BATCH = 200
BATCHES = 10


def check(answers):
    """Check that no case ended in a fault; return how many ended in which way."""
    counts, faults = tally(answers)
    assert faults == [], "\n".join(json.dumps(fault) for fault in faults[:5])
    return counts


@pytest.fixture(scope="module")
def worker():
    with Worker() as one:
        yield one


@pytest.fixture(scope="module")
def watch():
    with Watch.in_this_process() as one:
        yield one


@pytest.mark.parametrize("name", FORMATS)
def test_a_few_mutations(name, watch):
    one, folder = FORMATS[name], os.getcwd()
    numbers = range(FEWER_MUTATIONS.get(name, N_MUTATIONS))
    cases = [one.mutation(number) for number in numbers]
    assert cases == [one.mutation(number) for number in numbers]
    assert len({case.blob for case in cases}) > len(numbers) // 2
    try:
        counts = check(run_case(one, case, watch) for case in cases)
    finally:
        os.chdir(folder)
    # a mutation that never gets through, or always does, tests nothing
    assert counts["refused"] > 0
    assert counts["accepted"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("name", FORMATS)
def test_a_batch(worker, name, batch):
    numbers = range(batch * BATCH, (batch + 1) * BATCH)
    counts = check(run_cases(worker, name, numbers))
    assert counts.total() == BATCH
    if batch == 0:
        assert len(made(FORMATS[name].crafted)) < BATCH
        assert counts["refused"] > 0
        assert counts["accepted"] > 0
