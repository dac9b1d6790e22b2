"""How long it takes until the library is there, and until it has compiled what a first call needs.

    python -m benchmarks.scripts.startup --repeats 10 --heaviest 8
    python -m benchmarks.scripts.startup cold --before OTHER/src
    python -m benchmarks.scripts.startup cuda

``import`` times imports and commands: every line is the median over processes of their own, the
files in the cache of the system, because one run is made before anything is timed. "bare" is the
interpreter with nothing to do, which the others include.

``cold`` makes first calls with an empty folder of compiled kernels, and once more with the folder
filled, and writes ``fast_start.md`` to ``--out``. ``--before`` names the sources of another version
to run beside this one. ``cuda`` does the same for calls on a CUDA device, and lists the
specialisations of its kernels.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

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
SOLVE = """
data = intensor.planted({shape}, {n}, noise={noise})
intensor.solve(data.coords, data.values, shape=data.shape, radius=1.0, {options})
"""
FIT = """
data = intensor.planted((8, 7, 5), 200, noise=0.05)
intensor.TensorCompleter().fit(data.coords, data.values)
"""
FIRST_CALLS = {
    "solve, 10^3, n = 500": SOLVE.format(shape=(10, 10, 10), n=500, noise=0.0, options=""),
    "exact search, enumeration, 12^3 with noise": SOLVE.format(
        shape=(12, 12, 12), n=600, noise=0.05, options="rtol=1e-5, exact='enumeration'"
    ),
    "exact search, branch, 8 x 8 x 3 with noise": SOLVE.format(
        shape=(8, 8, 3), n=150, noise=0.1, options="rtol=1e-3, exact='branch'"
    ),
    "default fit, 8 x 7 x 5, n = 200": FIT,
}
CUDA_CALLS = {
    "CUDA solve, 10^3, n = 500": SOLVE.format(
        shape=(10, 10, 10), n=500, noise=0.0, options="device='cuda'"
    ),
    "CUDA solve, 100^3, n = 300000": SOLVE.format(
        shape=(100, 100, 100), n=300_000, noise=0.0, options="device='cuda', exact='off'"
    ),
    "CUDA exact search, 16^3 with noise": SOLVE.format(
        shape=(16, 16, 16), n=1000, noise=0.05, options="rtol=1e-2, device='cuda'"
    ),
}
PROBE = """
import json, sys, time
begin = time.perf_counter()
import intensor
{call}
seconds = time.perf_counter() - begin
kernels = {{}}
for module in list(sys.modules.values()):
    if getattr(module, "__name__", "").startswith("intensor.backends.cuda"):
        for name, found in vars(module).items():
            if hasattr(found, "overloads") and found.__module__ == module.__name__:
                kernels[name] = list(map(str, found.overloads))
print(json.dumps([seconds, time.process_time(), kernels]))
"""


def main() -> int:
    """Make the measurements asked for and print them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("import", "cold", "cuda"), default="import")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--heaviest", type=int, default=0, help="modules to list per command")
    parser.add_argument("--before", type=Path, help="sources of another version (cold, cuda)")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    arguments = parser.parse_args()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    machine = f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {load:.1f}"
    if arguments.what == "import":
        print(f"{machine}\n")
        imports(arguments.repeats, arguments.heaviest)
        return 0
    cold = arguments.what == "cold"
    lines = []
    for line in first_calls(FIRST_CALLS if cold else CUDA_CALLS, machine, arguments.before):
        print(line, flush=True)
        lines.append(line)
    if cold:
        (arguments.out / "fast_start.md").write_text("\n".join(lines) + "\n")
    return 0


def imports(repeats: int, heaviest_count: int) -> None:
    """Time every command and print a table."""
    print("| what | median s | least s | most s |\n|---|---|---|---|")
    for name, words in COMMANDS.items():
        run(words)
        seconds = [run(words) for _ in range(repeats)]
        middle = statistics.median(seconds)
        print(f"| {name} | {middle:.3f} | {min(seconds):.3f} | {max(seconds):.3f} |", flush=True)
    if heaviest_count:
        for name, words in COMMANDS.items():
            print(f"\n{name}: ms with what it imports, module")
            for own, module in heaviest(words, heaviest_count):
                print(f"  {own / 1000.0:7.1f} {module}")


def first_calls(calls: dict[str, str], machine: str, before: Path | None) -> Iterator[str]:
    """Yield a report of first calls in new processes, with nothing compiled and with everything."""
    yield "# First calls in a new process, import included\n"
    yield f"{machine}. Empty: no kernel is compiled; filled: the same call once more.\n"
    yield "| call | version | empty: CPU s | empty: wall s | filled: wall s |"
    yield "|---|---|---|---|---|"
    compiled = {}
    for name, call in calls.items():
        for version, source in (("before", before), ("now", None)):
            if version == "before" and source is None:
                continue
            with tempfile.TemporaryDirectory() as folder:
                wall, spent, compiled[name] = probe(call, folder, source)
                again, *_ = probe(call, folder, source)
            yield f"| {name} | {version} | {spent:.1f} | {wall:.1f} | {again:.2f} |"
    for name, kernels in compiled.items():
        for kernel, types in kernels.items():
            yield f"\n{name}: {kernel}, {len(types)} specialisations"
            yield from (f"- {text}" for text in types)


def probe(call: str, folder: str, source: Path | None) -> tuple[float, float, dict[str, list[str]]]:
    """Return wall-clock and CPU seconds of a call in a new process, and the device's kernels."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": folder, "CUPY_CACHE_DIR": folder}
    if source is not None:
        environment["PYTHONPATH"] = str(source.resolve())
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(call=call)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    wall, spent, kernels = json.loads(done.stdout)
    return wall, spent, kernels


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
