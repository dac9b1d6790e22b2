"""An option: its name, default, check, documentation and spelling on the command line."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from intensor.errors import SettingError

REQUIRED: Final = "required"
"""Default of an option that has to be given."""
PLACEHOLDER = "{options}"
"""Line of a docstring that ``documented`` replaces."""
HARD_SPACE = "\0"
"""Character that stands for a space at which a line must not be broken."""
MAX_LINE_LENGTH = 96
"""Longest line of a generated docstring, in characters."""

NumberOrText = int | float | str
"""Type that the command line reads if text such as "auto" and numbers are both possible."""
Documented = TypeVar("Documented", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option, declared once for all functions and commands that have it."""

    name: str  # keyword in Python
    default: Any = None  # value when the option is not given; None is only valid as a default
    summary: str  # one sentence, which is also the help of the command line
    details: str = ""  # further sentences for the docstrings
    choices: tuple[str, ...] = ()  # texts that are allowed; empty if they are not limited
    extensible: bool = False  # whether a later stage accepts other values than the choices
    rule: Callable[[str, Any], Any] | None = None
    """Function of name and value that returns the value to use inside, or raises."""
    type: Any = None  # type that the command line reads, if not that of the default
    spellings: tuple[str, ...] = ()  # on the command line, if not the name: "--quiet", "-q"
    metavar: str | None = None  # how the help of the command line shows the argument
    shown_default: str | None = None  # how the help shows the default, if not as it is

    def check(self, value: Any) -> Any:
        """Return the value in the form that is used inside, or raise what is wrong with it."""
        if value is None and self.default is None:
            return None
        if self.rule is not None:
            return self.rule(self.name, value)
        if isinstance(self.default, bool):
            return bool(value)
        if self.choices and not self.extensible:
            if not isinstance(value, str) or value not in self.choices:
                *others, last = map(repr, self.choices)
                raise SettingError(
                    f"{self.name} is {value!r}; expected {', '.join(others)} or {last}"
                )
            return str(value)
        return value

    @property
    def text(self) -> str:
        """The documentation in one paragraph."""
        return f"{self.summary} {self.details}".strip()


def documented(options: Iterable[Option]) -> Callable[[Documented], Documented]:
    """Return a decorator that describes options in a docstring, on its line ``{options}``."""

    def describe(target: Documented) -> Documented:
        text = target.__doc__ or ""  # there is none when Python runs with -OO
        if found := re.search(rf"^( *){PLACEHOLDER}$", text, flags=re.MULTILINE):
            entries = "\n".join(_entry(option, found[1]) for option in options)
            target.__doc__ = text.replace(found[0], entries)
        return target

    return describe


def _entry(option: Option, indent: str) -> str:
    """Return the name and the text of an option as numpydoc has them."""
    inner = indent + "    "
    text = re.sub(r"``[^`]+``", lambda code: code[0].replace(" ", HARD_SPACE), option.text)
    text = textwrap.fill(
        text,
        MAX_LINE_LENGTH,
        initial_indent=inner,
        subsequent_indent=inner,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return f"{indent}{option.name}\n{text.replace(HARD_SPACE, ' ')}"
