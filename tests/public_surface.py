"""What users can see of intensor, as text: ``public_api.txt`` is the state that is promised.

    python tests/public_surface.py

rewrites the file, on purpose. Whatever is taken away or changed in it needs an entry in
CHANGELOG.md. Types are left out: mypy watches over them.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import get_args

import typer

import intensor
from intensor.cli.app import app

FROZEN = Path(__file__).parent / "public_api.txt"
COMMAND = "python tests/public_surface.py"


def surface() -> str:
    """Return the text: a block per public name, command and error."""
    blocks = ["\n    ".join(["module intensor", *intensor.__all__])]
    for name in intensor.__all__:
        found = getattr(intensor, name)
        if isinstance(found, ModuleType):
            parts = getattr(found, "__all__", [part for part in vars(found) if part[0] != "_"])
            blocks += [block(f"{name}.{part}", getattr(found, part)) for part in sorted(parts)]
        else:
            blocks.append(block(name, found))
    blocks.append(fitted())
    blocks += commands()
    return "\n\n".join(blocks) + "\n"


def block(name: str, found: object) -> str:
    """Return the lines of one public name."""
    if inspect.isclass(found) and issubclass(found, Exception):
        bases = ", ".join(base.__name__ for base in found.__bases__)
        lines = [f"error intensor.{name}({bases})"]
    elif inspect.isclass(found) and issubclass(found, enum.Enum):
        lines = [f"enum intensor.{name}"]
        lines += [f"    {member.name}" for member in found]
        lines += members(found)
    elif inspect.isclass(found):
        lines = [f"class intensor.{name}", *parameters(found), *members(found)]
    elif inspect.isfunction(found):
        lines = [f"function intensor.{name}", *parameters(found)]
    else:
        lines = [f"value intensor.{name} = {found!r}"]
    return "\n".join(lines)


def parameters(function: object, indent: str = "    ") -> Iterator[str]:
    """Yield a line per parameter, with the marks of Python for their kinds."""
    kind = None
    named_only = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            continue
        if kind is parameter.POSITIONAL_ONLY and parameter.kind is not kind:
            yield f"{indent}/"
        kind = parameter.kind
        named_only |= kind is parameter.VAR_POSITIONAL
        if kind is parameter.KEYWORD_ONLY and not named_only:
            named_only = True
            yield f"{indent}*"
        yield indent + str(parameter.replace(annotation=parameter.empty)).replace("=", " = ", 1)
    if kind is inspect.Parameter.POSITIONAL_ONLY:
        yield f"{indent}/"


def members(found: type) -> Iterator[str]:
    """Yield attributes and methods that are ours, those of bases of ours included."""
    seen = {}
    for base in reversed(found.__mro__):
        if base.__module__.startswith("intensor"):
            seen |= vars(base)
    fields = (
        [field.name for field in dataclasses.fields(found)]
        if dataclasses.is_dataclass(found)
        else []
    )
    special = {"__iter__", "__len__", "__getitem__", "__contains__", "__call__"}
    for name in sorted({*seen, *fields}):
        if name.startswith("_") and name not in special:
            continue
        member = seen.get(name)
        if type(member).__module__.startswith("sklearn"):  # what its versions add to estimators
            continue
        if isinstance(member, classmethod | staticmethod):
            yield f"    .{name}: {type(member).__name__}"
            yield from parameters(getattr(found, name), "        ")
        elif inspect.isfunction(member):
            yield f"    .{name}: method"
            yield from parameters(member, "        ")
        elif name in fields or isinstance(member, property) or not isinstance(found, enum.EnumMeta):
            yield f"    .{name}: attribute"


def fitted() -> str:
    """Return what an estimator has after a fit."""
    data = intensor.planted((3, 3), 8)
    completer = intensor.TensorCompleter(radius=1.0, exact="off").fit(data.coords, data.values)
    names = sorted(name for name in vars(completer) if name.endswith("_"))
    return "\n".join(["fitted intensor.TensorCompleter", *(f"    .{name}" for name in names)])


def commands() -> Iterator[str]:
    """Yield a block per command: its options, with defaults and choices."""
    functions = {command.name: command.callback for command in app.registered_commands}
    for name, command in typer.main.get_command(app).commands.items():
        given = inspect.signature(functions[name]).parameters
        lines = [f"command intensor {name}"]
        for option in command.params:
            default = given[option.name].default
            choices = choices_of(given[option.name].annotation)
            spelling = "/".join([*option.opts, *option.secondary_opts])
            line = f"    {spelling if spelling.startswith('-') else spelling.upper()}"
            if default is inspect.Parameter.empty:
                line += " (required)"
            elif isinstance(default, enum.Enum | Path):
                line += f" = {str(default)!r}"
            else:
                line += f" = {default!r}"
            lines.append(f"{line} of {'|'.join(choices)}" if choices else line)
        yield "\n".join(lines)


def choices_of(hint: object) -> list[str]:
    """Return the choices of an option, or none if it may be anything."""
    if isinstance(hint, enum.EnumMeta):
        return [choice.value for choice in hint]
    return [choice for part in get_args(hint) for choice in choices_of(part)]


if __name__ == "__main__":
    FROZEN.write_text(surface(), encoding="utf-8")
