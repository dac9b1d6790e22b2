"""A fit as a JSON header and plain arrays: what a model file holds.

``docs/file-formats.md`` describes every entry; ``unpacking`` is the way back.
"""

from __future__ import annotations

import datetime
import json
import math
from importlib import metadata
from typing import Any

import numpy as np

from intensor._arrays import AnyArray
from intensor.data.labels import Labels
from intensor.errors import LabelError
from intensor.fitting.record import Fit, Validation

__all__ = ["COUNTERS", "FORMAT", "PATH", "TRACE", "VERSION", "pack"]

FORMAT = "intensor model"
VERSION = 2
"""Raised when a reader of the version before would misunderstand the file."""
COUNTERS = ("iterations", "local_steps", "altmin_runs", "exact_calls", "drops")
TRACE = {
    "iteration": "<i8",
    "step": "|u1",
    "active": "<i8",
    "objective": "<f8",
    "bound": "<f8",
    "phi": "<f8",
    "pricing_gap": "<f8",
    "seconds": "<f8",
}
"""Columns of the trace and their types."""
PATH = ("radii", "errors", "objectives", "boxes", "noise", "seconds", "kriged")
"""Columns of a path of radii; the last one since version 2."""


def pack(fit: Fit) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the header and the arrays of a fit."""
    result, predictor = fit.result, fit.predictor
    labels, arrays = _pack_labels(fit.labels)
    steps = sorted({row.step for row in result.trace})
    header: dict[str, Any] = {
        "format": FORMAT,
        "format_version": VERSION,
        "intensor_version": metadata.version("intensor"),
        "shape": list(map(int, fit.shape)),
        "radius": _plain(fit.radius),
        "signed": bool(fit.model.signed),
        "transform": predictor.transform.name,
        "baseline": "none" if predictor.baseline is None else "additive",
        "baseline_mean": None if predictor.baseline is None else _plain(predictor.baseline.mean),
        "remainder": "none" if predictor.remainder is None else "kriging",
        "status": result.status.name,
        "objective": _plain(result.objective),
        "bound": _plain(result.bound),
        "tolerance": _plain(result.tolerance),
        "bound_source": result.bound_source,
        "solver": result.version,
        "witness": None
        if result.witness is None
        else {"radius": _plain(result.witness.radius), "signed": bool(result.witness.signed)},
        "counters": {name: int(getattr(result.counters, name)) for name in COUNTERS},
        "seconds": {"setup": _plain(result.seconds.setup), "solve": _plain(result.seconds.solve)},
        "steps": steps,
        "n": int(fit.n),
        "n_solutions": int(fit.n_solutions),
        "value": fit.labels.value,
        "modes": labels,
        "validation": _pack_validation(fit.validation),
    }
    arrays |= {
        "words": fit.model.vertices.words.astype("<u8"),
        "weights": fit.model.weights.astype("<f8"),
        "counts": predictor.counts.astype("<f8"),
    }
    if predictor.baseline is not None:
        arrays["effects"] = predictor.baseline.effects.astype("<f8")
    if predictor.remainder is not None:
        arrays["remainder"] = predictor.remainder.field.astype("<f8")
    if result.witness is not None:
        arrays["witness_words"] = result.witness.vertices.words.astype("<u8")
        arrays["witness_weights"] = result.witness.weights.astype("<f8")
    for name, kind in TRACE.items():
        column = [getattr(row, name) for row in result.trace]
        if name == "step":
            column = [steps.index(step) for step in column]
        arrays[f"trace_{name}"] = np.array(column, dtype=kind)
    for place, walk in enumerate(fit.validation.paths if fit.validation else ()):
        for name in PATH:
            arrays[f"path_{place}_{name}"] = np.asarray(getattr(walk, name), dtype="<f8")
    return header, arrays


def _pack_validation(validation: Validation | None) -> dict[str, Any] | None:
    if validation is None:
        return None
    return {
        "metric": validation.metric,
        "folds": int(validation.folds),
        "held_out": _plain(validation.held_out),
        "chosen": int(validation.chosen),
        "approach": [
            {"gap": _plain(gap), "error": _plain(error)} for gap, error in validation.approach
        ],
        "single": None if validation.single is None else _plain(validation.single),
        "averaged": None if validation.averaged is None else _plain(validation.averaged),
        "error_of_mean": None
        if validation.error_of_mean is None
        else _plain(validation.error_of_mean),
        "paths": [
            {
                "transform": walk.transform,
                "baseline": walk.baseline,
                "metric": walk.metric,
                "sampled": bool(walk.sampled),
            }
            for walk in validation.paths
        ],
    }


def _pack_labels(labels: Labels) -> tuple[list[dict[str, Any]], dict[str, AnyArray]]:
    """Return one part of the header per mode, and the arrays of labels."""
    modes: list[dict[str, Any]] = []
    arrays: dict[str, AnyArray] = {}
    for place, (name, column) in enumerate(zip(labels.modes, labels.indices, strict=True)):
        part: dict[str, Any] = {"name": name}
        if column.dtype.kind in "mM":
            unit, step = np.datetime_data(column.dtype)
            part |= {"kind": "date" if column.dtype.kind == "M" else "duration"}
            part |= {"unit": unit, "step": step}
            arrays[f"labels_{place}"] = column.view(np.int64).astype("<i8")
        elif column.dtype.kind in "biuf":
            part["kind"] = "number"
            arrays[f"labels_{place}"] = column.astype(column.dtype.newbyteorder("<"))
        else:
            part["kind"], texts = _texts(name, column)
            arrays[f"labels_{place}_text"] = np.frombuffer(b"".join(texts), dtype=np.uint8)
            arrays[f"labels_{place}_ends"] = np.cumsum(list(map(len, texts)), dtype="<i8")
        modes.append(part)
    return modes, arrays


def _texts(mode: str, column: AnyArray) -> tuple[str, list[bytes]]:
    """Return the kind and the bytes of labels that are strings, or a mixture, as JSON."""
    labels = column.tolist()
    kind = "string" if all(isinstance(label, str) for label in labels) else "mixed"
    try:
        words = labels if kind == "string" else [json.dumps(_plain_label(one)) for one in labels]
        return kind, [word.encode() for word in words]
    except (TypeError, ValueError) as problem:
        raise LabelError(
            f"the labels of mode {mode!r} cannot be saved: {problem}; expected numbers, truth "
            "values, dates or strings"
        ) from None


def _plain_label(label: Any) -> Any:
    """Return a label as something that JSON can say."""
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, datetime.datetime):
        return {"datetime": label.isoformat()}
    if isinstance(label, datetime.date):
        return {"date": label.isoformat()}
    if isinstance(label, (bool, int, str)):
        return label
    if isinstance(label, float):
        return _plain(label)
    raise TypeError(f"{label!r} is a {type(label).__name__}")


def _plain(number: float) -> float | str:
    """Return a number as JSON can say it: those that are not finite by name."""
    number = float(number)
    return number if math.isfinite(number) else str(number)
