"""Exact minimum by enumeration, with a CUDA device that rules patterns out.

The device counts through the patterns of all modes but two and lists those that its bound leaves
(``backends.cuda.pattern_filter``); the host searches these. Every number of an answer is computed
on the host, but the bound also relies on the device to have ruled out the other patterns rightly.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from intensor._arrays import FlagArray, IndexArray
from intensor.oracles.exact.oracle import SearchOracle
from intensor.oracles.exact.plan import Plan, plan_on_device
from intensor.oracles.exact.pool import flags_of_number, found_boxes
from intensor.oracles.exact.scan import scan_listed
from intensor.oracles.exact.search import NOWHERE, ExactSearch

FIRST_PATTERNS, GROWTH = 1 << 14, 4
"""Number of patterns of the first call of the device, and the factor by which calls grow."""
MAX_CALL_ENTRIES = 1 << 36
"""Most table entries of one call of the device."""
PIECE = 64
"""Number of patterns that a thread of the host searches at a time."""
WAVE = 64
"""Number of pieces between two updates of the cutoff. It does not depend on the number of threads,
so that the answer does not either."""


class DeviceEnumerationOracle(SearchOracle):
    """Finds the cheapest vertex by enumeration on a CUDA device."""

    name = "enumeration"

    def plan(self, lengths: tuple[int, ...]) -> Plan:
        """Return the plan of an enumeration on the device."""
        return plan_on_device(lengths)

    @property
    def _speed_up(self) -> int:
        return 1

    def carry_out(self, search: ExactSearch) -> None:
        """Let the device list patterns, call by call, and search them."""
        filter_and_search(search)


def filter_and_search(search: ExactSearch, *, piece: int = PIECE) -> None:
    """Let the device list patterns, call by call, and search ``piece`` of them at a time."""
    from intensor.backends.cuda.pattern_filter import PatternFilter  # noqa: PLC0415  (CUDA)

    patterns = PatternFilter(search.costs, search.plan.firsts)
    n_ranges = 1 << (search.plan.pattern_bits - patterns.range_bits)
    longest = max(1, (MAX_CALL_ENTRIES // search.plan.entries) >> patterns.range_bits)
    first, count = 0, max(1, FIRST_PATTERNS >> patterns.range_bits)
    while first < n_ranges:
        last = min(n_ranges, first + min(count, longest))
        _search_listed(search, patterns.remaining(search.cutoff, first, last), piece)
        search.check_budget()
        if search.stop[0]:
            search.lowest = -NOWHERE  # nothing is known of what was not looked at
            return
        first, count = last, GROWTH * count
        search.report(first / n_ranges)


def _search_listed(search: ExactSearch, listed: IndexArray, size: int) -> None:
    """Search under the patterns of a list, a piece per thread, and keep what is found."""
    *leading, n_slabs, n_rows, n_columns = search.costs.shape
    costs = search.costs.reshape(-1, n_slabs, n_rows, n_columns)
    lengths = np.array(leading, dtype=np.int64)
    for start in range(0, listed.size, size * WAVE):
        wave = listed[start : start + size * WAVE]
        pieces = [wave[i : i + size] for i in range(0, wave.size, size)]
        pools = [search.new_pool() for _ in pieces]
        search.run(
            [
                partial(scan_listed, costs, lengths, search.plan.firsts, piece, pool, search.stop)
                for piece, pool in zip(pieces, pools, strict=True)
            ]
        )
        for piece, pool in zip(pieces, pools, strict=True):
            flags = partial(_outer_flags, piece, (n_slabs, *leading[::-1]))
            search.keep(found_boxes(pool, n_rows, flags))
        if search.stop[0]:
            return


def _outer_flags(
    listed: IndexArray, lengths: tuple[int, ...], position: int, _slabs_on: int
) -> list[FlagArray]:
    """Return the flags of the slabs and the leading modes, the last first, of a listed pattern."""
    return flags_of_number(int(listed[position]), *lengths)
