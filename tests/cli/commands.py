"""Ways to run commands, with ordinary streams or with streams that fail."""

import contextlib
import itertools
import os
import sys

from intensor.cli import main


def run(*arguments):
    """Run a command and return its exit code; text is split at spaces, everything else is not."""
    parts = [part.split() if isinstance(part, str) else [str(part)] for part in arguments]
    return main(list(itertools.chain.from_iterable(parts)))


def closed():
    return None


def full():
    return open("/dev/full", "w")


def left():
    """A pipe whose reader is gone."""
    read, write = os.pipe()
    os.close(read)
    return open(write, "w")


def run_with(monkeypatch, arguments, **streams):
    """Run a command with other streams and return its exit code."""
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
