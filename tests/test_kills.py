"""Processes that are killed with SIGKILL at random moments go on and end as if nothing happened.

Checkpoints are written after every round here, so that many kills strike during a write.
``-o log_cli=true --log-cli-level=INFO`` shows how many did.
"""

import json
import logging
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import intensor
from intensor.cli import main
from intensor.storage.codec import read_tree

_LOG = logging.getLogger(__name__)
SOLVE = """
import json, sys, time
import intensor

options, path = json.loads(sys.argv[1]), sys.argv[2]
data = intensor.planted((6, 6, 6), 120, noise=0.3)


def slowly(progress):
    print("round", progress.iteration, flush=True)
    time.sleep(0.01)


result = intensor.solve(
    data.coords,
    data.values,
    shape=data.shape,
    callback=slowly,
    checkpoint=path,
    checkpoint_every=0.0,
    resume=True,
    **options,
)
print(json.dumps([result.objective, result.bound, result.model.weights.tolist()]))
"""
WINDOW = 0.5
"""Longest time from the first round to the kill, in seconds."""


def start(command):
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def ended(process):
    """Return the output of a process, or None when it was killed."""
    with process.stdout as stdout:
        output = stdout.read()
    assert process.wait() in (0, -signal.SIGKILL)
    return None if process.returncode else output


def check_folder(folder, path):
    """Check that the checkpoint can be read and is alone; return the number of hidden files."""
    if path.exists():
        read_tree(path)
    visible = [name for name in os.listdir(folder) if not name.startswith(".")]
    hidden = [name for name in os.listdir(folder) if name.startswith(".")]
    assert visible in ([], [path.name])
    assert hidden in ([], [f".intensor-{path.name}.part"])
    return len(hidden)


def solve(options, **more):
    """Solve what the script solves, in this process."""
    data = intensor.planted((6, 6, 6), 120, noise=0.3)
    return intensor.solve(data.coords, data.values, shape=data.shape, **options, **more)


def solve_with_kills(folder, options, kills, rng):
    """Kill a solve some times, go on each time; return its result, kills and kills in a write.

    After the last kill the solve goes on in this process, which need not start first.
    """
    path = folder / "run.npz"
    command = [sys.executable, "-c", SOLVE, json.dumps(options), str(path)]
    struck = writing = 0
    while struck < kills:
        process = start(command)
        first = process.stdout.readline()
        if first.startswith("round"):  # there may be no round left
            time.sleep(rng.uniform(0.0, WINDOW))
            process.kill()
        output = ended(process)
        if output is not None:
            return json.loads((first + output).splitlines()[-1]), struck, writing
        struck += 1
        writing += check_folder(folder, path)
    last = solve(options, checkpoint=path, resume=True)
    return [last.objective, last.bound, last.model.weights.tolist()], struck, writing


@pytest.mark.parametrize(
    ("version", "kills"),
    [
        ("fast", 1),
        pytest.param("fast", 12, marks=pytest.mark.slow),
        pytest.param(3, 4, marks=pytest.mark.slow),
        pytest.param(8, 4, marks=pytest.mark.slow),
    ],
)
def test_a_killed_solve_ends_the_same(tmp_path, version, kills):
    options = {"radius": 1.0, "version": version, "rtol": 1e-6 if version == "fast" else 0.03}
    undisturbed = solve(options)
    rng = random.Random(kills)
    struck = writing = chains = 0
    while struck < kills:
        folder = tmp_path / str(chains)
        folder.mkdir()
        chains += 1
        end, more, half = solve_with_kills(folder, options, min(4, kills - struck), rng)
        objective, bound, weights = end
        assert objective == pytest.approx(undisturbed.objective, rel=1e-9, abs=0.0)
        assert bound == pytest.approx(undisturbed.bound, rel=1e-9, abs=0.0)
        np.testing.assert_allclose(weights, undisturbed.model.weights, rtol=1e-9)
        assert more > 0, "the solve ended before it could be killed"
        struck, writing = struck + more, writing + half
    _LOG.info("version %s: %d kills, %d while a file was written", version, struck, writing)


def arguments(data, folder, *more):
    model = str(folder / "model.npz")
    return ["fit", str(data), "-o", model, "--validation", "3", "--json", "--quiet", *more]


def undisturbed_fit(data, folder, capsys):
    """Return the figures of a command that nobody disturbs."""
    assert main(arguments(data, folder)) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, 8])
def test_a_killed_fit_ends_the_same(tmp_path, capsys, kills):
    table = intensor.planted((7, 7, 7), 300, noise=0.2)
    data = tmp_path / "data.csv"
    rows = np.column_stack([table.coords, table.values])
    np.savetxt(data, rows, delimiter=",", header="a,b,c,value", comments="", fmt="%.17g")
    undisturbed = undisturbed_fit(data, tmp_path, capsys)
    rng = random.Random(kills)
    struck = writing = 0
    folder = tmp_path / "run"
    folder.mkdir()
    path = folder / "run.npz"
    more = ["--checkpoint", str(path), "--checkpoint-every", "0", "--resume"]
    while True:
        before = path.stat().st_mtime_ns if path.exists() else 0
        process = start([sys.executable, "-m", "intensor", *arguments(data, tmp_path, *more)])
        while process.poll() is None and not (path.exists() and path.stat().st_mtime_ns > before):
            time.sleep(0.002)
        if struck < kills:
            time.sleep(rng.uniform(0.0, 0.4))
            process.kill()
        output = ended(process)
        if output is not None:
            found = json.loads(output)
            break
        struck += 1
        writing += check_folder(folder, path)
    assert struck > 0, "the fit ended before it could be killed"
    assert found["status"] == undisturbed["status"]
    for name in ("objective", "bound", "radius", "boxes", "iterations"):
        assert found[name] == pytest.approx(undisturbed[name], rel=1e-9, abs=0.0)
    for name in ("chosen", "approach"):
        assert found["validation"][name] == undisturbed["validation"][name]
    for walked, other in zip(
        found["validation"]["paths"], undisturbed["validation"]["paths"], strict=True
    ):
        assert walked["radii"] == other["radii"]
        assert walked["errors"] == pytest.approx(other["errors"], rel=1e-9)
    _LOG.info("fit: %d kills, %d while a file was written", struck, writing)
