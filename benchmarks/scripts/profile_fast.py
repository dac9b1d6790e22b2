"""Where the default solver spends its time, in each regime.

    python -m benchmarks.scripts.profile_fast

Prints one row per regime: the share of the time in each kernel, in reading the observations,
and in the Python around them. Shares under cProfile, which makes Python look a little larger.
"""

from __future__ import annotations

import cProfile
import pstats
import sys

import intensor

REGIMES = [
    ("20^3, n = 500", (20,) * 3, 500, 10, {"tol": 1e-4, "rtol": 0.0}),
    ("50^3, n = 500", (50,) * 3, 500, 10, {"tol": 1e-4, "rtol": 0.0}),
    ("10^7, n = 10k", (10,) * 7, 10_000, 10, {"tol": 1e-4, "rtol": 0.0}),
    ("10^6, n = 100k", (10,) * 6, 100_000, 5, {"tol": 1e-4, "rtol": 0.0}),
    ("10^7, n = 1M", (10,) * 7, 1_000_000, 2, {"tol": 1e-4, "rtol": 0.0}),
    ("50^3, n = 5000, noise", (50,) * 3, 5000, 1, {"time_limit": 15.0}),
]
PARTS = {
    "observations": ("observe",),
    "pricing": ("descend_lanes", "lane_sums", "switch_lanes"),
    "Gram rows": ("pack_members", "gram_rows", "member_sums"),
    "master": ("_improve",),
    "evaluation": ("fit_cells", "predict"),
}


def main() -> int:
    """Profile every regime and print the table."""
    print("| regime | ms a solve | " + " | ".join(PARTS) + " | rest |")
    print("|---|---|" + "---|" * (len(PARTS) + 1))
    for name, shape, n, reps, options in REGIMES:
        noise = 0.05 if "noise" in name else 0.0
        instances = [intensor.planted(shape, n, rep, noise=noise) for rep in range(reps)]
        run(instances[:1], {**options, "max_iterations": 4})
        profile = cProfile.Profile()
        profile.enable()
        run(instances, options)
        profile.disable()
        stats = pstats.Stats(profile)
        total = stats.total_tt
        shares = []
        for functions in PARTS.values():
            column = 3 if functions == ("observe",) else 2  # with what it calls, or alone
            shares.append(
                sum(row[column] for key, row in stats.stats.items() if key[2] in functions) / total
            )
        cells = " | ".join(f"{100 * share:.0f} %" for share in [*shares, 1.0 - sum(shares)])
        print(f"| {name} | {1000 * total / reps:.0f} | {cells} |", flush=True)
    return 0


def run(instances: list[intensor.Planted], options: dict) -> None:
    """Solve the instances on one thread, so that the profiler sees all of it."""
    for data in instances:
        intensor.solve(data.coords, data.values, shape=data.shape, radius=1.0, threads=1, **options)


if __name__ == "__main__":
    sys.exit(main())
