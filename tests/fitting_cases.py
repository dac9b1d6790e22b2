"""Problems and short ways to fit them, shared by the tests of fits."""

from __future__ import annotations

import dataclasses

import numpy as np

import intensor
from intensor.fitting.effort import DEFAULT_EFFORT
from intensor.fitting.fit import fit
from intensor.fitting.fold import FoldSpec
from intensor.fitting.options import check_options
from intensor.fitting.preparation import Split
from intensor.fitting.samples import Samples, splits
from zoo import smooth_tensor

CLEAN = intensor.planted((8, 8, 8), 300)
DENSE = intensor.planted((8, 8, 8), 900)
NOISY = intensor.planted((6, 6, 6), 150, noise=0.1)
NOISY_EIGHT = intensor.planted((8, 8, 8), 300, noise=0.1)
EVERY_CELL = np.argwhere(np.ones((6, 6, 6)))
WEIGHTS = np.random.default_rng(1).integers(0, 4, 150)


def fitted(
    data=NOISY,
    *,
    values=None,
    callback=None,
    sample_weight=None,
    effort=DEFAULT_EFFORT,
    client=None,
    **options,
):
    return fit(
        data.coords,
        data.values if values is None else values,
        check_options(**{"exact": "off", **options}),
        shape=data.shape,
        sample_weight=sample_weight,
        callback=callback,
        client=client,
        effort=effort,
    )


def checked(found, data=NOISY, values=None, **options):
    """Verify a fit against the data and return the report."""
    report = found.verify(data.coords, data.values if values is None else values, **options)
    assert report.ok, report
    return report


def samples_of(data, weights=None):
    return Samples(coords=data.coords, values=data.values, weights=weights, shape=data.shape)


def splits_of(data, options, weights=None):
    pairs = splits(samples_of(data, weights), folds=options.folds, share=options.share, seed=0)
    return [Split(training, held) for training, held in pairs]


def specs_of(held_out, options, *, remainder=None, starts=None, effort=DEFAULT_EFFORT):
    """Return the folds of some splits in the first scale of the options."""
    return [
        FoldSpec(
            split=split,
            scale=options.scales[0],
            options=options,
            remainder=remainder or options.remainder,
            start=start,
            effort=effort,
        )
        for split, start in zip(held_out, starts or [None] * len(held_out), strict=True)
    ]


def smooth(shape=(10, 9, 8), *, noise=0.1, seed=1):
    """Return half of the cells of a sum of outer products of smooth curves, and the others."""
    rng = np.random.default_rng(seed)
    truth = smooth_tensor(shape, rng)
    known = rng.random(shape) < 0.5
    coords = np.argwhere(known)
    values = np.maximum(truth[known] + noise * rng.standard_normal(len(coords)), 0.0)
    data = intensor.Planted(shape=shape, coords=coords, values=values, truth=CLEAN.truth)
    return data, np.argwhere(~known), truth[~known]


def error_of(found, cells, truth):
    return np.sqrt(np.mean((found.predict(cells, unseen="mean") - truth) ** 2))


def repeated(weights):
    """Return the noisy problem with every row as often as its weight says."""
    rows = np.repeat(np.arange(len(weights)), weights)
    return dataclasses.replace(NOISY, coords=NOISY.coords[rows], values=NOISY.values[rows])


def go_on(progress):
    return True
