"""How long it takes until the library and the command are there, and what that time goes to.

    python -m benchmarks.scripts.startup --repeats 10 --heaviest 8

Every line is the median over processes of their own, the files in the cache of the system: one
run is made before anything is timed. "bare" is the interpreter with nothing to do, which the
others include.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "bare": ["-c", "pass"],
    "import numpy": ["-c", "import numpy"],
    "import intensor": ["-c", "import intensor"],
    "intensor.solve": ["-c", "import intensor; intensor.solve"],
    "intensor.TensorCompleter": ["-c", "import intensor; intensor.TensorCompleter"],
    "intensor --help": ["-m", "intensor", "--help"],
    "intensor fit --help": ["-m", "intensor", "fit", "--help"],
    "intensor --version": ["-m", "intensor", "--version"],
}


def main() -> int:
    """Time every command and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--heaviest", type=int, default=0, help="modules to list per command")
    arguments = parser.parse_args()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {load:.1f}\n")
    print("| what | median s | least s | most s |\n|---|---|---|---|")
    for name, words in COMMANDS.items():
        run(words)
        seconds = [run(words) for _ in range(arguments.repeats)]
        middle = statistics.median(seconds)
        print(f"| {name} | {middle:.3f} | {min(seconds):.3f} | {max(seconds):.3f} |", flush=True)
    if arguments.heaviest:
        for name, words in COMMANDS.items():
            print(f"\n{name}: ms with what it imports, module")
            for own, module in heaviest(words, arguments.heaviest):
                print(f"  {own / 1000.0:7.1f} {module}")
    return 0


def run(words: list[str]) -> float:
    """Return the seconds that a fresh interpreter takes."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def heaviest(words: list[str], count: int) -> list[tuple[int, str]]:
    """Return the imports that take longest, in microseconds, from ``-X importtime``."""
    answer = subprocess.run(
        [sys.executable, "-X", "importtime", *words],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    found = []
    for line in answer.stderr.splitlines():
        parts = line.removeprefix("import time:").split("|")
        if len(parts) == 3 and parts[1].strip().isdigit():
            found.append((int(parts[1]), parts[2].strip()))
    return sorted(found, reverse=True)[:count]


if __name__ == "__main__":
    raise SystemExit(main())
