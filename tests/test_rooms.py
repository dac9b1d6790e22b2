"""What belongs into which room: where kernels are, what they may import, and names of modules."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import intensor

SOURCE = Path(intensor.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
KERNEL_ROOMS = ("kernels", "oracles/exact", "backends/cuda")
"""Rooms that may hold compiled functions."""
KERNELS_ELSEWHERE = {"solver/fast/master.py", "solver/fast/exchange.py"}
"""Modules that still hold kernels of their own and are about to lose them."""
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
    "gram": "the CPU and CUDA kernels of the same sums",
    "lanes": "the CPU and CUDA kernels of the same sums",
    "observations": "the observations in memory and on a CUDA device",
    "shard": "a shard in memory and on a CUDA device",
    "sums": "the CPU and CUDA kernels of the same sums",
}
"""Base names that several modules share, and why."""
UNRELATED = {"errors", "numbers", "patterns", "tables"}
"""Base names that unrelated modules still share and that are about to be renamed."""


def relative(path):
    return path.relative_to(SOURCE).as_posix()


def imported_by(path):
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
    for name in imported_by(path):
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
    assert strays - {"runtime/compiling.py"} <= KERNELS_ELSEWHERE
    assert found >= KERNELS_ELSEWHERE, "remove the modules that have lost their kernels"


def test_modules_of_one_name_are_twins():
    by_name = defaultdict(list)
    for path in MODULES:
        by_name[path.stem].append(relative(path))
    shared = {name: paths for name, paths in by_name.items() if len(paths) > 1}
    for name, paths in shared.items():
        assert name in {*TWINS, *UNRELATED}, f"unrelated modules share a name: {paths}"
    assert set(TWINS) <= set(shared), "remove the names that only one module has"
