import json

import pytest

from cli.commands import run
from intensor import _warmup


@pytest.fixture(autouse=True)
def steps(monkeypatch):
    monkeypatch.setattr(_warmup, "_host_steps", lambda: [("solve", lambda: None)])


def test_warmup_lists_its_steps_and_the_folder(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("intensor.runtime.kernel_files.numba_config.CACHE_DIR", str(tmp_path))
    assert run("warmup") == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].endswith("solve")
    assert printed[-1].endswith(f"in all; compiled kernels are in {tmp_path}")


def test_json_has_the_seconds(capsys):
    assert run("warmup --json") == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["command"] == "warmup"
    assert set(figures["seconds"]) == {"solve", "total"}


def test_a_device_without_kernels_is_refused(capsys):
    assert run("warmup --device tpu") == 2
    assert "tpu" in capsys.readouterr().err
