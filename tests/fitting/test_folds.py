"""Folds in this process: the same steps for all, and steps in the journal are not taken again."""

import numpy as np
import pytest

from fitting_cases import NOISY_EIGHT, go_on, options_of, specs_of, splits_of
from intensor.fitting.fold import Fold, Request
from intensor.fitting.folds import open_folds, with_stage
from intensor.runtime.budget import Budget
from intensor.solver.result import Progress
from intensor.storage.reader import TreeReader

REQUESTS = [Request(0.5), Request(0.7), Request(0.7, gap=1e-4)]


def specs(**options):
    checked = options_of(validation=2, **options)
    return specs_of(splits_of(NOISY_EIGHT, checked), checked)


class Memory:
    """A journal in memory; it recalls only the entries of earlier runs."""

    active = True

    def __init__(self):
        self.entries = {}
        self.saved = {}

    def recall(self, name):
        return TreeReader(self.saved[name], "here") if name in self.saved else None

    def record(self, entries):
        self.entries.update(entries)


@pytest.fixture
def counted(monkeypatch):
    """Return the requests that folds really worked on."""
    done = []
    step = Fold.step

    def count(fold, request, *arguments):
        done.append(request)
        return step(fold, request, *arguments)

    monkeypatch.setattr(Fold, "step", count)
    return done


def taken(folds, requests=REQUESTS, budget=None):
    return [folds.take([request], budget or Budget(), go_on)[0] for request in requests]


def check_same(found, expected):
    for steps, others in zip(found, expected, strict=True):
        for step, other in zip(steps, others, strict=True):
            assert (step.error, step.objective) == (other.error, other.objective)
            assert np.array_equal(step.model.weights, other.model.weights)


def test_every_fold_takes_every_step():
    with open_folds(specs()) as folds:
        found = taken(folds)
        assert folds.ahead == 1
        assert not folds.may_krige
        assert folds.largest_value == max(spec.largest_value for spec in specs())
    assert [len(steps) for steps in found] == [2, 2, 2]
    with open_folds(specs()) as folds:
        together = folds.take(REQUESTS, Budget(), go_on)
    check_same(together, found)


def test_steps_in_the_journal_are_not_taken_again(counted):
    journal = Memory()
    with open_folds(specs(), journal=journal) as folds:
        snapshots = [dict(journal.entries)]
        record = journal.record
        journal.record = lambda entries: (record(entries), snapshots.append(dict(journal.entries)))
        expected = taken(folds)
    assert len(snapshots) == 7  # one after every step of every fold
    for n_entries, saved in enumerate(snapshots):
        counted.clear()
        again = Memory()
        again.saved = saved
        with open_folds(specs(), journal=again) as folds:
            assert folds.knows_next_step == (n_entries > 0)
            check_same(taken(folds), expected)
        assert len(counted) == 6 - n_entries


def test_a_step_that_was_cut_off_is_not_recorded():
    journal = Memory()
    with open_folds(specs(), journal=journal) as folds:
        steps = taken(folds, REQUESTS[:1], Budget(0.0))
    assert all(step.cut for step in steps[0])
    assert journal.entries == {}


def test_the_callback_is_told_the_stage():
    heard = []
    progress = Progress(1, "local", 2, 0.5, 0.25, 0.1, 0.1, 0.0)
    with_stage(lambda now: heard.append(now) or True, "gap 0.1")(progress)
    assert progress.stage == "solve"
    assert heard == [progress._replace(stage="gap 0.1")]
    stages = []
    with open_folds(specs()) as folds:
        folds.take(REQUESTS, Budget(), lambda now: stages.append(now.stage) or True)
    assert list(dict.fromkeys(stages)) == ["radius 0.5", "radius 0.7", "gap 0.0001"]
