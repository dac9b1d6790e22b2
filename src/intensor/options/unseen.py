"""The option ``unseen``: what to do about an index that no observation has."""

from enum import StrEnum

from intensor.errors import SettingError


class Unseen(StrEnum):
    """What a prediction does about an index without observations.

    MEAN and WARN predict the average over the observed indices of that mode; WARN also issues an
    ``UnseenIndexWarning``. ERROR raises an ``UnseenIndexError``.
    """

    MEAN = "mean"
    WARN = "warn"
    ERROR = "error"


def as_unseen(value: object) -> Unseen:
    """Return the member that a value names."""
    if isinstance(value, str) and value in set(Unseen):
        return Unseen(value)
    raise SettingError(f"unseen is {value!r}; expected 'mean', 'warn' or 'error'")
