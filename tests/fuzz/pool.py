"""One worker process at a time: killed when it hangs, and started again when it has died."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

TESTS = Path(__file__).parent.parent
PATIENCE = 120.0
"""Seconds that one case may take; most take a few milliseconds."""


class Worker:
    """A process that runs cases; use it as a context."""

    def __init__(self, *command: str, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._command = command or (sys.executable, "-m", "fuzz.worker")
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def run(self, name: str, number: int) -> dict:
        """Return the outcome of a case."""
        if self._process is None:
            self._start()
        assert self._process is not None
        try:
            self._process.stdin.write(f"{name} {number}\n")
            self._process.stdin.flush()
            line = self._lines.get(timeout=self._patience)
        except queue.Empty:
            self._end()
            return _fault(name, number, f"took more than {self._patience:.0f} seconds")
        except BrokenPipeError:
            line = None
        if line is None:
            code = self._end()
            return _fault(name, number, f"the process died ({code})")
        return json.loads(line)

    def _start(self) -> None:
        environment = dict(os.environ)
        # the worker changes its folder, so every path must be absolute
        folders = map(os.path.abspath, (TESTS, TESTS.parent, *filter(None, sys.path)))
        environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(folders))
        environment["OMP_NUM_THREADS"] = environment["NUMBA_NUM_THREADS"] = "1"
        environment["OPENBLAS_NUM_THREADS"] = "1"
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_listen, args=(process, lines), daemon=True).start()
        self._process, self._lines = process, lines
        first = lines.get(timeout=10 * PATIENCE)
        assert first == "ready\n", f"the worker did not begin: {first!r}"

    def _end(self) -> int | None:
        """End the process if there is one, and return its exit code."""
        process, self._process = self._process, None
        if process is None:
            return None
        process.kill()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        return process.wait()


def _listen(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            lines.put(line)
    lines.put(None)


def _fault(name: str, number: int, reason: str) -> dict:
    return {"format": name, "number": number, "outcome": "fault", "faults": [reason]}


def run_cases(worker: Worker, name: str, numbers: Iterable[int]) -> Iterator[dict]:
    """Run cases of a format one after the other."""
    for number in numbers:
        yield worker.run(name, number)


def tally(answers: Iterable[dict]) -> tuple[Counter[str], list[dict]]:
    """Return the number of cases per outcome, and the faults."""
    counts: Counter[str] = Counter()
    faults = []
    for answer in answers:
        counts[answer["outcome"]] += 1
        if answer["outcome"] == "fault":
            faults.append(answer)
    return counts, faults
