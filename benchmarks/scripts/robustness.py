"""The default call beside every single candidate on random sub-tasks of real data.

    python -m benchmarks.scripts.robustness --seed 1 --out robustness_1.jsonl
    python -m benchmarks.scripts.robustness --seed 1 --out robustness_1.jsonl --only singles
    python -m benchmarks.scripts.robustness --seed 1 --out robustness_1.jsonl --only report

One line of JSON is written to the file for each sub-task and candidate as it ends. A script that
was killed goes on where it was. The report is written from the file at the end.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.ledger import JsonLedger
from benchmarks.robustness.candidates import DEFAULT, SIMPLE, SINGLES, run_candidate
from benchmarks.robustness.report import write_report
from benchmarks.robustness.sources import check_sources
from benchmarks.runs import Run, execute

N_TASKS = 40
LABEL = "default"
PARTS = ("default", "singles", "report")


def main(words: list[str] | None = None) -> int:
    """Make the runs that the file does not hold yet, then write the report."""
    arguments = read_arguments(words)
    ledger = JsonLedger(arguments.out)
    if arguments.only != "report":
        runs = make_runs(arguments)
        execute(
            runs,
            ledger,
            jobs=arguments.jobs,
            threads=arguments.threads,
            retry=arguments.retry,
            again=arguments.again,
        )
    command = "python -m benchmarks.scripts.robustness"
    lines = write_report(ledger, arguments.report, label=arguments.label, command=command)
    print("\n".join(lines))
    return 0


def read_arguments(words: list[str] | None) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True, help="file of JSON lines to go on with")
    parser.add_argument("--report", type=Path, default=Path("benchmarks/results/robustness.md"))
    parser.add_argument("--seed", type=int, default=1, help="of the set of sub-tasks")
    parser.add_argument("--tasks", default=f"0-{N_TASKS - 1}", help="as 0-39 or 3,5,8-10")
    parser.add_argument("--only", choices=PARTS, help="make these runs only; report: none")
    parser.add_argument("--single-limit", type=float, default=20.0, help="time_limit of singles")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds; slower runs are killed")
    parser.add_argument("--options", type=json.loads, default={}, help="of the default, as JSON")
    parser.add_argument("--label", default=LABEL, help="name of the default in the file")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="of each run")
    parser.add_argument("--retry", action="store_true", help="make runs without a result again")
    parser.add_argument("--again", action="store_true", help="make all runs again")
    arguments = parser.parse_args(words)
    try:
        arguments.numbers = read_numbers(arguments.tasks)
        if arguments.only != "report":
            check_sources(arguments.data)
    except (ValueError, FileNotFoundError) as error:
        parser.error(str(error))
    if arguments.label in SINGLES or arguments.label in SIMPLE:
        parser.error(f"--label is {arguments.label!r}, the name of a candidate; give another one")
    return arguments


def read_numbers(words: str) -> list[int]:
    """Return numbers from a list of numbers and ranges such as "0-3,7"."""
    found: list[int] = []
    for word in words.split(","):
        first, dash, last = word.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise ValueError(
                f"--tasks is {words!r}; expected numbers and ranges such as 0-39 or 3,5"
            )
        found.extend(range(int(first), int(last or first) + 1))
    return found


def make_runs(arguments: argparse.Namespace) -> list[Run]:
    """Return a run for every sub-task and candidate, one sub-task after the other."""
    runs = []
    for number in arguments.numbers:
        if arguments.only in (None, "singles"):
            runs += [_run(arguments, number, name, None) for name in SIMPLE]
            for name, fixed in SINGLES.items():
                options = {**DEFAULT, **fixed, "time_limit": arguments.single_limit}
                runs.append(_run(arguments, number, name, options))
        if arguments.only in (None, "default"):
            options = {**DEFAULT, **arguments.options}
            runs.append(_run(arguments, number, arguments.label, options))
    return runs


def _run(
    arguments: argparse.Namespace, number: int, name: str, options: dict[str, Any] | None
) -> Run:
    return Run(
        section=f"Seed {arguments.seed}",
        task=f"{number:02d}",
        method=name,
        rep=0,
        call=run_candidate,
        arguments={
            "number": number,
            "seed": arguments.seed,
            "data": arguments.data,
            "candidate": name,
            "options": options,
        },
        limit=arguments.limit,
        expected=0.1 if options is None else options.get("time_limit", arguments.limit),
    )


if __name__ == "__main__":
    sys.exit(main())
