"""What a fit has finished, written to its checkpoint: a fit that goes on does none of it again.

A fit is many solves: walks along the radii, fold by fold, then the gap, then the last fit of all.
Everything that came to its own end is an entry under a name of its own, and so is every decision
that hung on the clock, for the clock of another day would decide otherwise. What a limit, a
Ctrl-C or a callback cut short is no entry: it is done again, from where it began.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from intensor.fitting.options import Options
from intensor.fitting.samples import Samples
from intensor.model.transform import TRANSFORMS
from intensor.runtime.budget import Budget
from intensor.solver.checkpoint import CheckpointFile, Keeper, Place, Snapshots
from intensor.solver.fingerprint import random_boxes
from intensor.solver.loop import KEEPS_NOTHING
from intensor.storage.codec import Branch, Tree

__all__ = ["NO_NOTES", "Journal", "Notes"]

ROWS_AT_ONCE = 1 << 16


class Journal:
    """Entries of a fit by their names; without a place it remembers nothing.

    Parameters
    ----------
    place
        Of the checkpoint.

    Attributes
    ----------
    elapsed
        Seconds that the fit took before.
    """

    def __init__(self, place: Place | None) -> None:
        self._file = None if place is None else CheckpointFile(place, kind="fit")
        self.elapsed = 0.0 if self._file is None else self._file.elapsed
        self._saved: Branch | None = None
        self._entries: dict[str, Tree] = {}
        self._budget = self._choosing = Budget()
        self._fresh = False
        self._lock = threading.RLock()

    def begin(self, samples: Samples, options: Options, budget: Budget, choosing: Budget) -> None:
        """Take up the entries of the run in the file, if it is this one.

        Parameters
        ----------
        budget
            Of the fit.
        choosing
            The part of it that ends when anyone says so: nothing is noted after that.
        """
        self._budget, self._choosing = budget, choosing
        if self._file is None:
            return
        self._file.check(settings=_decisive(options), data=_fingerprint(samples, options))
        if self._file.saved is not None:
            self._saved = self._file.saved.branch("content").branch("entries")
            self._entries = {name: self._saved.branch(name).tree for name in self._saved.tree}

    @property
    def active(self) -> bool:
        """Whether anything is remembered."""
        return self._file is not None

    def recall(self, name: str) -> Branch | None:
        """Return an entry that was read from the file, if there is one of that name."""
        if self._saved is None or name not in self._saved:
            return None
        return self._saved.branch(name)

    def record(self, entries: Mapping[str, Tree], *, whole: str | None = None) -> None:
        """Note what was finished, unless the fit is being ended.

        Parameters
        ----------
        whole
            A name whose parts, ``whole/...``, are needed no longer.
        """
        if self._file is None or self._choosing.spent:
            return
        with self._lock:
            if whole is not None:
                for name in [name for name in self._entries if name.startswith(f"{whole}/")]:
                    del self._entries[name]
            self._put(entries)

    def choose(self, name: str, decision: bool) -> bool:
        """Return what was decided before, or else note a decision."""
        saved = self.recall(name)
        if saved is not None:
            return saved.flag("decision")
        self.record({name: {"decision": bool(decision)}})
        return decision

    def keeper(self, name: str) -> Keeper:
        """Return what keeps a solve that is an entry of its own, until it has a result."""
        saved, file = self.recall(name), self._file
        if file is None or (saved is None and self._choosing.spent):
            return KEEPS_NOTHING
        return Snapshots(
            None if saved is None else saved.branch("run"),
            due=lambda: file.due,
            store=lambda tree: self._put({name: {"run": tree}}),
        )

    def under(self, name: str) -> Notes:
        """Return the part of it whose names begin with a name."""
        return Notes(self, name)

    def close(self) -> None:
        """Write what has not been written yet."""
        with self._lock:
            if self._file is not None and self._fresh:
                self._write(self._file)

    def _put(self, entries: Mapping[str, Tree]) -> None:
        with self._lock:
            self._entries.update(entries)
            self._fresh = True
            if self._file is not None and self._file.due:
                self._write(self._file)

    def _write(self, file: CheckpointFile) -> None:
        file.write({"entries": self._entries}, self._budget.elapsed)
        self._fresh = False


class Notes:
    """A part of a journal: entries of one walk."""

    def __init__(self, journal: Journal, name: str) -> None:
        self._journal = journal
        self._name = name

    @property
    def active(self) -> bool:
        """Whether anything is remembered."""
        return self._journal.active

    def recall(self, name: str) -> Branch | None:
        """Return an entry, if there is one of that name."""
        return self._journal.recall(f"{self._name}/{name}")

    def record(self, entries: Mapping[str, Tree]) -> None:
        """Note entries that belong together: all of them are written or none."""
        self._journal.record({f"{self._name}/{name}": tree for name, tree in entries.items()})

    @property
    def seconds(self) -> float:
        """How long the walk took before."""
        clock = self.recall("clock")
        return 0.0 if clock is None else max(0.0, clock.finite("seconds"))


NO_NOTES = Notes(Journal(None), "")


def _decisive(options: Options) -> Tree:
    """Return what must not change when a fit is continued."""
    return {
        "radius": "auto" if options.radius is None else float(options.radius),
        "scales": [scale.name for scale in options.scales],
        "remainder": options.remainder.value,
        "n_solutions": int(options.n_solutions),
        "folds": options.folds,
        "share": float(options.share),
        "scoring": options.scoring.name,
        "n_radii": int(options.n_radii),
        "version": options.version.name,
        "tol": float(options.solver.tol),
        "rtol": "auto" if options.adaptive else float(options.solver.rtol),
        "seed": int(options.solver.seed),
        "exact": options.exact.name,
    }


def _fingerprint(samples: Samples, options: Options) -> Tree:
    """Return the numbers that the observations of a fit are known by."""
    n = len(samples)
    weights = np.ones(n) if samples.weights is None else samples.weights
    total = float(weights.sum())
    mean_square = float(weights @ samples.values**2) / total
    boxes = random_boxes(samples.shape, float(np.sqrt(mean_square)) or 1.0)
    error = 0.0
    for start in range(0, n, ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        apart = boxes.evaluate(tuple(samples.coords[part].T)) - samples.values[part]
        error += float((weights[part] * apart) @ apart)
    known: dict[str, Any] = {
        "shape": [int(length) for length in (samples.full or samples).shape],
        "indices": [] if samples.full is None else samples.full.checksums(),
        "n": n,
        "weight": total,
        "mean_square": mean_square,
        "random_boxes": error / total,
    }
    for scale in options.scales:  # functions have no name that says what they do
        if scale.transform.name not in TRANSFORMS:
            known["transformed"] = float(scale.transform.apply(samples.values).mean())
    return known
