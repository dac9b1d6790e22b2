"""Doubts about columns that became modes because nobody named the modes.

A mode says something about a new cell only if other observations share its index. So the measure
of a mode is the share of observations that are alone with their index in it. That is the share of
held-out cells whose index would never have been seen. It is near 1 for row numbers, and large for
times and measured quantities. A column is only doubted if another mode passes the same test: where
all modes are long and hardly observed, no single column is to blame.
"""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable, Sequence

import numpy as np

from intensor._arrays import AnyArray
from intensor.data.labels import Labels
from intensor.errors import ModeWarning

MIN_ROWS = 20
"""Fewest observations that allow a doubt: smaller tables are often sparse by chance."""
MIN_ALONE = 0.9
"""Smallest share of observations with an index of their own that makes a column doubtful."""
MIN_ALONE_MEASURED = 0.2
"""The same share for times and measured quantities, which are seldom meant as labels."""
MAX_ALONE_IN_BEST_MODE = 0.5
"""Largest share of lone observations in the best mode that lets another mode be doubted."""
ROW_NUMBER_NAMES = ("", "index", "level_0", "Unnamed: 0")
"""Names under which packages export the row numbers of a table."""
LIKELY_UNIX_SECONDS = (946_684_800, 2_524_608_000)
"""Seconds since 1970 at the start of 2000 and 2050: integers between them are most likely times."""


def doubtful_modes(columns: Sequence[AnyArray], labels: Labels) -> dict[str, str]:
    """Return the doubtful modes, each with the reason, given the observed cells mode by mode.

    Examples
    --------
    >>> rows = np.arange(30)
    >>> labels = Labels(modes=("row", "city"), indices=(rows, np.array(["Oslo", "Rome", "Bonn"])))
    >>> list(doubtful_modes((rows, rows % 3), labels))
    ['row']
    """
    n = columns[0].size
    alone = [np.count_nonzero(np.bincount(codes) == 1) / n for codes in columns]
    lengths = labels.shape
    shared = [share for share, length in zip(alone, lengths, strict=True) if length > 1]
    standing_out = min(shared, default=1.0) <= MAX_ALONE_IN_BEST_MODE
    found: dict[str, str] = {}
    for name, codes, known, share in zip(labels.modes, columns, labels.indices, alone, strict=True):
        if n < MIN_ROWS and not (share == 1.0 and _row_numbers(name, known)):
            continue
        if known.size == 1:
            found[name] = (
                f"column {name!r} has the same label in every row, so it tells nothing apart"
            )
        elif standing_out and share >= (MIN_ALONE_MEASURED if _measured(known) else MIN_ALONE):
            kind = " (row numbers, it seems)" if _row_numbers(name, known) else ""
            percent = "all" if share == 1.0 else f"{100.0 * share:.0f} %"
            found[name] = (
                f"{percent} of the rows have a label of their own in column {name!r}"
                f"{kind}, so no other row says anything about it and new cells cannot be predicted"
            )
        elif n >= MIN_ROWS and share <= MAX_ALONE_IN_BEST_MODE:
            twin = _twin(name, codes, columns, labels)
            if twin is not None and twin not in found:
                found[name] = f"column {name!r} tells the same apart as {twin!r}, label for label"
    return found if len(found) < len(columns) else {}


def warn_of_doubts(
    columns: Sequence[AnyArray],
    labels: Labels,
    advice: Callable[[list[str]], str],
    *,
    stacklevel: int,
) -> None:
    """Warn of doubtful modes that nobody named.

    ``advice`` turns the modes that pass the test into the text that tells how to choose them, and
    ``stacklevel`` counts the frames between this function and the line to blame.
    """
    found = doubtful_modes(columns, labels)
    if not found:
        return
    kept = [name for name in labels.modes if name not in found]
    warnings.warn(
        "all columns but the values became modes, since none were named: "
        f"{'; '.join(found.values())} (to leave that out, name the modes: {advice(kept)})",
        ModeWarning,
        stacklevel=stacklevel + 1,
    )


def _row_numbers(name: str, known: AnyArray) -> bool:
    """Say whether labels are consecutive numbers under a usual name for row numbers."""
    if name.strip() not in ROW_NUMBER_NAMES or known.dtype.kind not in "iu" or known.size < 3:
        return False
    return int(known.max()) - int(known.min()) == known.size - 1


def _measured(known: AnyArray) -> bool:
    """Say whether labels look measured: times of day, or numbers with fractions."""
    if known.dtype.kind == "f":
        return bool((known != np.rint(known)).any())
    if known.dtype.kind == "M":
        return bool((known != known.astype("M8[D]")).any())
    if known.dtype.kind in "iu":
        low, high = int(known.min()), int(known.max())
        return any(
            LIKELY_UNIX_SECONDS[0] * unit <= low and high <= LIKELY_UNIX_SECONDS[1] * unit
            for unit in (1, 10**3, 10**6)
        )
    return known.dtype == object and isinstance(known[0], datetime.datetime)


def _twin(name: str, codes: AnyArray, columns: Sequence[AnyArray], labels: Labels) -> str | None:
    """Return an earlier mode whose labels match those of this one to one, or None."""
    length = labels.indices[labels.modes.index(name)].size
    for other, theirs, known in zip(labels.modes, columns, labels.indices, strict=True):
        if other == name:
            return None
        if known.size != length:
            continue
        partner = np.full(length, -1, dtype=np.int64)
        partner[codes] = theirs
        if np.array_equal(partner[codes], theirs):
            used = partner[partner >= 0]
            if np.unique(used).size == used.size:
                return other
    return None
