"""The terms of a model as a table: a row per term and index that it covers."""

from __future__ import annotations

from typing import Any

import numpy as np

from intensor.data.labels import Labels, number_labels
from intensor.errors import LabelError
from intensor.model.model import Model
from intensor.problem.vertex import mode_offsets


def model_frame(model: Model, labels: Labels | None = None) -> Any:
    """Return a table of pyarrow; ``Model.to_frame`` describes its columns."""
    import pyarrow as pa  # noqa: PLC0415

    names = number_labels(model.shape) if labels is None else labels
    if names.shape != model.shape:
        raise LabelError(
            f"the labels belong to a tensor of shape {names.shape}, the model has {model.shape}; "
            "expected a label for every index"
        )
    terms, positions = np.nonzero(model.vertices.flags())
    values = np.ones(terms.size)
    if len(model.components):
        rows = model.components.rows()
        more_terms, more_positions = np.nonzero(rows)
        terms = np.concatenate((terms, len(model.vertices) + more_terms))
        positions = np.concatenate((positions, more_positions))
        values = np.concatenate((values, rows[more_terms, more_positions]))
    offsets = mode_offsets(model.shape)
    modes = np.searchsorted(offsets, positions, side="right") - 1
    texts = [str(label) for known in names.indices for label in known]
    return pa.table(
        {
            "component": terms,
            "weight": model.weights[terms],
            "mode": pa.array(names.modes, pa.string()).take(pa.array(modes)),
            "index": positions - offsets[modes],
            "label": pa.array(texts, pa.string()).take(pa.array(positions)),
            "value": values,
        }
    )
