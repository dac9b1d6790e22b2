"""The terms of a model as its users see them: boxes and graded components."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intensor._arrays import FloatArray, IndexArray, Shape
from intensor._text import describe_shape, one_line


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Box:
    """One 0-1 term of a model: a weight and the indices it covers, mode by mode."""

    weight: float
    indices: tuple[IndexArray, ...]
    shape: Shape

    @property
    def profiles(self) -> tuple[FloatArray, ...]:
        """The box as one 0-1 vector per mode."""
        profiles = tuple(np.zeros(length) for length in self.shape)
        for profile, indices in zip(profiles, self.indices, strict=True):
            profile[indices] = 1.0
        return profiles

    def __repr__(self) -> str:
        covered = describe_shape([len(indices) for indices in self.indices])
        return one_line(
            f"Box of weight {self.weight:.6g}: {covered} of {describe_shape(self.shape)} indices"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Component:
    """One graded term of a model: a weight and a vector with entries from 0 to 1 per mode.

    The largest entry of every vector is 1, so the weight is the largest value of the term.
    """

    weight: float
    profiles: tuple[FloatArray, ...]

    @property
    def shape(self) -> Shape:
        """Lengths of the modes."""
        return tuple(profile.size for profile in self.profiles)

    @property
    def indices(self) -> tuple[IndexArray, ...]:
        """The indices at which the entries are not 0, mode by mode."""
        return tuple(np.flatnonzero(profile) for profile in self.profiles)

    def __repr__(self) -> str:
        return one_line(f"Component of weight {self.weight:.6g}: {describe_shape(self.shape)}")
