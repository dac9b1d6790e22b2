"""Transforms: the scale in which a tensor is fitted, and the way back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from intensor._arrays import FloatArray
from intensor.errors import SettingError, ValuesError

Function = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Transform:
    """A monotone function of arrays, and the inverse that undoes it on values >= 0."""

    name: str
    forward: Function
    inverse: Function
    largest: float = math.inf  # fitted values above this have no finite inverse; they are lowered

    def apply(self, values: FloatArray) -> FloatArray:
        """Return values in the fitted scale; raise if one of them has no finite value there."""
        with np.errstate(all="ignore"):
            fitted = np.asarray(self.forward(values), dtype=np.float64)
        if fitted.shape != values.shape:
            raise SettingError(
                f"the transform turned {values.shape} values into {fitted.shape}; expected a "
                "function that works element by element"
            )
        finite = np.isfinite(fitted)
        if not finite.all():
            row = int(np.argmin(finite))
            raise ValuesError(
                f"the {self.name} transform of the value {values[row]} is {fitted[row]}; "
                "expected a finite number"
            )
        return fitted

    def undo(self, fitted: FloatArray) -> FloatArray:
        """Return predictions in the units of the data, never below 0."""
        with np.errstate(all="ignore"):
            values = np.asarray(self.inverse(np.minimum(fitted, self.largest)), dtype=np.float64)
        if values.shape != fitted.shape or np.isnan(values).any():
            raise SettingError(
                f"the inverse of the {self.name} transform gave no number for some fitted values; "
                "expected a function that works element by element on all of them"
            )
        return np.maximum(values, 0.0)


def _same(values: FloatArray) -> FloatArray:
    return values


def _square(values: FloatArray) -> FloatArray:
    return np.square(np.maximum(values, 0.0))


IDENTITY = Transform(name="none", forward=_same, inverse=_same)
"""The transform that leaves values as they are."""
TRANSFORMS = {
    "none": IDENTITY,
    "sqrt": Transform(name="sqrt", forward=np.sqrt, inverse=_square, largest=1e150),
    "log1p": Transform(name="log1p", forward=np.log1p, inverse=np.expm1, largest=700.0),
}
"""Transforms by name. "sqrt" evens out the noise of counts, and "log1p" the noise of quantities
whose errors are percentages."""


def find_transform(option: str | tuple[Function, Function]) -> Transform:
    """Return the transform of an option: a name in the table or a pair (function, inverse)."""
    if isinstance(option, str) and option in TRANSFORMS:
        return TRANSFORMS[option]
    if isinstance(option, (tuple, list)) and len(option) == 2 and all(map(callable, option)):
        return Transform(name="custom", forward=option[0], inverse=option[1])
    names = ", ".join(repr(name) for name in TRANSFORMS)
    raise SettingError(
        f"transform is {option!r}; expected {names}, 'auto' or a pair (function, inverse)"
    )
