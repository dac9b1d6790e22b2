"""The rules of ARCHITECTURE.md that a machine can check."""

import ast
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import intensor

SOURCE = Path(intensor.__file__).parent

# Imports go from a stage to itself or an earlier one, never forward.
STAGES = [
    {"_arrays", "errors"},
    {"runtime"},
    {"kernels"},
    {"options"},
    {"storage"},
    {"data"},
    {"problem"},
    {"backends"},
    {"model"},
    {"oracles"},
    {"solver"},
    {"certificate"},
    {"_planted", "_gauge", "_solve", "_verify"},
    {"fitting"},
    {"containers", "datasets"},
    {"_estimator", "_complete"},
    {"plots", "report"},
    {"cli", "__init__"},
    {"__main__"},
]


def stage_of(name):
    for number, stage in enumerate(STAGES):
        if name in stage:
            return number
    raise AssertionError(f"{name} has no stage: add it to STAGES and ARCHITECTURE.md")


def imported_by(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            if node.module == "intensor":
                yield from (alias.name for alias in node.names)
            elif node.module.startswith("intensor."):
                yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "intensor":
                    yield alias.name.split(".")[1] if "." in alias.name else "__init__"


def test_imports_only_go_to_earlier_stages():
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        for other in imported_by(path):
            assert stage_of(other) <= stage_of(name), f"{path.name} imports {other}"


def test_modules_say_where_they_stand():
    for path in SOURCE.rglob("*.py"):
        assert ast.get_docstring(ast.parse(path.read_text())), f"{path} has no docstring"


def test_public_surface():
    assert sorted(intensor.__all__) == intensor.__all__
    assert intensor.__all__ == [
        "Box",
        "Counters",
        "Fit",
        "GaugeNorm",
        "Labels",
        "Model",
        "Planted",
        "Progress",
        "RadiusPath",
        "Result",
        "Seconds",
        "Status",
        "TensorCompleter",
        "Validation",
        "Verification",
        "complete",
        "errors",
        "gauge_norm",
        "load",
        "nmse",
        "planted",
        "plots",
        "report",
        "solve",
        "verify",
    ]
    for name in intensor.__all__:
        assert getattr(intensor, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing_of_the_kind'"):
        _ = intensor.nothing_of_the_kind


def test_optional_solvers_are_imported_lazily():
    code = "import intensor, sys; print('gurobipy' in sys.modules or 'pyscipopt' in sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "False"


def imported_with(code):
    """Return the top-level packages that a fresh interpreter has loaded after some code."""
    code = f"{code}\nimport sys; print(*{{name.split('.')[0] for name in sys.modules}})"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(answer.stdout.split())


HEAVY = {
    "distributed",
    "gurobipy",
    "highspy",
    "matplotlib",
    "narwhals",
    "numba",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "pyscipopt",
    "rich",
    "scipy",
    "sklearn",
    "typer",
    "xarray",
}


def test_importing_the_library_is_light():
    # Other packages may be asked in by the environment when an interpreter starts.
    loaded = imported_with("import intensor") - imported_with("pass")
    assert "intensor" in loaded
    assert loaded & HEAVY == set()


def test_solving_imports_no_more_than_it_needs():
    bare = imported_with("import numba")
    loaded = imported_with("import intensor; intensor.solve, intensor.verify") - bare
    assert loaded & HEAVY == set()
    assert "sklearn" in imported_with("import intensor; intensor.TensorCompleter")


def test_every_public_name_says_where_it_lives():
    namespace = {}
    exec("from intensor import *", namespace)
    assert set(intensor.__all__) <= set(namespace)
    assert set(intensor.__all__) <= set(dir(intensor))
    for name, home in intensor._HOMES.items():
        assert name in intensor.__all__
        assert getattr(intensor, name).__module__ == f"intensor.{home}"


def test_no_module_has_the_name_of_a_public_function():
    # Importing such a module would put it on the package, in the place of the function.
    modules = {path.stem for path in SOURCE.iterdir()}
    assert modules & set(intensor._HOMES) == set()


# --- what belongs into which room

MODULES = sorted(SOURCE.rglob("*.py"))
CODE = {path.relative_to(SOURCE).as_posix(): path.read_text() for path in MODULES}
KERNEL_ROOMS = ("kernels", "oracles/exact", "backends/cuda")
"""Rooms that may hold compiled functions."""
KERNELS_MAY_IMPORT = (
    "__future__",
    "collections.abc",
    "llvmlite",
    "numba",
    "numpy",
    "typing",
    "intensor._arrays",
    "intensor.kernels",
    "intensor.runtime.compiling",
)
TWINS = {
    "__init__": "every package has one",
    "base": "the protocol of a room",
    "cells": "each backend's implementation of the protocol Cells",
    "engine": "the protocol of engines, and one engine in each of two rooms",
    "fit": "the command, and the function that it calls",
    "gram": "the CPU and CUDA kernels of the same sums",
    "lanes": "the CPU and CUDA kernels of the same sums",
    "observations": "the observations in memory and on a CUDA device",
    "options": "the options of a fit in Python, and those of the commands",
    "oracle": "the oracle of a room: our own searches, and integer programming",
    "shard": "a shard in memory and on a CUDA device",
    "sums": "the CPU and CUDA kernels of the same sums",
}
"""Base names that several modules share, and why."""


def relative(path):
    return path.relative_to(SOURCE).as_posix()


def modules_imported_by(path):
    """Yield the full names of the modules that a module imports, wherever it does."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{relative(path)} has a relative import"
            yield node.module


def has_kernels(path):
    """Return whether a module compiles functions with Numba for CPUs or CUDA devices."""
    decorators = [
        ast.unparse(decorator)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
    ]
    return any("jit" in decorator for decorator in decorators)


@pytest.mark.parametrize("path", sorted((SOURCE / "kernels").glob("*.py")), ids=relative)
def test_kernels_import_nothing_else(path):
    for name in modules_imported_by(path):
        allowed = any(name == known or name.startswith(known + ".") for known in KERNELS_MAY_IMPORT)
        assert allowed, f"{relative(path)} imports {name}"


@pytest.mark.parametrize("path", sorted((SOURCE / "kernels").glob("*.py")), ids=relative)
def test_kernel_modules_hold_kernels_alone(path):
    # Bit instructions are intrinsics, with plain twins for runs without the compiler.
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef) and path.stem != "bits":
            decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
            assert len(decorators) == 1, node.name
            assert decorators[0].startswith("njit(cache=True, nogil=True"), node.name
            names = [argument.arg for argument in node.args.args]
            outputs = [name == "out" or name.startswith("out_") for name in names]
            assert outputs == sorted(outputs), f"{node.name}: outputs come last"
            returned = ast.unparse(node.returns)
            assert any(outputs) or returned != "None", f"{node.name} has no output"
        assert not isinstance(node, ast.ClassDef)


def test_kernels_are_in_their_rooms():
    found = {relative(path) for path in MODULES if has_kernels(path)}
    strays = {name for name in found if not name.startswith(KERNEL_ROOMS)}
    assert strays <= {"runtime/compiling.py"}


def test_modules_of_one_name_are_twins():
    by_name = defaultdict(list)
    for path in MODULES:
        by_name[path.stem].append(relative(path))
    shared = {name: paths for name, paths in by_name.items() if len(paths) > 1}
    for name, paths in shared.items():
        assert name in TWINS, f"unrelated modules share a name: {paths}"
    assert set(TWINS) <= set(shared), "remove the names that only one module has"


# --- strings end at the faces

CHOICES = {
    "version": {"fast"},
    "device": {"cpu", "cuda", "auto"},
    "exact": {"auto", "enumeration", "branch", "highs", "scip", "gurobi", "off"},
    "transform": {"none", "sqrt", "log1p", "custom"},
    "baseline": {"none", "additive"},
    "remainder": {"none", "kriging"},
    "scoring": {"rmse", "mae", "nmse", "r2", "mape"},
}

# The faces turn strings into objects, so they may compare.
FACES = ("_solve.py", "_complete.py", "_estimator.py", "options/", "fitting/options.py", "cli/")
FACES += ("data/readers/", "fitting/model_file.py")


def strings_in(node):
    """Yield the string literals of an operand: the operand itself, or the items of a display."""
    parts = node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]
    yield from (part.value for part in parts if isinstance(part, ast.Constant))


def comparisons(code):
    """Return the lines that compare something with the name of a choice."""
    names = set().union(*CHOICES.values())
    lines = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            operands = [node.value]
        else:
            continue
        if any(text in names for operand in operands for text in strings_in(operand)):
            lines.append(node.lineno)
    return lines


def engine_questions(code):
    """Return the lines that ask whether something is a certain kind of engine or version."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("isinstance", "type")
        and any(word in ast.unparse(node) for word in ("Engine", "Blended", "Fast"))
    ]


def test_no_module_behind_the_faces_compares_with_the_name_of_a_choice():
    inside = {name: code for name, code in CODE.items() if not name.startswith(FACES)}
    found = {name for name, code in inside.items() if comparisons(code)}
    assert found == set(), "turn the string into an object at the faces"


def test_no_module_asks_for_the_kind_of_an_engine():
    assert {name for name, code in CODE.items() if engine_questions(code)} == set()


def test_the_search_finds_what_it_looks_for():
    assert comparisons("if version == 'fast': pass") == [1]
    assert comparisons("x = 1\ny = device not in ('cpu', 'auto')") == [2]
    assert comparisons("match exact:\n    case 'off': pass") == [2]
    assert comparisons("x == 'something else'; y = 'fast'") == []
    assert engine_questions("isinstance(engine, FastEngine)") == [1]
    assert engine_questions("isinstance(engine, int)") == []
