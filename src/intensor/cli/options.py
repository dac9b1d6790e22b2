"""Options of the commands, made from declarations.

A parameter of a command is annotated with an ``Option``, with a tuple of options, or with a
dataclass of such fields.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast, get_type_hints

import typer

from intensor.cli.console import guard, write, write_json
from intensor.options import declared
from intensor.options.option import NumberOrText, Option

FORMAT = Option(
    name="kind",
    spellings=("--format",),
    choices=("csv", "tsv", "parquet", "tns", "npz", "mat"),
    summary="Format of the data file, if its suffix does not say it.",
)
ONE_BASED = Option(
    name="one_based",
    summary="Whether indices of .tns, .npz and .mat files begin at 1 or 0.",
    type=bool,
    spellings=("--one-based/--zero-based",),
    shown_default="1 for .tns and .mat unless a 0 occurs, 0 for .npz",
)
QUIET = Option(
    name="quiet",
    default=False,
    summary="No progress and no summary; errors and files only.",
    spellings=("--quiet", "-q"),
)
JSON = Option(
    name="json", default=False, summary="Print one JSON object with all figures on stdout."
)
DEBUG = Option(name="debug", default=False, summary="Show tracebacks of errors.")

# Parameters of several commands.

ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, as fit wrote it.")]
FittedData = Annotated[
    Path, typer.Argument(metavar="DATA", help="The observations that it was fitted to.")
]
TableOutput = Annotated[
    Path, typer.Option("--output", "-o", help="File to write; - for CSV on stdout.")
]
PageOutput = Annotated[Path, typer.Option("--output", "-o", help="Page to write (.html).")]
FitOptions = Annotated[dict[str, Any], declared.FIT_OPTIONS]
"""How to fit: the options that ``check_options`` takes, by name."""
CellColumns = Annotated[dict[str, Any], (FORMAT, ONE_BASED)]
"""How to read a file of cells: keywords of ``read_cells``."""
Columns = Annotated[dict[str, Any], (declared.VALUE, declared.WEIGHT, FORMAT, ONE_BASED)]
"""How to read a file of observations: keywords of ``read_table``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """Options of every command."""

    quiet: Annotated[bool, QUIET] = False
    json: Annotated[bool, JSON] = False
    debug: Annotated[bool, DEBUG] = False

    def show(self, command: str, figures: Mapping[str, Any], text: str) -> None:
        """Print the result of a command: its figures as JSON, or text for people unless quiet."""
        if self.json:
            write_json({"command": command, **figures})
        elif not self.quiet:
            write(text)


class _Choice(StrEnum):
    """Base of the enumerations of choices, whose members typer shows in the help."""


def as_command(function: Callable[..., int]) -> Callable[..., int]:
    """Return a command for typer, in which errors become exit codes.

    The parameters of the function are annotated for typer or with options; one is ``common``.
    """
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, list[str]] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(function).parameters.values():
        hint = hints[parameter.name]
        declaration = _declaration(hint)
        if isinstance(declaration, Option):
            parameters.append(_option_parameter(declaration))
        elif isinstance(declaration, tuple):
            groups[parameter.name] = [option.name for option in declaration]
            parameters += map(_option_parameter, declaration)
        else:
            keyword = inspect.Parameter.KEYWORD_ONLY
            parameters.append(parameter.replace(annotation=hint, kind=keyword))

    def command(**given: Any) -> int:
        given = {name: str(v) if isinstance(v, _Choice) else v for name, v in given.items()}
        for name, members in groups.items():
            found = {member: given.pop(member) for member in members}
            given[name] = hints[name](**found) if dataclasses.is_dataclass(hints[name]) else found
        return guard(partial(function, **given), debug=given["common"].debug)

    command.__name__ = function.__name__
    command.__doc__ = function.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


def _declaration(hint: Any) -> Any:
    """Return the option, or the tuple of options, that a type stands for; None for others."""
    if dataclasses.is_dataclass(hint):
        fields = get_type_hints(hint, include_extras=True).values()
        return tuple(_declaration(field) for field in fields)
    return getattr(hint, "__metadata__", (None,))[0]


def _option_parameter(option: Option) -> inspect.Parameter:
    """Return a declared option as typer understands it."""
    default, parser, spellings = option.default, None, option.spellings
    kind = option.type or (str if default is None else type(default))
    if kind == tuple[NumberOrText, NumberOrText]:
        kind, parser = cast(Any, tuple[str, str]), _read_end
    elif kind == NumberOrText:
        kind, parser = str, _read_number
        default = None if default is None else str(default)
    elif option.choices:
        kind = cast(Any, _Choice)(option.name, {choice: choice for choice in option.choices})
        default = None if default is None else kind(default)
    elif kind is bool and not spellings:
        spellings = (f"--{option.name}",)  # without typer's --no- form
    shown = typer.Option(
        *spellings,
        help=option.summary,
        metavar=option.metavar,
        show_default=option.shown_default or True,
        rich_help_panel="Solver" if option in declared.SOLVER_OPTIONS else None,
        parser=parser,
    )
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind if option.default is not None else kind | None, shown],
    )


def _read_number(text: str) -> int | float | str:
    """Return an integer or another number if the text is one, else the text in lower case."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.strip().lower()


def _read_end(text: str) -> int | float | str | None:
    """Return the end of a range: a number, or None for the text "none"."""
    found = _read_number(text)
    return None if found == "none" else found
