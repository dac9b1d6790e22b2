"""The finished parts of a fit, kept in its checkpoint: a fit that goes on repeats none of them.

Every part that ran to completion is an entry under its key, and so is every decision that depended
on the clock. A part that a limit, Ctrl-C or a callback cut short is not an entry: it is done again.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from intensor.fitting.options import Options
from intensor.fitting.samples import Samples
from intensor.model.transform import TRANSFORMS
from intensor.runtime.budget import Budget
from intensor.solver.checkpoint import (
    NO_SNAPSHOTS,
    CheckpointFile,
    CheckpointTarget,
    Snapshots,
    random_boxes,
)
from intensor.storage.reader import Tree, TreeReader

ROWS_AT_ONCE = 1 << 16
"""Number of observations that are predicted at a time for the fingerprint of the data."""


class Journal:
    """Entries of a fit by their keys; without a target it remembers nothing.

    A section is a journal for one part of the fit: its keys all begin with the key of that part and
    a slash. ``elapsed`` are the seconds that the fit took so far.
    """

    def __init__(self, target: CheckpointTarget | None = None) -> None:
        self._file = None if target is None else CheckpointFile(target, kind="fit")
        self.elapsed = 0.0 if self._file is None else self._file.elapsed
        self._saved: TreeReader | None = None
        self._entries: dict[str, Tree] = {}
        self._unwritten: set[str] = set()
        self._prefix = ""
        self._budget = self._choosing = Budget()
        self._lock = threading.RLock()

    def begin(self, samples: Samples, options: Options, budget: Budget, choosing: Budget) -> None:
        """Take over the entries of the file, if they are those of this fit.

        ``choosing`` is the part of the budget that ends as soon as the fit is told to stop; nothing
        is recorded after that.
        """
        self._budget, self._choosing = budget, choosing
        if self._file is None:
            return
        self._file.check(settings=_decisive_options(options), data=_fingerprint(samples, options))
        if self._file.saved is not None:
            self._saved = self._file.saved.branch("content").branch("entries")
            self._entries.update((key, self._saved.branch(key).tree) for key in self._saved.tree)

    @property
    def active(self) -> bool:
        """Whether anything is remembered."""
        return self._file is not None

    def budget(self, within: Budget) -> Budget:
        """Return what is left of a budget; the seconds that this section took before count."""
        clock = self.recall("clock")
        before = 0.0 if clock is None else max(0.0, clock.finite("seconds"))
        return Budget(within.remaining + before, within=within, before=before)

    def recall(self, key: str) -> TreeReader | None:
        """Return the entry that the file had under a key, if it had one."""
        if self._saved is None or self._prefix + key not in self._saved:
            return None
        return self._saved.branch(self._prefix + key)

    def record(self, entries: Mapping[str, Tree]) -> None:
        """Remember finished parts by their keys, all of them or none, unless the fit is stopping.

        An entry replaces its section: the entries whose keys begin with its key and a slash.
        """
        if self._file is None or self._choosing.spent:
            return
        with self._lock:
            sections = tuple(f"{self._prefix}{key}/" for key in entries)
            for key in [key for key in self._entries if key.startswith(sections)]:
                del self._entries[key]
            self._put(entries)

    def decide(self, key: str, decision: bool) -> bool:
        """Return the decision that was made before, or else remember this one."""
        saved = self.recall(key)
        if saved is not None:
            return saved.flag("decision")
        self.record({key: {"decision": bool(decision)}})
        return decision

    def snapshots(self, key: str) -> Snapshots:
        """Return what stores the rounds of a solve under a key, until the solve has a result."""
        saved, file = self.recall(key), self._file
        if file is None or (saved is None and self._choosing.spent):
            return NO_SNAPSHOTS
        return Snapshots(
            None if saved is None else saved.branch("run"),
            due=lambda: file.due,
            store=lambda tree: self._put({key: {"run": tree}}),
        )

    def section(self, key: str) -> Journal:
        """Return the section of a key."""
        section = copy.copy(self)  # which shares the file, the entries and the lock
        section._prefix = f"{self._prefix}{key}/"
        return section

    def close(self) -> None:
        """Write the entries that have not been written yet."""
        with self._lock:
            if self._file is not None and self._unwritten:
                self._write(self._file)

    def _put(self, entries: Mapping[str, Tree]) -> None:
        with self._lock:
            self._entries.update((self._prefix + key, tree) for key, tree in entries.items())
            self._unwritten.update(entries)
            if self._file is not None and self._file.due:
                self._write(self._file)

    def _write(self, file: CheckpointFile) -> None:
        file.write({"entries": self._entries}, self._budget.elapsed)
        self._unwritten.clear()


NO_JOURNAL = Journal()
"""Journal that remembers nothing."""


def _decisive_options(options: Options) -> Tree:
    """Return the options that must not change when a fit goes on."""
    return {
        "radius": "auto" if options.radius is None else float(options.radius),
        "scales": [scale.name for scale in options.scales],
        "remainder": options.remainder.value,
        "max_components": options.max_components,
        "n_solutions": "auto" if options.n_solutions is None else int(options.n_solutions),
        "folds": options.folds,
        "share": float(options.share),
        "effort": options.effort.name,
        "scoring": options.scoring.name,
        "n_radii": int(options.n_radii),
        "version": options.version.name,
        "tol": float(options.solver.tol),
        "rtol": "auto" if options.adaptive else float(options.solver.rtol),
        "seed": int(options.solver.seed),
        "exact": options.exact.name,
    }


def _fingerprint(samples: Samples, options: Options) -> Tree:
    """Return numbers that identify the observations of a fit."""
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
    for scale in options.scales:  # the name of a function does not identify it
        if scale.transform.name not in TRANSFORMS:
            known["transformed"] = float(scale.transform.apply(samples.values).mean())
    return known
