"""Golden results: what small seeded problems and model files gave when they were written.

    python tests/golden_cases.py

writes ``tests/golden/solves.json`` and the model files of the present format anew, on purpose:
look at the difference before it is committed. Files of older formats are never written again;
version 1 was written by the last commit that had that format.
"""

import json
import sys
from pathlib import Path

import numpy as np

import intensor

FOLDER = Path(__file__).parent / "golden"
SOLVES = FOLDER / "solves.json"
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
    for name, options in MODEL_CASES.items():
        write_model(name, fit_case(options))


if __name__ == "__main__":
    sys.exit(write())
