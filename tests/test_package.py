"""The package is an ordinary module: functions that use it travel, and no import changes it."""

import doctest
import importlib
import pickle
import subprocess
import sys
from textwrap import dedent
from types import ModuleType

import cloudpickle
import numpy as np
import pytest

import intensor


def run(code, *arguments):
    """Run code as the main module of a fresh interpreter and return what it prints."""
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", dedent(code), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.split()


def test_the_package_is_a_plain_module():
    assert type(intensor) is ModuleType
    assert cloudpickle.loads(cloudpickle.dumps(intensor)) is intensor


USES_THE_PACKAGE = """
    import intensor

    def work():
        return intensor.Status.OPTIMAL, intensor.complete.__name__
"""


def test_a_function_of_the_main_module_survives_cloudpickle(tmp_path):
    path = tmp_path / "function"
    main = {"__name__": "__main__"}
    exec(dedent(USES_THE_PACKAGE), main)
    assert main["work"].__module__ == "__main__"  # so it is pickled with its code, not by its name
    path.write_bytes(cloudpickle.dumps(main["work"]))
    answer = run(
        """
            import pickle, sys
            with open(sys.argv[1], "rb") as file:
                work = pickle.load(file)
            status, name = work()
            print(status, name)
        """,
        str(path),
    )
    assert answer == ["OPTIMAL", "complete"]


SHIPPERS = {
    "joblib": """
        from joblib.externals.loky import ProcessPoolExecutor
        with ProcessPoolExecutor(1) as pool:
            status, name = pool.submit(work).result(timeout=60)
    """,
    "distributed": """
        from distributed import Client, LocalCluster
        with LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster, Client(cluster) as client:
            status, name = client.submit(work).result(timeout=60)
    """,
}


@pytest.mark.slow
@pytest.mark.parametrize("package", SHIPPERS)
def test_a_function_of_the_main_module_runs_in_another_process(package, tmp_path):
    pytest.importorskip(package)
    program = tmp_path / "program.py"  # workers of Dask import the main module again
    body = dedent(SHIPPERS[package]) + "print(status is intensor.Status.OPTIMAL, name)\n"
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    program.write_text(dedent(USES_THE_PACKAGE) + 'if __name__ == "__main__":\n' + indented)
    answer = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=False, timeout=120
    )
    assert answer.stdout.split() == ["True", "complete"], answer.stderr


@pytest.mark.parametrize(
    "first",
    [
        "import intensor._complete, intensor._planted",
        pytest.param("from intensor import complete, planted", marks=pytest.mark.slow),
        pytest.param("from intensor import *", marks=pytest.mark.slow),
        pytest.param(
            "import intensor.cli.complete, intensor._estimator; importlib.reload(intensor)",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_public_functions_stay_functions_whatever_is_imported(first):
    code = f"""
        import importlib
        import intensor
        {first}
        import intensor._complete, intensor._planted
        for name in ("complete", "planted"):
            assert getattr(intensor, name) is getattr(getattr(intensor, "_" + name), name)
            assert name in dir(intensor)
        print("fine")
    """
    assert run(code) == ["fine"]


def test_reloading_keeps_what_was_handed_out():
    status, function = intensor.Status, intensor.solve
    assert importlib.reload(intensor) is intensor
    assert intensor.Status is status
    assert intensor.solve is function


def test_completion_offers_the_public_names_alone():
    import intensor.cli  # noqa: PLC0415  (which puts private modules on the package)

    offered = [name for name in dir(intensor) if not name.startswith("__")]
    assert offered == sorted(intensor.__all__)
    assert {"__version__", "__doc__", "__all__"} <= set(dir(intensor))


def test_names_that_are_missing_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'compleat'"):
        _ = intensor.compleat
    assert not hasattr(intensor, "__wrapped__")


def test_results_and_fits_are_pickled_by_their_modules():
    data = intensor.planted((3, 3), 8)
    result = intensor.solve(data.coords, data.values, shape=data.shape, radius=1.0, exact="off")
    _, fit = intensor.complete(np.array([[1.0, 2.0], [3.0, np.nan]]), radius=3.0, exact="off")
    for thing in (data, result, fit):
        again = pickle.loads(pickle.dumps(thing))
        assert type(again) is type(thing)
    assert pickle.loads(pickle.dumps(result)).objective == result.objective


def test_doctest_finds_the_examples_of_the_package_once():
    found = [test.name for test in doctest.DocTestFinder().find(intensor) if test.examples]
    assert found == ["intensor"]
