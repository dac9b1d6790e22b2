"""Nonnegative tensor completion with a proof of global optimality.

>>> import intensor
>>> data = intensor.planted((6, 6, 6), 150)
>>> result = intensor.solve(data.coords, data.values, shape=data.shape, radius=1.0)
>>> result.status.name
'OPTIMAL'
>>> intensor.verify(result, data.coords, data.values).ok
True
"""

from typing import TYPE_CHECKING, Any

from intensor import errors
from intensor.certificate import Verification, verify
from intensor.complete import complete
from intensor.data.labels import Labels
from intensor.fitting.path import RadiusPath
from intensor.fitting.record import Fit, Validation
from intensor.fitting.store import load
from intensor.gauge import GaugeNorm, gauge_norm
from intensor.model.metrics import nmse
from intensor.model.model import Box, Model
from intensor.planted import Planted, planted
from intensor.solver.entry import solve
from intensor.solver.result import Counters, Progress, Result, Seconds, Status

if TYPE_CHECKING:
    from intensor import plots, report
    from intensor.estimator import TensorCompleter

__version__ = "0.1.0"

__all__ = [
    "Box",
    "Counters",
    "Fit",
    "GaugeNorm",
    "Labels",
    "Model",
    "Planted",
    "Progress",
    "RadiusPath",
    "Result",
    "Seconds",
    "Status",
    "TensorCompleter",
    "Validation",
    "Verification",
    "complete",
    "errors",
    "gauge_norm",
    "load",
    "nmse",
    "planted",
    "plots",
    "report",
    "solve",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Load what needs scikit-learn, or is rarely needed, when it is first asked for."""
    import importlib  # noqa: PLC0415

    if name == "TensorCompleter":
        return importlib.import_module("intensor.estimator").TensorCompleter
    if name in ("plots", "report"):
        return importlib.import_module(f"intensor.{name}")
    raise AttributeError(f"module 'intensor' has no attribute {name!r}")
