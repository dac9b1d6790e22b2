"""The option ``unseen``: what to do about an index that no observation has."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from intensor.errors import SettingError


class Unseen(StrEnum):
    """What a prediction does about an index without observations.

    WARN and MEAN predict the average over the observed indices of that mode; WARN also issues an
    ``UnseenIndexWarning``. ERROR raises an ``UnseenIndexError``.
    """

    WARN = "warn"
    MEAN = "mean"
    ERROR = "error"


def as_unseen(unseen: Any) -> Unseen:
    """Return the member that a string names.

    Examples
    --------
    >>> as_unseen("mean") is Unseen.MEAN
    True
    """
    if isinstance(unseen, str) and unseen in list(Unseen):
        return Unseen(unseen)
    raise SettingError(f"unseen is {unseen!r}; expected 'warn', 'mean' or 'error'")
