"""The components of a model as people know them from NMF and CP: one profile per mode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from intensor._arrays import AnyArray, FloatArray
from intensor.data.labels import Labels, number_labels
from intensor.errors import LabelError, SettingError
from intensor.fitting.record import Fit
from intensor.model.entries import term_shares
from intensor.model.model import Model
from intensor.model.term import Box, Component
from intensor.options.ranges import check_at_least
from intensor.plots.drawing import (
    BLUE,
    GREY,
    MAX_INDICES_NAMED,
    ORANGE,
    new_figure,
    plain_label,
)
from intensor.plots.text import clean, number, percent, shorten, signed
from intensor.solver.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

MAX_POINTS = 200
"""Most points of a line; in a longer mode, neighbouring indices share a point."""
N_NAMED = 3
"""Number of the highest labels that are written above a profile with too many labels to show."""
N_TICKS = 7
"""Number of labels that are written below a line with too many labels for all of them."""
MAX_LABEL_CHARACTERS = 10
"""Longest label, in characters, below a profile."""
MAX_LEVEL_CHARACTERS = 40
"""Most characters that are written side by side below a profile; labels with more are turned."""
ROW_INCHES = 0.85
"""Height of the profiles of a component, without their labels."""
CHARACTER_INCHES = 0.085
"""Width of a character of a label."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankedTerm:
    """A term of a model, its number in the model and its share of the fit."""

    term: Box | Component
    number: int
    share: float

    @property
    def kind(self) -> str:
        """The word for the term: "box" or "component"."""
        return "box" if isinstance(self.term, Box) else "component"


def components(
    source: Fit | Result | Model,
    labels: Labels | None = None,
    *,
    n: int = 8,
    figure: Figure | SubFigure | None = None,
) -> Figure | SubFigure:
    """Draw the components that explain most: weight, share of the fit and a profile per mode.

    A row is a component and a column a mode. The profiles run from 0 to 1: a component adds its
    weight times one entry per mode to a cell. Short modes have a bar per label; modes whose labels
    are rising numbers or dates, and long modes, have a line. The highest labels of a long mode are
    written above its line. Boxes are drawn in the same way, with profiles of zeros and ones. The
    numbers of the components are those of ``Model.to_frame``.

    The share of a component is its part of the mean prediction of the model: its weight times the
    product over the modes of its mean entry, divided by the sum of that over all terms, so that
    shares add up to 1. With a fit, an index counts as often in these means as it was observed;
    otherwise all indices count the same. Of negative weights the size counts. Components are sorted
    by their shares.

    Parameters
    ----------
    source
        A fit, the result of ``solve``, or a model.
    labels
        Names of the modes and of their indices; by default those of the fit, or numbers.
    n
        Largest number of components to draw.
    figure
        Figure to draw on; a new one by default.
    """
    most = check_at_least("n", n, 1, integer=True)
    model, names = _read_source(source, labels)
    counts = source.predictor.counts if isinstance(source, Fit) else None
    ranked = rank_terms(model, counts)[:most]
    widths = [_panel_width(known) for known in names.indices]
    if figure is None:
        room = max(map(_label_inches, names.indices))
        figure = new_figure((1.6 + sum(widths), 0.6 + room + ROW_INCHES * max(1, len(ranked))))
    panels = figure.subplots(max(1, len(ranked)), len(widths), squeeze=False, width_ratios=widths)
    for column, mode in enumerate(names.modes):
        panels[0, column].set_title(plain_label(mode), fontsize="medium", loc="left")
    if not ranked:
        for panel in panels[0]:
            panel.set_axis_off()
        figure.suptitle("the model has no component")
    for row, one in enumerate(ranked):
        for column, profile in enumerate(one.term.profiles):
            panel, known = panels[row, column], names.indices[column]
            draw_profile(panel, profile, known, negative=one.term.weight < 0.0)
            if row < len(ranked) - 1:
                panel.set_xticklabels([])
        panels[row, 0].set_ylabel(
            f"{one.kind} {one.number}\nweight {_weight_text(one, model)}\n{percent(one.share)}",
            rotation=0,
            ha="right",
            va="center",
            fontsize="small",
        )
    return figure


def rank_terms(model: Model, counts: FloatArray | None = None) -> list[RankedTerm]:
    """Return the terms of a model with their shares of the fit, the largest first."""
    shares = term_shares(model, counts)
    order = np.argsort(-shares, kind="stable").tolist()
    return [
        RankedTerm(term=model.term(index), number=index, share=float(shares[index]))
        for index in order
    ]


def draw_component(
    figure: Figure | SubFigure, ranked: RankedTerm, labels: Labels, *, is_signed: bool
) -> None:
    """Draw one component on a figure, its modes below each other."""
    panels = figure.subplots(len(labels.modes), 1, squeeze=False)[:, 0]
    weight = signed(ranked.term.weight) if is_signed else number(ranked.term.weight)
    figure.suptitle(
        f"{ranked.kind.capitalize()} {ranked.number}: weight {weight}, {percent(ranked.share)} "
        "of the fit",
        fontsize="large",
        x=0.01,
        ha="left",
    )
    profiles = zip(panels, ranked.term.profiles, labels.modes, labels.indices, strict=True)
    for panel, profile, mode, known in profiles:
        draw_profile(panel, profile, known, negative=ranked.term.weight < 0.0, size=9.0)
        panel.set_title(plain_label(mode, most=30), fontsize="medium", loc="left")


def draw_profile(
    ax: Axes, profile: FloatArray, labels: AnyArray, *, negative: bool, size: float = 7.0
) -> None:
    """Draw the entries of one mode: bars for a few labels, a line for ordered or many ones.

    ``size`` is that of the labels, in points.
    """
    colour = ORANGE if negative else BLUE
    if _has_line(labels):
        positions, heights = _condensed(profile)
        ax.fill_between(positions, heights, color=colour, alpha=0.25, lw=0.0)
        ax.plot(positions, heights, color=colour, lw=1.2)
    else:
        ax.bar(np.arange(profile.size), profile, width=0.75, color=colour)
    ax.set(ylim=(0.0, 1.08), yticks=[], xlim=(-0.6, profile.size - 0.4))
    ax.spines[["top", "left", "right"]].set_visible(False)
    ticks = _Ticks.of(labels)
    ax.set_xticks(ticks.positions, ticks.names, fontsize=size, rotation=90 if ticks.turned else 0)
    ax.tick_params(axis="x", bottom=False, pad=1)
    if not ticks.names:
        names = highest_labels(profile, labels, N_NAMED)
        text = ", ".join(plain_label(name, most=12) for name in names)
        ax.set_title(text, fontsize=size, loc="right", color=GREY)


def component_inches(labels: Labels) -> float:
    """Return the height of a picture of one component that has room for all labels."""
    return 0.4 + sum(ROW_INCHES + _label_inches(known) for known in labels.indices)


def highest_labels(profile: FloatArray, labels: AnyArray, most: int) -> list[str]:
    """Return the labels of the highest entries as plain text, the highest first."""
    highest = np.argsort(-profile, kind="stable")[:most]
    return [shorten(clean(labels[index])) for index in highest.tolist() if profile[index] > 0.0]


def _read_source(source: Fit | Result | Model, labels: Labels | None) -> tuple[Model, Labels]:
    """Return the model of a fit or a result, and the labels to write."""
    if not isinstance(source, (Fit, Result, Model)):
        raise SettingError(
            f"got a {type(source).__name__}; expected a fit, a result of solve or a model"
        )
    model = source if isinstance(source, Model) else source.model
    if labels is None:
        labels = source.labels if isinstance(source, Fit) else number_labels(model.shape)
    if labels.shape != model.shape:
        raise LabelError(
            f"the labels belong to a tensor of shape {labels.shape}, the model has {model.shape}; "
            "expected a label for every index"
        )
    return model, labels


def _weight_text(ranked: RankedTerm, model: Model) -> str:
    weight = ranked.term.weight
    return signed(weight, digits=3) if model.signed else number(weight, digits=3)


def _is_ordered(labels: AnyArray) -> bool:
    """Say whether labels are numbers or dates that rise from index to index."""
    return labels.dtype.kind in "iufmM" and bool((labels[1:] > labels[:-1]).all())


def _has_line(labels: AnyArray) -> bool:
    return labels.size > 1 and (labels.size > MAX_INDICES_NAMED or _is_ordered(labels))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ticks:
    """The labels below a profile; a long mode without an order has none."""

    positions: list[int]
    names: list[str]
    turned: bool  # whether they are written upwards

    @classmethod
    def of(cls, labels: AnyArray) -> _Ticks:
        """Return the labels to write: all of a short mode, some of a long ordered one."""
        positions = np.arange(labels.size)
        if labels.size > MAX_INDICES_NAMED:
            few = np.linspace(0, labels.size - 1, N_TICKS).round().astype(np.int64)
            positions = few if _is_ordered(labels) else few[:0]
        names = [plain_label(labels[i], most=MAX_LABEL_CHARACTERS) for i in positions.tolist()]
        turned = sum(len(name) + 1 for name in names) > MAX_LEVEL_CHARACTERS
        return cls(positions=positions.tolist(), names=names, turned=turned)


def _label_inches(labels: AnyArray) -> float:
    """Return the height of the labels below a profile."""
    ticks = _Ticks.of(labels)
    longest = max(map(len, ticks.names), default=0)
    return 0.2 + (CHARACTER_INCHES * longest if ticks.turned else 0.0)


def _panel_width(labels: AnyArray) -> float:
    """Return the width of a panel in inches: room for the labels of bars."""
    return 2.2 if _has_line(labels) else min(max(1.1, 0.15 * labels.size), 3.5)


def _condensed(profile: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return positions and heights of at most ``MAX_POINTS`` points, means of neighbours."""
    edges = np.linspace(0, profile.size, min(profile.size, MAX_POINTS) + 1).round().astype(np.int64)
    sizes = np.diff(edges)
    return edges[:-1] + (sizes - 1) / 2.0, np.add.reduceat(profile, edges[:-1]) / sizes
