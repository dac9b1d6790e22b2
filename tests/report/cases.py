"""Fits to make pages and pictures of: small, odd and hostile ones; and the text of a page."""

from __future__ import annotations

import dataclasses
import functools
import re

import numpy as np

from fitting_cases import plain_options
from intensor.data.labels import Labels
from intensor.fitting.fit import fit
from intensor.fitting.record import ReferenceError
from intensor.model.model import build_model
from intensor.model.predictor import Remainder
from intensor.solver.result import Status

HOSTILE = (
    "<script>alert(1)</script>",
    "\"quotes\" 'and' &amp; <b>",
    "</svg><img src=x onerror=document.title='owned'>",
    "\u202eesrever\u2066 isolate \u200f",
    "x" * 500,
    "--></style></title><script>document.title='owned'</script>",
    "null\x00bell\x07escape\x1b[31m",
    "\ud800 lone surrogate",
    "${7*7}{{7*7}}$\\frac$",
)


def make_fit(shape=(3, 9, 4), n=80, *, labels=None, **options):
    """Return (fit, coords, values) of a small tensor with some structure and some noise.

    Fits with the same options are made once; do not change their arrays.
    """
    if labels is None:
        return _numbered_fit(shape, n, **options)
    return _fit(shape, n, labels, **options)


@functools.cache
def _numbered_fit(shape, n, **options):
    """Return a fit whose labels are a0, a1, ... in mode A, b0, b1, ... in mode B and so on."""
    labels = Labels(
        modes=tuple(f"mode {letter}" for letter in "ABCDEFGH"[: len(shape)]),
        indices=tuple(
            np.array([f"{letter}{i}" for i in range(length)], dtype=object)
            for letter, length in zip("abcdefgh", shape, strict=False)
        ),
        value="passengers",
    )
    return _fit(shape, n, labels, **options)


def _fit(shape, n, labels, *, seed=0, **options):
    rng = np.random.default_rng(seed)
    coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
    factors = [rng.random(length) + 0.2 for length in shape]
    values = np.prod([f[c] for f, c in zip(factors, coords.T, strict=True)], axis=0) * 100.0
    values = np.maximum(values + rng.normal(0.0, 2.0, n), 0.0)
    given = {"radius": 200.0, "exact": "off", "validation": "auto", **options}
    chosen = plain_options(**given)  # a radius is validated only if a share or folds are given
    return fit(coords, values, chosen, labels=labels), coords, values


def small_fit(values, **options):
    """Return (fit, coords, values) of a 3 x 4 tensor, whose first cells have the given values."""
    coords = np.argwhere(np.ones((3, 4)))[: len(values)]
    return fit(coords, values, plain_options(**options)), coords, values


def hostile_labels(shape=(3, 9, 4)):
    """Return labels that all try to become markup."""
    return Labels(
        modes=tuple(HOSTILE[mode] for mode in range(len(shape))),
        indices=tuple(
            np.array([f"{HOSTILE[i % len(HOSTILE)]} {i}" for i in range(length)], dtype=object)
            for length in shape
        ),
        value=HOSTILE[2],
    )


def without_trace(made):
    """Return a fit whose solve recorded no progress."""
    return dataclasses.replace(made, result=dataclasses.replace(made.result, trace=()))


def plain(text):
    """Return HTML without its tags, with single spaces."""
    return " ".join(re.sub("<[^>]*>", " ", text).replace("\xa0", " ").split())


def with_bound(made, share, **changes):
    """Return a fit whose bound is a share of its objective."""
    bound = share * made.objective
    return dataclasses.replace(
        made, result=dataclasses.replace(made.result, bound=bound, **changes)
    )


def without_terms(made, share, *, method=None):
    """Return a member of a blend without terms: a field of some method, or else the mean."""
    shape = made.shape
    model = build_model(
        np.zeros((0, sum(shape)), dtype=np.uint8), np.zeros(0), shape=shape, radius=1.0, signed=True
    )
    remainder = None if method is None else Remainder(field=np.ones(shape), method=method)
    return dataclasses.replace(
        made,
        predictor=dataclasses.replace(
            made.predictor, model=model, remainder=remainder, baseline=None
        ),
        result=dataclasses.replace(made.result, model=model, status=Status.NO_TERMS),
        share=share,
        validation=None,
        partners=(),
    )


def blended(made, *partners):
    """Return a fit with partners; it has the share that they leave."""
    share = 1.0 - sum(one.share for one in partners)
    return dataclasses.replace(made, share=share, partners=partners)


def with_errors(made, error, references, **changes):
    """Return a fit whose validation found an error, and (name, error, share) of references."""
    found = tuple(ReferenceError(*one) for one in references)
    validation = dataclasses.replace(
        made.validation, error=error, references=found, error_of_mean=found[0].error, **changes
    )
    return dataclasses.replace(made, validation=validation)
