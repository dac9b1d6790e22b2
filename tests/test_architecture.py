"""The rules of ARCHITECTURE.md that a machine can check."""

import ast
import subprocess
import sys
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
