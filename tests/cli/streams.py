"""Standard streams that are closed, full or no longer read, to run commands with."""

import contextlib
import os
import sys

from intensor.cli import main


def closed():
    return None


def full():
    return open("/dev/full", "w")


def left():
    """A pipe whose reader is gone."""
    read, write = os.pipe()
    os.close(read)
    return open(write, "w")


def run(monkeypatch, arguments, **streams):
    """Run a command with other streams, and return its exit code."""
    with monkeypatch.context() as patch:
        for name, stream in streams.items():
            patch.setattr(sys, name, stream)
        code = main(list(map(str, arguments)))
        for name in streams:
            if name != "stderr":  # whose failures the interpreter ignores at its end
                getattr(sys, name).flush()
            with contextlib.suppress(OSError):
                getattr(sys, name).close()
    return code
