"""What every container can do, and which one some data is.

Packages that hold data are never imported to find out: an object of a package that is not loaded
does not exist.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.data.labels import Labels
from intensor.errors import (
    DenseTooLargeError,
    EmptyDataError,
    NegativeValueError,
    SettingError,
    ValuesError,
)

__all__ = [
    "Container",
    "Observed",
    "check_exact",
    "check_observed",
    "check_size",
    "is_a",
    "open_container",
]

MOST_CELLS = 10**7
"""Cells that ``cells="all"`` writes out at most."""
EXACT = 2.0**53
"""Whole numbers below this are kept by float64."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observed:
    """The observations that a container holds.

    Attributes
    ----------
    coords
        (n, p) cells.
    values
        (n,) values, finite and not below 0.
    weights
        (n,) how much each counts, or None for all the same.
    labels
        What modes and indices are called.
    """

    coords: IndexArray
    values: FloatArray
    labels: Labels
    weights: FloatArray | None = None


class Container(Protocol):
    """Data that was read once and can be filled."""

    @property
    def observed(self) -> Observed:
        """What is there."""

    @property
    def n_missing(self) -> int:
        """Number of cells to predict."""

    def missing(self, part: slice) -> IndexArray:
        """Return some of the cells to predict, (m, p)."""

    def fill(self, predicted: FloatArray) -> Any:
        """Return a new container of the same type, with predictions where values were missing."""


def open_container(
    data: Any,
    *,
    value: str | None = None,
    modes: Iterable[str] | None = None,
    weight: str | None = None,
    every: bool = False,
) -> Container:
    """Return the container that the data is.

    Parameters
    ----------
    value, modes, weight
        Columns of a table.
    every
        Whether cells that are not listed are to be filled, too.
    """
    array = _open_array(data, every=every)
    if array is None:
        from intensor.containers import frames  # noqa: PLC0415  (imports narwhals)

        if frames.is_frame(data):
            return frames.FrameContainer(data, value=value, modes=modes, weight=weight, every=every)
        raise ValuesError(
            f"data is {_describe(data)}; expected a NumPy array, a masked array, a table of "
            "pandas, polars or pyarrow, an xarray.DataArray, a sparse.COO or a SciPy sparse array"
        )
    for name, option in (("value", value), ("modes", modes), ("weight", weight)):
        if option is not None:
            raise SettingError(
                f"{name} is {option!r}, which names columns of a table, but data is "
                f"{_describe(data)}; leave {name} out"
            )
    return array


def _open_array(data: Any, *, every: bool) -> Container | None:
    """Return the container of an array of some kind, None for all else."""
    if isinstance(data, np.ndarray):
        from intensor.containers.dense import DenseContainer  # noqa: PLC0415

        return DenseContainer(data)
    if is_a(data, "xarray", "DataArray"):
        from intensor.containers.dataarray import DataArrayContainer  # noqa: PLC0415

        return DataArrayContainer(data, every=every)
    if is_a(data, "sparse", "COO"):
        from intensor.containers.coo import CooContainer  # noqa: PLC0415

        return CooContainer(data, every=every)
    if is_a(data, "scipy.sparse", "sparray") or is_a(data, "scipy.sparse", "spmatrix"):
        from intensor.containers.coo import ScipyContainer  # noqa: PLC0415

        return ScipyContainer(data, every=every)
    return None


def is_a(data: Any, package: str, name: str) -> bool:
    """Say whether data is of a class, without importing the package of that class."""
    kind = getattr(sys.modules.get(package), name, None)
    return isinstance(kind, type) and isinstance(data, kind)


def _describe(data: Any) -> str:
    """Return what some data is, with a hint where one step makes it a container."""
    kind = type(data)
    name = f"a {kind.__qualname__} of {kind.__module__.split('.')[0]}"
    hints = {
        "Dataset": "choose one variable with data['name']",
        "Series": "make a table of it with data.reset_index() or data.to_frame()",
        "LazyFrame": "call data.collect() first",
        "GCXS": "convert it with data.tocoo()",
        "DOK": "convert it with data.to_coo()",
        "list": "make an array of it with numpy.array(data, dtype=float)",
        "tuple": "make an array of it with numpy.array(data, dtype=float)",
        "dict": "make a table of it, e.g. with pyarrow.table(data)",
    }
    hint = hints.get(kind.__name__)
    return name if hint is None else f"{name} ({hint})"


def check_observed(values: AnyArray, where: Callable[[int], str]) -> FloatArray:
    """Return values as float64, or say which of them cannot be fitted.

    Parameters
    ----------
    values
        (n,) numbers, none of them missing.
    where
        From a place among the values to the words that name it in the container.
    """
    with np.errstate(over="ignore"):
        result: FloatArray = values.astype(np.float64, copy=False)
    if result.size == 0:
        raise EmptyDataError(
            "the data has no observed value, only missing ones; expected at least one"
        )
    if not np.isfinite(result).all():
        place = int(np.argmin(np.isfinite(result)))
        raise ValuesError(
            f"the value {where(place)} is {result[place]}; expected finite numbers "
            "(what is missing must be NaN, masked or null)"
        )
    if result.min() < 0.0:
        place = int(np.argmax(result < 0.0))
        raise NegativeValueError(
            f"the value {where(place)} is {result[place]}; expected values >= 0, since the model "
            "is nonnegative (clip or shift the data)"
        )
    return result


def check_exact(observed: Observed) -> None:
    """Raise when whole numbers would be rounded on their way into a floating type."""
    if float(observed.values.max()) >= EXACT:
        raise ValuesError(
            f"the largest value is {observed.values.max():.17g}, kept as a whole number, and from "
            "2^53 on a floating type, which predictions need, rounds; convert the "
            "values to float64 first if that is all right"
        )


def check_size(shape: Shape) -> int:
    """Return the number of cells of a shape, unless it is too large to be written out."""
    n_cells = math.prod(shape)
    if n_cells > MOST_CELLS:
        raise DenseTooLargeError(
            f'cells="all" asks for {n_cells} cells of shape {shape}, and at most {MOST_CELLS} are '
            'written out; use cells="missing" and predict the cells you need with the fit'
        )
    return n_cells
