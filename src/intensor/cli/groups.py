"""Options that several commands share, declared once as the fields of a dataclass.

A command takes such a group as one argument; ``as_command`` turns it into a function whose
options typer can see, and runs it under ``guard``.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_type_hints

import typer

from intensor.cli.console import guard

if TYPE_CHECKING:
    from intensor.fitting.options import Options

__all__ = ["Columns", "Common", "FitWords", "Format", "Unseen", "as_command"]


class Format(StrEnum):
    """Formats of data files."""

    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"
    tns = "tns"
    npz = "npz"
    mat = "mat"


class Unseen(StrEnum):
    """What to do with labels that the model has no observation of."""

    error = "error"
    mean = "mean"


class TransformWord(StrEnum):
    """Scales to fit in."""

    none = "none"
    sqrt = "sqrt"
    log1p = "log1p"
    auto = "auto"


class BaselineWord(StrEnum):
    """What is taken out before boxes are fitted."""

    none = "none"
    additive = "additive"
    auto = "auto"


class RemainderWord(StrEnum):
    """What is done with what boxes leave."""

    none = "none"
    kriging = "kriging"
    auto = "auto"


class ScoringWord(StrEnum):
    """Validation errors."""

    rmse = "rmse"
    mae = "mae"
    mape = "mape"
    balanced = "balanced"


class ExactWord(StrEnum):
    """Exact oracles."""

    auto = "auto"
    off = "off"
    enumeration = "enumeration"
    branch = "branch"
    highs = "highs"
    scip = "scip"
    gurobi = "gurobi"


class DeviceWord(StrEnum):
    """Where to sum over cells."""

    cpu = "cpu"
    cuda = "cuda"
    auto = "auto"


SOLVER = "Solver"


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """What every command takes."""

    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="No progress and no summary; errors and files only."),
    ] = False
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object with all figures on stdout.")
    ] = False
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """How to read a file of observations."""

    value: Annotated[
        str | None,
        typer.Option(help="Column of the values.", show_default='"value", or what the model says'),
    ] = None
    weight: Annotated[
        str | None, typer.Option(help="Column that says how much each row counts.")
    ] = None
    format: Annotated[
        Format | None, typer.Option(help="Of DATA, when its suffix does not say it.")
    ] = None
    one_based: Annotated[
        bool | None,
        typer.Option(
            "--one-based/--zero-based",
            help="Whether indices of .tns, .npz and .mat files begin at 1 or 0.",
            show_default="1 for .tns and .mat unless a 0 occurs, 0 for .npz",
        ),
    ] = None

    @property
    def kind(self) -> str | None:
        """The format by its name."""
        return None if self.format is None else self.format.value


@dataclass(frozen=True, slots=True, kw_only=True)
class FitWords:
    """How to fit."""

    radius: Annotated[
        str,
        typer.Option(
            metavar="auto|NUMBER",
            help="Bound on the sum of the boxes' weights; auto chooses it by validation.",
        ),
    ] = "auto"
    transform: Annotated[TransformWord, typer.Option(help="Scale to fit in.")] = TransformWord.none
    baseline: Annotated[BaselineWord, typer.Option(help="Main effects to take out first.")] = (
        BaselineWord.none
    )
    remainder: Annotated[
        RemainderWord,
        typer.Option(help="What to add to the boxes: nothing, or what cells that are alike say."),
    ] = RemainderWord.none
    n_solutions: Annotated[int, typer.Option(help="Models to average.")] = 1
    validation: Annotated[
        str,
        typer.Option(
            metavar="SHARE|FOLDS|auto",
            help="Share of the cells to hold out (0.1), folds (5), or auto: a tenth, some times.",
        ),
    ] = "0.1"
    scoring: Annotated[ScoringWord, typer.Option(help="Validation error.")] = ScoringWord.rmse
    n_radii: Annotated[int, typer.Option(help="Radii to try at most.")] = 20
    version: Annotated[
        str,
        typer.Option(metavar="fast|0-10", help="Solver to use.", rich_help_panel=SOLVER),
    ] = "fast"
    tol: Annotated[float, typer.Option(help="Gap to reach, absolute.", rich_help_panel=SOLVER)] = (
        0.0
    )
    rtol: Annotated[
        str,
        typer.Option(
            metavar="auto|NUMBER",
            help="Gap to reach, relative to the mean square of the values; auto chooses it "
            "on held-out cells.",
            rich_help_panel=SOLVER,
        ),
    ] = "auto"
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="End after so long.", rich_help_panel=SOLVER),
    ] = None
    max_iterations: Annotated[
        int | None, typer.Option(help="End after so many.", rich_help_panel=SOLVER)
    ] = None
    seed: Annotated[int, typer.Option(help="Of all random choices.", rich_help_panel=SOLVER)] = 0
    threads: Annotated[
        int | None,
        typer.Option(help="Threads to use.", show_default="one per core", rich_help_panel=SOLVER),
    ] = None
    exact: Annotated[
        ExactWord,
        typer.Option(help="Exact oracle that proves the bound.", rich_help_panel=SOLVER),
    ] = ExactWord.auto
    device: Annotated[
        DeviceWord,
        typer.Option(help="Where to compute; cuda needs intensor[gpu].", rich_help_panel=SOLVER),
    ] = DeviceWord.cpu

    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the fit to FILE (.npz) as it goes, to go on from after a kill.",
            rich_help_panel=SOLVER,
        ),
    ] = None
    checkpoint_every: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="Write it after so long.", rich_help_panel=SOLVER),
    ] = 60.0
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on from the checkpoint, if it is there.",
            rich_help_panel=SOLVER,
        ),
    ] = False

    def options(self) -> Options:
        """Return the options of the fit, checked."""
        from intensor.fitting.options import check_options  # noqa: PLC0415

        return check_options(
            radius=_as_number(self.radius),
            transform=self.transform.value,
            baseline=self.baseline.value,
            remainder=self.remainder.value,
            n_solutions=self.n_solutions,
            validation=_as_number(self.validation),
            scoring=self.scoring.value,
            n_radii=self.n_radii,
            version=cast(int, _as_number(self.version)),
            tol=self.tol,
            rtol=cast(float, _as_number(self.rtol)),
            time_limit=self.time_limit,
            max_iterations=self.max_iterations,
            seed=self.seed,
            threads=self.threads,
            exact=self.exact.value,
            device=self.device.value,
            checkpoint=self.checkpoint,
            checkpoint_every=self.checkpoint_every,
            resume=self.resume,
        )


def _as_number(word: str) -> int | float | str:
    """Return a whole number, another number, or the word itself."""
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word.strip().lower()


def as_command(function: Callable[..., int]) -> Callable[..., int]:
    """Return a command for typer: groups become options, and errors become exit codes.

    Parameters
    ----------
    function
        Takes arguments with typer's annotations and groups, ``common`` among them; returns an
        exit code.
    """
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, tuple[str, ...]] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(function).parameters.values():
        hint = hints[parameter.name]
        if not dataclasses.is_dataclass(hint):
            parameters.append(
                parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY)
            )
            continue
        types = get_type_hints(hint, include_extras=True)
        fields = dataclasses.fields(hint)
        groups[parameter.name] = tuple(field.name for field in fields)
        parameters += [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=types[field.name],
            )
            for field in fields
        ]

    def command(**given: Any) -> int:
        for name, fields in groups.items():
            given[name] = hints[name](**{field: given.pop(field) for field in fields})
        return guard(partial(function, **given), debug=given["common"].debug)

    command.__name__ = function.__name__
    command.__doc__ = function.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command
