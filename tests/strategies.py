"""What properties are tested on: shapes, observations and vertices, small and of every kind."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st


def shapes(*, least=1, most=6, longest=5, indices=14):
    """Draw mode lengths, including 1, with at most ``indices`` indices together."""
    lengths = st.lists(st.integers(1, longest), min_size=least, max_size=most)
    return lengths.filter(lambda found: sum(found) <= indices).map(tuple)


seeds = st.integers(0, 2**32 - 1)
plain_values = st.one_of(
    st.just(0.0), st.integers(0, 9).map(float), st.floats(1e-3, 1e3), st.floats(0.0, 1.0)
)
whole_weights = st.integers(0, 4).map(float)
any_weights = st.one_of(st.floats(1e-3, 1e3), st.sampled_from([0.0, 1.0, 1e-6, 1e6]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Raw:
    """Observations as a caller has them; weights may be None."""

    shape: tuple[int, ...]
    coords: np.ndarray
    values: np.ndarray
    weights: np.ndarray | None = None

    def __repr__(self):
        weights = None if self.weights is None else self.weights.tolist()
        return (
            f"Raw(shape={self.shape}, coords={self.coords.tolist()}, "
            f"values={self.values.tolist()}, weights={weights})"
        )

    def __len__(self):
        return len(self.values)


@st.composite
def observations(draw, *, shape=None, most=24, values=plain_values, weights=None):
    """Draw observations; few cells, so that many of them repeat.

    Parameters
    ----------
    shape
        Strategy of the mode lengths.
    weights
        Strategy of one sample weight; None for no weights.
    """
    lengths = draw(shapes(most=4) if shape is None else shape)
    cells = math.prod(lengths)
    numbers = draw(st.lists(st.integers(0, cells - 1), min_size=1, max_size=most))
    coords = np.stack(np.unravel_index(numbers, lengths), axis=1)
    n = len(numbers)
    found = draw(st.lists(values, min_size=n, max_size=n))
    heavy = None
    if weights is not None:
        heavy = np.array(draw(st.lists(weights, min_size=n, max_size=n)))
        heavy[draw(st.integers(0, n - 1))] += 1.0  # somebody must count
    return Raw(shape=lengths, coords=coords, values=np.array(found), weights=heavy)


def random_flags(rng, count, shape):
    """Return (count, sum(shape)) zeros and ones of any density, at times an empty or full row."""
    flags = (rng.uniform(size=(count, sum(shape))) < rng.uniform(0.2, 1.0)).astype(np.uint8)
    if count > 1 and rng.uniform() < 0.5:
        flags[rng.integers(count)] = rng.integers(2)
    return flags


def sizes_of_all_kinds(rng, count):
    """Return numbers of both signs over twelve orders of magnitude, some of them 0."""
    numbers = rng.standard_normal(count) * 10.0 ** rng.integers(-6, 7, count)
    numbers[rng.uniform(size=count) < 0.1] = 0.0
    return numbers
