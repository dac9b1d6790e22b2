"""Where the observations of a solve come from: arrays, a device, files, or a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sized
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from intensor._arrays import Shape
from intensor.backends.select import Data, Device, on_device
from intensor.backends.sharded.cells import ShardedObservations
from intensor.data.checks import (
    check_coords,
    check_not_tiny,
    check_shape,
    check_values,
    warn_above_radius,
    warn_largest_above_radius,
)
from intensor.data.observations import Observations, observe
from intensor.errors import CoordinateError, SettingError
from intensor.options.ranges import default_memory_limit
from intensor.problem.reindex import FullTensor, drop_unused_indices
from intensor.runtime.memory import collapsing_bytes, expanding_bytes, require_memory
from intensor.runtime.threads import Workers
from intensor.solver.engine import Version
from intensor.solver.settings import Settings

OTHER_PLACES = (
    "solve from Parquet files (coords a path, with memory_limit), distribute cells over a cluster "
    "(client) or use a CUDA device (device)"
)
"""Advice for data that is too large for memory."""
FEWER_INDICES = "give modes fewer indices, or leave out observations"
"""Advice for tensors with too many indices for memory."""


def collect(
    coords: Any,
    values: Any,
    settings: Settings,
    *,
    shape: Iterable[int] | None,
    allow_negative: bool,
    sample_weight: ArrayLike | None,
    memory_limit: int | None,
    client: Any,
    version: Version,
) -> tuple[Data, FullTensor | None]:
    """Collapse observations into cells where they are; warn of values above the radius.

    The arguments are those of ``solve``. Cells in memory are condensed: the second part of the
    answer is the full tensor they come from.
    """
    options: dict[str, Any] = {"shape": shape, "allow_negative": allow_negative}
    if client is not None or isinstance(coords, (str, PathLike)):
        if client is not None:
            sharded = _from_cluster(client, coords, values, settings.device, **options)
        else:
            sharded = _from_files(coords, values, memory_limit, settings, **options)
        lowest = -sharded.lowest if settings.signed else 0.0
        warn_largest_above_radius(max(sharded.highest, lowest), settings.radius)
        return sharded, None
    data: Data
    full: FullTensor | None = None
    count = len(values) if isinstance(values, Sized) else 1  # they are not checked yet
    if on_device(values) or (sample_weight is None and settings.device.wants_cuda(count)):
        from intensor.backends.cuda.observations import (  # noqa: PLC0415  (imports numba.cuda)
            observe_on_device,
        )

        data = observe_on_device(coords, values, **options)
        numbers = data.means
    else:
        data, full = _from_arrays(
            coords, values, sample_weight, memory_limit, settings, version, options
        )
        numbers = np.asarray(values, dtype=np.float64)
        check_not_tiny(numbers)
        if sample_weight is not None:
            numbers = numbers[np.asarray(sample_weight) > 0]
    warn_above_radius(abs(numbers) if settings.signed else numbers, settings.radius)
    return data, full


def _from_arrays(
    coords: Any,
    values: Any,
    sample_weight: ArrayLike | None,
    limit: int | None,
    settings: Settings,
    version: Version,
    options: dict[str, Any],
) -> tuple[Observations, FullTensor | None]:
    """Collapse arrays into cells in memory, or refuse what would not fit."""
    size: tuple[int, ...] = tuple(getattr(coords, "shape", ()))
    if len(size) == 2:
        copied = getattr(coords, "dtype", None) != np.int64
        needed = collapsing_bytes(size[0], size[1], copied=copied)
        what = f"collapsing {size[0]} observations of {size[1]} modes"
        require_memory(needed, what, advice=OTHER_PLACES, limit=limit)
    with contextlib.closing(Workers(settings.threads)) as workers:
        cells = observe(coords, values, sample_weight=sample_weight, workers=workers, **options)
    condensed, full = condense(cells)
    needed = version.bytes_needed(condensed.n_cells, condensed.shape)
    if full is not None:
        needed += expanding_bytes(full.shape)
    what = f"a solve of {cells.n_cells} cells in a tensor of {sum(cells.shape)} indices"
    advice = OTHER_PLACES if cells.n_cells > sum(cells.shape) else FEWER_INDICES
    require_memory(needed, what, advice=advice, limit=limit)
    return condensed, full


def condense(observations: Observations) -> tuple[Observations, FullTensor | None]:
    """Return observations without the indices that never occur, and the full tensor.

    Examples
    --------
    >>> from intensor.data.observations import observe
    >>> few, full = condense(observe([[70, 0], [900, 2]], [1.0, 2.0]))
    >>> few.shape, full.shape
    ((2, 2), (901, 3))
    """
    coords, full = drop_unused_indices(observations.coords, observations.shape)
    if full is None:
        return observations, None
    narrow = tuple(
        column.astype(np.min_scalar_type(length - 1), copy=False)
        for column, length in zip(coords, full.condensed, strict=True)
    )
    return replace(observations, shape=full.condensed, coords=narrow), full


def _from_files(
    path: str | PathLike[str],
    value: object,
    memory_limit: int | None,
    settings: Settings,
    *,
    shape: Iterable[int] | None,
    allow_negative: bool,
) -> ShardedObservations:
    """Collapse a Parquet dataset into shards on disk."""
    from intensor.backends.sharded.disk import observe_on_disk  # noqa: PLC0415

    dataset, lengths = _open_dataset(path, value, shape)
    return observe_on_disk(
        dataset,
        shape=lengths,
        allow_negative=allow_negative,
        memory_limit=default_memory_limit() if memory_limit is None else memory_limit,
        threads=settings.threads,
    )


def _from_cluster(
    client: Any,
    coords: Any,
    values: Any,
    device: Device,
    *,
    shape: Iterable[int] | None,
    allow_negative: bool,
) -> ShardedObservations:
    """Distribute observations over the workers of a cluster."""
    from intensor.backends.sharded.distributed import observe_on_workers  # noqa: PLC0415

    options: dict[str, Any] = {"allow_negative": allow_negative, "device": device}
    if isinstance(coords, (str, PathLike)):
        dataset, lengths = _open_dataset(coords, values, shape)
        return observe_on_workers(client, dataset, shape=lengths, **options)
    if hasattr(coords, "to_delayed"):
        value = _column(values)
        if value not in coords.columns:
            raise SettingError(f"the DataFrame has no column {value!r}")
        lengths = _lengths(shape, len(coords.columns) - 1)
        return observe_on_workers(client, coords, shape=lengths, value=value, **options)
    cells, lengths = check_coords(coords, shape)
    numbers = check_values(values, cells.shape[0], allow_negative=allow_negative)
    return observe_on_workers(client, (cells, numbers), shape=lengths, **options)


def _open_dataset(
    path: str | PathLike[str], value: object, shape: Iterable[int] | None
) -> tuple[Any, Shape | None]:
    """Open Parquet files; return them, and the mode lengths if they are known."""
    from intensor.data.readers.dataset import open_dataset  # noqa: PLC0415  (imports pyarrow)

    dataset = open_dataset(Path(path), _column(value))
    return dataset, _lengths(shape, len(dataset.modes))


def _column(value: object) -> str:
    """Return the name of the column of values."""
    if not isinstance(value, str):
        raise SettingError(
            "coords is a dataset, so values must be the name of the column of values; "
            f"got {type(value).__name__}"
        )
    return value


def _lengths(shape: Iterable[int] | None, n_modes: int) -> Shape | None:
    """Return the mode lengths if they are known."""
    lengths = None if shape is None else check_shape(shape)
    if lengths is not None and len(lengths) != n_modes:
        raise CoordinateError(
            f"there are {n_modes} column(s) of coordinates but shape {lengths} has "
            f"{len(lengths)} mode(s)"
        )
    return lengths
