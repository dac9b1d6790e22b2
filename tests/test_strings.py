"""Behind the faces an option's choice is an object: no module compares with its name."""

import ast
from pathlib import Path

import intensor

SOURCE = Path(intensor.__file__).parent

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
FACES += ("data/readers/",)

# To be removed: what other rooms still compare, and how often.
EXCEPTIONS = {
    "fitting/unpacking.py": 2,
    "report/opening.py": 1,
    "report/series.py": 3,
}


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


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), path.read_text(encoding="utf-8")


def test_no_module_behind_the_faces_compares_with_the_name_of_a_choice():
    found = {name: len(comparisons(code)) for name, code in modules() if not name.startswith(FACES)}
    beyond = {name: count for name, count in found.items() if count > EXCEPTIONS.get(name, 0)}
    assert beyond == {}, "turn the string into an object at the faces"


def test_no_module_asks_for_the_kind_of_an_engine():
    assert {name for name, code in modules() if engine_questions(code)} == set()


def test_the_search_finds_what_it_looks_for():
    assert comparisons("if version == 'fast': pass") == [1]
    assert comparisons("x = 1\ny = device not in ('cpu', 'auto')") == [2]
    assert comparisons("match exact:\n    case 'off': pass") == [2]
    assert comparisons("x == 'something else'; y = 'fast'") == []
    assert engine_questions("isinstance(engine, FastEngine)") == [1]
    assert engine_questions("isinstance(engine, int)") == []
