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
    from intensor._warmup import warmup
    from intensor.data.labels import Labels
    from intensor.fitting.explanation import Contribution, Explanation
    from intensor.fitting.model_file import load
    from intensor.fitting.path import RadiusPath
    from intensor.fitting.record import Fit, Validation
    from intensor.fitting.simplify import Simplified
    from intensor.model.arithmetic import nmse
    from intensor.model.model import Model
    from intensor.model.term import Box, Component
    from intensor.solver.result import Counters, Progress, Result, Seconds, Status

__version__ = "0.1.0"

__all__ = [
    "Box",
    "Component",
    "Contribution",
    "Counters",
    "Explanation",
    "Fit",
    "GaugeNorm",
    "Labels",
    "Model",
    "Planted",
    "Progress",
    "RadiusPath",
    "Result",
    "Seconds",
    "Simplified",
    "Status",
    "TensorCompleter",
    "Validation",
    "Verification",
    "complete",
    "errors",
    "fit",
    "gauge_norm",
    "load",
    "nmse",
    "planted",
    "plots",
    "report",
    "solve",
    "verify",
    "warmup",
]

_MODULES = {
    "_complete": ("complete",),
    "_estimator": ("TensorCompleter",),
    "_fit": ("fit",),
    "_gauge": ("GaugeNorm", "gauge_norm"),
    "_planted": ("Planted", "planted"),
    "_solve": ("solve",),
    "_verify": ("Verification", "verify"),
    "_warmup": ("warmup",),
    "data.labels": ("Labels",),
    "fitting.explanation": ("Contribution", "Explanation"),
    "fitting.model_file": ("load",),
    "fitting.path": ("RadiusPath",),
    "fitting.record": ("Fit", "Validation"),
    "fitting.simplify": ("Simplified",),
    "model.arithmetic": ("nmse",),
    "model.model": ("Model",),
    "model.term": ("Box", "Component"),
    "solver.result": ("Counters", "Progress", "Result", "Seconds", "Status"),
}
"""The public names of each module. Numba, SciPy and scikit-learn take a second to import, so a
module is imported when one of its names is first used. No module has the name of a public function:
importing it would replace the function by the module."""
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, and keep it."""
    if name not in __all__:
        raise AttributeError(f"module 'intensor' has no attribute {name!r}")
    found = import_module(f"intensor.{_HOMES.get(name, name)}")
    globals()[name] = found = getattr(found, name) if name in _HOMES else found
    return found


def __dir__() -> list[str]:
    """Return the public names, and those that every module has; no private module is listed."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
