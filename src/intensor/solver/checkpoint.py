"""Checkpoints: a run in a file, written as it goes, from which it can go on after a kill.

``CheckpointFile`` is the file: whether it may be written, what is in it, and whether that is a
checkpoint of this very run. ``Snapshots`` watches the loop: it remembers how things stood after the
last round that no limit cut short, and writes that from time to time and in the end. So what goes
on from a file goes on as if nothing had happened, whoever ended the run, and how.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import Any

from intensor.errors import CheckpointError, CheckpointWarning, FileFormatError, SettingError
from intensor.options.declared import CHECKPOINT_EVERY
from intensor.options.ranges import check_at_least
from intensor.runtime.budget import Budget
from intensor.solver.engine import Engine
from intensor.solver.result import Progress
from intensor.solver.snapshot import capture_trace, restore_trace
from intensor.storage.atomic import check_place
from intensor.storage.codec import Branch, Tree, read_tree, write_tree

__all__ = ["EVERY", "CheckpointFile", "Keeper", "Place", "Snapshots", "check_checkpoint"]

FORMAT = "intensor checkpoint"
VERSION = 1
"""Of the format. A checkpoint is no archive: it is read by the version that wrote it only."""
EVERY = CHECKPOINT_EVERY.default
"""Seconds between two checkpoints, by default."""
CLOSE = 1e-10
"""Share by which a sum over the data may differ: it may be added up in another order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where checkpoints go, how often (in seconds), and whether to go on from what is there."""

    path: Path
    every: float
    resume: bool


def check_checkpoint(checkpoint: Any, every: Any, resume: Any) -> Place | None:
    """Return where checkpoints go, or None when none are wanted."""
    if checkpoint is None:
        if resume:
            raise SettingError(
                "resume needs the file to go on from; give it as checkpoint=, e.g. "
                "checkpoint='run.npz'"
            )
        return None
    if not isinstance(checkpoint, (str, PathLike)):
        raise SettingError(
            f"checkpoint is {type(checkpoint).__name__}; expected the path of a file, e.g. "
            "'run.npz'"
        )
    seconds = EVERY if every is None else check_at_least("checkpoint_every", every, 0.0)
    return Place(path=Path(os.fspath(checkpoint)), every=float(seconds), resume=bool(resume))


class CheckpointFile:
    """One checkpoint on disk, looked at before any work is done.

    Parameters
    ----------
    place
        Where it is.
    kind
        Of the run: "solve" or "fit".

    Attributes
    ----------
    saved
        What the run to go on from left; None when there is none.
    elapsed
        Seconds that it took.

    Raises
    ------
    CheckpointError
        When there is a file that may not be replaced or cannot be gone on from.
    FileFormatError
        When no file can be written there.
    """

    def __init__(self, place: Place, *, kind: str) -> None:
        self._place = place
        self._kind = kind
        self._identity: Tree = {}
        self._warned: set[str] = set()
        self.saved: Branch | None = None
        self.elapsed = 0.0
        path = place.path
        check_place(path)
        if path.exists():
            if not place.resume:
                raise CheckpointError(
                    f"{path}: is there already; go on from it with resume=True (--resume), remove "
                    "it, or name another file for the checkpoints of this run"
                )
            self.saved = _read(path, kind)
            self.elapsed = self.saved.finite("elapsed")
            if self.elapsed < 0.0:
                raise self.saved.damaged(f"'elapsed' is {self.elapsed}")
        self._written = time.monotonic()

    def check(self, *, settings: Tree, data: Tree) -> None:
        """Say what this run is; raise when the one in the file is another.

        Parameters
        ----------
        settings
            What decides how the run goes, by the names that users have for it.
        data
            What it is of: whole numbers must be equal, others nearly so.
        """
        self._identity = {"settings": settings, "data": data}
        if self.saved is None:
            return
        before = self.saved.branch("settings").tree
        others = [
            f"{name}={before.get(name)!r} in the file and {value!r} in this call"
            for name, value in settings.items()
            if before.get(name) != _as_read(value)
        ]
        if others:
            raise CheckpointError(
                f"{self._place.path}: is the checkpoint of a run with other settings "
                f"({'; '.join(others)[:600]}); call with those of the file, or name another one"
            )
        found = self.saved.branch("data").tree
        for name, value in data.items():
            if not _alike(found.get(name), value):
                raise CheckpointError(
                    f"{self._place.path}: is the checkpoint of a run on other data "
                    f"({name} is {found.get(name)!r} in the file and {value!r} here); give the "
                    "data that it was made of, or name another file"
                )

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() - self._written >= self._place.every

    def write(self, content: Tree, elapsed: float) -> None:
        """Replace the file; when that fails the run goes on, with a warning."""
        header: Tree = {
            "format": FORMAT,
            "format_version": VERSION,
            "intensor_version": metadata.version("intensor"),
            "kind": self._kind,
            "elapsed": elapsed,
            **self._identity,
        }
        try:
            write_tree(self._place.path, {**header, "content": content})
        except FileFormatError as problem:
            if str(problem) not in self._warned:  # every write may fail for the same reason
                self._warned.add(str(problem))
                warnings.warn(
                    f"{problem}; the run goes on, and the checkpoint before this one, if there "
                    "was one, is still there (said once, whether or not later ones can be written)",
                    CheckpointWarning,
                    stacklevel=2,
                )
        self._written = time.monotonic()


class Keeper:
    """What the loop tells how it goes; this one keeps nothing.

    Attributes
    ----------
    resumes
        Whether there is something to go on from.
    """

    resumes = False

    def open(self, engine: Engine, budget: Budget) -> tuple[list[Progress], float]:
        """Put an engine where it was; return the trace up to there and the time of the set-up."""
        return [], budget.elapsed

    def keep(self, engine: Engine, trace: Sequence[Progress], setup: float, budget: Budget) -> None:
        """Take note of a round."""

    def close(self) -> None:
        """See to it that nothing is lost."""


class Snapshots(Keeper):
    """Keeps how a solve stood after the last round that came to its own end.

    Parameters
    ----------
    saved
        What to go on from, if anything.
    due
        Says whether it is time to store a snapshot.
    store
        Takes it.
    """

    def __init__(
        self, saved: Branch | None, *, due: Callable[[], bool], store: Callable[[Tree], None]
    ) -> None:
        self.resumes = saved is not None
        self._saved = saved
        self._due = due
        self._store = store
        self._latest: Tree | None = None
        self._trace: Sequence[Progress] = ()

    def open(self, engine: Engine, budget: Budget) -> tuple[list[Progress], float]:
        """Put an engine where it was; return the trace up to there and the time of the set-up."""
        if self._saved is None:
            return super().open(engine, budget)
        engine.restore(self._saved.branch("engine"))
        return restore_trace(self._saved.branch("trace")), self._saved.finite("setup")

    def keep(self, engine: Engine, trace: Sequence[Progress], setup: float, budget: Budget) -> None:
        """Remember a round, unless a limit may have cut it short, and store it when it is time."""
        if budget.spent:
            return
        self._latest = {
            "engine": engine.capture(),
            "rounds": len(trace),
            "setup": setup,
            "seconds": budget.elapsed,
        }
        self._trace = trace
        if self._due():
            self.close()

    def close(self) -> None:
        """Store what has not been stored yet."""
        if self._latest is not None:
            trace = capture_trace(self._trace[: self._latest["rounds"]])
            latest, self._latest = self._latest, None
            self._store({**latest, "trace": trace})


def _read(path: Path, kind: str) -> Branch:
    """Return what is in a file, if it is a checkpoint of this format and kind."""
    saved = read_tree(path, FORMAT)
    version = saved.count("format_version")
    if version != VERSION:
        raise CheckpointError(
            f"{path}: is a checkpoint of format {version}, and this version of intensor "
            f"({metadata.version('intensor')}) goes on from format {VERSION} only; use version "
            f"{saved.word('intensor_version')[:40]}, or start anew under another name"
        )
    found = saved.word("kind")
    if found != kind:
        raise CheckpointError(
            f"{path}: is the checkpoint of a {found[:20]}, and this is a {kind}; name another file"
        )
    return saved


def _as_read(value: Any) -> Any:
    """Return a setting as it is read back."""
    if isinstance(value, tuple):
        return list(value)
    return value


def _alike(found: Any, value: Any) -> bool:
    """Whether what was written of the data can be what is known of it now."""
    if isinstance(value, float) and isinstance(found, (int, float)):
        return math.isclose(found, value, rel_tol=CLOSE, abs_tol=0.0)
    return bool(found == _as_read(value))
