"""The protocol of containers, and the container that some data needs.

No package is imported to find that out: if a package is not loaded, there are no objects of it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.data.table import Table
from intensor.data.values import find_bad_value, raise_bad
from intensor.errors import DenseTooLargeError, EmptyDataError, SettingError, ValuesError

MAX_DENSE_CELLS = 10**7
"""Largest number of cells that ``cells="all"`` writes out."""
MIN_ROUNDED_INTEGER = 2.0**53
"""Smallest integer that float64 may round."""


class Container(Protocol):
    """Data that was read once and can be filled."""

    @property
    def table(self) -> Table:
        """The observations, and perhaps rows without a value."""

    @property
    def n_missing(self) -> int:
        """Number of cells to predict."""

    def missing(self, part: slice) -> IndexArray:
        """Return some of the cells to predict, (m, p)."""

    def fill(self, predicted: FloatArray) -> Any:
        """Return a new container of the same type, with predictions where values were missing."""


class InnerContainer:
    """A container that leaves its cells to another one, and only converts the result.

    Attributes
    ----------
    inner
        The other container.
    """

    def __init__(self, inner: Container) -> None:
        self.inner = inner

    @property
    def table(self) -> Table:
        """The observations, and perhaps rows without a value."""
        return self.inner.table

    @property
    def n_missing(self) -> int:
        """Number of cells to predict."""
        return self.inner.n_missing

    def missing(self, part: slice) -> IndexArray:
        """Return some of the cells to predict."""
        return self.inner.missing(part)


def open_container(
    data: Any,
    *,
    value: str | None = None,
    modes: Iterable[str] | None = None,
    weight: str | None = None,
    every: bool = False,
) -> Container:
    """Return the container for some data.

    Parameters
    ----------
    value, modes, weight
        Columns of a table.
    every
        Whether cells that are not listed are filled, too.
    """
    container = _open_without_columns(data, every=every)
    if container is None:
        # These import narwhals.
        from intensor.containers.frames import FrameContainer  # noqa: PLC0415
        from intensor.data.series import open_frame  # noqa: PLC0415

        frame = open_frame(data)
        if frame is not None:
            return FrameContainer(data, frame, value=value, modes=modes, weight=weight, every=every)
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
    return container


def _open_without_columns(data: Any, *, every: bool) -> Container | None:
    """Return the container of an array or of a table from a file, or None for anything else."""
    if isinstance(data, Table):
        from intensor.containers.tabular import TableContainer  # noqa: PLC0415

        return TableContainer(data, every=every)
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
    """Return the type of some data, with a hint if one step makes it a container."""
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


def check_observed(values: AnyArray, subject: Callable[[int], str]) -> FloatArray:
    """Return values as float64, or raise an error about one that cannot be fitted.

    Parameters
    ----------
    values
        (n,) numbers; NaN stands for a missing value.
    subject
        From a position among the values to what to call it.
    """
    with np.errstate(over="ignore"):
        result: FloatArray = values.astype(np.float64, copy=False)
    if np.isnan(result).all():
        raise EmptyDataError(
            "the data has no observed value, only missing ones; expected at least one"
        )
    raise_bad(find_bad_value(result), subject)
    return result


def check_exact(values: FloatArray) -> None:
    """Raise when integers would be rounded on their way into a floating type."""
    largest = float(np.nanmax(values))
    if largest >= MIN_ROUNDED_INTEGER:
        raise ValuesError(
            f"the largest value is {largest:.17g}, stored as an integer, but predictions need a "
            "floating type, which rounds integers of 2^53 and more; convert the values to float64 "
            "first if that is all right"
        )


def check_size(shape: Shape) -> int:
    """Return the number of cells of a shape, unless it is too large to be written out."""
    n_cells = math.prod(shape)
    if n_cells > MAX_DENSE_CELLS:
        raise DenseTooLargeError(
            f'cells="all" asks for {n_cells} cells of shape {shape}; expected at most '
            f"{MAX_DENSE_CELLS} (list the cells that you want as rows without a value, or use "
            'cells="missing" and predict the cells you need with the fit)'
        )
    return n_cells
