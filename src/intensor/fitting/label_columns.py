"""The labels of a fit in its model file: one column per mode, of numbers, dates or text.

Numbers, dates and durations are one array, ``labels_0``. Strings are their bytes one after the
other, ``labels_0_text``, and where each of them ends, ``labels_0_ends``. A mixture of kinds is
stored as strings of JSON.
"""

from __future__ import annotations

import datetime
import itertools
import json
import math
from typing import Any

import numpy as np

from intensor._arrays import AnyArray, Shape
from intensor.data.labels import Labels
from intensor.errors import LabelError
from intensor.storage.reader import Tree, TreeReader

LABEL_KINDS = ("number", "date", "duration", "string", "mixed")
TIME_LETTERS = {"date": "M", "duration": "m"}
"""NumPy's letter for each kind of time."""
CALENDAR_TYPES = {"date": datetime.date, "datetime": datetime.datetime}
"""Types of labels in a mixed mode that JSON does not have, by their names in the file."""


def capture_labels(labels: Labels) -> tuple[list[Tree], dict[str, AnyArray]]:
    """Return the part of the header for each mode, and the arrays of labels."""
    modes: list[Tree] = []
    arrays: dict[str, AnyArray] = {}
    for index, (name, column) in enumerate(zip(labels.modes, labels.indices, strict=True)):
        mode: Tree = {"name": name}
        if column.dtype.kind in "mM":
            mode["kind"] = "date" if column.dtype.kind == "M" else "duration"
            mode["unit"], mode["step"] = np.datetime_data(column.dtype)
            arrays[f"labels_{index}"] = column.view(np.int64).astype("<i8")
        elif column.dtype.kind in "biuf":
            mode["kind"] = "number"
            arrays[f"labels_{index}"] = column.astype(column.dtype.newbyteorder("<"))
        else:
            mode["kind"], texts = _encode_column(name, column.tolist())
            arrays[f"labels_{index}_text"] = np.frombuffer(b"".join(texts), dtype=np.uint8)
            arrays[f"labels_{index}_ends"] = np.cumsum(list(map(len, texts)), dtype="<i8")
        modes.append(mode)
    return modes, arrays


def restore_labels(header: TreeReader, arrays: TreeReader, shape: Shape) -> Labels:
    """Return the labels again; they are all there and all different."""
    modes = header.branches("modes")
    if len(modes) != len(shape):
        raise header.damaged(f"{len(modes)} modes have names, the shape has {len(shape)}")
    columns = []
    for index, (mode, length) in enumerate(zip(modes, shape, strict=True)):
        columns.append(_restore_column(mode, arrays, f"labels_{index}", length))
        labels = columns[-1].tolist()
        if len(set(labels)) != length:
            raise header.damaged(f"labels of mode {index} are not all different")
        # NaN and NaT are not equal to themselves
        if any(label is None or label != label for label in labels):  # noqa: PLR0124
            raise header.damaged(f"a label of mode {index} is missing")
    return Labels(
        modes=tuple(mode.text("name") for mode in modes),
        indices=tuple(columns),
        value=header.text("value"),
    )


def _restore_column(mode: TreeReader, arrays: TreeReader, name: str, length: int) -> AnyArray:
    kind = mode.text("kind", LABEL_KINDS)
    if kind == "number":
        column = arrays.array(name, None, (length,))
        if column.dtype.kind not in "biuf" or column.dtype.itemsize > 8:
            raise mode.damaged(f"{name} has the type {column.dtype}, expected numbers")
        return column
    if kind in TIME_LETTERS:
        step, unit = mode.count("step", least=1), mode.text("unit")
        dtype = np.dtype(f"{TIME_LETTERS[kind]}8[{'' if step == 1 else step}{unit}]")
        return arrays.array(name, "<i8", (length,)).view(dtype)
    text = arrays.array(f"{name}_text", "|u1", (None,)).tobytes()
    ends = [0, *arrays.array(f"{name}_ends", "<i8", (length,)).tolist()]
    if ends[-1] != len(text) or any(low > high for low, high in itertools.pairwise(ends)):
        raise mode.damaged(f"{name}_ends do not fit the text")
    texts = [text[low:high].decode() for low, high in itertools.pairwise(ends)]
    column = np.empty(length, dtype=object)
    column[:] = texts if kind == "string" else [_decode_label(json.loads(one)) for one in texts]
    return column


def _encode_column(mode: str, labels: list[Any]) -> tuple[str, list[bytes]]:
    """Return the kind and the bytes of labels that are strings, or a mixture."""
    kind = "string" if all(isinstance(label, str) for label in labels) else "mixed"
    try:
        if kind == "mixed":
            labels = [json.dumps(_encode_label(label)) for label in labels]
        return kind, [label.encode() for label in labels]
    except (TypeError, ValueError) as problem:
        raise LabelError(
            f"the labels of mode {mode!r} cannot be saved: {problem}; expected numbers, truth "
            "values, dates or strings"
        ) from None


def _encode_label(label: Any) -> Any:
    """Return a label of a mixed mode as JSON can express it."""
    if isinstance(label, np.generic):
        label = label.item()
    for name in ("datetime", "date"):  # in this order: a datetime is a date as well
        if isinstance(label, CALENDAR_TYPES[name]):
            return {name: label.isoformat()}
    if isinstance(label, float) and not math.isfinite(label):
        return str(label)
    if isinstance(label, (bool, int, float, str)):
        return label
    raise TypeError(f"{label!r} is a {type(label).__name__}")


def _decode_label(label: Any) -> Any:
    """Return a label of a mixed mode again."""
    if isinstance(label, (bool, int, float, str)):
        str(label).encode()  # fails on half a character
        return label
    if not isinstance(label, dict):
        raise TypeError(f"a label is {str(label)[:60]}")
    ((name, text),) = label.items()
    return CALENDAR_TYPES[name].fromisoformat(text)
