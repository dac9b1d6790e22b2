"""Problems of special kinds: signs and outside solvers, extreme weights, fits cut short."""

from __future__ import annotations

import warnings

import numpy as np

from fitting_cases import plain_options
from intensor.data.observations import observe
from intensor.errors import EmptyModelWarning, RadiusWarning, RemainderWarning
from intensor.fitting.fit import fit
from intensor.fitting.kriging import can_krige

from .problems import RTOL, Problem, _coords, _radius, _shape, _values, draw

FIRST = 1000
"""Problems before this number are those of ``problems``."""
SOLVERS = ("highs", "scip", "gurobi", "enumeration", "branch")
MOST_WEIGHT_RATIO = 1e12
FEW_CELLS = 12
"""Cells of a problem for an outside solver: Gurobi's free licence allows a small model."""


def draw_any(number):
    """Return the problem of a number: an ordinary one before ``FIRST``, a special one after."""
    if number < FIRST:
        return draw(number)
    family = (draw_signed, draw_weights, CutFit)[number % 3]
    return family(number, np.random.default_rng([1637, number]))


def draw_signed(number, rng):
    """Return a signed problem for one of the exact oracles, outside solvers among them."""
    shape = tuple(rng.integers(1, 4, int(rng.integers(2, 4))).tolist())
    where, coords = _coords(rng, shape)
    coords = coords[:FEW_CELLS]
    if rng.uniform() < 0.5:  # ties and whole numbers, where rounding decides
        what, values = "whole", rng.integers(-3, 4, len(coords)).astype(float)
    else:
        what, values = _values(rng, shape, coords, signed=True)
    exact = SOLVERS[number // 3 % len(SOLVERS)]
    reach, radius = _radius(rng, values)
    if rng.uniform() < 0.5:
        reach, radius = "whole radius", float(rng.integers(1, 5))
    options = {
        "version": "fast",
        "exact": exact,
        "rtol": RTOL[int(rng.integers(len(RTOL)))],
        "seed": int(rng.integers(100)),
        "threads": 1,
        "time_limit": 2.0,
        "signed": True,
    }
    return Problem(
        number=number,
        kinds=(where, what, "no weights", reach, "signed", f"signed by {exact}"),
        shape=shape,
        coords=coords,
        values=values,
        weights=None,
        radius=radius,
        options=options,
    )


def draw_weights(number, rng):
    """Return a problem whose sample weights differ as much as they may."""
    shape = _shape(rng)
    where, coords = _coords(rng, shape)
    signed = rng.uniform() < 0.3
    what, values = _values(rng, shape, coords, signed=signed)
    weights = 10.0 ** (rng.uniform(-0.5, 0.5, len(coords)) * np.log10(MOST_WEIGHT_RATIO))
    weights *= 10.0 ** rng.uniform(-60.0, 60.0)
    reach, radius = _radius(rng, values)
    options = {
        "version": "fast" if signed else ("fast", 6, 10)[int(rng.integers(3))],
        "exact": ("auto", "enumeration", "branch", "off")[int(rng.integers(4))],
        "rtol": RTOL[int(rng.integers(len(RTOL)))],
        "seed": int(rng.integers(100)),
        "threads": 1,
        "time_limit": 1.0,
    }
    if signed:
        options["signed"] = True
    return Problem(
        number=number,
        kinds=(where, what, "extreme weights", reach, "signed" if signed else "unsigned"),
        shape=shape,
        coords=coords,
        values=values,
        weights=weights,
        radius=radius,
        options=options,
    )


class CutFit:
    """A fit that a limit ends wherever it is; its boxes are held against the optimum.

    After ``solve`` it is the problem that the boxes were fitted to: values in the fitted scale,
    less the baseline, with the radius that was chosen.
    """

    cut = True

    def __init__(self, number, rng):
        self.number = number
        self.shape = _shape(rng)
        where, self.coords = _coords(rng, self.shape)
        what, self._raw = _values(rng, self.shape, self.coords, signed=False)
        self.weights = rng.uniform(0.1, 3.0, len(self.coords)) if rng.uniform() < 0.3 else None
        self.options = {
            "version": "fast",
            "exact": ("auto", "off")[int(rng.integers(2))],
            "transform": ("none", "sqrt", "log1p", "auto")[int(rng.integers(4))],
            "baseline": ("none", "additive", "auto")[int(rng.integers(3))],
            "remainder": ("none", "kriging", "auto")[int(rng.integers(3))],
            "n_solutions": int(rng.integers(1, 4)),
            "validation": (0.1, 0.3, 3, "auto")[int(rng.integers(4))],
            "time_limit": float(10.0 ** rng.uniform(-4.0, -0.5)),
            "threads": 1,
        }
        if rng.uniform() < 0.3:
            self.options["radius"] = float(self._raw.max()) + 0.5
        self.kinds = (where, what, "cut fit")
        self.values, self.radius, self.signed = self._raw, np.nan, False

    def solve(self):
        """Fit, and return the result of the boxes."""
        options = dict(self.options)
        if options["remainder"] == "kriging" and not _can_krige(self.coords, self.shape):
            options["remainder"] = "auto"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RadiusWarning)
            warnings.simplefilter("ignore", RemainderWarning)
            warnings.simplefilter("ignore", EmptyModelWarning)
            found = fit(
                self.coords,
                self._raw,
                plain_options(**options),
                shape=self.shape,
                sample_weight=self.weights,
            )
        self.values = found.predictor.residual_targets(self.coords, self._raw)
        self.radius, self.signed = found.radius, found.predictor.baseline is not None
        self.predicted = found.predict(self.coords)
        return found.result


def _can_krige(coords, shape):
    return can_krige(observe(coords, np.ones(len(coords)), shape=shape))
