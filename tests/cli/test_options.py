"""Declared options become options of the commands."""

import inspect
from pathlib import Path
from typing import Annotated

import pytest
import typer

from intensor.cli.options import Columns, Common, FitOptions, as_command
from intensor.options import declared
from intensor.options.option import Option

COLOUR = Option(name="colour", default="red", choices=("red", "blue"), summary="Colour.")


@pytest.fixture
def run():
    """Return a function that parses a command line and returns what the command was given."""
    given = {}

    def show(
        path: Annotated[Path, typer.Argument()],
        colour: Annotated[str, COLOUR] = "red",
        *,
        columns: Columns,
        options: FitOptions,
        common: Common,
    ) -> int:
        given.update(path=path, colour=colour, columns=columns, options=options, common=common)
        return 0

    app = typer.Typer()
    app.command()(as_command(show))

    def parse(*arguments):
        given.clear()
        typer.main.get_command(app).main(["x.csv", *arguments], standalone_mode=False)
        return given

    return parse


def test_defaults_are_the_declared_ones(run):
    given = run()
    assert given["path"] == Path("x.csv")
    assert given["colour"] == "red"
    assert type(given["colour"]) is str
    assert given["columns"] == dict.fromkeys(("value", "weight", "kind", "one_based"))
    assert given["common"] == Common()
    assert given["options"] == {option.name: option.default for option in declared.FIT_OPTIONS}


def test_options_are_read_by_their_declared_types(run):
    options = run(
        *("--radius", "2.5", "--validation", "5", "--rtol", "AUTO", "--version", "8"),
        *("--transform", "sqrt", "--n-radii", "3", "--memory-limit", "4 GiB"),
        *("--checkpoint", "run.npz", "--resume", "--time-limit", "9"),
    )["options"]
    assert (options["radius"], options["validation"], options["rtol"]) == (2.5, 5, "auto")
    assert (options["version"], options["n_radii"], options["time_limit"]) == (8, 3, 9.0)
    assert isinstance(options["version"], int)
    assert options["memory_limit"] == "4 gib"
    assert options["transform"] == "sqrt"
    assert type(options["transform"]) is str
    assert (options["checkpoint"], options["resume"]) == (Path("run.npz"), True)


def test_columns_may_be_called_like_numbers(run):
    given = run("--value", "2013", "--weight", "1e3", "--format", "csv", "--zero-based")
    expected = {"value": "2013", "weight": "1e3", "kind": "csv", "one_based": False}
    assert given["columns"] == expected


def test_flags_have_no_opposite_unless_declared(run):
    for wrong in ("--no-resume", "--no-quiet"):
        with pytest.raises(Exception, match="No such option"):
            run(wrong)


def test_errors_become_exit_codes(capsys):
    def fail(*, common: Common) -> int:
        raise KeyboardInterrupt

    command = as_command(fail)
    assert list(inspect.signature(command).parameters) == ["quiet", "json", "debug"]
    assert command(quiet=False, json=False, debug=False) == 130
    assert "interrupted" in capsys.readouterr().err
