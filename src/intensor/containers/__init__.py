"""Containers: arrays and tables of any package, which are read once and filled.

No package is imported to find out what some data is: if a package is not loaded, there are no
objects of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from intensor.containers.arrays import (
    CooContainer,
    DataArrayContainer,
    DenseContainer,
    ScipyContainer,
    is_a,
)
from intensor.containers.base import Container, TableContainer
from intensor.data.table import Table
from intensor.errors import SettingError, ValuesError

__all__ = ["Container", "open_container"]


def open_container(
    data: Any,
    *,
    value: str | None = None,
    modes: Iterable[str] | None = None,
    weight: str | None = None,
    every: bool = False,
) -> Container:
    """Return the container for some data.

    ``value``, ``modes`` and ``weight`` are columns of a table, and ``every`` tells whether cells
    that are not listed are filled, too.
    """
    container = _open_without_columns(data, every=every)
    if container is None:
        container = _open_frame(data, value=value, modes=modes, weight=weight, every=every)
        if container is not None:
            return container
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


def _open_frame(
    data: Any,
    *,
    value: str | None,
    modes: Iterable[str] | None,
    weight: str | None,
    every: bool,
) -> Container | None:
    """Return the container of a table of pandas, polars or pyarrow, or None for anything else."""
    from intensor.containers.frames import FrameContainer  # noqa: PLC0415  (imports narwhals)
    from intensor.containers.wide import (  # noqa: PLC0415  (imports narwhals)
        WideContainer,
        advise,
        is_wide,
    )
    from intensor.data.series import open_frame  # noqa: PLC0415  (imports narwhals)

    frame = open_frame(data)
    if frame is None:
        return None
    if value is None and modes is None and weight is None and is_wide(data, frame):
        return WideContainer(data, frame)
    modes = tuple(modes) if isinstance(modes, Iterator) else modes  # they may be read twice
    return FrameContainer(
        data,
        frame,
        value=value,
        modes=modes,
        weight=weight,
        every=every,
        advice=lambda: advise(data, frame, modes),
    )


def _open_without_columns(data: Any, *, every: bool) -> Container | None:
    """Return the container of an array or of a table from a file, or None for anything else."""
    if isinstance(data, Table):
        return TableContainer(data, every=every)
    if isinstance(data, np.ndarray):
        return DenseContainer(data)
    if is_a(data, "xarray", "DataArray"):
        return DataArrayContainer(data, every=every)
    if is_a(data, "sparse", "COO"):
        return CooContainer(data, every=every)
    if is_a(data, "scipy.sparse", "sparray") or is_a(data, "scipy.sparse", "spmatrix"):
        return ScipyContainer(data, every=every)
    return None


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
