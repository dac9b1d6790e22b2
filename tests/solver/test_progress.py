"""Progress for people: a live line, plain lines, and a callback that is called all the same."""

import io
import logging
import subprocess
import sys
import time
import types

import pytest
from rich.console import Console
from rich.file_proxy import FileProxy
from rich.live import Live

import intensor
from intensor import Status
from intensor.runtime import kernel_files
from intensor.runtime.stopwatch import Stopwatch
from intensor.solver import progress as module
from intensor.solver.progress import show_progress
from intensor.solver.result import Progress

DATA = intensor.planted((4, 4, 3), 40, noise=0.1)
DENSE = DATA.truth.to_dense()


def state(objective=2.0, stage="radius 3.2"):
    return Progress(
        iteration=1,
        step="local",
        active=7,
        objective=objective,
        bound=0.5,
        phi=1.0,
        pricing_gap=1.0,
        seconds=0.1,
        stage=stage,
    )


class Terminal(io.StringIO):
    def isatty(self):
        return True


def use_terminal(monkeypatch):
    """Make stderr a terminal; pytest has put its own in place before every phase of a test."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    return terminal


def test_plain_lines_are_written_now_and_then(capsys, monkeypatch):
    clock = iter([0.0, 0.1, 1.0, 2.0, 2.2])
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(clock))
    with show_progress(verbose=True) as callback:
        for objective in (4.0, 3.0, 2.0, 1.0):
            callback(state(objective))
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert len(lines) == 2
    assert lines[0] == "    0.1 s  radius 3.2: objective 4  bound 0.5  gap 3.5  boxes 7"
    assert "objective 1 " in lines[1]


def test_nothing_is_shown_unless_asked_for(capsys):
    with show_progress(verbose=False) as callback:
        assert callback is None
    with show_progress(state, verbose=False) as callback:
        assert callback is state
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("colour", [True, False])
def test_a_live_line_on_a_terminal(monkeypatch, colour):
    terminal = use_terminal(monkeypatch)
    if not colour:
        monkeypatch.setenv("NO_COLOR", "1")
    with show_progress(verbose=True) as callback:
        callback(state())
    drawn = terminal.getvalue()
    assert "preparing" in drawn
    assert "radius 3.2" in drawn
    assert "\x1b[2K" in drawn
    assert not drawn.endswith("boxes 7\n")


def test_a_dumb_terminal_gets_lines(monkeypatch):
    terminal = use_terminal(monkeypatch)
    monkeypatch.setenv("TERM", "dumb")
    with show_progress(verbose=True) as callback:
        callback(state(stage="fit"))
    assert "\x1b" not in terminal.getvalue()
    assert "fit: objective 2" in terminal.getvalue()


def test_a_terminal_that_is_gone_does_not_end_a_fit(monkeypatch):
    def fail(*_, **__):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Live, "start", fail)
    monkeypatch.setattr(Live, "stop", fail)
    monkeypatch.setattr(module, "_live_console", Console)
    with show_progress(verbose=True) as callback:
        assert callback is not None


@pytest.mark.parametrize("stream", [None, "closed"])
def test_a_stream_that_is_missing_or_closed_does_not_end_a_fit(monkeypatch, stream):
    if stream is not None:
        stream = io.StringIO()
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    with show_progress(verbose=True) as callback:
        callback(state())


@pytest.mark.parametrize("widgets", [True, False])
def test_a_notebook_has_a_live_line_if_there_are_widgets(monkeypatch, widgets, capsys):
    drawn = []
    console = types.SimpleNamespace(is_jupyter=True, is_terminal=False)
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setattr("rich.console.Console", lambda **_: console)
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda _: widgets or None)

    class FakeLive:
        def __init__(self, line, **options):
            assert options["console"] is console
            assert not options["redirect_stdout"]
            self.line = line

        def start(self, refresh):
            drawn.append("start")

        def stop(self):
            drawn.append(str(self.line.__rich__().text))

    monkeypatch.setattr("rich.live.Live", FakeLive)
    with show_progress(verbose=True) as callback:
        callback(state())
    printed = capsys.readouterr().err
    if widgets:
        assert drawn[0] == "start"
        assert "radius 3.2" in drawn[1]
        assert printed == ""
    else:
        assert drawn == []
        assert "radius 3.2: objective 2" in printed


def test_the_callback_is_called_too_and_may_stop(capsys):
    seen = []

    def callback(progress):
        seen.append(progress)
        return False

    with show_progress(callback, verbose=True) as both:
        assert both(state()) is False
    assert seen == [state()]
    assert "objective 2" in capsys.readouterr().err


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_errors_and_interrupts_leave_the_streams_as_they_were(monkeypatch, error):
    terminal = use_terminal(monkeypatch)
    out = Terminal()
    monkeypatch.setattr(sys, "stdout", out)

    def fail(progress):
        assert isinstance(sys.stdout, FileProxy), "prints move the line down"
        raise error

    with pytest.raises(error), show_progress(fail, verbose=True) as callback:
        callback(state())
    assert sys.stdout is out
    assert sys.stderr is terminal
    assert "\x1b[?25h" in terminal.getvalue(), "the cursor is back"


def test_what_is_printed_to_a_file_still_goes_there(monkeypatch):
    terminal = use_terminal(monkeypatch)
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    with show_progress(verbose=True):
        sys.stdout.write("mine\n")
    assert out.getvalue() == "mine\n"
    assert "mine" not in terminal.getvalue()


FACES = {
    "solve": lambda **options: intensor.solve(
        DATA.coords, DATA.values, radius=1.0, exact="off", **options
    ),
    "fit": lambda **options: intensor.fit(DENSE, radius=1.0, exact="off", **options),
    "complete": lambda **options: intensor.complete(DENSE, radius=1.0, exact="off", **options)[1],
    "TensorCompleter": lambda **options: (
        intensor.TensorCompleter(radius=1.0, exact="off", **options)
        .fit(DATA.coords, DATA.values)
        .fit_
    ),
}


@pytest.mark.filterwarnings("ignore::intensor.errors.NothingToFillWarning")
@pytest.mark.parametrize("face", FACES)
def test_every_face_is_silent_unless_verbose(face, capsys):
    calls = []

    def callback(progress):
        calls.append(progress.objective)
        return False

    plain = FACES[face](callback=callback)
    assert capsys.readouterr() == ("", "")
    assert plain.status is Status.STOPPED
    found = FACES[face](callback=callback, verbose=True)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "objective" in printed.err
    assert found.status is Status.STOPPED
    assert calls[: len(calls) // 2] == calls[len(calls) // 2 :], "the progress is the same"
    assert FACES[face](verbose=True).objective == FACES[face]().objective


def test_a_process_that_is_interrupted_ends_with_its_best_model():
    code = """
import os, signal, intensor
data = intensor.planted((4, 4, 3), 40, noise=0.1)
def press(progress):
    os.kill(os.getpid(), signal.SIGINT)
print(intensor.solve(data.coords, data.values, radius=1.0, verbose=True, callback=press).status)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "INTERRUPTED\n"
    assert "objective" in done.stderr
    assert "Traceback" not in done.stderr


def test_lines_say_that_kernels_are_compiled(capsys):
    with show_progress(verbose=True):
        kernel_files.Files().announce()
    line = capsys.readouterr().err
    assert "Compiling kernels" in line
    assert " s  " in line
    log = logging.getLogger(module.KERNEL_LOG)
    assert (log.handlers, log.propagate, log.level) == ([], True, logging.NOTSET)


def test_the_name_of_the_log_is_that_of_the_module():
    assert kernel_files.__name__ == module.KERNEL_LOG


def test_the_live_line_says_that_kernels_are_compiled(monkeypatch):
    watch = Stopwatch()
    monkeypatch.setattr(module, "COMPILING", watch)
    line = module._LiveLine()
    with watch:
        time.sleep(0.01)
        assert "compiling kernels (once per machine)" in str(line.__rich__().text)
    str(line.__rich__().text)
    time.sleep(0.01)
    assert "preparing" in str(line.__rich__().text)
    line(state())
    assert "radius 3.2" in str(line.__rich__().text)
