"""Checkpoints of a solve: what goes on from one is the same run, to the last bit."""

import doctest
import itertools
import json
import os
import random
import signal
import warnings
from pathlib import Path

import numpy as np
import pytest

import intensor
import zoo
from intensor.data.observations import observe
from intensor.errors import CheckpointError, CheckpointWarning, FileFormatError, SettingError
from intensor.oracles.base import Answer
from intensor.oracles.cascade import TimeLimitedOracle
from intensor.solver import checkpoint as module
from intensor.solver.checkpoint import fingerprint, random_boxes
from intensor.solver.fast.engine import Fast
from intensor.solver.fast.tuning import Tuning
from intensor.solver.result import Status
from intensor.solver.sources import condense
from intensor.solver.variants import VERSIONS
from intensor.storage.codec import read_tree, write_tree

DATA = intensor.planted((6, 6, 6), 120, noise=0.3)


def solve(data=DATA, *, stop=None, **options):
    """Solve; with ``stop``, let the callback end it after that many rounds."""
    callback = None if stop is None else lambda progress: progress.iteration < stop
    options = {"radius": 1.0, "shape": data.shape, "callback": callback, **options}
    return intensor.solve(data.coords, data.values, **options)


@pytest.fixture(scope="module")
def undisturbed():
    return solve()


def without_time(result):
    return [row._replace(seconds=0.0) for row in result.trace]


def assert_same(result, other):
    assert result.status is other.status
    assert (result.objective, result.bound) == (other.objective, other.bound)
    assert result.model.weights.tolist() == other.model.weights.tolist()
    assert result.model.as_factors().tolist() == other.model.as_factors().tolist()
    assert result.bound_source == other.bound_source
    if other.witness is not None:
        assert result.witness.weights.tolist() == other.witness.weights.tolist()
    assert result.counters == other.counters
    assert without_time(result) == without_time(other)


def check_resuming(folder, *, data=DATA, stops=None, **options):
    """Solve at a stretch, and again with a stop at each of some rounds; return the former."""
    whole = solve(data, **options)
    n = whole.counters.iterations
    for stop in stops or (n // 3, n - 1):
        path = folder / f"{stop}.npz"
        cut = solve(data, stop=stop, checkpoint=path, **options)
        assert cut.status is Status.STOPPED
        assert_same(solve(data, checkpoint=path, resume=True, **options), whole)
    # a run that has ended ends at once
    assert_same(solve(data, checkpoint=path, resume=True, **options), whole)
    return whole


@pytest.mark.parametrize("version", zoo.mostly_slow(range(11), telling=(0, 10)))
def test_every_version_of_the_paper_goes_on_as_if_nothing_had_happened(tmp_path, version):
    check_resuming(tmp_path, version=version, max_iterations=60)


@pytest.mark.parametrize(
    "options",
    [
        {"signed": True, "rtol": 1e-4},
        {"sample_weight": np.linspace(0.5, 1.5, DATA.values.size), "rtol": 1e-4},
        {"exact": "off", "threads": 1},
        {"components": "graded", "max_components": 6},
        {"components": "graded", "max_components": 3, "signed": True, "exact": "off"},
        {"components": "graded", "max_components": 40, "rtol": 1e-4},
    ],
)
def test_every_kind_of_problem(tmp_path, options):
    check_resuming(tmp_path, **options)


def test_many_vertices(tmp_path, monkeypatch):
    """Vertices come and go, the master exchanges weight between pairs: all of it is in the file."""
    tuning = Tuning(exchange_support=24, spare_vertices=8)
    monkeypatch.setitem(VERSIONS, "exchanging", Fast(tuning=tuning))
    data = intensor.planted((6, 6, 6), 400, noise=0.5)
    options = {"version": "exchanging", "exact": "off", "radius": 30.0, "max_iterations": 60}
    whole = check_resuming(tmp_path, data=data, stops=(10, 50), **options)
    assert max(row.active for row in whole.trace) > tuning.exchange_support
    assert whole.counters.drops > 0


def test_graded_components_in_every_round(tmp_path):
    """Also in the midst of replacements, and after the last of them."""
    data = intensor.planted((5, 5, 5, 5), 300, noise=0.1)
    options = {"components": "graded", "max_components": 6, "exact": "off"}
    n = solve(data, **options).counters.iterations
    check_resuming(tmp_path, data=data, stops=range(1, n, 3), **options)


def test_a_sample_of_graded_components_first(tmp_path, monkeypatch):
    monkeypatch.setattr("intensor.solver.graded.engine.MIN_SAMPLED_CELLS", 512)
    data = intensor.planted((16, 16, 16), 1500, noise=0.3)
    options = {"components": "graded", "max_components": 6, "exact": "off", "max_iterations": 12}
    options |= {"radius": 3.0}
    check_resuming(tmp_path, data=data, stops=(1, 4, 9), **options)


def test_a_sample_first(tmp_path, monkeypatch):
    tuning = Tuning(large_cells=400, sample_cells_per_index=4)
    monkeypatch.setitem(VERSIONS, "sampling", Fast(tuning=tuning))
    data = intensor.planted((16, 16, 16), 1500, noise=0.3)
    assert len(np.unique(data.coords, axis=0)) > 2 * tuning.large_cells  # enough for a sample
    options = {"version": "sampling", "exact": "off", "radius": 3.0, "max_iterations": 6}
    check_resuming(tmp_path, data=data, stops=(1, 4), **options)


@pytest.mark.parametrize("kind", ["boxes", "graded"])
def test_files_and_clusters(tmp_path, kind):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {f"mode{mode}": DATA.coords[:, mode] for mode in range(3)}
    pq.write_table(pa.table({**columns, "value": DATA.values}), tmp_path / "data.parquet")
    options = {"radius": 1.0, "memory_limit": "512 MiB", "rtol": 1e-4, "components": kind}
    given = (tmp_path / "data.parquet", "value")
    undisturbed = intensor.solve(*given, **options)
    path = tmp_path / "run.npz"
    intensor.solve(*given, checkpoint=path, callback=lambda p: p.iteration < 9, **options)
    assert_same(intensor.solve(*given, checkpoint=path, resume=True, **options), undisturbed)
    # what was begun in files may be ended in memory
    here = solve(checkpoint=path, resume=True, rtol=1e-4, components=kind)
    assert here.objective == pytest.approx(undisturbed.objective, rel=1e-9)


@pytest.mark.slow  # a cluster takes seconds to start
@pytest.mark.filterwarnings("ignore")  # of Dask's own
@pytest.mark.parametrize("kind", ["boxes", "graded"])
def test_on_a_cluster(tmp_path, kind):
    distributed = pytest.importorskip("distributed")
    path = tmp_path / "run.npz"
    options = {"max_iterations": 6, "components": kind}
    there = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    )
    with there, distributed.Client(there) as client:
        undisturbed = solve(client=client, **options)
        solve(client=client, checkpoint=path, stop=3, **options)
        assert_same(solve(client=client, checkpoint=path, resume=True, **options), undisturbed)


@pytest.mark.slow  # the simulator is
@pytest.mark.parametrize("kind", ["boxes", "graded"])
def test_on_a_device(tmp_path, kind):
    pytest.importorskip("numba_cuda")
    data = intensor.planted((3, 3), 6, noise=0.1)
    options = {"device": "cuda", "max_iterations": 4, "exact": "off", "components": kind}
    undisturbed = solve(data, **options)
    path = tmp_path / "run.npz"
    solve(data, checkpoint=path, stop=2, **options)
    assert_same(solve(data, checkpoint=path, resume=True, **options), undisturbed)


def test_a_limit_of_iterations_can_be_raised(tmp_path, undisturbed):
    path = tmp_path / "run.npz"
    assert solve(checkpoint=path, max_iterations=10).status is Status.ITERATION_LIMIT
    assert solve(checkpoint=path, resume=True, max_iterations=10).counters.iterations == 10
    assert_same(solve(checkpoint=path, resume=True), undisturbed)


class Clock:
    """A clock that stands still unless a test moves it."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr("intensor.runtime.budget.time.perf_counter", lambda: self.now)


def test_time_spent_before_counts(tmp_path, monkeypatch, undisturbed):
    clock, path = Clock(monkeypatch), tmp_path / "run.npz"

    def tick(progress):
        clock.now += 1.0

    options = {"checkpoint": path, "callback": tick, "exact": "auto"}
    first = solve(**options, time_limit=5.0)
    assert first.status is Status.TIME_LIMIT
    assert first.counters.iterations == 5
    clock.now += 1000.0  # nobody was at work
    again = solve(**options, resume=True, time_limit=5.0)  # no time is left, but for the cut round
    assert again.status is Status.TIME_LIMIT
    assert again.counters.iterations == 5
    more = solve(**options, resume=True, time_limit=10.0)
    assert more.status is Status.TIME_LIMIT
    assert more.counters.iterations == 10
    assert [row.seconds for row in more.trace] == pytest.approx(range(10))
    assert_same(solve(**options, resume=True), undisturbed)


def test_a_round_that_was_cut_short_is_not_kept(tmp_path, monkeypatch, undisturbed):
    """The exact oracle is cut off by the limit; what goes on asks it again."""
    clock, path = Clock(monkeypatch), tmp_path / "run.npz"

    def too_slow(self, costs, **options):
        clock.now += 100.0
        return Answer(flags=np.zeros(18, dtype=np.uint8), value=0.0, source="none")

    with monkeypatch.context() as patch:
        patch.setattr(TimeLimitedOracle, "minimise", too_slow)
        cut = solve(checkpoint=path, time_limit=50.0)
    assert cut.status is Status.TIME_LIMIT
    assert cut.counters.exact_calls == 1
    assert_same(solve(checkpoint=path, resume=True, time_limit=1e6), undisturbed)


def test_ctrl_c_can_be_gone_on_from(tmp_path, undisturbed):
    path = tmp_path / "run.npz"

    def interrupt(progress):
        if progress.iteration == 20:
            signal.raise_signal(signal.SIGINT)

    cut = solve(checkpoint=path, callback=interrupt)
    assert cut.status is Status.INTERRUPTED
    assert_same(solve(checkpoint=path, resume=True), undisturbed)


def test_an_error_in_a_callback_loses_nothing(tmp_path, undisturbed):
    path = tmp_path / "run.npz"

    def fail(progress):
        if progress.iteration == 20:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        solve(checkpoint=path, callback=fail)
    seen = []
    assert_same(solve(checkpoint=path, resume=True, callback=seen.append), undisturbed)
    assert seen[0].iteration == 20


def test_it_is_written_as_often_as_asked(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(module, "write_tree", lambda path, tree: written.append(tree))
    solve(checkpoint=tmp_path / "run.npz", checkpoint_every=0.0, max_iterations=7)
    assert [tree["content"]["rounds"] for tree in written] == list(range(1, 8))
    written.clear()
    solve(checkpoint=tmp_path / "run.npz", max_iterations=7)
    assert [tree["content"]["rounds"] for tree in written] == [7]


def test_what_is_there_is_not_replaced(tmp_path):
    path = tmp_path / "run.npz"
    solve(checkpoint=path, max_iterations=5)
    content = path.read_bytes()
    with pytest.raises(CheckpointError, match="is there already; go on from it with resume=True"):
        solve(checkpoint=path)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["run.npz"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"radius": 2.0}, r"other settings \(radius=1.0 in the file and 2.0 in this call\)"),
        ({"seed": 1}, "seed=0 in the file and 1"),
        ({"rtol": 1e-5}, "rtol=1e-06 in the file and 1e-05"),
        ({"tol": 1e-5}, "tol=0.0 in the file"),
        ({"version": 3}, "version='fast' in the file and 3"),
        ({"exact": "off"}, "exact='auto' in the file"),
        ({"signed": True}, "signed=False in the file"),
        ({"components": "graded"}, "version='fast' in the file and 'graded'"),
        ({"shape": (6, 6, 7)}, r"other data \(shape is \[6, 6, 6\] in the file"),
    ],
)
def test_other_settings_are_refused(tmp_path, options, message):
    path = tmp_path / "run.npz"
    solve(checkpoint=path, max_iterations=3)
    with pytest.raises(CheckpointError, match=message):
        solve(checkpoint=path, resume=True, **options)


def test_other_data_is_refused(tmp_path):
    path = tmp_path / "run.npz"
    coords, values = DATA.coords, DATA.values
    options = {"shape": DATA.shape, "radius": 1.0, "checkpoint": path, "max_iterations": 3}
    intensor.solve(coords, values, **options)
    swapped, moved = values.copy(), coords.copy()
    low, high = int(values.argmin()), int(values.argmax())
    swapped[[low, high]] = swapped[[high, low]]
    moved[0] = next(cell for cell in np.ndindex(*DATA.shape) if not (coords == cell).all(1).any())
    nudged = values.copy()
    nudged[high] *= 1.0 + 1e-6
    for other in [(coords, swapped), (coords, nudged), (moved, values), (coords[1:], values[1:])]:
        with pytest.raises(CheckpointError, match="other data"):
            intensor.solve(*other, **options, resume=True)
    order = np.random.default_rng(0).permutation(values.size)
    again = intensor.solve(coords[order], values[order], **options, resume=True)
    assert again.counters.iterations == 3


def change(path, **changes):
    tree = read_tree(path).tree
    write_tree(path, {**tree, **changes})


def test_other_formats_are_refused(tmp_path):
    path = tmp_path / "run.npz"
    solve(checkpoint=path, max_iterations=3)
    change(path, format_version=2, intensor_version="9.9")
    with pytest.raises(CheckpointError, match=r"of format 2, and this .* use version 9\.9"):
        solve(checkpoint=path, resume=True)
    change(path, format_version=1, kind="fit")
    with pytest.raises(CheckpointError, match="is the checkpoint of a fit, and this is a solve"):
        solve(checkpoint=path, resume=True)
    np.savez(path, coords=DATA.coords)
    with pytest.raises(CheckpointError, match="is not a checkpoint of intensor"):
        solve(checkpoint=path, resume=True)
    content = b"not even an archive"
    path.write_bytes(content)
    with pytest.raises(CheckpointError):
        solve(checkpoint=path, resume=True)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("version", "mutations"),
    [
        ("fast", 20),
        (5, 20),
        ("graded", 20),
        pytest.param("fast", 60, marks=pytest.mark.slow),
        pytest.param(5, 60, marks=pytest.mark.slow),
        pytest.param("graded", 60, marks=pytest.mark.slow),
    ],
)
def test_mutated_files_are_errors_or_the_same_run(tmp_path, version, mutations):
    """Every number and array of a file is changed in turn; what is accepted stays in bounds."""
    path = tmp_path / "run.npz"
    options = {"rtol": 1e-2, "checkpoint": path, "max_iterations": 12}
    options |= {"components": version} if version == "graded" else {"version": version}
    solve(**options)
    content = path.read_bytes()
    rng = random.Random(0)
    outcomes = {"refused": 0, "accepted": 0}
    for _ in range(mutations):
        path.write_bytes(content)
        tree = read_tree(path).tree
        node, names = tree, []
        while isinstance(node, (dict, list)) and node:
            name = rng.choice(list(node) if isinstance(node, dict) else range(len(node)))
            names.append(name)
            parent, node = node, node[name]
        parent[name] = mutate(node, rng)
        write_tree(path, tree)
        try:
            result = solve(**options, resume=True)
        except CheckpointError:
            outcomes["refused"] += 1
        else:
            outcomes["accepted"] += 1
            assert result.model.weights.sum() <= 1.0 + 1e-6
    assert min(outcomes.values()) > mutations // 6


def mutate(value, rng):
    if isinstance(value, np.ndarray) and value.size:
        changed = value.copy()
        if rng.random() < 0.5:
            return changed[:-1] if rng.random() < 0.5 else changed.astype(np.float32)
        flat = changed.reshape(-1)
        flat[rng.randrange(flat.size)] = rng.choice([0, 1, 3, 200])
        return changed
    return rng.choice([None, -1, 0, 3, 10**30, 2**62, 0.5, "inf", "nan", "word", [], {}, True])


def test_flipped_bits_are_errors(tmp_path):
    path = tmp_path / "run.npz"
    solve(checkpoint=path, max_iterations=10)
    content, rng = path.read_bytes(), random.Random(0)
    refused = 0
    for _ in range(60):
        damaged = bytearray(content)
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        try:
            solve(checkpoint=path, resume=True, max_iterations=10)
        except CheckpointError:
            refused += 1
    assert refused > 45  # some bits of an archive mean nothing


def test_memory_is_not_reserved_for_a_claim(tmp_path, undisturbed):
    path = tmp_path / "run.npz"
    solve(checkpoint=path, max_iterations=10)
    tree = read_tree(path).tree
    tree["content"]["engine"]["core"]["active"]["capacity"] = 64 << 30
    write_tree(path, tree)
    assert_same(solve(checkpoint=path, resume=True), undisturbed)


def test_a_path_that_cannot_be_written_is_refused_at_the_start(tmp_path):
    seen = []
    with pytest.raises(FileFormatError, match="no folder"):
        solve(checkpoint=tmp_path / "nowhere" / "run.npz", callback=seen.append)
    with pytest.raises(FileFormatError, match="it is a folder"):
        solve(checkpoint=tmp_path, callback=seen.append)
    if os.path.exists("/dev/full"):
        with pytest.raises(FileFormatError, match="not a regular file"):
            solve(checkpoint="/dev/full", callback=seen.append)
    assert not seen


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_a_folder_that_cannot_be_written_to(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(FileFormatError, match="cannot be written"):
            solve(checkpoint=tmp_path / "run.npz")
    finally:
        tmp_path.chmod(0o700)


def test_a_disk_that_fills_up_later_costs_no_run(tmp_path, monkeypatch, undisturbed):
    path = tmp_path / "run.npz"
    solve(checkpoint=path, max_iterations=10)
    content = path.read_bytes()

    def full(file, **arrays):
        file.write(b"some")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("intensor.storage.codec.np.savez", full)
    with pytest.warns(CheckpointWarning, match="No space left on device.*the run goes on"):
        assert_same(solve(checkpoint=path, resume=True), undisturbed)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["run.npz"]


def test_a_full_disk_is_told_of_once(tmp_path, monkeypatch):
    reasons = itertools.cycle(["No space left on device"] * 3 + ["Input/output error"])
    writes = []

    def full(file, **arrays):
        writes.append(next(reasons))
        raise OSError(28, writes[-1])

    monkeypatch.setattr("intensor.storage.codec.np.savez", full)
    with pytest.warns(CheckpointWarning) as caught:
        solve(checkpoint=tmp_path / "run.npz", checkpoint_every=0.0)
    assert len(writes) > 8
    said = [str(warning.message) for warning in caught]
    assert len(said) == 2
    assert "No space left" in said[0]
    assert "Input/output error" in said[1]


def test_settings_are_checked():
    with pytest.raises(SettingError, match="resume needs the file to go on from"):
        solve(resume=True)
    with pytest.raises(SettingError, match="checkpoint is int"):
        solve(checkpoint=3)
    with pytest.raises(SettingError, match="checkpoint_every"):
        solve(checkpoint="run.npz", checkpoint_every=-1.0)
    assert not os.path.exists("run.npz")


def test_no_file_yet_is_a_start(tmp_path, undisturbed):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = solve(checkpoint=tmp_path / "run.npz", resume=True)
    assert_same(result, undisturbed)
    assert os.listdir(tmp_path) == ["run.npz"]


def test_momentum_is_kept(tmp_path):
    check_resuming(tmp_path, version=5, max_iterations=24, seed=3, stops=(1, 7, 22))


def test_the_page_on_checkpoints_runs():
    page = Path(__file__).parents[2] / "docs" / "checkpoints.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert tried >= 7
    assert failed == 0


# --- a fingerprint tells data apart, whatever the order of its rows

NOISY = zoo.noisy((5, 4, 4), 60, rep=5)


def of(coords=NOISY.coords, values=NOISY.values, **options):
    return fingerprint(observe(coords, values, shape=NOISY.shape, **options))


def test_the_order_of_rows_does_not_matter():
    order = np.random.default_rng(0).permutation(NOISY.values.size)
    known, found = of(), of(NOISY.coords[order], NOISY.values[order])
    assert found["random_boxes"] == pytest.approx(known["random_boxes"], rel=1e-12)
    assert found["mean_square"] == pytest.approx(known["mean_square"], rel=1e-12)
    for name in ("shape", "indices", "n", "n_cells"):
        assert found[name] == known[name]


def test_every_change_of_the_data_is_seen():
    known = of()["random_boxes"]
    low, high = int(NOISY.values.argmin()), int(NOISY.values.argmax())
    swapped, nudged, moved = NOISY.values.copy(), NOISY.values.copy(), NOISY.coords.copy()
    swapped[[low, high]] = swapped[[high, low]]
    nudged[high] *= 1.0 + 1e-6
    moved[0] = (moved[0] + 1) % NOISY.shape
    for other in (of(values=swapped), of(values=nudged), of(coords=moved)):
        assert abs(other["random_boxes"] - known) > 1e-10 * known
    assert of(NOISY.coords[1:], NOISY.values[1:])["n"] == of()["n"] - 1


def test_the_random_model_is_always_the_same_and_covers_half():
    one, other = random_boxes((20, 30), 2.0), random_boxes((20, 30), 2.0)
    assert one.weights.tolist() == other.weights.tolist()
    assert one.vertices.words.tolist() == other.vertices.words.tolist()
    cells = tuple(np.indices((20, 30)).reshape(2, -1))
    covered = one.evaluate(cells).mean() / one.weights.sum()
    assert 0.4 < covered < 0.6


def test_fingerprints_can_be_written_as_json():
    few, full = condense(observe([[70, 0], [900, 2]], [1.0, 2.0]))
    found = fingerprint(few, full)
    assert json.loads(json.dumps(found))["shape"] == [901, 3]
    assert len(found["indices"]) == 2
    assert fingerprint(few)["indices"] == []
