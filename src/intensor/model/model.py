"""The model: a sparse, readable sum of boxes that predicts any cell, and how far two are apart."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
from numpy.typing import ArrayLike

from intensor._arrays import AnyArray, FlagArray, FloatArray, IndexArray, Shape
from intensor.data.checks import check_coords
from intensor.data.lookup import refuse_tables
from intensor.errors import CoordinateError, DenseTooLargeError, SettingError, ShapeError
from intensor.kernels.sums import predict
from intensor.problem.vertex import Vertices, mode_offsets, pack_vertices
from intensor.runtime.memory import available_memory

MAX_AXES = 32
"""Most axes that a NumPy array has in the oldest supported version."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Box:
    """One term of a model: a weight and the indices it covers, mode by mode."""

    weight: float
    indices: tuple[IndexArray, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Model:
    """A nonnegative tensor as a weighted sum of 0-1 boxes, or any tensor if it is signed.

    Attributes
    ----------
    radius
        Bound on the sum of the absolute weights, in the units of the data.
    weights
        (k,) weight of each vertex, nonnegative unless signed, largest first.
    vertices
        The k vertices.
    signed
        Whether weights may be negative.
    """

    radius: float
    weights: FloatArray
    vertices: Vertices
    signed: bool = False

    def __len__(self) -> int:
        return len(self.vertices)

    def __iter__(self) -> Iterator[Box]:
        for index, weight in enumerate(self.weights.tolist()):
            yield Box(weight=weight, indices=self.vertices.box(index))

    def __repr__(self) -> str:
        lengths = " x ".join(map(str, self.shape))
        return f"<Model {lengths}: {len(self)} boxes, weights sum to {self.weights.sum():.6g}>"

    @property
    def shape(self) -> Shape:
        """Lengths of the modes."""
        return self.vertices.shape

    def predict(self, coords: ArrayLike) -> FloatArray:
        """Return the values of the given cells.

        Parameters
        ----------
        coords
            (n, p) integers counted from 0.

        Examples
        --------
        >>> flags = np.array([[1, 1, 0, 1], [0, 1, 1, 1]], dtype=np.uint8)
        >>> model = build_model(flags, np.array([0.5, 0.25]), shape=(2, 2), radius=1.0)
        >>> model.predict([[0, 0], [1, 1]]).tolist()
        [0.0, 0.75]
        """
        if getattr(coords, "shape", None) == (0, len(self.shape)):
            return np.empty(0)
        refuse_tables(coords)
        cells, _ = check_coords(coords, self.shape)
        return self._sum(np.ascontiguousarray(cells))

    def evaluate(self, coords: tuple[AnyArray, ...]) -> FloatArray:
        """Return the values of cells that are known to be valid, given mode by mode."""
        return self._sum(np.stack(coords, axis=1, dtype=np.int64))

    def _sum(self, cells: IndexArray) -> FloatArray:
        """Return the values of (n, p) cells; raise if arrays are too short for the kernel."""
        count, words = len(self.vertices), self.vertices.words
        expected = (sum(self.shape), max(1, -(-count // 64)))
        if self.weights.shape != (count,) or words.shape != expected:
            raise ShapeError(
                f"a model of {count} boxes has weights of shape {self.weights.shape} and words of "
                f"shape {words.shape}; expected {(count,)} and {expected}"
            )
        values = np.empty(len(cells))
        predict(words, self.weights, cells, mode_offsets(self.shape), values)
        return values

    def to_dense(self, *, limit: int | None = None) -> FloatArray:
        """Return the full tensor as an array.

        Parameters
        ----------
        limit
            Most bytes that the array may take; by default half of the available memory, since a
            box that covers nearly all of it is copied while it is added.

        Raises
        ------
        DenseTooLargeError
            If the array would take more.
        """
        if len(self.shape) > MAX_AXES:
            raise DenseTooLargeError(
                f"the model has {len(self.shape)} modes and dense arrays at most {MAX_AXES} axes; "
                "predict the cells you need with model.predict(coords)"
            )
        needed = 8 * math.prod(self.shape)
        available = available_memory() if limit is None else None
        allowed = limit if available is None else available // 2
        if allowed is not None and needed > allowed:
            source = "" if available is None else f" ({available:.3g} are available)"
            raise DenseTooLargeError(
                f"the dense tensor of shape {self.shape} takes {Decimal(needed):.3g} bytes and "
                f"at most {allowed:.3g} are allowed{source}; predict the cells you need with "
                "model.predict(coords), or raise the limit with to_dense(limit=...)"
            )
        dense = np.zeros(self.shape)
        for box in self:
            dense[np.ix_(*box.indices)] += box.weight
        return dense


def build_model(
    flags: FlagArray, weights: FloatArray, *, shape: Shape, radius: float, signed: bool = False
) -> Model:
    """Return a model with equal vertices merged, no empty terms, and the largest weight first.

    ``flags`` are (k, sum(shape)) zeros and ones, and weights are in the units of the data.
    """
    if flags.shape[1] != sum(shape):
        raise CoordinateError(
            f"vertices have {flags.shape[1]} flags; shape {shape} needs {sum(shape)}"
        )
    packed = np.packbits(flags, axis=1)
    merged: dict[bytes, int] = {}
    total = np.zeros(len(flags))
    for row, weight in enumerate(weights.tolist()):
        total[merged.setdefault(packed[row].tobytes(), row)] += weight
    # A vertex that is off at all indices of some mode covers no cell.
    empty = (np.maximum.reduceat(flags, mode_offsets(shape)[:-1], axis=1) == 0).any(axis=1)
    keep = [row for row in merged.values() if total[row] != 0.0 and not empty[row]]
    keep.sort(key=lambda row: -abs(total[row]))
    return Model(
        radius=radius,
        weights=total[keep],
        vertices=pack_vertices(flags[keep], shape),
        signed=signed,
    )


def shrunk(model: Model, radius: float) -> Model:
    """Return a model in the polytope of another radius, with smaller weights if they exceed it.

    Examples
    --------
    >>> flags = np.array([[1, 1, 0, 1]], dtype=np.uint8)
    >>> model = build_model(flags, np.array([3.0]), shape=(2, 2), radius=4.0)
    >>> shrunk(model, 2.0).weights.tolist(), shrunk(model, 8.0).weights.tolist()
    ([2.0], [3.0])
    """
    total = math.fsum(np.abs(model.weights))
    weights = model.weights * (radius / total) if total > radius else model.weights
    return replace(model, radius=radius, weights=weights)


def nmse(model: Model, truth: Model) -> float:
    """Return the normalised squared error ``|model - truth|^2 / |truth|^2`` over all cells.

    Both are sums of boxes, and the overlap of two boxes is a product over modes: the cost
    is (number of boxes)^2 x sum(shape), whatever the size of the tensor. Vertices that both
    models hold are merged first, so that equal models give exactly 0.
    """
    for name, given in (("model", model), ("truth", truth)):
        if not isinstance(given, Model):
            raise SettingError(
                f"the {name} is a {type(given).__name__}; expected a Model, such as result.model, "
                "fit.model or planted(...).truth"
            )
    if model.shape != truth.shape:
        raise ShapeError(f"the model has shape {model.shape}, the truth {truth.shape}")
    size = _square(truth)
    if size == 0.0:
        raise ShapeError("the truth is zero everywhere: its normalised error is not defined")
    difference = build_model(
        np.concatenate((model.vertices.flags(), truth.vertices.flags())),
        np.concatenate((model.weights, -truth.weights)),
        shape=truth.shape,
        radius=truth.radius,
    )
    return max(0.0, _square(difference)) / size


def _square(model: Model) -> float:
    return float(model.weights @ model.vertices.overlaps(model.vertices) @ model.weights)
