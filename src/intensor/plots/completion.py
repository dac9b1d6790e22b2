"""A slice of the tensor as observed, beside the same slice completed."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from intensor._arrays import FloatArray, IndexArray
from intensor.data.lookup import observed_cells
from intensor.errors import SettingError
from intensor.fitting.record import Fit
from intensor.plots.drawing import BACKGROUND, label_indices, new_figure, plain_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

MAX_SLICE_CELLS = 4_000_000
"""Most cells of a slice that can be drawn."""


def slices(
    fit: Fit,
    coords: Any,
    values: Any = None,
    *,
    fixed: Mapping[int, int] | None = None,
    modes: tuple[int, int] = (0, 1),
    figure: Figure | SubFigure | None = None,
) -> Figure | SubFigure:
    """Draw a slice of the tensor as it was observed, beside the same slice completed.

    Parameters
    ----------
    fit, coords, values
        The fit and its observations, as in ``Fit.verify``: a table holds labels, an array of
        integers positions.
    fixed
        Index of every other mode, by the number of the mode. By default, the slice with the
        most observed cells is drawn.
    modes
        The two modes that the slice shows: rows and columns.
    figure
        Figure to draw on; a new one by default.
    """
    rows, columns = _two_modes(fit, modes)
    cells, numbers, _ = observed_cells(coords, values, fit.labels)
    others = [mode for mode in range(len(fit.shape)) if mode not in (rows, columns)]
    position = _slice_position(fit, cells, others, fixed)
    high, wide = fit.shape[rows], fit.shape[columns]
    if high * wide > MAX_SLICE_CELLS:
        raise SettingError(
            f"a slice of modes {rows} and {columns} has {high * wide} cells; expected at most "
            f"{MAX_SLICE_CELLS}, so choose shorter modes"
        )
    inside = np.all(cells[:, others] == position, axis=1)
    flat = cells[inside, rows] * wide + cells[inside, columns]
    counts = np.bincount(flat, minlength=high * wide)
    with np.errstate(invalid="ignore"):  # a cell without observations is 0 / 0
        observed = np.bincount(flat, numbers[inside], minlength=high * wide) / counts
    grid = np.empty((high * wide, len(fit.shape)), dtype=np.int64)
    grid[:, others] = position
    grid[:, rows], grid[:, columns] = np.divmod(np.arange(high * wide), wide)
    completed = fit.predict(grid, unseen="mean")

    figure = new_figure((10.0, 4.8)) if figure is None else figure
    _draw_panels(
        figure, fit, observed.reshape(high, wide), completed.reshape(high, wide), (rows, columns)
    )
    names = (
        f"{plain_label(fit.labels.modes[mode])} = "
        + plain_label(fit.labels.indices[mode][index], most=24)
        for mode, index in zip(others, position.tolist(), strict=True)
    )
    if others:
        figure.suptitle(", ".join(names), fontsize="medium")
    return figure


def _draw_panels(
    figure: Figure | SubFigure,
    fit: Fit,
    observed: FloatArray,
    completed: FloatArray,
    modes: tuple[int, int],
) -> None:
    """Draw both pictures side by side, in the same colours."""
    rows, columns = modes
    known = ~np.isnan(observed)
    together = np.concatenate((observed[known], completed.ravel()))
    left, right = figure.subplots(1, 2, sharey=True)
    title = f"observed ({np.sum(known)} cells)"
    for panel, name, picture in ((left, title, observed), (right, "completed", completed)):
        image = panel.imshow(
            picture,
            aspect="auto",
            interpolation="nearest",
            cmap="cividis",
            vmin=float(together.min()),
            vmax=float(together.max()),
        )
        panel.set(facecolor=BACKGROUND, title=name, xlabel=plain_label(fit.labels.modes[columns]))
        label_indices(panel.xaxis, fit.labels.indices[columns])
    label_indices(left.yaxis, fit.labels.indices[rows])
    left.set_ylabel(plain_label(fit.labels.modes[rows]))
    figure.colorbar(image, ax=[left, right], label=plain_label(fit.labels.value))


def _two_modes(fit: Fit, modes: tuple[int, int]) -> tuple[int, int]:
    order = len(fit.shape)
    if order < 2:
        raise SettingError("a slice needs two modes, but the tensor has only one; use residuals")
    try:
        rows, columns = map(operator.index, modes)
    except (TypeError, ValueError):
        raise SettingError(f"modes is {modes!r}; expected two numbers of modes") from None
    if rows == columns or not (0 <= rows < order and 0 <= columns < order):
        raise SettingError(
            f"modes is {modes!r}; expected two different numbers from 0 to {order - 1}"
        )
    return rows, columns


def _slice_position(
    fit: Fit, cells: IndexArray, others: list[int], fixed: Mapping[int, int] | None
) -> IndexArray:
    """Return the indices of the other modes: the given ones, or those observed most often."""
    if fixed is None:
        if not others:
            return np.empty(0, dtype=np.int64)
        distinct = np.unique(cells, axis=0)
        positions, counts = np.unique(distinct[:, others], axis=0, return_counts=True)
        best: IndexArray = positions[int(np.argmax(counts))]
        return best
    if sorted(fixed) != others:
        raise SettingError(
            f"fixed has the modes {sorted(fixed)}; expected an index for each of {others}"
        )
    for mode, index in fixed.items():
        if not 0 <= operator.index(index) < fit.shape[mode]:
            raise SettingError(
                f"fixed has index {index} for mode {mode}; expected 0 to {fit.shape[mode] - 1}"
            )
    return np.array([fixed[mode] for mode in others], dtype=np.int64)
