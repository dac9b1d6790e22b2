"""Checkpoints: a run in a file, written as it goes, from which it can go on after a kill.

``CheckpointFile`` is the file: whether it may be written, what it holds, and whether that is a
checkpoint of this very run. ``Snapshots`` follows the loop: it remembers the last round that no
limit cut short, and stores it from time to time and at the end. A run that goes on from a file
therefore ends as if nothing had happened, however it was ended.
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

import numpy as np

from intensor._arrays import Shape
from intensor.backends.select import Data
from intensor.errors import CheckpointError, CheckpointWarning, FileFormatError, SettingError
from intensor.model.model import Model, build_model
from intensor.options.declared import CHECKPOINT_EVERY
from intensor.options.ranges import check_at_least
from intensor.problem.reindex import FullTensor
from intensor.runtime.budget import Budget
from intensor.solver.engine import Engine
from intensor.solver.finish import mean_squared_error
from intensor.solver.result import Progress
from intensor.solver.snapshot import capture_trace, restore_trace
from intensor.storage.atomic import check_writable
from intensor.storage.codec import read_tree, write_tree
from intensor.storage.reader import CHECKPOINT, Tree, TreeReader

FORMAT_VERSION = 1
"""Version of the format. Unlike a model file, a checkpoint of another version is never read."""
SUM_TOLERANCE = 1e-10
"""Relative difference allowed in sums over the data, whose order of addition may change."""
N_RANDOM_BOXES = 32  # number of boxes in the random model whose error identifies the data


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointTarget:
    """Path of the checkpoints, seconds between them, and whether to go on from an existing one."""

    path: Path
    every: float
    resume: bool


def check_checkpoint(checkpoint: Any, every: Any, resume: Any) -> CheckpointTarget | None:
    """Return the target of the checkpoints, or None when none are wanted."""
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
    every = CHECKPOINT_EVERY.default if every is None else every
    seconds = check_at_least("checkpoint_every", every, 0.0)
    path = Path(os.fspath(checkpoint))
    return CheckpointTarget(path=path, every=float(seconds), resume=bool(resume))


class Snapshots:
    """Remembers a solve after its last complete round; without ``store`` it does nothing.

    ``saved`` is the snapshot to go on from, if there is one; ``due`` says whether it is time to
    call ``store``.
    """

    def __init__(
        self,
        saved: TreeReader | None = None,
        *,
        due: Callable[[], bool] = lambda: False,
        store: Callable[[Tree], None] | None = None,
    ) -> None:
        self.resumes = saved is not None
        self._saved = saved
        self._due = due
        self._store = store
        self._latest: Tree | None = None
        self._trace: Sequence[Progress] = ()

    def open(self, engine: Engine, budget: Budget) -> tuple[list[Progress], float]:
        """Restore an engine; return the trace so far and the seconds of the set-up."""
        if self._saved is None:
            return [], budget.elapsed
        engine.restore(self._saved.branch("engine"))
        return restore_trace(self._saved.branch("trace")), self._saved.finite("setup")

    def keep(self, engine: Engine, trace: Sequence[Progress], setup: float, budget: Budget) -> None:
        """Remember a round, unless a limit may have cut it short, and store it when it is time."""
        if self._store is None or budget.spent:
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
        """Store the latest round, if that has not been done."""
        latest, self._latest = self._latest, None
        if latest is not None and self._store is not None:
            self._store({**latest, "trace": capture_trace(self._trace[: latest["rounds"]])})


NO_SNAPSHOTS = Snapshots()


class CheckpointFile:
    """One checkpoint on disk, examined before any work is done.

    It is an error when no file can be written there, or when there is a file that may not be
    replaced or from which this kind of run ("solve" or "fit") cannot go on.
    """

    def __init__(self, target: CheckpointTarget, *, kind: str) -> None:
        self._target = target
        self._kind = kind
        self._identity: Tree = {}
        self._warned: set[str] = set()
        self.saved: TreeReader | None = None  # content of the file to go on from
        self.elapsed = 0.0  # seconds that the run took so far
        check_writable(target.path)
        if target.path.exists():
            if not target.resume:
                raise CheckpointError(
                    f"{target.path}: is there already; go on from it with resume=True (--resume), "
                    "remove it, or name another file for the checkpoints of this run"
                )
            self.saved = _read(target.path, kind)
            self.elapsed = self.saved.amount("elapsed")
        self._written = time.monotonic()

    def check(self, *, settings: Tree, data: Tree) -> None:
        """Tell the file which run this is; raise when it holds another run.

        ``settings`` are the options that decide how the run goes, by their public names; ``data``
        are numbers that identify the data: integers must be equal, others nearly so.
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
                f"{self._target.path}: is the checkpoint of a run with other settings "
                f"({'; '.join(others)[:600]}); call with those of the file, or name another one"
            )
        found = self.saved.branch("data").tree
        for name, value in data.items():
            if not _alike(found.get(name), value):
                raise CheckpointError(
                    f"{self._target.path}: is the checkpoint of a run on other data "
                    f"({name} is {found.get(name)!r} in the file and {value!r} here); give the "
                    "data that it was made of, or name another file"
                )

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() - self._written >= self._target.every

    def write(self, content: Tree, elapsed: float) -> None:
        """Replace the file; when that fails the run goes on, with a warning."""
        header: Tree = {
            "format": CHECKPOINT.format,
            "format_version": FORMAT_VERSION,
            "intensor_version": metadata.version("intensor"),
            "kind": self._kind,
            "elapsed": elapsed,
            **self._identity,
        }
        try:
            write_tree(self._target.path, {**header, "content": content})
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

    def snapshots(self) -> Snapshots:
        """Return what stores the rounds of a solve as the content of this file."""
        return Snapshots(
            None if self.saved is None else self.saved.branch("content"),
            due=lambda: self.due,
            store=lambda tree: self.write(tree, tree["seconds"]),
        )


def fingerprint(data: Data, full: FullTensor | None = None) -> Tree:
    """Return a few numbers that other data would not have.

    Beside the size of the data, these are the mean square of the values and the mean squared error
    of a fixed, random sum of boxes. The error depends on every cell, value and count but not on the
    order of the rows, and it can be computed wherever the data is: in memory, on a device, in files
    or on a cluster. ``full`` is the tensor before unused indices were removed, if there were any.
    """
    scale = float(np.sqrt(data.mean_square)) or 1.0
    return {
        "shape": [int(length) for length in (data if full is None else full).shape],
        "indices": [] if full is None else full.checksums(),
        "n": int(data.n),
        "n_cells": int(data.n_cells),
        "mean_square": float(data.mean_square),
        "random_boxes": mean_squared_error(random_boxes(data.shape, scale), data),
    }


def random_boxes(shape: Shape, scale: float) -> Model:
    """Return a random model in which half of the boxes cover any given cell."""
    rng = np.random.default_rng([len(shape), *shape])
    flags = rng.random((N_RANDOM_BOXES, sum(shape))) < 0.5 ** (1.0 / len(shape))
    weights = scale * rng.random(N_RANDOM_BOXES) / N_RANDOM_BOXES
    radius = float(scale * N_RANDOM_BOXES)
    return build_model(flags.astype(np.uint8), weights, shape=shape, radius=radius)


def _read(path: Path, kind: str) -> TreeReader:
    """Return the content of a file, if it is a checkpoint of this format and kind."""
    saved = read_tree(path)
    version = saved.count("format_version")
    if version != FORMAT_VERSION:
        raise CheckpointError(
            f"{path}: is a checkpoint of format {version}, and this version of intensor "
            f"({metadata.version('intensor')}) goes on from format {FORMAT_VERSION} only; use "
            f"version {saved.text('intensor_version')[:40]}, or start anew under another name"
        )
    found = saved.text("kind")
    if found != kind:
        raise CheckpointError(
            f"{path}: is the checkpoint of a {found[:20]}, and this is a {kind}; name another file"
        )
    return saved


def _as_read(value: Any) -> Any:
    """Return a setting as it is read back from a file."""
    return list(value) if isinstance(value, tuple) else value


def _alike(found: Any, value: Any) -> bool:
    """Return whether a number from the file can be the number that identifies the data now."""
    if isinstance(value, float) and isinstance(found, (int, float)):
        return math.isclose(found, value, rel_tol=SUM_TOLERANCE, abs_tol=0.0)
    return bool(found == _as_read(value))
