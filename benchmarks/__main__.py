"""The command: ``python -m benchmarks run`` and ``python -m benchmarks report``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.ledger import Ledger
from benchmarks.report import write_report
from benchmarks.runs import execute
from benchmarks.sections import Options, Section

SECTIONS = {
    "paper_sets": "paper.sets",
    "work": "paper.work",
    "peers": "peers",
    "real": "real.section",
    "images": "images.section",
    "complexity": "paper.complexity",
}
"""Sections by name, in the order of the report, and the modules that have them."""
DEFAULTS = Options()

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="The paper's tables, peers, real data, pictures: run them, go on where a run was "
    "killed, and write RESULTS.md.",
)
Names = Annotated[list[str] | None, typer.Argument(help=f"Some of: {', '.join(SECTIONS)}.")]
Paper = Annotated[Path, typer.Option(help="Folder of tables.csv and reference_runs.csv.gz.")]
Data = Annotated[Path, typer.Option(help="Folder of the real data.")]
Out = Annotated[Path, typer.Option(help="Folder for runs.csv, figures and RESULTS.md.")]


@app.command()
def run(
    sections: Names = None,
    paper: Paper = DEFAULTS.paper,
    data: Data = DEFAULTS.data,
    out: Out = DEFAULTS.out,
    sets: Annotated[str, typer.Option(help="Sets of the paper's instances.")] = "1,2,3,4",
    versions: Annotated[str, typer.Option(help="Versions, as 0,1,8,fast or 0-10,fast.")] = (
        "0-10,fast"
    ),
    reps: Annotated[int, typer.Option(help="Repetitions of every row.")] = DEFAULTS.reps,
    seconds: Annotated[float, typer.Option(help="Time limit of a fit of real data.")] = (
        DEFAULTS.seconds
    ),
    jobs: Annotated[int, typer.Option(help="Runs side by side.")] = 1,
    only: Annotated[list[str] | None, typer.Option(help="Tasks whose name has this in it.")] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="Methods whose name has this in it.")
    ] = None,
    retry: Annotated[bool, typer.Option(help="Run failures again.")] = False,
    again: Annotated[bool, typer.Option(help="Run all again; the newest line counts.")] = False,
) -> None:
    """Make the runs that are missing, then write the report."""
    options = Options(
        paper=paper,
        data=data,
        out=out,
        sets=tuple(int(word) for word in sets.split(",")),
        versions=tuple(_versions(versions)),
        reps=reps,
        seconds=seconds,
        jobs=jobs,
        only=tuple(only or ()),
    )
    ledger = Ledger(out / "runs.csv")
    for section in _find(sections):
        if section.needs is not None:
            try:
                section.needs(options)
            except FileNotFoundError as error:
                print(f"{section.name}: {error}", file=sys.stderr)
                continue
        runs = section.runs(options)
        if options.only:
            runs = [one for one in runs if any(word in one.task for word in options.only)]
        if method:
            runs = [one for one in runs if any(word in one.method for word in method)]
        skip = None if section.skip is None else _bound(section.skip, ledger)
        execute(runs, ledger, jobs=jobs, retry=retry, again=again, skip=skip)
    write_report([*map(_load, SECTIONS)], ledger, options)


@app.command()
def report(
    paper: Paper = DEFAULTS.paper, data: Data = DEFAULTS.data, out: Out = DEFAULTS.out
) -> None:
    """Write RESULTS.md from the runs that are there."""
    options = Options(paper=paper, data=data, out=out)
    write_report([*map(_load, SECTIONS)], Ledger(out / "runs.csv"), options)


def _bound(skip, ledger):
    return lambda run: skip(ledger, run)


def _load(name: str) -> Section:
    return importlib.import_module(f"benchmarks.{SECTIONS[name]}").SECTION


def _find(names: list[str] | None) -> list[Section]:
    for name in names or ():
        if name not in SECTIONS:
            raise typer.BadParameter(f"{name!r}; expected some of {', '.join(SECTIONS)}")
    return [_load(name) for name in names or SECTIONS]


def _versions(words: str) -> list[int | str]:
    found: list[int | str] = []
    for word in words.split(","):
        first, dash, last = word.partition("-")
        if word == "fast":
            found.append(word)
        elif first.isdigit() and (not dash or last.isdigit()):
            found.extend(range(int(first), int(last or first) + 1))
        else:
            raise typer.BadParameter(f"version {word!r}; expected 0-10 or fast")
    return found


if __name__ == "__main__":
    app()
