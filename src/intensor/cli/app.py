"""All commands under one name, and errors of usage."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from intensor.cli.complete import complete
from intensor.cli.console import (
    CHECK_FAILED,
    INTERRUPTED,
    OK,
    READER_GONE,
    USAGE,
    close_output,
    guard,
    open_streams,
    say,
)
from intensor.cli.demo import demo
from intensor.cli.fit import fit
from intensor.cli.info import info
from intensor.cli.options import as_command
from intensor.cli.predict import predict
from intensor.cli.report import report
from intensor.cli.verify import verify
from intensor.cli.warmup import warmup

EXIT_CODES = (
    "Exit codes: 0 done (the status says how well); 1 a check of verify or demo failed; "
    "2 bad input or usage, or stdout is full (files are written); 3 an unexpected error inside "
    "intensor; 130 interrupted by Ctrl-C or SIGTERM (what was reached is saved)."
)

app = typer.Typer(
    name="intensor",
    help="Complete partially observed nonnegative tensors, and prove how good the answer is.",
    epilog=EXIT_CODES,
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for function in (fit, predict, complete, verify, info, report, demo, warmup):
    app.command(name=function.__name__)(as_command(function))


def _show_version(wanted: bool) -> None:
    if wanted:
        import intensor  # noqa: PLC0415

        sys.stdout.write(f"intensor {intensor.__version__}\n")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and leave."
        ),
    ] = False,
) -> None:
    """Complete partially observed nonnegative tensors, and prove how good the answer is."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, by default with the arguments of the process; return its exit code."""
    open_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    code = guard(lambda: _run(given), debug="--debug" in given)
    closing = close_output()
    return code or closing


def _run(arguments: list[str]) -> int:
    """Run a command and return its exit code."""
    command = typer.main.get_command(app)
    try:
        code = command.main(args=arguments, prog_name="intensor", standalone_mode=False)
    except SystemExit as stop:  # typer exits like this when nobody reads its help any more
        return READER_GONE if stop.code == CHECK_FAILED else int(stop.code or OK)
    except typer.Abort:
        return INTERRUPTED
    except Exception as problem:
        # typer has had its errors in several modules; all of them have this method
        if not hasattr(problem, "format_message"):
            raise
        return _refuse(problem)
    return code if isinstance(code, int) else OK


def _refuse(problem: Exception) -> int:
    """Say in one line what is wrong with the command line, and return the exit code."""
    message = problem.format_message().strip()  # type: ignore[attr-defined]
    if not message:  # some versions of typer have none if there is no command
        message = "expected a command"
    message = message[0].lower() + message[1:]
    with contextlib.suppress(AttributeError):
        path = problem.ctx.command_path  # type: ignore[attr-defined]
        message = f"{message.rstrip('.')} (see {path} --help)"
    say("error", message)
    return USAGE
