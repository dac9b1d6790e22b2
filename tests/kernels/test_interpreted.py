"""Kernels run as plain Python if the compiler is switched off, with the same result."""

import json
import os
import subprocess
import sys

import pytest

import intensor

CODE = """
import json, sys
import intensor
data = intensor.planted((2, 3, 2), 12, noise=0.1)
result = intensor.solve(
    data.coords, data.values, shape=data.shape, radius=1.0, exact="enumeration"
)
figures = {"status": result.status.name, "objective": result.objective, "bound": result.bound}
json.dump(figures, sys.stdout)
"""


def test_a_solve_without_the_compiler_ends_where_a_compiled_one_does():
    answer = subprocess.run(
        [sys.executable, "-W", "ignore:overflow:RuntimeWarning", "-c", CODE],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
    )
    found = json.loads(answer.stdout)
    data = intensor.planted((2, 3, 2), 12, noise=0.1)
    compiled = intensor.solve(
        data.coords, data.values, shape=data.shape, radius=1.0, exact="enumeration"
    )
    assert found["status"] == compiled.status.name == "OPTIMAL"
    assert found["objective"] == pytest.approx(compiled.objective, rel=1e-9)
    assert found["bound"] <= compiled.objective
    assert compiled.bound <= found["objective"]
