"""The option ``unseen``: what to do about an index that no observation has."""

from enum import StrEnum

from intensor.errors import SettingError


class Unseen(StrEnum):
    """What a prediction does about an index without observations.

    WARN and MEAN predict the average over the observed indices of that mode; WARN also issues an
    ``UnseenIndexWarning``. ERROR raises an ``UnseenIndexError``.
    """

    WARN = "warn"
    MEAN = "mean"
    ERROR = "error"

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise SettingError(f"unseen is {value!r}; expected 'warn', 'mean' or 'error'")
