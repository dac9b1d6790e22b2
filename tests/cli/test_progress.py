import io
import logging
import sys
import time

import pytest
from rich.console import Console
from rich.live import Live

from intensor.cli import progress as module
from intensor.cli.progress import shown_progress
from intensor.runtime import kernel_files
from intensor.runtime.stopwatch import Stopwatch
from intensor.solver.result import Progress


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


def test_plain_lines_are_written_now_and_then(capsys, monkeypatch):
    clock = iter([0.0, 0.1, 1.0, 2.0, 2.2])
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(clock))
    with shown_progress(quiet=False) as callback:
        for objective in (4.0, 3.0, 2.0, 1.0):
            callback(state(objective))
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert len(lines) == 2
    assert lines[0] == "    0.1 s  radius 3.2: objective 4  bound 0.5  gap 3.5  boxes 7"
    assert "objective 1 " in lines[1]


def test_quiet_shows_nothing(capsys):
    with shown_progress(quiet=True) as callback:
        assert callback is None
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("colour", [True, False])
def test_a_live_line_on_a_terminal(monkeypatch, colour):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    if not colour:
        monkeypatch.setenv("NO_COLOR", "1")
    with shown_progress(quiet=False) as callback:
        callback(state())
    drawn = terminal.getvalue()
    assert "radius 3.2" in drawn
    assert "\x1b[2K" in drawn
    assert not drawn.endswith("boxes 7\n")


def test_a_dumb_terminal_gets_lines(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "dumb")
    with shown_progress(quiet=False) as callback:
        callback(state(stage="fit"))
    assert "\x1b" not in terminal.getvalue()
    assert "fit: objective 2" in terminal.getvalue()


def test_a_terminal_that_is_gone_does_not_end_a_fit(monkeypatch):
    def fail(*_, **__):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Live, "start", fail)
    monkeypatch.setattr(Live, "stop", fail)
    monkeypatch.setattr(module, "_terminal", Console)
    with shown_progress(quiet=False) as callback:
        assert callback is not None


def test_lines_say_that_kernels_are_compiled(capsys):
    with shown_progress(quiet=False):
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
