"""Problems and short ways to fit them, shared by the tests of fits."""

from __future__ import annotations

import dataclasses

import numpy as np

import intensor
from intensor.fitting.fit import fit
from intensor.fitting.fold import FoldSpec
from intensor.fitting.holding_out import splits
from intensor.fitting.options import Effort, RemainderMethod, check_options
from intensor.fitting.preparation import Split
from intensor.fitting.samples import Samples
from intensor.runtime.budget import Budget
from zoo import smooth_tensor

CLEAN = intensor.planted((8, 8, 8), 300)
DENSE = intensor.planted((8, 8, 8), 900)
NOISY = intensor.planted((6, 6, 6), 150, noise=0.1)
NOISY_EIGHT = intensor.planted((8, 8, 8), 300, noise=0.1)
EVERY_CELL = np.argwhere(np.ones((6, 6, 6)))
WEIGHTS = np.random.default_rng(1).integers(0, 4, 150)


PLAIN = {"transform": "none", "baseline": "none", "remainder": "none", "validation": 0.1}
"""Options of a fit in the units of the data, by terms alone, with cells held out once."""
BOXES = {**PLAIN, "components": "boxes", "n_solutions": 1}
"""Options of a fit of boxes alone: the walk along radii, and one solution."""


def options_of(*, effort=None, **given):
    """Return checked options of a fit of boxes, with another effort if one is given.

    A given radius settles for no remainder; here validation may still choose one.
    """
    base = BOXES if "radius" not in given else BOXES | {"validation": "auto"}
    found = dataclasses.replace(check_options(**base | given), effort=effort or Effort())
    remainder = RemainderMethod(given.get("remainder", "none"))
    return dataclasses.replace(found, remainder=remainder)


def plain_options(**given):
    """Return checked options; what is not given is plain, so that little has to be chosen."""
    return check_options(**PLAIN | given)


def fitted(data=NOISY, *, values=None, callback=None, sample_weight=None, client=None, **options):
    """Fit a problem without an exact oracle, unless the options name one."""
    return fit(
        data.coords,
        data.values if values is None else values,
        options_of(**{"exact": "off", **options}),
        shape=data.shape,
        sample_weight=sample_weight,
        callback=callback,
        client=client,
    )


def checked(found, data=NOISY, values=None, **options):
    """Verify a fit against the data and return the report."""
    report = found.verify(data.coords, data.values if values is None else values, **options)
    assert report.ok, report
    return report


def samples_of(data, weights=None):
    return Samples(coords=data.coords, values=data.values, weights=weights, shape=data.shape)


def numbered_rows(n=300, shape=(6, 5, 4), seed=0, weighted=True):
    """Return samples with many repeated cells; values number the rows."""
    rng = np.random.default_rng(seed)
    return Samples(
        coords=np.stack([rng.integers(0, length, n) for length in shape], axis=1),
        values=np.arange(n, dtype=float),
        weights=10.0 + np.arange(n) if weighted else None,
        shape=shape,
    )


def rows_of_cells(cells, shape):
    """Return samples of some cells; values number the rows."""
    values = np.arange(float(len(cells)))
    return Samples(coords=np.array(cells), values=values, weights=None, shape=shape)


def cells_of(samples):
    """Return the distinct cells of some samples."""
    return set(map(tuple, samples.coords.tolist()))


def splits_of(data, options, weights=None):
    pairs = splits(samples_of(data, weights), folds=options.folds, share=options.share, seed=0)
    return [Split(*parts) for parts in pairs]


def specs_of(held_out, options):
    """Return the folds of some splits in the first scale of the options."""
    scale, remainder = options.scales[0], options.remainder
    return [
        FoldSpec(split=split, scale=scale, options=options, remainder=remainder)
        for split in held_out
    ]


def smooth(shape=(10, 9, 8), *, noise=0.1, seed=1):
    """Return half of the cells of a sum of outer products of smooth curves, and the others."""
    rng = np.random.default_rng(seed)
    truth = smooth_tensor(shape, rng)
    known = rng.random(shape) < 0.5
    coords = np.argwhere(known)
    values = np.maximum(truth[known] + noise * rng.standard_normal(len(coords)), 0.0)
    return problem(shape, coords, values), np.argwhere(~known), truth[~known]


def error_of(found, cells, truth):
    """Return the root of the mean squared error of the predictions of some cells."""
    return np.sqrt(np.mean((found.predict(cells, unseen="mean") - truth) ** 2))


def problem(shape, coords, values):
    """Return observations as a problem; its truth says nothing about them."""
    return intensor.Planted(shape=shape, coords=coords, values=values, truth=CLEAN.truth)


def noisy_box(seed=0):
    """Return half of the cells of a box with much noise."""
    rng = np.random.default_rng(seed)
    values = np.zeros((8, 8, 8))
    values[:4, :4, :4] = 1.0
    known = rng.random(values.shape) < 0.5
    seen = np.abs(values[known] + 0.3 * rng.standard_normal(known.sum()))
    return problem(values.shape, np.argwhere(known), seen)


def repeated(weights, data=NOISY):
    """Return a problem with every row as often as its weight says."""
    rows = np.repeat(np.arange(len(weights)), weights)
    return dataclasses.replace(data, coords=data.coords[rows], values=data.values[rows])


def go_on(progress):
    return True


class Countdown(Budget):
    """A budget that is spent after it has been asked this many times."""

    def __init__(self, n_checks):
        super().__init__()
        self.n_left = n_checks

    @property
    def spent(self):
        self.n_left -= 1
        return self.n_left < 0
