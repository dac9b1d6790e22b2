"""The front door of the solver: raw observations in, a result out."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from intensor.arrays import Shape
from intensor.budget import Budget, listen_for_interrupt
from intensor.checks import (
    check_coords,
    check_memory,
    check_shape,
    check_values,
    warn_above_radius,
)
from intensor.data.observations import Observations, observe
from intensor.errors import CoordinateError, SettingError
from intensor.kernels.opening import Data, on_device, wants_device
from intensor.oracles.base import Oracle
from intensor.oracles.cascade import NoSearch, exact_oracle
from intensor.solver.loop import Callback, run
from intensor.solver.result import Result
from intensor.solver.settings import Settings, check_settings
from intensor.solver.variants import find_version

__all__ = ["solve"]

SEARCHED = 1 << 22
"""Cells on a device up to which they are fetched for an exact oracle."""


def solve(
    coords: ArrayLike | PathLike[str],
    values: ArrayLike,
    *,
    shape: Iterable[int] | None = None,
    radius: float,
    version: int | str = "fast",
    tol: float = 0.0,
    rtol: float = 1e-6,
    max_iterations: int | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    exact: str = "auto",
    device: str = "cpu",
    memory_limit: int | str | None = None,
    client: Any = None,
    allow_negative: bool = False,
    signed: bool = False,
    sample_weight: ArrayLike | None = None,
    callback: Callback | None = None,
) -> Result:
    """Complete a nonnegative tensor from some of its entries, with a proven gap.

    Minimises the mean squared error on the observations over all tensors whose gauge norm is
    at most ``radius``: the sums of 0-1 boxes with nonnegative weights that add up to at most
    ``radius``.

    Parameters
    ----------
    coords
        (n, p) integers counted from 0, a row per observation; cells may repeat. Or the path of a
        Parquet file, or of a folder of them, of any size: cells then stay on disk.
    values
        (n,) the observed values, nonnegative. With a path, the name of their column; all others
        are coordinates.
    shape
        Mode lengths; by default the smallest shape that holds the coordinates.
    radius
        Bound on the gauge norm, in the units of the values. No prediction exceeds it.
    version
        "fast", or a row 0-10 of the paper's table of variants (which the paper ran with
        ``tol=1e-4, rtol=0``).
    tol, rtol
        Stop when the proven gap is at most ``max(tol, rtol * mean(values**2))``.
    max_iterations, time_limit
        Stop after so many iterations or seconds, with what has been reached.
    seed
        Of the random starts; the same seed gives the same result.
    threads
        Use at most so many threads, by default one per core; the result does not depend on it.
    exact
        The exact oracle that proves bounds: "enumeration" (all modes but two are counted
        through), "branch" (branch and bound, for two long modes), "highs", "scip", "gurobi"
        (integer programming), or "off" (no bound beyond the free one). "auto" takes the first
        or the second, whichever is expected to be faster, if a call should take at most the
        time limit, or a minute without one; otherwise versions 0-10 use HiGHS, and "fast" none.
    device
        Where to sum over cells: "cpu", "cuda" (an NVIDIA device; needs ``intensor[gpu]``), or
        "auto" for the device where there is one and the data is large enough to gain from it.
        Arrays that lie on a device are left there; coordinates may then be a sequence of p arrays.
    memory_limit
        Bytes that a solve from files may use, as a number or like "4 GiB"; by default a quarter of
        what the machine has.
    client
        A ``distributed.Client``: cells are spread over the workers of its cluster. Coordinates may
        then also be a Dask DataFrame, with ``values`` the name of a column; a path must be one
        that all workers can read.
    allow_negative
        Fit negative values too (the model stays nonnegative).
    signed
        Let boxes count negatively too: the radius then bounds the sum of the weights' sizes, and
        values may be negative. Only for "fast".
    sample_weight
        (n,) how much each observation counts, >= 0; by default all the same. The objective is
        the weighted mean of the squared errors.
    callback
        Called with a ``Progress`` after every iteration; returning False stops the solve.

    Returns
    -------
    Result
        With ``status``, ``objective``, ``bound``, ``gap``, ``model`` and more. Ctrl-C ends
        the solve with the best model so far and status INTERRUPTED.

    Examples
    --------
    >>> import intensor
    >>> data = intensor.planted((6, 6, 6), 150)
    >>> result = intensor.solve(data.coords, data.values, shape=data.shape, radius=1.0)
    >>> result.status.name, result.gap <= 1e-6
    ('OPTIMAL', True)
    >>> float(result.model.predict([[0, 1, 2]])[0]) >= 0.0
    True
    """
    settings = check_settings(
        radius=radius,
        tol=tol,
        rtol=rtol,
        max_iterations=max_iterations,
        time_limit=time_limit,
        seed=seed,
        threads=threads,
        signed=signed,
        device=device,
    )
    if version != "fast" and (device == "cuda" or on_device(values)):
        raise SettingError(f'a CUDA device needs version="fast"; got version={version!r}')
    elsewhere = client is not None or isinstance(coords, (str, PathLike))
    if version != "fast" and elsewhere:
        raise SettingError(
            f'data in files or on a cluster needs version="fast"; got version={version!r}'
        )
    if sample_weight is not None and elsewhere:
        raise SettingError("sample_weight needs coords and values in memory, and no client")
    if on_device(values) and sample_weight is not None:
        raise SettingError("sample_weight needs values in the memory of the host")
    recipe = find_version(version)
    if signed and version != "fast":
        raise SettingError(f'signed boxes need version="fast"; got version={version!r}')
    if callback is not None and not callable(callback):
        raise SettingError(f"callback is {callback!r}; expected a function of one Progress")
    budget = Budget(settings.time_limit)
    words: dict[str, Any] = {"shape": shape, "allow_negative": allow_negative or signed}
    observations: Data
    if client is not None:
        observations = _from_cluster(client, coords, values, **words)
        numbers = np.zeros(1)
    elif isinstance(coords, (str, PathLike)):
        observations = _from_files(coords, values, memory_limit, settings, **words)
        numbers = np.zeros(1)
    elif on_device(values) or (sample_weight is None and wants_device(device, _count(values))):
        from intensor.kernels.cuda.observations import (  # noqa: PLC0415  (imports numba.cuda)
            observe_on_device,
        )

        observations = observe_on_device(coords, values, **words)
        numbers = observations.means
    else:
        observations = observe(coords, values, sample_weight=sample_weight, **words)
        numbers = np.asarray(values, dtype=np.float64)
        if sample_weight is not None:
            numbers = numbers[np.asarray(sample_weight) > 0]
    warn_above_radius(np.abs(numbers) if signed else numbers, settings.radius)
    with listen_for_interrupt(budget):
        return run(
            observations,
            version=version,
            exact=_oracle(exact, observations, settings, patient=recipe.patient),
            settings=settings,
            budget=budget,
            callback=callback,
        )


def _from_files(
    path: str | PathLike[str],
    value: object,
    memory_limit: int | str | None,
    settings: Settings,
    *,
    shape: Iterable[int] | None,
    allow_negative: bool,
) -> Data:
    """Collapse a Parquet dataset into shards on disk."""
    from intensor.data.formats.dataset import open_dataset  # noqa: PLC0415  (imports pyarrow)
    from intensor.kernels.shards.disk import observe_on_disk  # noqa: PLC0415

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
    *,
    shape: Iterable[int] | None,
    allow_negative: bool,
) -> Data:
    """Spread observations over the workers of a cluster."""
    from intensor.data.formats.dataset import open_dataset  # noqa: PLC0415  (imports pyarrow)
    from intensor.kernels.shards.distributed import observe_on_workers  # noqa: PLC0415

    words: dict[str, Any] = {"allow_negative": allow_negative}
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


def _oracle(choice: str, observations: Data, settings: Settings, *, patient: bool) -> Oracle:
    """Return the exact oracle; large data that is elsewhere is not fetched for "auto"."""
    elsewhere = not isinstance(observations, Observations)
    if elsewhere and (choice == "off" or (choice == "auto" and observations.n_cells > SEARCHED)):
        return NoSearch(observations)
    return exact_oracle(
        choice,
        observations.host(),
        patient=patient,
        threads=settings.threads,
        time_limit=settings.time_limit,
    )
