"""Exact minimum by counting through the patterns of all modes but two.

For each pattern a two-mode problem is left. Its bound (``blocks``) usually rules it
out at once, because the multipliers of one pattern serve the next, which differs in one index.
"""

from __future__ import annotations

import math
from functools import partial

from intensor._arrays import AnyArray, FlagArray
from intensor.oracles.exact.arrangement import with_ground
from intensor.oracles.exact.oracle import SearchOracle
from intensor.oracles.exact.plan import Plan, plan_enumeration
from intensor.oracles.exact.pool import flags_of_number, found_boxes
from intensor.oracles.exact.scan import scan
from intensor.oracles.exact.search import NOWHERE, ExactSearch

Range = tuple[int, int]
WAVE = 16
"""Number of pieces between two updates of the cutoff. It does not depend on the number of threads,
so that the answer does not either."""
PIECE_ENTRIES = 1 << 23
"""Fewest table entries that are worth a piece of their own."""
MAX_PIECE_BITS = 8
"""Binary digits of the largest number of pieces."""


class EnumerationOracle(SearchOracle):
    """Finds the cheapest vertex by enumeration."""

    name = "enumeration"

    def plan(self, lengths: tuple[int, ...]) -> Plan:
        """Return the plan of an enumeration."""
        return plan_enumeration(lengths)

    def carry_out(self, search: ExactSearch) -> None:
        """Go through all patterns."""
        count_through(search)


def count_through(
    search: ExactSearch, *, piece_entries: int = PIECE_ENTRIES, wave: int = WAVE
) -> None:
    """Search under every pattern of the modes that are counted through.

    The innermost two of these modes are left to the kernel; patterns of any others are fixed here.
    Pieces have at least ``piece_entries`` table entries, and the cutoff is updated after ``wave``.
    """
    costs, plan = search.costs, search.plan
    *leading, n_rest, n_slabs = (1,) * max(0, 4 - costs.ndim) + costs.shape[:-2]
    costs = costs.reshape(*leading, n_rest, n_slabs, *costs.shape[-2:])
    has_rest, has_slabs = search.costs.ndim > 3, search.costs.ndim > 2
    pieces = _pieces(
        n_rest if has_rest else 0,
        n_slabs - plan.open_slabs if has_slabs else 0,
        plan.entries,
        piece_entries,
    )
    for number in range(1 << sum(leading)):
        pattern = flags_of_number(number, *leading) if leading else []
        inner = costs
        for on in pattern:
            inner = inner[on.astype(bool)].sum(axis=0, dtype=costs.dtype)
        if has_slabs:
            inner = with_ground(inner, axis=1)
        if has_rest:
            inner = with_ground(inner, axis=0)
        for start in range(0, len(pieces), wave):
            _search_pieces(search, inner, pieces[start : start + wave], pattern)
            if search.stop[0]:
                search.lowest = -NOWHERE  # nothing is known of what was not looked at
                return
            done = number + min(1.0, (start + wave) / len(pieces))
            search.report(math.ldexp(done, -sum(leading)))


def _pieces(
    rest: int, counted: int, entries: int, piece_entries: int = PIECE_ENTRIES
) -> list[tuple[Range, Range]]:
    """Cut the patterns of the kernel's two modes into ranges that are worth a thread each.

    The longer of the two is cut. Tables are built anew in every piece.
    """
    bits = 0
    most = min(MAX_PIECE_BITS, max(rest, counted))
    while bits < most and entries << (rest + counted - bits - 1) >= piece_entries:
        bits += 1
    cut_rest, cut_counted = (bits, 0) if rest >= counted else (0, bits)
    return [(one, two) for one in _ranges(rest, cut_rest) for two in _ranges(counted, cut_counted)]


def _ranges(digits: int, cut: int) -> list[Range]:
    """Cut the numbers of this many binary digits into 2^cut ranges."""
    step = 1 << (digits - cut)
    return [(start, start + step) for start in range(0, 1 << digits, step)]


def _search_pieces(
    search: ExactSearch,
    stacked: AnyArray,
    pieces: list[tuple[Range, Range]],
    leading: list[FlagArray],
) -> None:
    """Run the kernel on some ranges of patterns and keep what it finds."""
    n_rest, n_slabs, n_rows, _ = stacked.shape
    plan = search.plan
    pools = [search.new_pool() for _ in pieces]
    search.run(
        [
            partial(scan, stacked, plan.firsts, plan.open_slabs, *piece, pool, search.stop)
            for piece, pool in zip(pieces, pools, strict=True)
        ]
    )

    def outer_flags(rest: int, slabs_on: int) -> list[FlagArray]:
        slabs = flags_of_number(slabs_on, n_slabs - 1)
        flags = [*slabs, *flags_of_number(rest, n_rest - 1), *leading[::-1]]
        return flags[: search.costs.ndim - 2]

    for pool in pools:
        search.keep(found_boxes(pool, n_rows, outer_flags))
