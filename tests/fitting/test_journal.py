"""Checkpoints of a fit: what was finished is not done again, and the end is the same."""

import functools
import re
import signal

import numpy as np
import pytest

import intensor
from fitting_cases import BOXES
from fitting_cases import NOISY as DATA
from intensor._estimator import TensorCompleter
from intensor.errors import CheckpointError
from intensor.fitting.journal import NO_JOURNAL
from intensor.runtime.budget import Budget
from intensor.solver.checkpoint import NO_SNAPSHOTS
from intensor.solver.result import Status
from intensor.storage.codec import read_tree, write_tree
from naming import naming


def fit(*, stop=None, seen=None, data=DATA, **options):
    """Fit boxes unless told otherwise; ``stop`` lets the callback end it after so many rounds."""
    seen = [] if seen is None else seen

    def callback(progress):
        seen.append(progress.stage)
        return stop is None or len(seen) < stop

    completer = TensorCompleter(callback=callback, **BOXES | options)
    return completer.fit(data.coords, data.values).fit_


@functools.cache
def undisturbed(**options):
    """Fit to the end without a checkpoint; return what it says and the stages of its rounds."""
    seen = []
    return figures(fit(seen=seen, **options)), seen


def figures(found):
    """Return all that a fit says but the time it took."""
    validation = found.validation
    return {
        "objective": found.objective,
        "bound": found.bound,
        "status": found.status,
        "weights": found.model.weights.tolist(),
        "factors": found.model.as_factors().tolist(),
        "predicted": found.predict(DATA.coords[:5]).tolist(),
        "counters": found.result.counters,
        "trace": [row._replace(seconds=0.0) for row in found.result.trace],
        "paths": validation
        and [
            (path.transform, path.baseline, path.radii.tolist(), path.errors.tolist())
            for path in validation.paths
        ],
        "chosen": validation and (validation.chosen, validation.approach, validation.averaged),
    }


KINDS = [
    ({"validation": 3}, 0.3),
    ({"transform": "auto", "baseline": "auto", "n_radii": 2}, 0.6),
    ({"n_solutions": 2}, 0.95),
    ({"remainder": "auto", "n_radii": 4}, 0.6),
    ({"version": 8, "rtol": 1e-2}, 0.95),
    ({"radius": 1.0}, 0.6),
    ({"components": "graded", "baseline": "auto", "n_solutions": "auto"}, 0.6),
    ({"components": "auto", "n_solutions": "auto"}, 0.8),
    ({"components": "graded"}, 0.3),
    ({"components": "graded", "validation": 2, "n_solutions": 3}, 0.6),
    ({"components": "graded", "transform": "auto", "remainder": "auto"}, 0.7),
    ({"components": "graded", "n_solutions": 4, "exact": "enumeration"}, 0.95),
]
"""Kinds of fits, each with the share of its rounds after which it is stopped by default."""


@pytest.mark.filterwarnings("ignore::intensor.errors.ValidationWarning")
@pytest.mark.parametrize(
    ("options", "shares"),
    [(options, (share,)) for options, share in KINDS]
    + [pytest.param(options, (0.3, 0.6, 0.95), marks=pytest.mark.slow) for options, _ in KINDS],
)
def test_a_resumed_fit_equals_an_uninterrupted_one(tmp_path, options, shares):
    expected, calls = undisturbed(**options)
    for share in shares:
        path = tmp_path / f"{share}.npz"
        stop = max(1, int(share * len(calls)))
        fit(stop=stop, checkpoint=path, **options)
        again = []
        found = fit(seen=again, checkpoint=path, resume=True, **options)
        assert figures(found) == expected
        # the step that was cut short is the only one to be done again
        # (with 12 components in three models, it makes nearly a hundred calls)
        assert len(again) < len(calls) - stop + 100
        none = []
        found = fit(seen=none, checkpoint=path, resume=True, **options)
        assert figures(found) == expected
        assert none == []


def test_finished_steps_are_not_taken_again(tmp_path):
    options = {"validation": 3, "checkpoint": tmp_path / "run.npz"}
    expected, calls = undisturbed(validation=3)
    radii = list(dict.fromkeys(stage for stage in calls if stage.startswith("radius")))
    third = calls.index(radii[2])
    fit(stop=third + 1, **options)
    again = []
    found = fit(seen=again, resume=True, **options)
    assert again == calls[third:]
    assert figures(found) == expected
    assert found.path.seconds.tolist() == sorted(found.path.seconds)


def test_a_fold_is_resumed_after_its_last_step(tmp_path):
    """Killed between two folds of a radius, not only between two radii."""
    expected, calls = undisturbed(validation=3)
    options = {"validation": 3, "checkpoint": tmp_path / "run.npz"}
    radii = list(dict.fromkeys(stage for stage in calls if stage.startswith("radius")))
    stop = calls.index(radii[2]) - 1  # in the last fold of the second radius
    fit(stop=stop, **options)
    entries = read_tree(tmp_path / "run.npz").tree["content"]["entries"]
    steps = [name.rpartition("/")[2] for name in entries if "step" in name]
    assert sorted(steps)[-2:] == ["step 1 of fold 0", "step 1 of fold 1"]
    assert figures(fit(resume=True, **options)) == expected


def test_a_fit_can_be_resumed_after_ctrl_c(tmp_path):
    options = {"validation": 2}
    expected, calls = undisturbed(**options)
    seen = []

    def interrupt(progress):
        seen.append(progress.stage)
        if len(seen) == len(calls) // 2:
            signal.raise_signal(signal.SIGINT)

    options["checkpoint"] = tmp_path / "run.npz"
    completer = TensorCompleter(callback=interrupt, **BOXES | options)
    assert completer.fit(DATA.coords, DATA.values).status_ is Status.INTERRUPTED
    assert figures(fit(resume=True, **options)) == expected


def test_a_fit_that_ran_out_of_time_goes_on_with_more(tmp_path, monkeypatch):
    now = 0.0
    monkeypatch.setattr("intensor.runtime.budget.time.perf_counter", lambda: now)
    calls = []

    def tick(progress):
        nonlocal now
        now += 1.0
        calls.append(progress.stage)

    options = {**BOXES, "callback": tick, "checkpoint": tmp_path / "run.npz", "rtol": 1e-6}
    short = TensorCompleter(time_limit=30.0, **options).fit(DATA.coords, DATA.values)
    assert short.status_ is Status.TIME_LIMIT
    assert 30 <= len(calls) <= 33
    again = TensorCompleter(time_limit=30.0, resume=True, **options).fit(DATA.coords, DATA.values)
    assert again.status_ is Status.TIME_LIMIT  # time spent before counts
    assert again.objective_ <= short.objective_ * (1.0 + 1e-9)
    radii = again.path_.radii.tolist()
    before = len(calls)
    longer = TensorCompleter(time_limit=1e6, resume=True, **options).fit(DATA.coords, DATA.values)
    assert longer.status_ is Status.OPTIMAL
    assert longer.path_.radii.tolist() == radii  # what was chosen stays so
    assert set(calls[before:]) == {"fit"}
    assert longer.objective_ < short.objective_


def test_other_settings_are_refused(tmp_path):
    given = {"validation": 3, "checkpoint": tmp_path / "run.npz"}
    fit(stop=5, **given)
    fit(stop=5, resume=True, **given)
    for options, message in (
        ({"validation": 4}, "folds=3 in the file and 4"),
        ({"transform": "sqrt"}, "scales=.*none, none.*sqrt, none"),
        ({"random_state": 3}, "seed=0 in the file and 3"),
        ({"radius": 2.0}, "radius='auto' in the file and 2.0"),
        ({"rtol": 1e-3}, "rtol='auto' in the file"),
        ({"n_radii": 7}, "n_radii=20"),
        ({"scoring": "mae"}, "scoring='rmse'"),
        ({"remainder": "auto"}, "remainder='none'"),
    ):
        with naming(options), pytest.raises(CheckpointError, match=message):
            fit(resume=True, **{**given, **options})


def test_other_data_is_refused(tmp_path):
    options = {"checkpoint": tmp_path / "run.npz", "stop": 5}
    fit(**options)
    with pytest.raises(CheckpointError, match="other data"):
        fit(resume=True, data=intensor.planted((6, 6, 6), 150, noise=0.1, rep=2), **options)
    with pytest.raises(CheckpointError, match="is there already"):
        fit(**options)
    with pytest.raises(CheckpointError, match="is the checkpoint of a fit"):
        intensor.solve(
            DATA.coords, DATA.values, radius=1.0, checkpoint=options["checkpoint"], resume=True
        )


def test_another_transform_function_is_refused(tmp_path):
    options = {"checkpoint": tmp_path / "run.npz", "stop": 5}
    fit(transform=(np.sqrt, np.square), **options)
    fit(transform=(np.sqrt, np.square), resume=True, **options)
    with pytest.raises(CheckpointError, match="transformed is"):
        fit(transform=(np.cbrt, lambda fitted: fitted**3), resume=True, **options)


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_damaged_entries_are_errors(tmp_path, every):
    options = {"validation": 2, "checkpoint": tmp_path / "run.npz"}
    path = options["checkpoint"]
    _, calls = undisturbed(validation=2)
    fit(stop=int(0.4 * len(calls)), **options)
    content = path.read_bytes()
    names = list(read_tree(path).tree["content"]["entries"])
    if not every:  # one of every kind: names differ by their numbers alone
        names = list({re.sub(r"[0-9.]+", "", name): name for name in names}.values())
        assert len(names) > 1
    for name in names:
        path.write_bytes(content)
        tree = read_tree(path).tree
        tree["content"]["entries"][name] = {"nothing": 1}
        write_tree(path, tree)
        with pytest.raises(CheckpointError, match="is a damaged checkpoint"):
            fit(resume=True, **options)


def test_a_finished_part_replaces_its_section(tmp_path):
    """Steps of folds are in the file while a walk lasts; its result replaces them."""
    _, calls = undisturbed(validation=3)
    options = {"validation": 3, "checkpoint": tmp_path / "run.npz"}
    fit(stop=int(0.4 * len(calls)), **options)
    keys = read_tree(options["checkpoint"]).tree["content"]["entries"]
    assert any("/step 0 of fold 0" in key for key in keys)
    fit(resume=True, **options)
    keys = read_tree(options["checkpoint"]).tree["content"]["entries"]
    assert keys
    assert not any("/" in key for key in keys)


def test_without_a_file_nothing_is_remembered():
    section = NO_JOURNAL.section("walk")
    section.record({"clock": {"seconds": 3.0}})
    assert section.recall("clock") is None
    assert section.budget(Budget()).elapsed < 1.0
    assert not section.active
    assert NO_JOURNAL.decide("late", True) is True
    assert NO_JOURNAL.decide("late", False) is False
    assert NO_JOURNAL.snapshots("fit") is NO_SNAPSHOTS


def test_complete_can_be_resumed(tmp_path):
    table = np.outer([1.0, 2.0, 4.0], [1.0, 3.0, 2.0])
    table[1, 2] = np.nan
    options = {"checkpoint": tmp_path / "run.npz", "radius": 12.0}
    completed, _ = intensor.complete(table, **options)
    again, _ = intensor.complete(table, resume=True, **options)
    assert again.tolist() == completed.tolist()


@pytest.mark.filterwarnings("ignore")  # of Dask's own
def test_a_fit_on_a_cluster_can_be_resumed_there_and_here(tmp_path):
    distributed = pytest.importorskip("distributed")
    path = tmp_path / "run.npz"
    short = {"validation": 2, "n_radii": 3}
    expected, _ = undisturbed(**short)
    there = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    )
    with there, distributed.Client(there) as client:
        options = {**short, "checkpoint": path, "client": client}
        fit(stop=6, **options)
        again = []
        assert figures(fit(seen=again, resume=True, **options)) == expected
        path.unlink()
        fit(stop=6, **options)
    # a fit that began on the cluster may end here
    del options["client"]
    assert figures(fit(resume=True, **options)) == expected
