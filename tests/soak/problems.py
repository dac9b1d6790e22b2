"""The problems: everything about one follows from its number."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

import intensor

VERSIONS = (*range(11), "fast")
DIGITS = 11
"""Indices of all modes but the longest, at most: all their on-off patterns are gone through."""
LONGEST = 12
CELLS = 120
SIZES = (1e-8, 1e8)
NOISE = (0.0, 0.0, 1e-6, 1e-2, 0.2, 1.0)
RTOL = (0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)
SECONDS = 1.0
"""Every solve ends by then, whatever was drawn: what holds must hold wherever it stops."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Problem:
    """Observations and the settings that they are solved with.

    Attributes
    ----------
    kinds
        What was drawn, in words.
    weights
        (n,) sample weights, or None.
    options
        All other arguments of ``solve``.
    """

    number: int
    kinds: tuple[str, ...]
    shape: tuple[int, ...]
    coords: np.ndarray
    values: np.ndarray
    weights: np.ndarray | None
    radius: float
    options: dict[str, object]

    @property
    def signed(self):
        return bool(self.options.get("signed", False))

    def solve(self):
        """Return the result; that values lie above a radius is no news here."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", intensor.errors.RadiusWarning)
            return intensor.solve(
                self.coords,
                self.values,
                shape=self.shape,
                radius=self.radius,
                sample_weight=self.weights,
                **self.options,
            )


def draw(number):
    """Return the problem of a number."""
    rng = np.random.default_rng([137, number])
    version = VERSIONS[number % len(VERSIONS)]
    signed = version == "fast" and rng.uniform() < 0.25
    negative = signed or rng.uniform() < 0.1
    shape = _shape(rng)
    where, coords = _coords(rng, shape)
    what, values = _values(rng, shape, coords, signed=signed)
    if negative and not signed:
        values = values - rng.uniform(0.0, 0.5)
    importance, weights = _weights(rng, len(coords))
    size = float(np.exp(rng.uniform(*np.log(SIZES))))
    reach, radius = _radius(rng, values)
    options = _options(rng, version, size**2)
    if signed:
        options["signed"] = True
    elif negative:
        options["allow_negative"] = True
    return Problem(
        number=number,
        kinds=(where, what, importance, reach, "signed" if signed else "unsigned"),
        shape=shape,
        coords=coords,
        values=size * values,
        weights=weights,
        radius=size * radius,
        options=options,
    )


def _shape(rng):
    """Return 2 to 6 modes, any of them short, with few enough patterns to try them all."""
    while True:
        modes = int(rng.integers(2, 7))
        most = (LONGEST, 7, 5, 4, 3)[modes - 2]
        shape = tuple(rng.integers(1, most + 1, modes).tolist())
        if sum(shape) - max(shape) <= DIGITS:
            return shape


def _coords(rng, shape):
    """Return some cells; some of them more than once, or all of them, or hardly any."""
    every = np.indices(shape).reshape(len(shape), -1).T
    kind = ("repeated", "distinct", "few", "all", "crowded", "gap")[int(rng.integers(6))]
    most = min(CELLS, len(every))
    if kind == "few":
        chosen = rng.integers(0, len(every), int(rng.integers(1, 4)))
    elif kind == "distinct":
        chosen = rng.permutation(len(every))[: int(rng.integers(1, most + 1))]
    elif kind == "all":
        chosen = rng.permutation(len(every))[:most]
    elif kind == "crowded":  # nearly all observations are of a few cells
        few = rng.integers(0, len(every), 4)
        chosen = np.append(rng.choice(few, 40), rng.integers(0, len(every), most // 4))
    else:
        chosen = rng.integers(0, len(every), int(rng.integers(1, CELLS + 1)))
    coords = every[chosen]
    if kind == "gap":  # an index of the longest mode is never seen
        coords = coords[coords[:, int(np.argmax(shape))] > 0]
        if not len(coords):
            coords = every[-1:]
    return kind, coords


def _values(rng, shape, coords, *, signed):
    """Return values of the order of 1: of boxes, with or without noise, or of none."""
    kind = ("boxes", "boxes", "boxes", "noise", "heavy", "equal", "zero", "counts", "sparse")[
        int(rng.integers(9))
    ]
    n = len(coords)
    if kind == "boxes":
        starts = np.concatenate(([0], np.cumsum(shape)[:-1]))
        flags = rng.uniform(size=(int(rng.integers(1, 6)), sum(shape))) < 0.6
        inside = flags[:, coords + starts].all(axis=2)
        sides = rng.choice((-1.0, 1.0), len(flags)) if signed else np.ones(len(flags))
        noise = NOISE[int(rng.integers(len(NOISE)))]
        values = (sides * rng.dirichlet(np.ones(len(flags)))) @ inside
        values = values + noise * rng.normal(size=n)
        return f"boxes, noise {noise:g}", values if signed else np.maximum(values, 0.0)
    if kind == "noise":
        values = rng.uniform(size=n)
    elif kind == "heavy":
        values = np.exp(2.0 * rng.normal(size=n))
    elif kind == "equal":
        values = np.full(n, rng.uniform(0.1, 2.0))
    elif kind == "zero":
        values = np.zeros(n)
    elif kind == "counts":
        values = rng.poisson(1.5, n).astype(float)
    else:
        values = rng.uniform(size=n) * (rng.uniform(size=n) < 0.15)
    return kind, values * rng.choice((-1.0, 1.0), n) if signed else values


def _weights(rng, n):
    kind = ("none", "none", "whole", "any", "uneven")[int(rng.integers(5))]
    if kind == "none":
        return "no weights", None
    if kind == "whole":
        weights = rng.integers(0, 4, n).astype(float)
    elif kind == "any":
        weights = rng.uniform(0.1, 3.0, n)
    else:
        weights = 10.0 ** rng.uniform(-4.0, 4.0, n)
    weights[0] = max(weights[0], 1.0)
    return f"{kind} weights", weights


def _radius(rng, values):
    """Return a radius that is about right, or far too small or large for the values."""
    largest = float(np.abs(values).max())
    largest = largest if largest > 0.0 else 1.0
    kind = ("right", "right", "exact", "small", "tiny", "large", "huge")[int(rng.integers(7))]
    factor = {
        "right": rng.uniform(0.6, 2.0),
        "exact": 1.0,
        "small": rng.uniform(0.1, 0.6),
        "tiny": 10.0 ** rng.uniform(-6.0, -1.0),
        "large": rng.uniform(2.0, 10.0),
        "huge": 10.0 ** rng.uniform(1.0, 6.0),
    }[kind]
    return f"{kind} radius", largest * float(factor)


def _options(rng, version, square):
    choices = ("auto", "auto", "enumeration", "branch", "off", "highs")
    exact = choices[int(rng.choice(6, p=(0.25, 0.25, 0.2, 0.15, 0.12, 0.03)))]
    options = {
        "version": version,
        "exact": exact,
        "rtol": RTOL[int(rng.integers(len(RTOL)))],
        "seed": int(rng.integers(100)),
        "threads": int(rng.integers(1, 3)),
        "time_limit": SECONDS,
    }
    if rng.uniform() < 0.3:
        options["tol"] = square * 10.0 ** rng.uniform(-9.0, -1.0)
    if rng.uniform() < 0.15:
        options["time_limit"] = float(10.0 ** rng.uniform(-4.0, -1.0))
    if rng.uniform() < 0.15:
        options["max_iterations"] = int(rng.integers(0, 20))
    return options
