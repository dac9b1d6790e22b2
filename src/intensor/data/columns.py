"""Choosing the columns of a table: values, modes and weights.

Every table comes here, from a file or from memory. If nobody names the modes, all columns but the
values and the weights become modes; ``doubts`` then looks for those that can hardly be meant.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from intensor.errors import LabelError, SettingError

MAX_LISTED_NAMES = 12
"""Most column names that a message lists."""
MAX_MELTED_NAMES = 3
"""Most columns of values that the advice about a wide table names."""
MAX_NAME_LENGTH = 100
"""Most characters of a column name that a message shows."""


class Choice(NamedTuple):
    """The columns to read from a table."""

    modes: tuple[Any, ...]
    value: Any = None  # None if only cells are read
    weight: Any = None


def choose_columns(
    names: Sequence[Any],
    *,
    value: Any = None,
    modes: Iterable[Any] | None = None,
    weight: Any = None,
    advice: Callable[[], str] = str,
) -> Choice:
    """Return the columns of values, modes and weights among those that a table has.

    The values are in the column "value" by default, and all columns but these two are modes.
    ``advice`` returns what to do if no column holds values, or none holds labels.
    """
    if value is None and "value" not in names:
        near = _nearest("value", names)
        hint = f"did you mean value={near!r}? " if near else ""
        raise LabelError(
            f"there is no column 'value'; {hint}say which one holds the values with "
            f"value=... (--value on the command line); the columns are {_listed(names)}"
            f"{_appended(advice())}"
        )
    values = find_column("value" if value is None else value, names, role="values")
    weights = None if weight is None else find_column(weight, names, role="weights")
    if modes is None:
        chosen = tuple(name for name in names if name not in (values, weights))
    else:
        chosen = choose_modes(names, modes)
    _check_distinct([name for name in (values, weights, *chosen) if name is not None])
    if not chosen:
        raise LabelError(
            f"there is no column of labels beside the values in {quote_name(values)}; expected at "
            f"least one{_appended(advice())}"
        )
    _check_texts(chosen)
    return Choice(chosen, values, weights)


def can_be_listed(names: Sequence[Any]) -> bool:
    """Say whether there are names, few and short enough for a message to show all of them."""
    return 0 < len(names) <= MAX_LISTED_NAMES and all(
        len(str(name)) <= MAX_NAME_LENGTH for name in names
    )


def describe_melt(held: Sequence[Any], code: str) -> str:
    """Return the advice for a table that may be wide, with the code that makes it long."""
    shown = ", ".join(map(quote_name, held[:MAX_MELTED_NAMES]))
    shown += ", ..." if len(held) > MAX_MELTED_NAMES else ""
    return (
        f"if {shown} all hold values (a wide table, with a column for each index of a mode), make "
        f"it long first: {code}"
    )


def melting_code(
    method: str,
    kept: Sequence[Any],
    axis: Any = None,
    *,
    parameters: tuple[str, str] = ("id_vars", "var_name"),
) -> str:
    """Return a call that makes a table long and keeps some columns of labels.

    ``axis`` is the name of the columns, if they have one, and ``parameters`` are the names that the
    method has for the kept columns and for the name of the new mode.
    """
    taken = (None, *kept, "value")
    mode = next(name for name in (axis, "column", "mode", "melted") if name not in taken)
    ids, variable = parameters
    return f"{method}({ids}={list(kept)!r}, {variable}={mode!r}, value_name='value')"


def _appended(text: str) -> str:
    return f"; {text}" if text else ""


def choose_modes(names: Sequence[Any], modes: Any) -> tuple[Any, ...]:
    """Return the columns of labels, given by one name or by several."""
    if not isinstance(modes, str):
        try:
            modes = list(modes)
        except TypeError:
            raise SettingError(
                f"modes is {modes!r}; expected the names of columns, e.g. modes=['user', 'item']"
            ) from None
    wanted = [modes] if isinstance(modes, str) else modes
    if not wanted:
        raise LabelError("modes names no column; expected at least one column of labels")
    chosen = tuple(find_column(name, names, role="modes") for name in wanted)
    _check_distinct(chosen)
    return chosen


def find_column(name: Any, names: Iterable[Any], *, role: str, kind: str = "column") -> Any:
    """Return the column of that name, or raise an error that suggests the one that is meant.

    Names are compared as they are, then as text without blanks around it, so that a column called
    0 is also found as "0".
    """
    known = list(names)
    for column in known:
        if column == name:
            return column
    for column in known:
        if str(column) == str(name).strip():
            return column
    near = _nearest(str(name), known)
    hint = f"did you mean {near!r}? " if near else ""
    raise LabelError(
        f"there is no {kind} {quote_name(name)} for the {role}; {hint}the {kind}s are "
        f"{_listed(known)}"
    )


def _check_texts(chosen: Sequence[Any]) -> None:
    """Raise when two modes have the same name as text, which names of modes are."""
    texts = [str(name) for name in chosen]
    for text in texts:
        if texts.count(text) > 1:
            raise LabelError(
                f"two columns are called {quote_name(text)} when their names are written as text, "
                "as names of modes are; rename one of them, or name the modes that you want"
            )


def _check_distinct(chosen: Sequence[Any]) -> None:
    for name in chosen:
        if chosen.count(name) > 1:
            raise LabelError(
                f"column {quote_name(name)} is asked for twice, as value, mode or weight; expected "
                "different columns"
            )


def _nearest(wanted: str, names: Iterable[Any]) -> str | None:
    """Return the name that is most like the one that is not there, if any is like it."""
    # The time of a comparison grows with the square of the length.
    texts = [str(name) for name in names]
    lower = {name.lower(): name for name in reversed(texts) if len(name) <= MAX_NAME_LENGTH}
    text = wanted.lower().strip()[:MAX_NAME_LENGTH]
    near = difflib.get_close_matches(text, list(lower), n=1, cutoff=0.5)
    return lower[near[0]] if near else None


def _listed(names: Sequence[Any]) -> str:
    shown = ", ".join(map(quote_name, names[:MAX_LISTED_NAMES])) or "none"
    more = len(names) - MAX_LISTED_NAMES
    return f"{shown} and {more} more" if more > 0 else shown


def quote_name(name: Any) -> str:
    """Return a name in quotes, shortened if it is very long."""
    if isinstance(name, str) and len(name) > MAX_NAME_LENGTH:
        name = f"{name[: MAX_NAME_LENGTH - 3]}..."
    return repr(name)
