"""How much memory there is, what tasks take, and that they are refused with the figure."""

import re
import subprocess
import sys

import numpy as np
import pytest

import intensor
from intensor import errors
from intensor.cli import main
from intensor.data.observations import observe
from intensor.oracles.cascade import FreeBoundOracle, TimeLimitedOracle, find_exact
from intensor.runtime import memory
from intensor.runtime.memory import available_memory, fitting_bytes, require_memory
from intensor.solver.variants import FAST, VERSIONS

NONE = "9223372036854771712"


def machine(root, *, meminfo="MemTotal: 100 kB\nMemAvailable: 64 kB\n", cgroup="", **files):
    """Make a root directory with what Linux would show there."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text(meminfo)
    (root / "proc/self/cgroup").write_text(cgroup)
    for name, text in files.items():
        path = root / "sys/fs/cgroup" / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_without_limits_it_is_what_the_machine_has_left(tmp_path):
    assert available_memory(machine(tmp_path)) == 64 * 1024


def test_it_is_not_known_on_other_systems(tmp_path):
    assert available_memory(tmp_path) is None
    assert available_memory(machine(tmp_path, meminfo="nothing\nMemAvailable\n")) is None


def test_control_groups_of_version_2_count_with_those_above(tmp_path):
    root = machine(
        tmp_path,
        cgroup="0::/a/b\n",
        a__b__memory_dot_max="max",
        a__b__memory_dot_current="5",
        a__memory_dot_max="30000",
        a__memory_dot_current="20000",
        a__memory_dot_stat="anon 7\ninactive_file 1000\n",
    )
    assert available_memory(root) == 11000


def test_control_groups_of_version_1_may_have_no_limit(tmp_path):
    names = {"memory__memory_dot_usage_in_bytes": "600", "memory__g__memory_dot_stat": "odd"}
    root = machine(
        tmp_path,
        cgroup="7:cpu:/\n4:memory:/g\n",
        memory__memory_dot_limit_in_bytes=NONE,
        memory__g__memory_dot_limit_in_bytes="1000",
        memory__g__memory_dot_usage_in_bytes="400",
        **names,
    )
    assert available_memory(root) == 600


def test_a_group_that_cannot_be_seen_counts_by_its_top(tmp_path):
    root = machine(
        tmp_path, cgroup="0::/host/only\n", memory_dot_max="500", memory_dot_current="900"
    )
    assert available_memory(root) == 0


def test_here_it_is_known_on_linux():
    known = available_memory()
    assert (known is not None and known > 1 << 20) or not sys.platform.startswith("linux")


def test_messages_name_both_figures_and_a_way_out():
    with pytest.raises(errors.MemoryLimitError, match=r"^x needs about 2 GiB .* 1\.5 KiB are allo"):
        require_memory(2 << 30, "x", advice="do y", limit=1536)
    with pytest.raises(errors.MemoryLimitError, match=r"e\+41 bytes of memory.*; do y$"):
        require_memory(10**41, "x", advice="do y")
    require_memory(1536, "x", advice="", limit=1536)


@pytest.fixture
def short_of_memory(monkeypatch):
    """Let 3 MB be available."""
    monkeypatch.setattr(memory, "available_memory", lambda: 3_000_000)


def many(n=1_500_000):
    rng = np.random.default_rng(0)
    return rng.integers(0, 50, (n, 3)), rng.random(n)


@pytest.mark.usefixtures("short_of_memory")
def test_solves_that_do_not_fit_are_refused_before_work_starts():
    coords, values = many()
    with pytest.raises(errors.MemoryLimitError, match=r"1500000 observations.*MiB.*memory_limit"):
        intensor.solve(coords, values, radius=1.0)
    with pytest.raises(errors.MemoryLimitError, match=r"10 cells.*5000001 indices.*fewer indices"):
        intensor.solve(coords[:10, :2], values[:10], shape=(5_000_000 - 49, 50), radius=1.0)
    assert intensor.solve(
        coords[:100], values[:100], radius=1.0, max_iterations=3
    ).model.weights.size


@pytest.mark.usefixtures("short_of_memory")
def test_a_limit_of_ones_own_takes_the_place_of_what_is_available():
    coords, values = many()
    options = {"radius": 1.0, "max_iterations": 3, "exact": "off"}
    assert len(intensor.solve(coords, values, memory_limit="1 GiB", **options).model)
    with pytest.raises(errors.MemoryLimitError, match=r"and 977 KiB are allowed"):
        intensor.solve(coords[:30_000], values[:30_000], memory_limit="1 MB", **options)


@pytest.mark.usefixtures("short_of_memory")
def test_fits_and_completions_that_do_not_fit_are_refused():
    coords, values = many()
    with pytest.raises(errors.MemoryLimitError, match=r"fit of 1500000 observations.*solve"):
        intensor.TensorCompleter().fit(coords, values)
    table = np.full((2100, 2100), np.nan)
    table[0] = 1.0
    with pytest.raises(errors.DenseTooLargeError, match=r"4407900 cells needs about 67\.3 MiB"):
        intensor.complete(table)


def test_fits_and_completions_respect_a_limit_of_ones_own(tmp_path, capsys):
    coords, values = many(3000)
    fits = r"a fit of 3000 observations .* and 97\.7 KiB are allowed"
    with pytest.raises(errors.MemoryLimitError, match=fits):
        intensor.TensorCompleter(memory_limit="100 kB").fit(coords, values)
    table = np.full((50, 50, 50), np.nan)
    table[tuple(coords.T)] = values
    with pytest.raises(errors.DenseTooLargeError, match=r"filling in .* 97\.7 KiB are allowed"):
        intensor.complete(table, memory_limit="100 kB")
    dense = np.where(np.eye(40) > 0, np.nan, 1.0)
    with pytest.raises(errors.MemoryLimitError, match=r"a fit of 1560 .* 97\.7 KiB are allowed"):
        intensor.complete(dense, memory_limit=100_000)
    path = tmp_path / "table.csv"
    rows = np.c_[coords, values]
    np.savetxt(path, rows, delimiter=",", header="a,b,c,value", comments="", fmt="%g")
    command = ["fit", str(path), "-o", str(tmp_path / "model.npz"), "-q"]
    assert main([*command, "--memory-limit", "100 kB"]) == 2
    assert re.search(fits, capsys.readouterr().err)
    enough = ["--memory-limit", "1 GiB", "--radius", "1", "--max-iterations", "3"]
    assert main([*command, *enough]) == 0


@pytest.mark.usefixtures("short_of_memory")
def test_exact_searches_that_do_not_fit_are_left_out_or_refused():
    coords, values, shape = *many(500), (50, 50, 50)
    small = observe(coords % 12, values, shape=(12, 12, 12))
    assert isinstance(find_exact("auto").oracle(small, patient=False), TimeLimitedOracle)
    settings = {"patient": False, "time_limit": 1e17}  # time is no reason to leave it out
    large = observe(np.c_[coords, coords[:, 0] % 9], values, shape=(*shape, 9))
    assert isinstance(find_exact("auto").oracle(large, **settings), FreeBoundOracle)
    with pytest.raises(errors.MemoryLimitError, match=r"exact='branch'.*'auto'"):
        find_exact("branch").oracle(large, **settings)


def test_estimates_know_the_versions():
    needed = {name: row.bytes_needed(10**6, (100, 100, 100)) for name, row in VERSIONS.items()}
    assert min(size for name, size in needed.items() if name != "fast") == needed[10]
    assert needed[8] > 1.5 * needed[10]
    one, four = (
        fitting_bytes(10**6, (100,) * 3, walk=FAST, solve=FAST, folds=folds) for folds in (1, 4)
    )
    assert four > 2 * one


PEAK = """
import resource, sys
sys.path[:0] = {path!r}
import numpy as np
import intensor
from runtime.test_memory import MEASURED, run_measured
data = intensor.planted((4, 4, 4), 40)
intensor.solve(data.coords, data.values, radius=1.0, threads=1)
run_measured({name!r}, 50)
coords, values = None, None
import gc; gc.collect()
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
open("/proc/self/clear_refs", "w").write("5")  # forget the peak of what was compiled
kept = run_measured({name!r}, None, before=resident)
lines = open("/proc/self/status").read().splitlines()
peak = next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
print(peak - kept)
"""
MEASURED = {
    "cells": ("solve", (100, 100, 100), 10**6, "fast"),
    "modes": ("solve", (10,) * 6, 3 * 10**5, "fast"),
    "matrix": ("solve", (1000, 1000), 2 * 10**6, "fast"),
    "long mode": ("solve", (2 * 10**5, 5), 10**6, "fast"),
    "indices that never occur": ("solve", (10**7, 5), 10**4, "fast"),
    "dense rows": ("solve", (300, 300, 300), 10**5, 8),
    "sparse rows": ("solve", (300, 300, 300), 10**5, 10),
    "fit": ("fit", (100, 100, 100), 5 * 10**5, "fast"),
}


def run_measured(name, n, before=lambda: 0):
    """Run a case on n observations, or as many as it has; return what ``before`` said."""
    task, shape, count, version = MEASURED[name]
    n = n or count
    rng = np.random.default_rng(0)
    if n == 50:
        shape = (5,) * len(shape)
    coords = np.empty((n, len(shape)), dtype=np.int64)
    for mode, length in enumerate(shape):
        coords[:, mode] = rng.integers(0, length, n)
    values = rng.random(n)
    held = before()
    options = {"exact": "off", "threads": 1, "max_iterations": 2 if version != "fast" else 4}
    if task == "solve":
        intensor.solve(coords, values, shape=shape, radius=1.0, version=version, **options)
    else:
        options |= {"remainder": "none", "transform": "none", "baseline": "none", "time_limit": 20}
        intensor.TensorCompleter(shape=shape, **options).fit(coords, values)
    return held


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("name", MEASURED)
def test_estimates_are_right_to_a_factor_of_two(name):
    task, shape, n, version = MEASURED[name]
    script = PEAK.format(path=sys.path, name=name)
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    peak = int(ran.stdout)
    if task == "fit":
        estimate = fitting_bytes(n, shape, walk=FAST, solve=FAST)
    else:
        cells = np.prod(np.array(shape, dtype=float))
        n_cells = int(cells * -np.expm1(-n / cells))  # that random rows hit
        collapsing = memory.collapsing_bytes(n, len(shape), copied=False)
        occurring = tuple(min(length, n_cells) for length in shape)
        solving = VERSIONS[version].bytes_needed(n_cells, occurring)
        if occurring != shape:
            solving += memory.expanding_bytes(shape)
        estimate = max(collapsing, solving)
    assert peak / 2 <= estimate <= 2 * peak
