"""After a warm-up, no solve or fit compiles anything."""

import os
import subprocess
import sys
from textwrap import dedent

import pytest

import intensor
from intensor import _warmup
from intensor.errors import SettingError
from intensor.runtime.kernel_files import Files

LATER = """
    import logging
    import numpy as np
    import intensor
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event):
            print("compiled", event.data["dispatcher"], event.data["args"])
        def on_end(self, event):
            pass

    event.register("numba:compile", Listener())
    for shape, n, options in [
        ((10, 10, 10), 500, {"exact": "auto"}),
        ((12, 12, 12), 600, {"rtol": 1e-3, "exact": "enumeration"}),
        ((8, 8, 3), 150, {"rtol": 1e-2, "exact": "branch", "signed": True}),
        ((300, 200), 3000, {"exact": "off"}),
        ((9, 8, 7, 6), 900, {"components": "graded", "exact": "off"}),
        ((60, 60, 60), 50_000, {"exact": "off"}),
        ((70, 90, 60), 400_000, {"exact": "off", "components": "graded"}),
    ]:
        data = intensor.planted(shape, n, noise=0.02)
        intensor.solve(
            data.coords, data.values, shape=shape, radius=1.0, max_iterations=30, **options
        )
    data = intensor.planted((9, 8, 7), 300, noise=0.05)
    fit = intensor.TensorCompleter(remainder="auto").fit(data.coords, data.values).fit_
    fit.predict(data.coords)
    print("done")
"""


@pytest.mark.needs_jit
@pytest.mark.slow
def test_nothing_is_compiled_after_a_warmup(tmp_path):
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-m", "intensor", "warmup"]
    first = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "exact enumeration, 64 bits" in first.stdout
    assert str(tmp_path) in first.stdout
    later = [sys.executable, "-c", dedent(LATER)]
    second = subprocess.run(later, env=environment, capture_output=True, text=True, check=True)
    assert second.stdout.split() == ["done"]


def test_only_devices_with_kernels_can_be_warmed_up():
    with pytest.raises(SettingError, match="expected 'cpu' or 'cuda'"):
        intensor.warmup(device="auto")


def test_kernels_that_cannot_be_kept_are_an_error(monkeypatch):
    files = Files()
    monkeypatch.setattr(_warmup, "FILES", files)
    monkeypatch.setattr(_warmup, "_host_steps", lambda: [("a step", lambda: files.close("full"))])
    with pytest.raises(SettingError, match="cannot be kept in files: full; set NUMBA_CACHE_DIR"):
        intensor.warmup()


def test_every_step_has_its_seconds(monkeypatch):
    done = []
    steps = [("one", lambda: done.append(1)), ("two", lambda: done.append(2))]
    monkeypatch.setattr(_warmup, "_host_steps", lambda: steps)
    assert set(intensor.warmup()) == {"one", "two"}
    assert done == [1, 2]
