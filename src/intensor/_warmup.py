"""``intensor.warmup``: compile what solves and fits use, so that none has to wait for it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from intensor._estimator import TensorCompleter
from intensor._planted import planted
from intensor._solve import solve
from intensor.backends.select import find_device
from intensor.data.observations import observe
from intensor.errors import SettingError
from intensor.oracles.base import Goal
from intensor.oracles.cascade import find_exact
from intensor.runtime.kernel_files import ADVICE, FILES

_LOG = logging.getLogger(__name__)
SMALL = (4, 4, 3)
"""Shape of the tensors of most steps."""
MANY_BOXES = (30, 30, 30)
"""Shape of a tensor whose model has more boxes than the master solves for at once."""
LARGE = {
    "up to 256 indices": ((80, 80, 80), 450_000),
    "up to 65536 indices": ((200, 200, 60), 300_000),
    "any number of indices": ((50_000, 50_000, 3), 300_000),
}
"""Shapes and numbers of observations. Kernels are compiled for positions of one, two and four
bytes, and there are others for cells that are summed over in pieces."""
FEW_ROUNDS = 4
"""Rounds of a large solve, which use every kernel once."""
COMPONENTS = ("boxes", "graded")
SEARCHES = {32: 0.1, 64: 0.0}
"""Bits of an exact search, and the gain it must look for to be made with so many."""
Step = tuple[str, Callable[[], object]]


def warmup(*, device: str = "cpu") -> dict[str, float]:
    """Compile every kernel that solves and fits use on this machine, and keep them in files.

    Kernels are otherwise compiled when they are first used. Call this once where the package is
    installed, such as in the image of a container, and no later process has to compile. Files are
    kept where ``NUMBA_CACHE_DIR`` says, or else beside the package.

    Parameters
    ----------
    device
        "cpu", or "cuda" for the kernels of an NVIDIA device too.

    Returns
    -------
    dict
        The seconds that each step took. A step whose kernels are in files takes a moment.

    Raises
    ------
    SettingError
        If the kernels cannot be kept in files, or the device has no kernels of its own.
    DeviceError
        If there is no such device.
    """
    if device not in DEVICE_STEPS:
        raise SettingError(f"device is {device!r}; expected 'cpu' or 'cuda'")
    find_device(device).has_cuda()  # raises when it is missing
    taken: dict[str, float] = {}
    for name, work in (*_host_steps(), *DEVICE_STEPS[device]()):
        start = time.perf_counter()
        work()
        taken[name] = time.perf_counter() - start
        _LOG.info("%s: %.1f s", name, taken[name])
        if FILES.problem is not None:
            raise SettingError(
                f"compiled kernels cannot be kept in files: {FILES.problem}; {ADVICE}"
            )
    return taken


def _host_steps() -> Iterator[Step]:
    """Yield what to do on the host, kernels that others use first."""
    yield "solve", partial(_solve, SMALL, 90)
    yield "solve, many boxes", partial(_solve, MANY_BOXES, 5000, max_iterations=200)
    for name, (shape, n) in LARGE.items():
        for kind in COMPONENTS:
            step = partial(_solve, shape, n, max_iterations=FEW_ROUNDS, components=kind)
            yield f"solve, many cells, {name}, {kind}", step
    yield "solve, weights and signs", _solve_weighted
    yield "solve, version 5", partial(_solve, SMALL, 60, version=5, rtol=0.1)
    for name in ("enumeration", "branch"):
        for bits, phi in SEARCHES.items():
            yield f"exact {name}, {bits} bits", partial(_search, name, phi)
    yield "solve, graded components", partial(_solve, SMALL, 90, components="graded")
    yield "fit", _fit
    yield "fit, boxes and kriging", partial(_fit, components="boxes", remainder="kriging")


def _no_steps() -> Iterator[Step]:
    """Yield nothing: the host is all there is."""
    yield from ()


def _cuda_steps() -> Iterator[Step]:
    for kind in COMPONENTS:
        yield f"CUDA solve, {kind}", partial(_solve, SMALL, 90, components=kind, device="cuda")
        for name, (shape, n) in LARGE.items():
            step = partial(_solve, shape, n, max_iterations=FEW_ROUNDS, components=kind)
            yield f"CUDA solve, many cells, {name}, {kind}", partial(step, device="cuda")


DEVICE_STEPS = {"cpu": _no_steps, "cuda": _cuda_steps}
"""Calls that compile the kernels of each device; they follow those of the host."""


def _solve(shape: tuple[int, ...], n: int, **options: Any) -> None:
    """Solve without an exact search, which has steps of its own."""
    data = planted(shape, n, noise=0.1)
    solve(data.coords, data.values, shape=shape, radius=1.0, exact="off", **options)


def _solve_weighted() -> None:
    data = planted(SMALL, 60, noise=0.1)
    weights = 1.0 + np.arange(60) / 60.0
    solve(
        data.coords,
        data.values,
        shape=SMALL,
        radius=1.0,
        sample_weight=weights,
        signed=True,
        exact="off",
    )


def _search(name: str, phi: float) -> None:
    """Ask an exact oracle for vertices; the less they must gain, the more bits costs have."""
    data = planted(SMALL, 60, noise=0.1)
    observations = observe(data.coords, data.values, shape=SMALL)
    costs = observations.means - observations.means.mean()
    oracle = find_exact(name).oracle(observations)
    oracle.minimise(costs, goal=Goal(product=0.0, phi=phi, pool=4))


def _fit(**options: Any) -> None:
    data = planted((8, 7, 5), 200, noise=0.05)
    TensorCompleter(**options).fit(data.coords, data.values)
