"""Golden results: what small seeded problems and model files gave when they were written.

    python tests/golden_cases.py

writes ``solves.json``, ``fits.json`` and the model files of the present format in ``tests/golden``
again. Do that on purpose only, and look at the difference before you commit it. Files of older
formats are never written again: the last commit that had format 1 wrote those of version 1.
"""

import json
import sys
from pathlib import Path

import numpy as np

import intensor

FOLDER = Path(__file__).parent / "golden"
SOLVES = FOLDER / "solves.json"
FITS = FOLDER / "fits.json"
SOLVE_CASES = {
    "fast": {"shape": (6, 6, 6), "n": 150, "noise": 0.0, "rtol": 1e-3},
    "fast noisy": {"shape": (4, 4, 4), "n": 50, "noise": 0.1, "rtol": 1e-2},
    "fast repeats": {"shape": (3, 3, 3), "n": 200, "noise": 0.1, "rtol": 1e-2},
    "fast branch": {"shape": (5, 4, 3), "n": 50, "noise": 0.1, "rtol": 1e-2, "exact": "branch"},
    "fast signed": {"shape": (4, 3, 3), "n": 60, "noise": 0.1, "rtol": 1e-2, "signed": True},
    "fast seed 3": {"shape": (5, 5, 5), "n": 80, "noise": 0.0, "rtol": 1e-3, "seed": 3},
    **{
        f"version {version}": {
            "shape": (4, 4, 4),
            "n": 60,
            "noise": 0.0,
            "version": version,
            "tol": 1e-4,
            "rtol": 0.0,
        }
        for version in range(11)
    },
}
FIT_SHAPE = (8, 7, 5)
FIT_CASES = {
    "default": {},
    "radius": {"radius": 25.0, "rtol": 1e-3, "exact": "off"},
    "scales": {"transform": "auto", "baseline": "auto"},
    "scales and kriging": {"transform": "auto", "baseline": "auto", "remainder": "auto"},
    "three solutions": {"n_solutions": 3, "validation": 3},
    "absolute errors": {"validation": "auto", "scoring": "mae", "random_state": 5},
    "version 8": {"version": 8, "radius": 25.0, "rtol": 1e-1},
}
MODEL_CASES = {
    "model-2": {"remainder": "none", "transform": "sqrt", "baseline": "additive"},
    "model-2-kriging": {"remainder": "kriging", "transform": "none", "baseline": "none"},
}
"""Written by the present format, version 2."""
MODEL_SHAPE = (5, 4, 3)


def every_cell(shape):
    return np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), -1).reshape(-1, len(shape))


def solve_case(name, *, threads=1):
    """Solve a case and return what is kept of it."""
    options = dict(SOLVE_CASES[name])
    shape = options.pop("shape")
    data = intensor.planted(shape, options.pop("n"), noise=options.pop("noise"))
    result = intensor.solve(
        data.coords, data.values, shape=shape, radius=1.0, threads=threads, **options
    )
    flags = result.model.vertices.flags()
    return {
        "status": result.status.name,
        "vertices": ["".join(map(str, row.tolist())) for row in flags],
        "weights": result.model.weights.tolist(),
        "objective": result.objective,
        "bound": result.bound,
    }


def golden_fit(name, *, threads=1):
    """Fit a case to noisy values of a smooth tensor and return what is kept of it."""
    cells = every_cell(FIT_SHAPE)
    rng = np.random.default_rng(1)
    turns = [np.arange(length) / length for length in FIT_SHAPE]
    truth = np.exp(np.add.outer(np.add.outer(np.sin(4 * turns[0]), turns[1]), np.cos(turns[2])))
    seen = cells[rng.permutation(len(cells))[:150]]
    values = truth[tuple(seen.T)] * (1.0 + 0.05 * rng.uniform(-1.0, 1.0, len(seen)))
    completer = intensor.TensorCompleter(shape=FIT_SHAPE, threads=threads, **FIT_CASES[name])
    fit = completer.fit(seen, values).fit_
    return {
        "status": fit.status.name,
        "boxes": len(fit.model),
        "radius": fit.radius,
        "objective": fit.objective,
        "bound": fit.bound,
        "predicted": fit.predict(cells, unseen="mean").tolist(),
    }


def fit_case(options):
    data = intensor.planted(MODEL_SHAPE, 60, noise=0.05)
    completer = intensor.TensorCompleter(shape=MODEL_SHAPE, radius=1.0, threads=1, **options)
    return completer.fit(data.coords, data.values).fit_


def write_model(name, fit):
    fit.save(FOLDER / f"{name}.npz")
    expected = {
        "predicted": fit.predict(every_cell(MODEL_SHAPE), unseen="mean").tolist(),
        "objective": fit.objective,
        "bound": fit.bound,
        "boxes": len(fit.model),
        "status": fit.status.name,
    }
    (FOLDER / f"{name}.json").write_text(json.dumps(expected, indent=1) + "\n")


def write():
    FOLDER.mkdir(exist_ok=True)
    found = {name: solve_case(name) for name in SOLVE_CASES}
    SOLVES.write_text(json.dumps(found, indent=1) + "\n")
    fits = {name: golden_fit(name) for name in FIT_CASES}
    FITS.write_text(json.dumps(fits, indent=1) + "\n")
    for name, options in MODEL_CASES.items():
        write_model(name, fit_case(options))


if __name__ == "__main__":
    sys.exit(write())
