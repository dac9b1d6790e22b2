"""The command line: ``intensor demo`` and ``intensor --version``."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

import intensor
from intensor.solver.result import Progress

__all__ = ["main"]

SHAPE, N_OBSERVATIONS = (20, 20, 20), 2000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="intensor", description="Nonnegative tensor completion with a proof of optimality."
    )
    parser.add_argument("--version", action="version", version=f"intensor {intensor.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("demo", help="complete a planted tensor and check the certificate")
    parser.parse_args(arguments)
    return _demo()


def _demo() -> int:
    print("Compiling the kernels, which takes a while the first time ...", flush=True)
    small = intensor.planted((3, 3), 9)
    intensor.solve(small.coords, small.values, shape=small.shape, radius=1.0)
    data = intensor.planted(SHAPE, N_OBSERVATIONS)
    cells = math.prod(SHAPE)
    shape = " x ".join(map(str, SHAPE))
    print(f"\nA {shape} tensor, {cells} cells, made of {len(data.truth)} boxes;")
    print(f"{N_OBSERVATIONS} observations of it.\n")
    print(f"{'iteration':>9}  {'boxes':>5}  {'objective':>9}  {'bound':>9}  {'seconds':>7}")
    shown = 0.0

    def show(progress: Progress) -> None:
        nonlocal shown
        if progress.iteration == 1 or progress.objective < 0.4 * shown:
            shown = progress.objective
            print(
                f"{progress.iteration:9d}  {progress.active:5d}  {progress.objective:9.2e}  "
                f"{progress.bound:9.2e}  {progress.seconds:7.2f}"
            )

    result = intensor.solve(
        data.coords, data.values, shape=SHAPE, radius=1.0, rtol=1e-12, callback=show
    )
    report = intensor.verify(result, data.coords, data.values)
    print(f"\n{result.status}: {result.status.sentence}")
    print(f"objective {result.objective:.3g}, bound {result.bound:.3g}, gap {result.gap:.3g}")
    print(f"certificate, recomputed from scratch: {'holds' if report.ok else 'FAILS'}")
    print(f"NMSE over all {cells} cells: {intensor.nmse(result.model, data.truth):.3g}")
    print(f"{len(result.model)} boxes in {result.seconds.total:.2f} s")
    return 0 if report.ok else 1
