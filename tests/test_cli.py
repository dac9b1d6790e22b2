import subprocess
import sys

import pytest

import intensor
from intensor.cli import main


def test_demo_prints_progress_and_certificate(capsys):
    assert main(["demo"]) == 0
    printed = capsys.readouterr().out
    for word in ("iteration", "OPTIMAL", "certificate", "holds", "NMSE", " s\n"):
        assert word in printed


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert intensor.__version__ in capsys.readouterr().out


def test_unknown_command(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["sing"])
    assert stop.value.code == 2


def test_runs_as_a_module():
    call = [sys.executable, "-m", "intensor", "--version"]
    assert subprocess.run(call, capture_output=True, text=True, check=True).stdout
