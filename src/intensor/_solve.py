"""The front door of the solver: raw observations in, a result out."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Any

from numpy.typing import ArrayLike

from intensor.backends.select import on_device
from intensor.errors import SettingError
from intensor.oracles.cascade import ExactChoice, find_exact
from intensor.runtime.budget import Budget, listen_for_interrupt
from intensor.solver.checkpoint import EVERY, CheckpointFile, Keeper, Snapshots, check_checkpoint
from intensor.solver.condensing import spread_result
from intensor.solver.engine import Version
from intensor.solver.fingerprint import fingerprint
from intensor.solver.loop import KEEPS_NOTHING, Callback, run
from intensor.solver.result import Result, warn_if_empty
from intensor.solver.settings import Settings, check_settings
from intensor.solver.sources import collect
from intensor.solver.variants import find_version

__all__ = ["solve"]


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
    checkpoint: str | PathLike[str] | None = None,
    checkpoint_every: float = EVERY,
    resume: bool = False,
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
        Stop after so many iterations or seconds, with what has been reached. The time in which
        kernels are compiled, once per machine, or loaded, once per process, does not count.
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
        Bytes that the solve may use, as a number or like "4 GiB". From files, cells are then cut
        into shards that fit, by default into a quarter of what the machine has; data in memory is
        refused when it would take more, by default more than is available.
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
    checkpoint
        A file to write the run to as it goes, so that it can be continued after a kill, a Ctrl-C or
        a limit. An existing one is never replaced unless ``resume`` is given.
    checkpoint_every
        Write it after so many seconds; it is also written in the end.
    resume
        Go on from the checkpoint if there is one, as the same run: data and settings must be the
        same, but for limits, threads, device and callback. Time spent before counts.

    Raises
    ------
    MemoryLimitError
        When the data would not fit, before any work is done.

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
    solver, oracle = find_version(version), find_exact(exact)
    elsewhere = client is not None or isinstance(coords, (str, PathLike))
    if settings.device.memory_only and (not solver.anywhere or elsewhere or on_device(values)):
        raise SettingError(
            f'{settings.device} needs version="fast" and coords and values in memory'
        )
    if not solver.anywhere and (not settings.device.any_version or on_device(values)):
        raise SettingError(f'a CUDA device needs version="fast"; got version={version!r}')
    if not solver.anywhere and elsewhere:
        raise SettingError(
            f'data in files or on a cluster needs version="fast"; got version={version!r}'
        )
    if sample_weight is not None and elsewhere:
        raise SettingError("sample_weight needs coords and values in memory, and no client")
    if on_device(values) and sample_weight is not None:
        raise SettingError("sample_weight needs values in the memory of the host")
    if signed and not solver.signed:
        raise SettingError(f'signed boxes need version="fast"; got version={version!r}')
    if callback is not None and not callable(callback):
        raise SettingError(f"callback is {callback!r}; expected a function of one Progress")
    place = check_checkpoint(checkpoint, checkpoint_every, resume)
    file = None if place is None else CheckpointFile(place, kind="solve")
    budget = Budget(settings.time_limit, before=0.0 if file is None else file.elapsed)
    observations, whole = collect(
        coords,
        values,
        settings,
        shape=shape,
        allow_negative=allow_negative or signed,
        sample_weight=sample_weight,
        memory_limit=memory_limit,
        client=client,
        version=solver,
    )
    keeper = KEEPS_NOTHING
    if file is not None:
        file.check(
            settings=_decisive(settings, solver, oracle), data=fingerprint(observations, whole)
        )
        keeper = _keeper(file)
    with listen_for_interrupt(budget):
        result = run(
            observations,
            version=solver,
            exact=oracle.oracle(
                observations,
                patient=solver.patient,
                threads=settings.threads,
                time_limit=settings.time_limit,
                device=settings.device,
            ),
            settings=settings,
            budget=budget,
            callback=callback,
            keeper=keeper,
        )
    warn_if_empty(result)
    return result if whole is None else spread_result(result, whole)


def _decisive(settings: Settings, version: Version, exact: ExactChoice) -> dict[str, Any]:
    """Return what must not change when a run is continued."""
    return {
        "radius": float(settings.radius),
        "version": version.name,
        "tol": float(settings.tol),
        "rtol": float(settings.rtol),
        "seed": int(settings.seed),
        "exact": exact.name,
        "signed": settings.signed,
    }


def _keeper(file: CheckpointFile) -> Keeper:
    """Return what writes a solve to a file."""
    return Snapshots(
        None if file.saved is None else file.saved.branch("content"),
        due=lambda: file.due,
        store=lambda tree: file.write(tree, tree["seconds"]),
    )
