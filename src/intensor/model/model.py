"""The model: a sparse, readable sum of boxes and components that predicts any cell."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from intensor._arrays import AnyArray, FlagArray, FloatArray, IndexArray, Shape
from intensor._text import describe_shape, one_line
from intensor.data.checks import check_coords
from intensor.data.labels import Labels
from intensor.data.lookup import refuse_tables
from intensor.errors import (
    CoordinateError,
    DenseTooLargeError,
    ShapeError,
)
from intensor.kernels.component_sums import add_components
from intensor.kernels.sums import predict
from intensor.model.term import Box, Component
from intensor.model.tidying import largest_first, merge_equal, scale_rows
from intensor.problem.component import NO_COMPONENTS, Components, pack_components
from intensor.problem.vertex import Vertices, mode_offsets, pack_vertices
from intensor.runtime.memory import available_memory

MAX_AXES = 32
"""Most axes that a NumPy array has in the oldest supported version."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Model:
    """A nonnegative tensor as a weighted sum of boxes and components, or any tensor if signed.

    A box is a product of 0-1 vectors, one per mode; a component is a product of vectors with
    entries from 0 to 1. Two models are equal if all of these attributes are.

    Attributes
    ----------
    radius
        Bound on the sum of the absolute weights, in the units of the data.
    weights
        (k,) weights, nonnegative unless signed: first those of the boxes, largest first, then
        those of the components, largest first.
    vertices
        The boxes, as bits.
    signed
        Whether weights may be negative.
    components
        The graded components.
    """

    radius: float
    weights: FloatArray
    vertices: Vertices
    signed: bool = False
    components: Components = NO_COMPONENTS

    def __len__(self) -> int:
        return len(self.vertices) + len(self.components)

    def __iter__(self) -> Iterator[Box | Component]:
        return map(self.term, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Model):
            return NotImplemented
        return (
            (self.shape, self.radius, self.signed) == (other.shape, other.radius, other.signed)
            and np.array_equal(self.weights, other.weights)
            and np.array_equal(self.vertices.words, other.vertices.words)
            and len(self.components) == len(other.components)
            # No components fit any shape, so their (empty) factors may differ in length.
            and (
                len(self.components) == 0
                or np.array_equal(self.components.factors, other.components.factors)
            )
        )

    def __hash__(self) -> int:
        # Equal models have equal hashes. Weights and factors are left out: arrays may change.
        return hash((self.shape, self.radius, self.signed, len(self)))

    def __repr__(self) -> str:
        return one_line(
            f"Model {describe_shape(self.shape)}: {describe_terms(self)}, weights sum to "
            f"{self.weights.sum():.6g}"
        )

    @property
    def shape(self) -> Shape:
        """Lengths of the modes."""
        return self.vertices.shape

    @property
    def gauge(self) -> float:
        """Sum of the absolute weights: an upper bound of the gauge norm of the tensor."""
        return math.fsum(np.abs(self.weights))

    def heaviest(self, count: int) -> list[Box | Component]:
        """Return the terms of the largest weights in size, at most ``count`` of them."""
        order = np.argsort(-np.abs(self.weights), kind="stable")[:count]
        return [self.term(index) for index in order.tolist()]

    def term(self, index: int) -> Box | Component:
        """Return the term of a number, counted from 0 in the order of the model."""
        index = range(len(self))[index]
        weight, n_boxes = float(self.weights[index]), len(self.vertices)
        if index < n_boxes:
            return Box(weight=weight, indices=self.vertices.box(index), shape=self.shape)
        return Component(weight=weight, profiles=self.components.profiles(index - n_boxes))

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
        """Return the values of (n, p) cells; raise if arrays are too short for the kernels."""
        count, words = len(self.vertices), self.vertices.words
        graded, factors = len(self.components), self.components.factors
        wanted = (sum(self.shape), max(1, -(-count // 64)))
        if self.weights.shape != (count + graded,) or words.shape != wanted:
            raise ShapeError(
                f"a model of {describe_terms(self)} has weights of shape {self.weights.shape} and "
                f"words of shape {words.shape}; expected {(count + graded,)} and {wanted}"
            )
        if graded and len(factors) != sum(self.shape):
            raise ShapeError(
                f"a model of shape {self.shape} has factors of shape {factors.shape}; expected "
                f"{(sum(self.shape), graded)}"
            )
        values, offsets = np.zeros(len(cells)), mode_offsets(self.shape)
        if count:
            predict(words, self.weights[:count], cells, offsets, values)
        if graded:
            add_components(factors, self.weights[count:], cells, offsets, values)
        return values

    def to_dense(self, *, limit: int | None = None) -> FloatArray:
        """Return the full tensor as an array.

        Parameters
        ----------
        limit
            Most bytes that the array may take; by default half of the available memory, since a
            term that covers nearly all of it is copied while it is added.

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
        for term in self:
            if isinstance(term, Box):
                dense[np.ix_(*term.indices)] += term.weight
            else:
                first, *others = term.profiles
                slab: AnyArray = np.array(term.weight)
                for profile in others:
                    slab = np.multiply.outer(slab, profile)
                for index in np.flatnonzero(first).tolist():
                    dense[index] += first[index] * slab
        return dense

    def as_factors(self) -> FloatArray:
        """Return all terms as (sum(shape), k) entries in [0, 1], boxes among them."""
        if len(self.vertices) == 0 and len(self.components):
            return self.components.factors
        boxes = self.vertices.flags_at(slice(None)).astype(np.float64)
        graded = self.components.factors if len(self.components) else boxes[:, :0]
        return np.concatenate((boxes, graded), axis=1)

    def to_frame(self, labels: Labels | None = None) -> Any:
        """Return the terms as a table of pyarrow, for reading and plotting.

        Parameters
        ----------
        labels
            Names of the modes and labels of their indices; by default their numbers.

        Returns
        -------
        pyarrow.Table
            One row per term and index whose entry is not 0: ``component`` (number of the term, in
            the order of the model), ``weight``, ``mode`` (name), ``index`` (counted from 0),
            ``label`` (as text) and ``value`` (the entry: 1 throughout a box).
        """
        from intensor.model.frame import model_frame  # noqa: PLC0415  (that module imports Model)

        return model_frame(self, labels)


def describe_terms(model: Model) -> str:
    """Return how many boxes and components a model has, such as "3 boxes and 12 components"."""
    boxes, graded = len(model.vertices), len(model.components)
    if not graded:
        return f"{boxes} boxes"
    components = f"{graded} component{'' if graded == 1 else 's'}"
    return f"{boxes} box{'' if boxes == 1 else 'es'} and {components}" if boxes else components


def build_model(
    flags: FlagArray | FloatArray,
    weights: FloatArray,
    *,
    shape: Shape,
    radius: float,
    signed: bool = False,
) -> Model:
    """Return a model with equal terms merged, no empty terms, and the largest weight first.

    ``flags`` are (k, sum(shape)) zeros and ones, or numbers from 0 to 1, and weights are in the
    units of the data. The vectors of a term are scaled so that the largest entry of each is 1, and
    the weight makes up for it. Terms of zeros and ones become boxes, and the others components.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.5, 1.0, 1.0], [0.5, 0.0, 0.0, 1.0]])
    >>> model = build_model(rows, np.array([2.0, 1.0]), shape=(2, 2), radius=3.0)
    >>> model
    <Model 2 x 2: 1 box and 1 component, weights sum to 2.5>
    """
    if flags.shape[1] != sum(shape):
        raise CoordinateError(
            f"vertices have {flags.shape[1]} flags; shape {shape} needs {sum(shape)}"
        )
    boxes: tuple[AnyArray, FloatArray] = flags, weights
    graded = np.empty((0, sum(shape))), np.empty(0)
    if flags.dtype.kind == "f":
        rows, weights = scale_rows(flags, weights, shape)
        boxlike = ((rows == 0.0) | (rows == 1.0)).all(axis=1)
        boxes = rows[boxlike].astype(np.uint8), weights[boxlike]
        graded = rows[~boxlike], weights[~boxlike]
    return _assemble(boxes, graded, shape=shape, radius=radius, signed=signed)


def join_models(
    models: Sequence[Model], weights: Sequence[FloatArray], *, radius: float, signed: bool
) -> Model:
    """Return the sum of models of one shape with other weights, with equal terms merged."""
    shape, given = models[0].shape, list(zip(models, weights, strict=True))
    graded = [
        (model.components.rows(), own[len(model.vertices) :])
        for model, own in given
        if len(model.components)
    ]
    return _assemble(
        (
            np.concatenate([model.vertices.flags() for model in models]),
            np.concatenate([own[: len(model.vertices)] for model, own in given]),
        ),
        (
            np.concatenate([np.empty((0, sum(shape))), *(rows for rows, _ in graded)]),
            np.concatenate([np.empty(0), *(own for _, own in graded)]),
        ),
        shape=shape,
        radius=radius,
        signed=signed,
    )


def _assemble(
    boxes: tuple[FlagArray, FloatArray],
    graded: tuple[FloatArray, FloatArray],
    *,
    shape: Shape,
    radius: float,
    signed: bool,
) -> Model:
    """Return the model of flags and of normalised rows of entries, each with their weights."""
    flags, rows = boxes[0], graded[0]
    box_weights = merge_equal(np.packbits(flags, axis=1), boxes[1])
    # A vertex that is off at all indices of some mode covers no cell.
    empty = (np.maximum.reduceat(flags, mode_offsets(shape)[:-1], axis=1) == 0).any(axis=1)
    kept = largest_first(np.where(empty, 0.0, box_weights))
    graded_weights = merge_equal(rows, graded[1])
    kept_graded = largest_first(graded_weights)
    return Model(
        radius=radius,
        weights=np.concatenate((box_weights[kept], graded_weights[kept_graded])),
        vertices=pack_vertices(flags[kept], shape),
        signed=signed,
        components=pack_components(rows[kept_graded], shape),
    )
