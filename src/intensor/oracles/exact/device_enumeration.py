"""Exact minimum by enumeration, with a CUDA device that rules patterns out.

The device counts through the patterns of all modes but two and lists those that its bound leaves
(``kernels.cuda.patterns``); the host searches these. Every number of an answer is the host's, but
a bound so proven rests on the device's having ruled the other patterns out.
"""

from __future__ import annotations

import numpy as np

from intensor._arrays import IndexArray
from intensor.oracles.exact.decomposed import NOWHERE, DecomposedOracle, Found, Hunt
from intensor.oracles.exact.patterns import bits_of, digits_of
from intensor.oracles.exact.plan import Plan, plan_on_device
from intensor.oracles.exact.search import empty_pool, scan_listed

__all__ = ["DeviceEnumerationOracle"]

FIRST_WAVE, GROWTH, MOST_ENTRIES = 1 << 14, 4, 1 << 36
"""Patterns of the first call of the device, by how much the next are longer, and table entries of
the longest."""
PIECE = 64
"""Patterns that a thread of the host searches at a time."""
WAVE = 64
"""Pieces between two updates of the cutoff. Not the number of threads: that must not matter."""


class DeviceEnumerationOracle(DecomposedOracle):
    """Finds the cheapest vertex by enumeration on a CUDA device."""

    name = "enumeration"

    def plan(self, lengths: tuple[int, ...]) -> Plan:
        """Return the plan of an enumeration on the device."""
        return plan_on_device(lengths)

    @property
    def _parallel(self) -> int:
        return 1

    def search(self, hunt: Hunt) -> None:
        """Let the device list patterns, wave by wave, and search them."""
        from intensor.backends.cuda.patterns import PatternFilter  # noqa: PLC0415  (numba.cuda)

        patterns = PatternFilter(hunt.costs, hunt.plan.firsts)
        n_ranges = 1 << (hunt.plan.patterns - patterns.digits)
        longest = max(1, (MOST_ENTRIES // hunt.plan.entries) >> patterns.digits)
        first, wave = 0, max(1, FIRST_WAVE >> patterns.digits)
        while first < n_ranges:
            last = min(n_ranges, first + min(wave, longest))
            _search_listed(hunt, patterns.remaining(hunt.cutoff, first, last))
            if hunt.budget.spent:
                hunt.stop[0] = 1
            if hunt.stop[0]:
                hunt.lowest = -NOWHERE  # nothing is known of what was not looked at
                return
            first, wave = last, GROWTH * wave
            hunt.report(first / n_ranges)


def _search_listed(hunt: Hunt, listed: IndexArray) -> None:
    """Search under the patterns of a list, a piece per thread, and keep what is found."""
    *leading, n_outer, n_rows, n_columns = hunt.costs.shape
    costs = hunt.costs.reshape(-1, n_outer, n_rows, n_columns)
    lengths = np.array(leading, dtype=np.int64)
    for start in range(0, listed.size, PIECE * WAVE):
        ends = range(start, min(listed.size, start + PIECE * WAVE), PIECE)
        pieces = [listed[end : end + PIECE] for end in ends]
        pools = [empty_pool(hunt.room, (n_rows + 63) // 64, n_columns) for _ in pieces]
        target = np.int64(hunt.cutoff)

        def work(
            piece: int,
            pieces: list[IndexArray] = pieces,
            pools: list[tuple[np.ndarray, ...]] = pools,
            target: np.int64 = target,
        ) -> None:
            scan_listed(
                costs,
                lengths,
                hunt.plan.firsts,
                pieces[piece],
                target,
                hunt.spread,
                pools[piece],
                hunt.stop,
                np.zeros(2, dtype=np.int64),
            )

        hunt.run(work, len(pieces))
        for piece, (values, places, _, rows, columns, (count, _)) in zip(
            pieces, pools, strict=True
        ):
            hunt.keep(
                [
                    Found(
                        int(values[slot]),
                        [
                            columns[slot],
                            bits_of(rows[slot], n_rows),
                            *_parts(int(piece[places[slot]]), [n_outer, *leading[::-1]]),
                        ],
                    )
                    for slot in range(count)
                ]
            )
        if hunt.stop[0]:
            return


def _parts(pattern: int, lengths: list[int]) -> list[np.ndarray]:
    """Return what is on in the outer mode and in the leading modes, the last first."""
    parts = []
    for length in lengths:
        parts.append(digits_of(pattern, length))
        pattern >>= length
    return parts
