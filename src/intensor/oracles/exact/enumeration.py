"""Exact minimum by counting through the patterns of all modes but two.

For each pattern a two-mode problem is left. Its bound (``kernels.decomposition``) usually rules it
out at once, because the multipliers of one pattern serve the next, which differs in one index.
"""

from __future__ import annotations

import math

import numpy as np

from intensor._arrays import AnyArray, FlagArray
from intensor.oracles.exact.decomposed import NOWHERE, DecomposedOracle, Found, Hunt
from intensor.oracles.exact.patterns import bits_of, digits_of, with_ground
from intensor.oracles.exact.plan import Plan, plan_enumeration
from intensor.oracles.exact.search import empty_pool, scan

__all__ = ["EnumerationOracle", "count_through"]

Range = tuple[int, int]
WAVE = 16
"""Pieces between two updates of the cutoff. Not the number of threads: that must not matter."""
PIECE = 1 << 23
"""Table entries that are worth a piece of their own."""
MOST_PIECES = 8
"""Binary digits of the largest number of pieces."""


class EnumerationOracle(DecomposedOracle):
    """Finds the cheapest vertex by enumeration."""

    name = "enumeration"

    def plan(self, lengths: tuple[int, ...]) -> Plan:
        """Return the plan of an enumeration."""
        return plan_enumeration(lengths)

    def search(self, hunt: Hunt) -> None:
        """Go through all patterns."""
        count_through(hunt)


def count_through(hunt: Hunt) -> None:
    """Search under every pattern of the modes that are counted through.

    The innermost two of these modes are the kernel's; patterns of any others are fixed here.
    """
    costs, plan = hunt.costs, hunt.plan
    *leading, n_rest, n_outer = (1,) * max(0, 4 - costs.ndim) + costs.shape[:-2]
    costs = costs.reshape(*leading, n_rest, n_outer, *costs.shape[-2:])
    has_rest, has_outer = hunt.costs.ndim > 3, hunt.costs.ndim > 2
    pieces = _pieces(
        n_rest if has_rest else 0,
        n_outer - plan.bits if has_outer else 0,
        plan.entries,
    )
    cuts = np.cumsum(leading)[:-1]
    for number in range(1 << sum(leading)):
        pattern = np.split(digits_of(number, sum(leading)), cuts) if leading else []
        inner = costs
        for on in pattern:
            inner = inner[on.astype(bool)].sum(axis=0, dtype=costs.dtype)
        if has_outer:
            inner = with_ground(inner, axis=1)
        if has_rest:
            inner = with_ground(inner, axis=0)
        for start in range(0, len(pieces), WAVE):
            _search_pieces(hunt, inner, pieces[start : start + WAVE], pattern)
            if hunt.stop[0]:
                hunt.lowest = -NOWHERE  # nothing is known of what was not looked at
                return
            done = number + min(1.0, (start + WAVE) / len(pieces))
            hunt.report(math.ldexp(done, -sum(leading)))


def _pieces(rest: int, high: int, entries: int) -> list[tuple[Range, Range]]:
    """Cut the patterns of the kernel's two modes into ranges that are worth a thread each.

    The longer of the two is cut. Tables are built anew in every piece.
    """
    digits = 0
    most = min(MOST_PIECES, max(rest, high))
    while digits < most and entries << (rest + high - digits - 1) >= PIECE:
        digits += 1
    cut_rest, cut_high = (digits, 0) if rest >= high else (0, digits)
    return [(one, two) for one in _ranges(rest, cut_rest) for two in _ranges(high, cut_high)]


def _ranges(digits: int, cut: int) -> list[Range]:
    """Cut the numbers of so many binary digits into 2^cut ranges."""
    step = 1 << (digits - cut)
    return [(start, start + step) for start in range(0, 1 << digits, step)]


def _search_pieces(
    hunt: Hunt,
    stacked: AnyArray,
    pieces: list[tuple[Range, Range]],
    leading: list[FlagArray],
) -> None:
    """Run the kernel on some ranges of patterns and keep what it finds."""
    n_rest, n_outer, n_rows, n_columns = stacked.shape
    pools = [empty_pool(hunt.room, (n_rows + 63) // 64, n_columns) for _ in pieces]
    target = np.int64(hunt.cutoff)

    def work(piece: int) -> None:
        scan(
            stacked,
            hunt.plan.firsts,
            hunt.plan.bits,
            *pieces[piece],
            target,
            hunt.spread,
            pools[piece],
            hunt.stop,
            np.zeros(2, dtype=np.int64),
        )

    hunt.run(work, len(pieces))
    for values, rests, outers, rows, columns, (count, _) in pools:
        boxes = []
        for slot in range(count):
            chosen = [
                columns[slot],
                bits_of(rows[slot], n_rows),
                bits_of(outers[slot : slot + 1], n_outer - 1),
                bits_of(rests[slot : slot + 1], n_rest - 1),
                *leading[::-1],
            ]
            boxes.append(Found(int(values[slot]), chosen[: hunt.costs.ndim]))
        hunt.keep(boxes)
