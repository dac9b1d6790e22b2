"""Commands in processes: signals and pipes."""

import io
import json
import os
import signal
import subprocess
import sys
from importlib.resources import files

import pytest

import intensor
import intensor.fitting.fit as entry
from intensor.cli import main
from intensor.fitting.model_file import load

PYTHON = [sys.executable, "-m", "intensor"]
FLIGHTS = str(files("intensor.datasets") / "flights.csv")
LONG = ["fit", FLIGHTS, "--value=air_time", "--radius=650", "--rtol=1e-9", "--exact=off"]


def test_runs_as_a_module():
    answer = subprocess.run([*PYTHON, "--version"], capture_output=True, text=True, check=True)
    assert answer.stdout == f"intensor {intensor.__version__}\n"


def test_a_fit_that_is_told_to_end_saves_its_best_model(tmp_path, monkeypatch, capsys):
    class Terminating(io.StringIO):
        """Sends SIGTERM, which raises SIGINT, when the first progress is shown."""

        def write(self, text):
            if "objective" in text and "objective" not in self.getvalue():
                os.kill(os.getpid(), signal.SIGTERM)
            return super().write(text)

    model = tmp_path / "model.npz"
    before = signal.getsignal(signal.SIGTERM)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", Terminating())
        assert main([*LONG, "-o", str(model), "--json"]) == 130
        said = sys.stderr.getvalue()
    assert signal.getsignal(signal.SIGTERM) is before
    check_what_was_saved(model, capsys.readouterr().out, said)


def check_what_was_saved(model, out, said):
    assert "Traceback" not in said
    assert "interrupted; the best model so far was saved" in said
    figures = json.loads(out)
    assert figures["interrupted"] is True
    assert figures["status"] == "INTERRUPTED"
    assert load(model).objective == figures["objective"]
    assert [path.name for path in model.parent.iterdir()] == ["model.npz"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_process_saves_its_best_model(tmp_path, number):
    model = tmp_path / "model.npz"
    process = subprocess.Popen(
        [*PYTHON, *LONG, "-o", str(model), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert "objective" in process.stderr.readline()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    check_what_was_saved(model, out, err)


def test_a_second_interrupt_leaves_at_once(tmp_path, monkeypatch, capsys):
    # The first one is lost, as it can be in a fit while kernels are being loaded.
    def fit(*data, **options):
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(entry, "fit", fit)
    assert main([*LONG, "-o", str(tmp_path / "model.npz")]) == 130
    said = capsys.readouterr().err
    assert said.startswith("error: interrupted")
    assert len(said.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command", ["-h", *(pytest.param(name, marks=pytest.mark.slow) for name in ("info", "predict"))]
)
def test_a_reader_may_leave(model, command):
    cells = model.with_name("cells.csv")
    cells.write_text("user,item,week\nann,x,1\n")
    arguments = {"predict": [model, cells], "info": [model], "-h": []}
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


def test_closed_streams_keep_their_numbers(tmp_path):
    """A file that is opened later must not get the number of stderr, which libraries write to."""
    answer = tmp_path / "number"
    code = (
        "import sys; from intensor.cli.console import open_streams; open_streams()\n"
        "file = open(sys.argv[1], 'w'); print('lost'); print('lost', file=sys.stderr)\n"
        "file.write(str(file.fileno()))\n"
    )
    shell = '"$0" -c "$1" "$2" <&- >&- 2>&-'
    subprocess.run(["sh", "-c", shell, sys.executable, code, str(answer)], check=True)
    assert int(answer.read_text()) > 2


@pytest.mark.slow
@pytest.mark.parametrize("closing", ["2>&-", ">&-", "<&- >&- 2>&-", ">/dev/full 2>/dev/full"])
def test_a_fit_is_saved_whatever_its_streams(table, tmp_path, closing):
    model = tmp_path / "new.npz"
    arguments = ["fit", str(table), "--value", "rating", "--radius", "6", "-o", str(model)]
    shell = f'"$0" -m intensor "$@" {closing}'
    answer = subprocess.run(["sh", "-c", shell, sys.executable, *arguments], check=False)
    assert answer.returncode == (2 if "full" in closing else 0)
    assert load(model).n == 7
