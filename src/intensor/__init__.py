"""Nonnegative tensor completion with a proof of global optimality.

>>> import intensor
>>> data = intensor.planted((6, 6, 6), 150)
>>> result = intensor.solve(data.coords, data.values, shape=data.shape, radius=1.0)
>>> result.status.name
'OPTIMAL'
>>> intensor.verify(result, data.coords, data.values).ok
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from intensor import errors, plots, report
    from intensor._complete import complete
    from intensor._estimator import TensorCompleter
    from intensor._gauge import GaugeNorm, gauge_norm
    from intensor._planted import Planted, planted
    from intensor._solve import solve
    from intensor._verify import Verification, verify
    from intensor.data.labels import Labels
    from intensor.fitting.model_file import load
    from intensor.fitting.path import RadiusPath
    from intensor.fitting.record import Fit, Validation
    from intensor.model.metrics import nmse
    from intensor.model.model import Box, Model
    from intensor.solver.result import Counters, Progress, Result, Seconds, Status

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

_HOMES = {
    "Box": "model.model",
    "Counters": "solver.result",
    "Fit": "fitting.record",
    "GaugeNorm": "_gauge",
    "Labels": "data.labels",
    "Model": "model.model",
    "Planted": "_planted",
    "Progress": "solver.result",
    "RadiusPath": "fitting.path",
    "Result": "solver.result",
    "Seconds": "solver.result",
    "Status": "solver.result",
    "TensorCompleter": "_estimator",
    "Validation": "fitting.record",
    "Verification": "_verify",
    "complete": "_complete",
    "gauge_norm": "_gauge",
    "load": "fitting.model_file",
    "nmse": "model.metrics",
    "planted": "_planted",
    "solve": "_solve",
    "verify": "_verify",
}
"""The module of every public name that is not a module itself: Numba, SciPy and scikit-learn
take a second to import, so that is done when one of these is first asked for. No module here has
the name of a public function: importing it would put the module in the function's place."""


def __getattr__(name: str) -> Any:
    """Import what is public when it is first asked for, and keep it."""
    if name not in __all__:
        raise AttributeError(f"module 'intensor' has no attribute {name!r}")
    if name in _HOMES:
        found = getattr(import_module(f"intensor.{_HOMES[name]}"), name)
    else:
        found = import_module(f"intensor.{name}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Return the public names, and those that every module has; no private module is listed."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
