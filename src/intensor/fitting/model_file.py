"""Model files: a fit in one ``.npz`` of plain arrays and a JSON header, without pickle.

What is read back is checked piece by piece, so that a damaged file is an error and never a
wrong prediction.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from intensor.data.readers.files import check_file, check_path
from intensor.errors import (
    EmptyDataError,
    FileFormatError,
    InputError,
    LabelError,
    ModelFileError,
    SettingError,
)
from intensor.fitting.packing import pack
from intensor.fitting.record import Fit
from intensor.fitting.unpacking import unpack
from intensor.model.transform import TRANSFORMS
from intensor.storage.archive import read_archive
from intensor.storage.atomic import atomic_write

__all__ = ["load", "save"]


def save(fit: Fit, path: Any) -> None:
    """Write a fit to a model file.

    Raises
    ------
    SettingError
        For a transform made of functions, which no file can hold.
    LabelError
        For labels that are neither numbers, truth values, dates nor strings.
    FileFormatError
        When the file cannot be written; what was there before stays.
    """
    name = fit.predictor.transform.name
    if name not in TRANSFORMS:
        raise SettingError(
            f"a fit with a {name} transform cannot be saved, since functions are not data; use "
            f"one of {', '.join(repr(known) for known in TRANSFORMS)}, or transform the values "
            "before the fit"
        )
    header, arrays = pack(fit)
    text = json.dumps(header, ensure_ascii=False, allow_nan=False)
    try:
        content = text.encode()
    except UnicodeEncodeError as problem:
        raise LabelError(
            "the fit cannot be saved, since the name of a mode or of the values, or a label, is "
            f"not valid text ({problem}); rename it"
        ) from None
    arrays = {"header": np.frombuffer(content, dtype=np.uint8), **arrays}
    with atomic_write(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def load(path: Any) -> Fit:
    """Read a fit from a model file.

    Raises
    ------
    ModelFileError
        When the file is damaged, was written by a newer version, or is no model file.
    """
    try:
        path = check_path(path)
        check_file(path)
        entries = read_archive(path, packed=False)
    except (EmptyDataError, FileFormatError) as problem:
        raise ModelFileError(str(problem)) from None
    try:
        return unpack(entries)
    except ModelFileError as problem:
        raise ModelFileError(f"{path}: {problem}") from None
    except (InputError, ValueError, TypeError, LookupError, OverflowError, RecursionError) as wrong:
        words = " ".join(str(wrong).split())[:200]
        raise ModelFileError(f"{path}: is a damaged model file ({words})") from wrong
