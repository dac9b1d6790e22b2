"""Random problems, each solved, verified and held against the nearest point of all vertices."""

import pytest

from intensor.solver.variants import VERSIONS as ROWS
from soak.checker import best_of, check
from soak.problems import RTOL, VERSIONS, draw

SLICE = range(36)
"""Three of each version: they come in turn."""
ALL = range(1000)
BATCH = 50


def findings(numbers):
    found = []
    for number in numbers:
        problem = draw(number)
        found += [
            f"{number}: {finding}" for finding in check(problem, problem.solve(), best_of(problem))
        ]
    return found


@pytest.mark.parametrize("version", range(len(VERSIONS)))
def test_nothing_is_wrong_with_a_slice(version):
    numbers = [number for number in SLICE if number % len(VERSIONS) == version]
    assert len(numbers) == 3
    assert findings(numbers) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(ALL.start, ALL.stop, BATCH))
def test_nothing_is_wrong_with_a_thousand(first):
    assert findings(range(first, first + BATCH)) == []


def test_the_thousand_are_of_all_kinds():
    problems = [draw(number) for number in ALL]
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
