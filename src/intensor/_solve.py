"""``intensor.solve``: raw observations in, a certified result out."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Any

from numpy.typing import ArrayLike

from intensor.backends.select import on_device
from intensor.errors import SettingError
from intensor.options import declared
from intensor.options.option import documented
from intensor.oracles.cascade import ExactChoice, find_exact
from intensor.runtime.budget import Budget, listen_for_interrupt
from intensor.runtime.threads import one_blas_thread
from intensor.solver.checkpoint import NO_SNAPSHOTS, CheckpointFile, check_checkpoint, fingerprint
from intensor.solver.engine import Version
from intensor.solver.loop import Callback, run
from intensor.solver.progress import show_progress
from intensor.solver.result import Result, expand_result, warn_if_empty
from intensor.solver.settings import Settings, check_settings
from intensor.solver.sources import collect
from intensor.solver.variants import check_enough_observations, find_version, with_components


@documented(declared.SOLVE_OPTIONS)
def solve(
    coords: ArrayLike | PathLike[str],
    values: ArrayLike,
    *,
    shape: Iterable[int] | None = declared.SHAPE.default,
    radius: float,
    version: int | str = declared.VERSION.default,
    tol: float = declared.TOL.default,
    rtol: float = declared.SOLVE_RTOL.default,
    max_iterations: int | None = declared.MAX_ITERATIONS.default,
    time_limit: float | None = declared.TIME_LIMIT.default,
    seed: int = declared.SEED.default,
    threads: int | None = declared.THREADS.default,
    exact: str = declared.EXACT.default,
    device: str = declared.DEVICE.default,
    memory_limit: int | str | None = declared.MEMORY_LIMIT.default,
    client: Any = declared.CLIENT.default,
    allow_negative: bool = declared.ALLOW_NEGATIVE.default,
    signed: bool = declared.SIGNED.default,
    components: str = declared.SOLVE_COMPONENTS.default,
    max_components: int | None = declared.MAX_COMPONENTS.default,
    sample_weight: ArrayLike | None = None,
    callback: Callback | None = declared.CALLBACK.default,
    verbose: bool = declared.VERBOSE.default,
    checkpoint: str | PathLike[str] | None = declared.CHECKPOINT.default,
    checkpoint_every: float = declared.CHECKPOINT_EVERY.default,
    resume: bool = declared.RESUME.default,
) -> Result:
    """Complete a nonnegative tensor from some of its entries, with a proven gap.

    Minimises the mean squared error on the observations over all tensors whose gauge norm is
    at most ``radius``: the sums of 0-1 boxes with nonnegative weights that add up to at most
    ``radius``. Sums of graded components, products of vectors with entries from 0 to 1, are the
    same set of tensors.

    Parameters
    ----------
    coords
        (n, p) integers counted from 0, a row per observation; cells may repeat. Or the path of a
        Parquet file, or of a folder of them, of any size: cells then stay on disk.
    values
        (n,) the observed values, nonnegative. With a path, the name of their column; all others
        are coordinates.
    sample_weight
        (n,) how much each observation counts, >= 0; by default all the same. The objective is
        the weighted mean of the squared errors.
    {options}

    Raises
    ------
    MemoryLimitError
        If the data does not fit, before any work is done.

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
    graded = declared.SOLVE_COMPONENTS.check(components) == "graded"
    most = declared.MAX_COMPONENTS.check(max_components)
    solver = with_components(find_version(version), most, graded=graded)
    oracle = find_exact(exact)
    _check_together(settings, solver, coords, values, sample_weight, client)
    limit = declared.MEMORY_LIMIT.check(memory_limit)
    callback = declared.CALLBACK.check(callback)
    shown = declared.VERBOSE.check(verbose)
    target = check_checkpoint(checkpoint, checkpoint_every, resume)
    file = None if target is None else CheckpointFile(target, kind="solve")
    budget = Budget(settings.time_limit, before=0.0 if file is None else file.elapsed)
    data, full = collect(
        coords,
        values,
        settings,
        shape=shape,
        allow_negative=allow_negative or signed,
        sample_weight=sample_weight,
        memory_limit=limit,
        client=client,
        version=solver,
    )
    check_enough_observations(most, data.n)
    if file is not None:
        file.check(settings=_kept_settings(settings, solver, oracle), data=fingerprint(data, full))
    shown_progress = show_progress(callback, verbose=shown)
    with listen_for_interrupt(budget), one_blas_thread(), shown_progress as watcher:
        result = run(
            data,
            version=solver,
            exact=oracle.oracle(
                data,
                patient=solver.patient,
                threads=settings.threads,
                time_limit=settings.time_limit,
                device=settings.device,
            ),
            settings=settings,
            budget=budget,
            callback=watcher,
            snapshots=NO_SNAPSHOTS if file is None else file.snapshots(),
        )
    warn_if_empty(result)
    return result if full is None else expand_result(result, full)


def _check_together(
    settings: Settings, version: Version, coords: Any, values: Any, weights: Any, client: Any
) -> None:
    """Raise if options that are valid alone do not go together."""
    got = f"got version={version.name!r}"
    in_memory = client is None and not isinstance(coords, (str, PathLike))
    on_cuda = on_device(values)
    if settings.device.memory_only and (not version.anywhere or not in_memory or on_cuda):
        raise SettingError(
            f'{settings.device} needs version="fast" and coords and values in memory'
        )
    if not version.anywhere and (not settings.device.any_version or on_cuda):
        raise SettingError(f'a CUDA device needs version="fast"; {got}')
    if not version.anywhere and not in_memory:
        raise SettingError(f'data in files or on a cluster needs version="fast"; {got}')
    if weights is not None and not in_memory:
        raise SettingError("sample_weight needs coords and values in memory, and no client")
    if weights is not None and on_cuda:
        raise SettingError("sample_weight needs values in the memory of the host")
    if settings.signed and not version.signed:
        raise SettingError(f'signed boxes need version="fast"; {got}')


def _kept_settings(settings: Settings, version: Version, exact: ExactChoice) -> dict[str, Any]:
    """Return the settings that must not change when a run is resumed."""
    return {
        "radius": float(settings.radius),
        "version": version.name,
        "tol": float(settings.tol),
        "rtol": float(settings.rtol),
        "seed": int(settings.seed),
        "exact": exact.name,
        "signed": settings.signed,
        "max_components": version.max_components,
    }
