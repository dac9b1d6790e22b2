"""Golden results: what small seeded problems and model files gave when they were written.

    python tests/golden_cases.py write

writes ``solves.json``, ``fits.json`` and the model files of the present format in ``tests/golden``
again. Do that on purpose only, and look at the difference before you commit it. Files of older
formats are never written again: the last commit that had format 1 wrote those of version 1.

    python tests/golden_cases.py compare OTHER/src

solves and fits with this code and with another version of it, and says where any bit differs. Last
digits depend on the processor and on the compiler, and solves that meet ties depend on last
digits. So every result is kept with the ``platform`` that it was computed on. When a case changes
on purpose, what other platforms gave is deleted.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import llvmlite
import llvmlite.binding
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
"""Options beside those of boxes, and one solution."""
BOXES = {"components": "boxes", "n_solutions": 1}
MODEL_CASES = {
    "model-4": {"remainder": "none", "transform": "sqrt", "baseline": "additive"},
    "model-4-kriging": {"remainder": "kriging", "transform": "none", "baseline": "none"},
    "model-4-clipped": {"remainder": "none", "clip": (0.05, 0.1)},
    "model-4-graded": {"remainder": "none", "components": "graded", "n_solutions": 2},
}
"""Models of the newest version of the format; those of older versions stay as they were written."""
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
        "tolerance": result.tolerance,
    }


def golden_fit(name, *, threads=1):
    """Fit a case to noisy values of a smooth tensor and return what is kept of it."""
    cells = every_cell(FIT_SHAPE)
    rng = np.random.default_rng(1)
    turns = [np.arange(length) / length for length in FIT_SHAPE]
    truth = np.exp(np.add.outer(np.add.outer(np.sin(4 * turns[0]), turns[1]), np.cos(turns[2])))
    seen = cells[rng.permutation(len(cells))[:150]]
    values = truth[tuple(seen.T)] * (1.0 + 0.05 * rng.uniform(-1.0, 1.0, len(seen)))
    options = BOXES | FIT_CASES[name]
    completer = intensor.TensorCompleter(shape=FIT_SHAPE, threads=threads, **options)
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


def platform():
    """Return what the last digits of a result depend on."""
    numpy_version = ".".join(np.__version__.split(".")[:2])
    processor = llvmlite.binding.get_host_cpu_name()
    return f"{processor}, llvmlite {llvmlite.__version__}, numpy {numpy_version}"


def all_results():
    return {
        "solves": {name: solve_case(name) for name in SOLVE_CASES},
        "fits": {name: golden_fit(name) for name in FIT_CASES},
    }


def write():
    for file, results in zip((SOLVES, FITS), all_results().values(), strict=True):
        recorded = json.loads(file.read_text()) if file.exists() else {}
        recorded[platform()] = results
        file.write_text(json.dumps(recorded, indent=1) + "\n")
    for name, options in MODEL_CASES.items():
        write_model(name, fit_case(options))


def compare(other):
    """Return the names of the cases in which another version of the code differs in any bit."""
    environment = {**os.environ, "PYTHONPATH": str(Path(other).resolve())}
    command = [sys.executable, __file__, "print"]
    printed = subprocess.run(command, env=environment, capture_output=True, check=True).stdout
    theirs, ours = json.loads(printed), json.loads(json.dumps(all_results()))
    return [
        f"{kind}: {name}"
        for kind, results in ours.items()
        for name, result in results.items()
        if result != theirs[kind][name]
    ]


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["write"]:
            write()
        case ["print"]:
            print(json.dumps(all_results()))
        case ["compare", other]:
            different = compare(other)
            print("\n".join(different) or "no difference")
            sys.exit(bool(different))
        case _:
            sys.exit(__doc__)
