"""A chart as inline SVG: axes, lines, areas, dots and cells; colours come from the page's style."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from intensor.report.axis import Axis
from intensor.report.numbers import power_of_ten
from intensor.report.text import escape

__all__ = ["Canvas"]

WIDTH, HEIGHT = 400.0, 280.0
LEFT, RIGHT, TOP, BOTTOM = 54.0, 20.0, 30.0, 46.0
LONGEST_NAME = 44


class Canvas:
    """A chart that is drawn layer by layer; numbers outside the axes stay at their ends.

    Parameters
    ----------
    x, y
        The axes.
    x_name, y_name
        What they show; escaped here.
    """

    def __init__(self, x: Axis, y: Axis, *, x_name: str, y_name: str) -> None:
        self._x, self._y = x, y
        self._parts = [self._grid(), self._names(x_name, y_name)]

    def line(
        self, xs: Sequence[float], ys: Sequence[float], kind: str, *, stairs: bool = False
    ) -> None:
        """Join points by a line, or by stairs that keep each height until the next point."""
        points = self._points(xs, ys, stairs=stairs)
        self._parts.append(f'<path class="line {kind}" d="M{"L".join(points)}"/>')

    def area(
        self, xs: Sequence[float], low: Sequence[float], high: Sequence[float], kind: str
    ) -> None:
        """Fill what lies between two stairs."""
        points = self._points(xs, high, stairs=True) + self._points(xs, low, stairs=True)[::-1]
        self._parts.append(f'<path class="area {kind}" d="M{"L".join(points)}Z"/>')

    def rule(self, start: tuple[float, float], end: tuple[float, float], kind: str) -> None:
        """Draw a straight line of reference."""
        self.line([start[0], end[0]], [start[1], end[1]], kind)

    def dot(self, x: float, y: float, kind: str, *, tip: str = "", radius: float = 3.0) -> None:
        """Draw a dot; its tip, which is escaped here, shows when it is pointed at."""
        title = f"<title>{escape(tip, most=200)}</title>" if tip else ""
        self._parts.append(
            f'<circle class="dot {kind}" cx="{self._across(x):.1f}" cy="{self._down(y):.1f}" '
            f'r="{radius:g}">{title}</circle>'
        )

    def cells(self, cells: Iterable[tuple[float, float, float, float]], kind: str) -> None:
        """Fill rectangles (left, bottom, right, top), all in one path."""
        parts = []
        for left, bottom, right, top in cells:
            x, y = self._across(left), self._down(top)
            wide, high = self._across(right) - x, self._down(bottom) - y
            parts.append(f"M{x:.1f} {y:.1f}h{wide:.1f}v{high:.1f}h{-wide:.1f}z")
        if parts:
            self._parts.append(f'<path class="cells {kind}" d="{"".join(parts)}"/>')

    def finish(self, title: str) -> str:
        """Return the drawing; the title, which is escaped here, is what a screen reader says."""
        words = escape(title, most=300)
        return (
            f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{words}">'
            f"<title>{words}</title>{''.join(self._parts)}</svg>"
        )

    def _across(self, value: float) -> float:
        return LEFT + self._x.place(value) * (WIDTH - LEFT - RIGHT)

    def _down(self, value: float) -> float:
        return HEIGHT - BOTTOM - self._y.place(value) * (HEIGHT - TOP - BOTTOM)

    def _points(self, xs: Sequence[float], ys: Sequence[float], *, stairs: bool) -> list[str]:
        points = [(self._across(x), self._down(y)) for x, y in zip(xs, ys, strict=True)]
        if stairs:
            corners = [(after[0], before[1]) for before, after in itertools.pairwise(points)]
            points = [
                point
                for pair in itertools.zip_longest(points, corners)
                for point in pair
                if point is not None
            ]
        return [f"{x:.1f} {y:.1f}" for x, y in points]

    def _grid(self) -> str:
        floor, right = HEIGHT - BOTTOM, WIDTH - RIGHT
        parts = []
        for value, text in self._y.ticks():
            y = self._down(value)
            parts.append(
                f'<path class="grid" d="M{LEFT:g} {y:.1f}H{right:g}"/>'
                f'<text x="{LEFT - 6:g}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'
            )
        for value, text in self._x.ticks():
            x = self._across(value)
            parts.append(
                f'<path class="grid" d="M{x:.1f} {floor:g}v5"/>'
                f'<text x="{x:.1f}" y="{floor + 18:g}" text-anchor="middle">{text}</text>'
            )
        parts.append(f'<path class="axis" d="M{LEFT:g} {floor:g}H{right:g}"/>')
        return "".join(parts)

    def _names(self, x_name: str, y_name: str) -> str:
        middle = (LEFT + WIDTH - RIGHT) / 2.0
        across, up = (
            escape(name, most=LONGEST_NAME)
            + (f" (\N{MULTIPLICATION SIGN} {power_of_ten(axis.power)})" if axis.power else "")
            for name, axis in ((x_name, self._x), (y_name, self._y))
        )
        return (
            f'<text class="name" x="{middle:g}" y="{HEIGHT - 8:g}" text-anchor="middle">'
            f'{across}</text><text class="name" x="4" y="14">{up}</text>'
        )
