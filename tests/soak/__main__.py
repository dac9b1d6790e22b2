"""Run problems by number and say what was found."""

# ruff: noqa: T201  (it is a command: what it prints is what it is for)

from __future__ import annotations

import argparse
import collections
import math
import sys
import time

from .checker import best_of, check
from .families import draw_any as draw


def main():
    """Run what the command line says; the exit code is 1 when there are findings."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--number", type=int, help="one problem, in detail")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=2000)
    arguments = parser.parse_args()
    if arguments.number is not None:
        return show(arguments.number)
    return run(range(arguments.first, arguments.first + arguments.count))


def show(number):
    """Run one problem and print all of it."""
    problem = draw(number)
    print(f"problem {number}: {', '.join(problem.kinds)}")
    print(f"shape {problem.shape}, {len(problem.values)} observations, radius {problem.radius!r}")
    print(problem.options)
    result, best = problem.solve(), best_of(problem)
    print(f"{result!r}, bound by {result.bound_source}")
    print(f"objective {result.objective!r}, bound {result.bound!r}, tolerance {result.tolerance!r}")
    print(f"optimum from {best.lower!r} to {best.upper!r}, rounding {best.rounding!r}")
    findings = check(problem, result, best)
    for finding in findings:
        print("FINDING", finding)
    return 1 if findings else 0


def run(numbers):
    """Run many problems and print a line for each finding, and a summary."""
    started = time.monotonic()
    statuses, versions = collections.Counter(), collections.Counter()
    closest, loosest, used, wrong = math.inf, 0.0, 0.0, 0
    for number in numbers:
        problem = draw(number)
        result, best = problem.solve(), best_of(problem)
        statuses[result.status.name] += 1
        versions[problem.options["version"], problem.options["exact"]] += 1
        findings = check(problem, result, best)
        wrong += bool(findings)
        for finding in findings:
            print(f"{number} ({problem.options['version']}): {finding}", flush=True)
        if best.square > 0.0:
            closest = min(closest, (best.upper - result.bound) / best.square)
            loosest = max(loosest, (best.upper - best.lower) / best.square)
            used = max(used, (result.bound - best.upper) / best.rounding)
    print(f"{sum(statuses.values())} problems in {time.monotonic() - started:.0f} s: {wrong} wrong")
    print(", ".join(f"{name} {count}" for name, count in statuses.most_common()))
    for kind in (0, 1):
        total = collections.Counter()
        for key, count in versions.items():
            total[key[kind]] += count
        print(", ".join(f"{name}: {count}" for name, count in total.items()))
    print("in units of the mean square:")
    print(f"least of feasible objective minus proven bound {closest:.3g}")
    print(f"which is at most {used:.3g} of what rounding may hide")
    print(f"least certain optimum {loosest:.3g}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
