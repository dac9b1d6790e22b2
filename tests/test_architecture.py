"""The rules of ARCHITECTURE.md that a machine can check.

A rule is a function of all modules, by path and text, that returns what breaks it. Every rule is
tried on the package, where it must find nothing, and on a package with a breach, which it finds.
"""

import ast
import json
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

import intensor
from intensor.options import declared
from intensor.options.option import Option

SOURCE = Path(intensor.__file__).parent
CODE = {path.relative_to(SOURCE).as_posix(): path.read_text() for path in SOURCE.rglob("*.py")}

# Imports go from a stage to itself or an earlier one, never forward.
STAGES = [
    {"_arrays", "_text", "errors"},
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
    {"containers", "datasets"},
    {"fitting"},
    {"_estimator", "_fit", "_complete"},
    {"_warmup"},
    {"plots", "report"},
    {"cli", "__init__"},
    {"__main__"},
]
KERNEL_ROOMS = ("kernels/", "oracles/exact/", "backends/cuda/", "runtime/compiling.py")
"""Where compiled functions may be: the rooms of kernels, and the decorator itself."""
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
    "components": "the CPU and CUDA kernels of the same sums",
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
FACES = ("_solve.py", "_fit.py", "_complete.py", "_estimator.py", "options/", "cli/")
FACES += ("fitting/options.py", "data/readers/", "fitting/model_file.py")
"""Modules that turn strings into objects, and so may compare them."""
CHOICES = {"fast", "custom", "r2", "nmse"}
CHOICES |= {
    choice
    for option in vars(declared).values()
    if isinstance(option, Option)
    for choice in option.choices
}
"""Names of choices that users make; behind the faces they are objects."""


@cache
def parsed(code):
    return ast.parse(code)


@cache
def nodes_by_kind(code):
    """Return the nodes of a module by their class; the tree is walked once for all rules."""
    found = defaultdict(list)
    for node in ast.walk(parsed(code)):
        found[type(node)].append(node)
    return found


def nodes(code, *kinds):
    return [node for kind in kinds for node in nodes_by_kind(code)[kind]]


def imports(code):
    """Yield the full names of the modules that a module imports, wherever it does."""
    for node in nodes(code, ast.Import, ast.ImportFrom):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif node.level:
            yield "." * node.level
        elif node.module == "intensor":
            yield from (f"intensor.{alias.name}" for alias in node.names)
        else:
            yield node.module


def stage_of(name):
    return next((number for number, stage in enumerate(STAGES) if name in stage), None)


def imports_of_later_stages(modules):
    for path, code in modules.items():
        stage = stage_of(path.split("/")[0].removesuffix(".py"))
        if stage is None:
            yield f"{path} has no stage; add it to STAGES and ARCHITECTURE.md"
            continue
        for name in imports(code):
            room = (f"{name}.__init__").split(".")[1] if name.split(".")[0] == "intensor" else None
            if name.startswith(".") or (room and not (stage_of(room) or 0) <= stage):
                yield f"{path} imports {name}"


def modules_without_docstring(modules):
    return [path for path, code in modules.items() if not ast.get_docstring(parsed(code))]


def foreign_imports_of_kernels(modules):
    for path, code in modules.items():
        if path.startswith("kernels/"):
            for name in imports(code):
                if not any(f"{name}.".startswith(f"{known}.") for known in KERNELS_MAY_IMPORT):
                    yield f"{path} imports {name}"


def what_kernel_modules_hold_besides_kernels(modules):
    for path, code in modules.items():
        # Bit instructions are intrinsics, with plain twins for runs without the compiler.
        if not path.startswith("kernels/") or path == "kernels/bits.py":
            continue
        for node in parsed(code).body:
            if isinstance(node, ast.ClassDef):
                yield f"{path}: class {node.name}"
            elif isinstance(node, ast.FunctionDef):
                decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
                if not re.fullmatch(r"njit\(cache=True, nogil=True[^;]*\)", ";".join(decorators)):
                    yield f"{path}: {node.name} is no kernel"
                outputs = [re.match("out(_|$)", one.arg) is not None for one in node.args.args]
                if outputs != sorted(outputs):
                    yield f"{path}: the outputs of {node.name} do not come last"
                if not any(outputs) and ast.unparse(node.returns) == "None":
                    yield f"{path}: {node.name} has no output"


def kernels_outside_their_rooms(modules):
    for path, code in modules.items():
        for node in nodes(code, ast.FunctionDef):
            compiled = any("jit" in ast.unparse(one) for one in node.decorator_list)
            if compiled and not path.startswith(KERNEL_ROOMS):
                yield f"{path}: {node.name}"


def unrelated_modules_of_one_name(modules):
    by_name = defaultdict(list)
    for path in modules:
        by_name[Path(path).stem].append(path)
    shared = {name for name, paths in by_name.items() if len(paths) > 1}
    yield from (f"unrelated modules share a name: {by_name[name]}" for name in shared - set(TWINS))
    yield from (f"only one module is called {name}" for name in set(TWINS) - shared)


def comparisons_with_the_name_of_a_choice(modules):
    """A string becomes an object at the faces, once; nothing behind them compares with it."""
    for path, code in modules.items():
        for node in nodes(code, ast.Compare, ast.MatchValue):
            if not path.startswith(FACES) and CHOICES & set(strings_in(node)):
                yield f"{path}, line {node.lineno}"


def strings_in(node):
    """Yield the string literals that a node compares with, alone or in a tuple, list or set."""
    operands = [node.value] if isinstance(node, ast.MatchValue) else [node.left, *node.comparators]
    for operand in operands:
        for part in getattr(operand, "elts", [operand]):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.value


def questions_for_the_kind_of_an_engine(modules):
    for path, code in modules.items():
        for node in nodes(code, ast.Call):
            asks = isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "type")
            if asks and re.search("Engine|Blended|Fast", ast.unparse(node)):
                yield f"{path}, line {node.lineno}"


def modules_named_like_public_functions(modules):
    """Importing such a module would put it on the package, in the place of the function."""
    return [path for path in modules if path.removesuffix(".py") in intensor._HOMES]


BREACHES = [
    (imports_of_later_stages, "data/x.py", "from intensor.solver.loop import solve"),
    (imports_of_later_stages, "data/x.py", "def f():\n    import intensor.report.page"),
    (imports_of_later_stages, "solver/x.py", "from intensor import solve, plots"),
    (imports_of_later_stages, "solver/x.py", "import intensor"),
    (imports_of_later_stages, "solver/x.py", "from .. import cli"),
    (imports_of_later_stages, "attic/x.py", ""),
    (modules_without_docstring, "data/x.py", "X = 1"),
    (foreign_imports_of_kernels, "kernels/x.py", "import scipy.sparse"),
    (foreign_imports_of_kernels, "kernels/x.py", "from intensor.runtime import memory"),
    (foreign_imports_of_kernels, "kernels/x.py", "from intensor.problem.vertex import Vertices"),
    (what_kernel_modules_hold_besides_kernels, "kernels/x.py", "class X: pass"),
    (what_kernel_modules_hold_besides_kernels, "kernels/x.py", "def f(a) -> float: pass"),
    (
        what_kernel_modules_hold_besides_kernels,
        "kernels/x.py",
        "@njit(cache=True, nogil=True)\ndef f(out, a) -> float: pass",
    ),
    (
        what_kernel_modules_hold_besides_kernels,
        "kernels/x.py",
        "@njit(cache=True, nogil=True)\ndef f(a) -> None: pass",
    ),
    (kernels_outside_their_rooms, "solver/x.py", "@njit(cache=True)\ndef f(a): pass"),
    (unrelated_modules_of_one_name, "solver/labels.py", ""),
    (comparisons_with_the_name_of_a_choice, "solver/x.py", "if version == 'fast': pass"),
    (comparisons_with_the_name_of_a_choice, "model/x.py", "y = device not in ('cpu', 'auto')"),
    (comparisons_with_the_name_of_a_choice, "x.py", "match exact:\n    case 'off': pass"),
    (questions_for_the_kind_of_an_engine, "solver/x.py", "isinstance(engine, FastEngine)"),
    (modules_named_like_public_functions, "solve.py", ""),
]
"""For each rule, what it must notice: the path and the text of a module."""


# One test for all rules and one for all breaches: every process that runs one parses all modules.


def test_no_module_breaks_a_rule():
    rules = dict.fromkeys(rule for rule, *_ in BREACHES)
    found = {rule.__name__: list(rule(CODE)) for rule in rules}
    assert found == {rule.__name__: [] for rule in rules}


def test_a_breach_is_noticed():
    for rule, path, code in BREACHES:
        found = list(rule(CODE | {path: code}))
        assert len(found) == 1, (rule.__name__, code)
        assert path in found[0]


# What users can reach, and what that costs them


def test_every_public_name_says_where_it_lives():
    namespace = {}
    exec("from intensor import *", namespace)
    assert sorted(intensor.__all__) == intensor.__all__
    assert set(intensor.__all__) <= set(namespace)
    assert set(intensor.__all__) <= set(dir(intensor))
    for name, home in intensor._HOMES.items():
        assert name in intensor.__all__
        assert getattr(intensor, name).__module__ == f"intensor.{home}"


HEAVY = [
    *("distributed", "gurobipy", "highspy", "matplotlib", "narwhals", "numba", "numpy", "pandas"),
    *("polars", "pyarrow", "pyscipopt", "rich", "rich.live", "scipy", "sklearn", "typer", "xarray"),
]
STEPS = {
    "nothing": "pass",
    "the package": "import intensor",
    "the command line": "from intensor.cli import main",
    "help": "assert [main(call.split()) for call in ('-h', 'fit -h', '--version')] == [0, 0, 0]",
    "numba": "import numba",
    "the solver": "intensor.solve, intensor.verify",
    "pictures": "import intensor.plots, intensor.report",
}
MORE_STEPS = STEPS | {"the estimator": "intensor.TensorCompleter"}


def loaded_by(steps):
    """Return the heavy packages that each of the steps loads in a fresh interpreter."""
    lines = ["import json, sys", "loaded = []"]
    for step in steps.values():
        lines += [step, f"loaded.append([name for name in {HEAVY} if name in sys.modules])"]
    code = "\n".join([*lines, "print(json.dumps(loaded))"])
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    found = [set(), *map(set, json.loads(answer.stdout.splitlines()[-1]))]
    return {
        step: after - before for step, before, after in zip(steps, found, found[1:], strict=False)
    }


def test_importing_loads_no_more_than_it_needs():
    loaded = loaded_by(STEPS)
    assert loaded["the package"] == set()
    assert loaded["the command line"] <= {"typer", "rich"}
    assert loaded["help"] <= {"rich"}
    assert loaded["the solver"] == set()
    assert "matplotlib" not in loaded["pictures"]
    assert "numpy" in loaded["numba"]  # what is loaded is noticed


@pytest.mark.slow
def test_the_estimator_loads_scikit_learn():
    loaded = loaded_by(MORE_STEPS)
    assert "sklearn" in loaded["the estimator"] | loaded["pictures"]
