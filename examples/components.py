"""Components: a model that people can read, from a fit of hundreds of boxes, on flights.

What one learns: a few graded components may predict as well as many boxes, and held-out cells say
so. Each component is a weight and a profile per
mode, and ``explain`` says which of them make up a prediction. Here the first component is the way
to the airport, and the second what the winter adds.
"""

import tempfile
from pathlib import Path

import pyarrow as pa

import intensor
from intensor.datasets import flights
from intensor.plots import components

PICTURE = "components.png"


def read_flights() -> pa.Table:
    """Return air times of flights from New York as a table with a column per mode."""
    table = flights()
    columns = {mode: table.mode_labels(at) for at, mode in enumerate(table.labels.modes)}
    return pa.table({**columns, table.labels.value: table.values})


def main() -> None:
    """Fit boxes, simplify them to ever more components, and read the model of four."""
    data = read_flights()
    _, fit = intensor.complete(
        data,
        value="air_time",
        cells="all",
        unseen="mean",
        components="boxes",
        transform="sqrt",
        baseline="none",
        remainder="none",
        exact="off",
    )
    print(f"full fit: {len(fit.model)} boxes, radius {fit.radius:.1f}")
    for n in (1, 2, 3, 4, 8):
        simple = fit.simplify(n, data)
        noun = "component" if n == 1 else "components"
        print(
            f"{n} {noun}: RMSE {simple.error:.2f} minutes on {simple.held_out} held-out cells, "
            f"all boxes {simple.error_of_full:.2f}"
        )
    small = fit.simplify(4, data).fit
    print(f"recomputed, the certificate holds: {small.verify(data).ok}\n")
    print(small.explain({"origin": "JFK", "dest": "LAX", "carrier": "AA", "month": 1}), "\n")
    print(small.explain({"origin": "JFK", "dest": "LAX", "carrier": "AA", "month": 7}))
    with tempfile.TemporaryDirectory() as folder:
        draw(small, Path(folder))


def draw(fit: intensor.Fit, folder: Path) -> None:
    """Write the picture of the components."""
    components(fit).savefig(folder / PICTURE, dpi=100)


if __name__ == "__main__":
    main()
