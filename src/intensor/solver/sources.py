"""Where the observations of a solve come from: arrays, a device, files, or a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from intensor._arrays import Shape
from intensor.backends.select import Data, Device, on_device
from intensor.backends.sharded.cells import ShardedObservations
from intensor.data.observations import observe
from intensor.errors import CoordinateError, SettingError
from intensor.options.checks import (
    check_coords,
    check_memory,
    check_not_tiny,
    check_shape,
    check_values,
    warn_above_radius,
    warn_largest_above_radius,
)
from intensor.problem.reindex import Whole
from intensor.runtime.memory import collapsing_bytes, require_memory, spreading_bytes
from intensor.runtime.threads import Workers
from intensor.solver.condensing import condense
from intensor.solver.engine import Version
from intensor.solver.settings import Settings

__all__ = ["collect"]

ELSEWHERE = (
    "solve from Parquet files (coords a path, with memory_limit), spread the cells over a cluster "
    "(client) or use a CUDA device (device)"
)
"""What to do with data that is too large for memory."""
FEWER = "give modes fewer indices, or leave out observations"


def collect(
    coords: Any,
    values: Any,
    settings: Settings,
    *,
    shape: Iterable[int] | None,
    allow_negative: bool,
    sample_weight: ArrayLike | None,
    memory_limit: int | str | None,
    client: Any,
    version: Version,
) -> tuple[Data, Whole | None]:
    """Collapse observations into cells where they are; warn of values above the radius.

    The arguments are those of ``solve``. Cells in memory are condensed: the second part of the
    answer is the tensor they come from.
    """
    words: dict[str, Any] = {"shape": shape, "allow_negative": allow_negative}
    if client is not None or isinstance(coords, (str, PathLike)):
        if client is not None:
            spread = _from_cluster(client, coords, values, settings.device, **words)
        else:
            spread = _from_files(coords, values, memory_limit, settings, **words)
        lowest = -spread.lowest if settings.signed else 0.0
        warn_largest_above_radius(max(spread.highest, lowest), settings.radius)
        return spread, None
    data: Data
    whole: Whole | None = None
    if on_device(values) or (sample_weight is None and settings.device.wants_cuda(_count(values))):
        from intensor.backends.cuda.observations import (  # noqa: PLC0415  (imports numba.cuda)
            observe_on_device,
        )

        data = observe_on_device(coords, values, **words)
        numbers = data.means
    else:
        limit = None if memory_limit is None else check_memory(memory_limit)
        size: tuple[int, ...] = tuple(getattr(coords, "shape", ()))
        if len(size) == 2:
            copied = getattr(coords, "dtype", None) != np.int64
            needed = collapsing_bytes(size[0], size[1], copied=copied)
            what = f"collapsing {size[0]} observations of {size[1]} modes"
            require_memory(needed, what, advice=ELSEWHERE, limit=limit)
        workers = Workers(settings.threads)
        try:
            cells = observe(coords, values, sample_weight=sample_weight, workers=workers, **words)
        finally:
            workers.close()
        data, whole = condense(cells)
        needed = version.bytes_needed(data.n_cells, data.shape)
        if whole is not None:
            needed += spreading_bytes(whole.shape)
        what = f"a solve of {cells.n_cells} cells in a tensor of {sum(cells.shape)} indices"
        advice = ELSEWHERE if cells.n_cells > sum(cells.shape) else FEWER
        require_memory(needed, what, advice=advice, limit=limit)
        numbers = np.asarray(values, dtype=np.float64)
        check_not_tiny(numbers)
        if sample_weight is not None:
            numbers = numbers[np.asarray(sample_weight) > 0]
    warn_above_radius(abs(numbers) if settings.signed else numbers, settings.radius)
    return data, whole


def _from_files(
    path: str | PathLike[str],
    value: object,
    memory_limit: int | str | None,
    settings: Settings,
    *,
    shape: Iterable[int] | None,
    allow_negative: bool,
) -> ShardedObservations:
    """Collapse a Parquet dataset into shards on disk."""
    from intensor.backends.sharded.disk import observe_on_disk  # noqa: PLC0415
    from intensor.data.readers.dataset import open_dataset  # noqa: PLC0415  (imports pyarrow)

    dataset = open_dataset(Path(path), _column(value))
    return observe_on_disk(
        dataset,
        shape=_lengths(shape, len(dataset.modes)),
        allow_negative=allow_negative,
        memory_limit=check_memory(memory_limit),
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
    """Spread observations over the workers of a cluster."""
    from intensor.backends.sharded.distributed import observe_on_workers  # noqa: PLC0415
    from intensor.data.readers.dataset import open_dataset  # noqa: PLC0415  (imports pyarrow)

    words: dict[str, Any] = {"allow_negative": allow_negative, "device": device}
    if isinstance(coords, (str, PathLike)):
        dataset = open_dataset(Path(coords), _column(values))
        shape = _lengths(shape, len(dataset.modes))
        return observe_on_workers(client, dataset, shape=shape, **words)
    if hasattr(coords, "to_delayed"):
        value = _column(values)
        if value not in coords.columns:
            raise SettingError(f"the DataFrame has no column {value!r}")
        shape = _lengths(shape, len(coords.columns) - 1)
        return observe_on_workers(client, coords, shape=shape, value=value, **words)
    cells, lengths = check_coords(coords, shape)
    numbers = check_values(values, cells.shape[0], allow_negative=allow_negative)
    return observe_on_workers(client, (cells, numbers), shape=lengths, **words)


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


def _count(values: ArrayLike) -> int:
    """Return about how many values there are, whatever they are."""
    return len(values) if isinstance(values, Sized) else 1
