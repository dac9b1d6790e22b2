"""True processes: signals, pipes and what is imported."""

import json
import os
import signal
import subprocess
import sys
from importlib.resources import files

import pytest

import intensor
from intensor.fitting.model_file import load

PYTHON = [sys.executable, "-m", "intensor"]
HEAVY = (
    "numpy",
    "numba",
    "scipy",
    "sklearn",
    "pyarrow",
    "pandas",
    "matplotlib",
    "highspy",
    "rich.live",
)
FLIGHTS = str(files("intensor.datasets") / "flights.csv")
LONG = [
    "fit",
    FLIGHTS,
    "--value",
    "air_time",
    "--radius",
    "650",
    "--rtol",
    "1e-9",
    "--exact",
    "off",
]


def modules_after(code):
    tail = f"; import sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    answer = subprocess.run(
        [sys.executable, "-c", code + tail], capture_output=True, text=True, check=True
    )
    return set(eval(answer.stdout.splitlines()[-1]))


@pytest.mark.parametrize("words", [["--help"], ["fit", "--help"], ["--version"]])
def test_help_is_light(words):
    base = modules_after("pass")
    loaded = modules_after(f"from intensor.cli import main; assert main({words!r}) == 0")
    assert loaded == base


def test_runs_as_a_module():
    answer = subprocess.run([*PYTHON, "--version"], capture_output=True, text=True, check=True)
    assert answer.stdout == f"intensor {intensor.__version__}\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_fit_saves_its_best_model(tmp_path, number):
    model = tmp_path / "model.npz"
    process = subprocess.Popen(
        [*PYTHON, *LONG, "-o", str(model), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    lines = [process.stderr.readline() for _ in range(2)]
    assert "objective" in lines[-1]
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "interrupted; the best model so far was saved" in err
    figures = json.loads(out)
    assert figures["interrupted"] is True
    assert figures["status"] == "INTERRUPTED"
    assert load(model).objective == figures["objective"]
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]


def test_a_second_interrupt_leaves_at_once(tmp_path):
    # the first one is swallowed as a fit would do whose kernels take long to look up
    code = (
        "import signal, sys\n"
        "import intensor.fitting.fit as entry\n"
        "def fit(*words, **more):\n"
        "    signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "entry.fit = fit\n"
        "from intensor.cli import main\n"
        f"sys.exit(main({[*LONG, '-o', str(tmp_path / 'model.npz')]!r}))\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 130
    assert answer.stderr.startswith("error: interrupted")
    assert len(answer.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["predict", "info", "--help"])
def test_a_reader_may_leave(model, command):
    cells = model.with_name("cells.csv")
    cells.write_text("user,item,week\nann,x,1\n")
    arguments = {"predict": [model, cells], "info": [model], "--help": []}
    read, write = os.pipe()
    os.close(read)
    try:
        answer = subprocess.run(
            [*PYTHON, command, *map(str, arguments[command])],
            stdout=write,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(write)
    assert answer.stderr == ""
    assert answer.returncode == 141
