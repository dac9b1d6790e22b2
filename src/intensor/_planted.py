"""Instances with a known answer: the random tensors of the paper, bit for bit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from intensor._arrays import FloatArray, IndexArray, Shape
from intensor._text import describe_shape, one_line
from intensor.data.checks import check_shape
from intensor.model.model import Model, build_model
from intensor.options.ranges import check_at_least
from intensor.problem.vertex import pack_vertices


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Planted:
    """Observations of a tensor that is known.

    Attributes
    ----------
    shape
        Lengths of the modes.
    coords
        (n, p) observed cells, drawn with replacement.
    values
        (n,) their values.
    truth
        The tensor behind them; its radius is 1.
    """

    shape: Shape
    coords: IndexArray
    values: FloatArray
    truth: Model

    def __repr__(self) -> str:
        return one_line(f"Planted {describe_shape(self.shape)}: {len(self.values)} observations")


def planted(
    shape: Iterable[int], n: int, rep: int = 0, n_vertices: int = 10, noise: float = 0.0
) -> Planted:
    """Draw a random nonnegative tensor and n observations of it.

    The tensor is a convex combination of random vertices (each index on with probability
    one half). Without noise these are the instances of Pan, Aswani and Chen (2023), and
    ``rep`` is the number of their repetition.

    Parameters
    ----------
    shape
        Mode lengths.
    n
        Number of observations.
    rep
        Seed of the instance.
    n_vertices
        Number of vertices combined.
    noise
        Standard deviation of Gaussian noise, drawn after everything else; values are then
        clipped at 0.

    Examples
    --------
    >>> instance = planted((10, 10, 10), 500)
    >>> instance.values[:3].round(8).tolist()
    [0.0, 0.11019513, 0.0]
    """
    lengths = check_shape(shape)
    n = check_at_least("n", n, 1, integer=True)
    rep = check_at_least("rep", rep, 0, integer=True)
    n_vertices = check_at_least("n_vertices", n_vertices, 1, integer=True)
    noise = check_at_least("noise", noise, 0.0)
    rng = np.random.default_rng(rep)
    weights = rng.uniform(size=n_vertices)
    weights /= weights.sum()
    flags = np.empty((n_vertices, sum(lengths)), dtype=np.uint8)
    for row in flags:
        row[:] = rng.uniform(size=row.size) < 0.5
    coords = rng.integers(0, np.array(lengths), size=(n, len(lengths)))
    # The paper adds the vertices in the order they were drawn: so must we, to the last bit.
    as_drawn = Model(radius=1.0, weights=weights, vertices=pack_vertices(flags, lengths))
    values = as_drawn.predict(coords)
    if noise > 0.0:
        values = np.maximum(values + noise * rng.standard_normal(n), 0.0)
    truth = build_model(flags, weights, shape=lengths, radius=1.0)
    return Planted(shape=lengths, coords=coords, values=values, truth=truth)
