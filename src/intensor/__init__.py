"""Nonnegative tensor completion with a proof of global optimality.

>>> import intensor
>>> data = intensor.planted((6, 6, 6), 150)
>>> result = intensor.solve(data.coords, data.values, shape=data.shape, radius=1.0)
>>> result.status.name
'OPTIMAL'
>>> intensor.verify(result, data.coords, data.values).ok
True
"""

from intensor import errors
from intensor.certificate import Verification, verify
from intensor.gauge import GaugeNorm, gauge_norm
from intensor.model.metrics import nmse
from intensor.model.model import Box, Model
from intensor.planted import Planted, planted
from intensor.solver.entry import solve
from intensor.solver.result import Counters, Progress, Result, Seconds, Status

__version__ = "0.1.0"

__all__ = [
    "Box",
    "Counters",
    "GaugeNorm",
    "Model",
    "Planted",
    "Progress",
    "Result",
    "Seconds",
    "Status",
    "Verification",
    "errors",
    "gauge_norm",
    "nmse",
    "planted",
    "solve",
    "verify",
]
