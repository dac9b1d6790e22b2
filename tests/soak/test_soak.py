"""Random problems, each solved, verified and held against the nearest point of all vertices."""

import pytest

import zoo
from intensor.solver.variants import VERSIONS as ROWS
from soak.checker import best_of, check
from soak.families import FIRST, SOLVERS, CutFit, draw_any
from soak.problems import RTOL, VERSIONS, draw

# Some problems have limits that end a run before its first box, and some are too small or too noisy
# to be validated. Both are warned of.
pytestmark = [
    pytest.mark.filterwarnings("ignore::intensor.errors.EmptyModelWarning"),
    pytest.mark.filterwarnings("ignore::intensor.errors.ValidationWarning"),
]

SLICE = range(12)
"""One of each version: they come in turn."""
SPECIAL = range(FIRST, FIRST + 9)
"""Three of each family, which come in turn."""
ALL = range(2000)
BATCH = 50


def findings(numbers):
    found = []
    for number in numbers:
        problem = draw_any(number)
        found += [
            f"{number}: {finding}" for finding in check(problem, problem.solve(), best_of(problem))
        ]
    return found


# Versions 4, 7 and 9 walk the same way as 2, 8 and 10.
@pytest.mark.parametrize(
    "version",
    zoo.mostly_slow(range(len(VERSIONS)), telling={*range(len(VERSIONS))} - {4, 7, 9}),
)
def test_nothing_is_wrong_with_a_slice(version):
    numbers = [number for number in SLICE if number % len(VERSIONS) == version]
    assert len(numbers) == 1
    assert findings(numbers) == []


@pytest.mark.parametrize("family", range(3))
def test_nothing_is_wrong_with_special_problems(family):
    numbers = [number for number in SPECIAL if number % 3 == family]
    assert len(numbers) == 3
    assert findings(numbers) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(ALL.start, ALL.stop, BATCH))
def test_nothing_is_wrong_with_two_thousand(first):
    assert findings(range(first, first + BATCH)) == []


@pytest.mark.slow
def test_special_problems_are_of_all_kinds():
    problems = [draw_any(number) for number in range(FIRST, ALL.stop)]
    signed = [problem for problem in problems if problem.kinds[-1].startswith("signed by")]
    assert {problem.options["exact"] for problem in signed} == set(SOLVERS)
    assert len(signed) > 300
    weights = [problem.weights for problem in problems if "extreme weights" in problem.kinds]
    assert max(one.max() / one.min() for one in weights) > 1e11
    fits = [problem for problem in problems if isinstance(problem, CutFit)]
    assert min(problem.options["time_limit"] for problem in fits) < 1e-3
    for name in ("transform", "baseline", "remainder", "n_solutions", "validation"):
        assert len({problem.options[name] for problem in fits}) >= 3


@pytest.mark.slow
def test_the_first_thousand_are_of_all_kinds():
    problems = [draw(number) for number in range(FIRST)]
    assert set(VERSIONS) == set(ROWS) == {problem.options["version"] for problem in problems}
    assert {len(problem.shape) for problem in problems} == {2, 3, 4, 5, 6}
    assert any(1 in problem.shape for problem in problems)
    assert {problem.options["rtol"] for problem in problems} == set(RTOL)
    exact = {problem.options["exact"] for problem in problems}
    assert exact == {"auto", "enumeration", "branch", "off", "highs"}
    kinds = {kind for problem in problems for kind in problem.kinds}
    assert {"signed", "unsigned", "uneven weights", "whole weights", "no weights"} <= kinds
    assert {"tiny radius", "huge radius", "repeated", "few", "zero", "boxes, noise 0"} <= kinds
    sizes = [problem.radius for problem in problems]
    assert min(sizes) < 1e-8
    assert max(sizes) > 1e8
    assert any(problem.options["time_limit"] < 0.01 for problem in problems)


def test_a_number_is_a_problem():
    one, same, other = draw(137), draw(137), draw(138)
    assert one.coords.tolist() == same.coords.tolist()
    assert one.values.tolist() == same.values.tolist()
    assert one.options == same.options
    assert one.options != other.options
