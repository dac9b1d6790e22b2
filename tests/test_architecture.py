"""The rules of ARCHITECTURE.md that a machine can check."""

import ast
import subprocess
import sys
from pathlib import Path

import intensor

SOURCE = Path(intensor.__file__).parent

# Imports go from a stage to itself or an earlier one, never forward.
STAGES = [
    {"arrays", "errors"},
    {"checks", "budget"},
    {"data"},
    {"problem"},
    {"kernels"},
    {"model"},
    {"oracles"},
    {"solver"},
    {"planted", "gauge", "certificate"},
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
        "GaugeNorm",
        "Model",
        "Planted",
        "Progress",
        "Result",
        "Seconds",
        "Status",
        "Verification",
        "errors",
        "gauge_norm",
        "nmse",
        "planted",
        "solve",
        "verify",
    ]


def test_optional_solvers_are_imported_lazily():
    code = "import intensor, sys; print('gurobipy' in sys.modules or 'pyscipopt' in sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "False"
