"""What an installed intensor must be able to do, in any environment: run by ``.ci/release``.

    python smoke.py [TREE]

uses nothing but the package and what it depends on, in the current folder, which should be an
empty one. The package must not come from TREE. What is optional is tried where it is installed.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import sysconfig
from importlib import metadata, resources
from pathlib import Path

import numpy as np

import intensor

TABLE = """user,item,week,rating
ann,x,1,3
ann,y,1,4
bob,x,1,3.5
bob,y,2,
cat,x,2,1
cat,y,1,2
ann,x,2,5
bob,x,2,4
"""


def main() -> None:
    """Go through everything; an assertion or an exit code says what is wrong."""
    check_where_it_is()
    for check in (check_solver, check_estimator, check_files, check_arrays, check_commands):
        check()
        tell(check.__name__.removeprefix("check_"), "ok")
    for package, check in OPTIONAL.items():
        if importlib.util.find_spec(package):
            check()
            tell(package, f"ok, {metadata.version(package)}")


def tell(name: str, what: str) -> None:
    """Write a line of the protocol."""
    sys.stdout.write(f"  {name:<12}{what}\n")
    sys.stdout.flush()


def check_where_it_is() -> None:
    """The package is the installed one, and what must come with it is there."""
    home = Path(intensor.__file__).resolve().parent
    if len(sys.argv) > 1:
        assert not home.is_relative_to(Path(sys.argv[1]).resolve()), f"imported from {home}"
    assert metadata.version("intensor") == intensor.__version__
    assert (resources.files("intensor") / "py.typed").is_file()
    assert (resources.files("intensor.datasets") / "flights.csv").is_file()
    names = ("numpy", "scipy", "numba", "highspy", "narwhals", "pyarrow", "rich", "scikit-learn")
    versions = [f"{name} {metadata.version(name)}" for name in (*names, "typer")]
    tell("versions", f"Python {sys.version.split()[0]}, {', '.join(versions)}")


def check_solver() -> None:
    """A noisy problem is solved to proven optimality, by two exact oracles that agree."""
    data = intensor.planted((6, 5, 4), 90, noise=0.05)
    common = {"shape": data.shape, "radius": 1.0, "rtol": 1e-5}
    result = intensor.solve(data.coords, data.values, **common)
    assert result.status is intensor.Status.OPTIMAL, result.status
    assert intensor.verify(result, data.coords, data.values).ok
    other = intensor.solve(data.coords, data.values, exact="highs", **common)
    assert other.status is intensor.Status.OPTIMAL, other.status
    assert other.bound <= result.objective + 1e-12
    assert result.bound <= other.objective + 1e-12
    for version in (0, 10):
        old = intensor.solve(data.coords, data.values, version=version, **common)
        assert old.objective >= result.bound - 1e-12


def check_estimator() -> None:
    """An estimator chooses its radius, predicts and can be cloned."""
    from sklearn.base import clone  # noqa: PLC0415

    data = intensor.planted((6, 5, 4), 90, noise=0.05)
    completer = clone(intensor.TensorCompleter(random_state=0)).fit(data.coords, data.values)
    assert completer.predict([[0, 1, 2], [5, 4, 3]]).shape == (2,)
    assert completer.score(data.coords, data.values) > 0.5
    for words in ({"baseline": "additive"}, {"remainder": "kriging"}, {"transform": "sqrt"}):
        other = intensor.TensorCompleter(**words).fit(data.coords, data.values)
        assert np.isfinite(other.predict(data.coords)).all()


def check_files() -> None:
    """A fit that was saved and loaded predicts the same."""
    table = np.outer([1.0, 2.0, 4.0], [1.0, 3.0, 2.0])
    table[1, 2] = np.nan
    _, fit = intensor.complete(table, radius=12.0)
    fit.save("fit.npz")
    cells = [[0, 0], [1, 2], [2, 1]]
    assert intensor.load("fit.npz").predict(cells).tolist() == fit.predict(cells).tolist()


def check_arrays() -> None:
    """Arrays with gaps and Arrow tables come back without gaps."""
    import pyarrow as pa  # noqa: PLC0415

    table = np.outer([1.0, 2.0, 4.0], [1.0, 3.0, 2.0])
    table[1, 2] = np.nan
    completed, fit = intensor.complete(table, radius=12.0)
    assert not np.isnan(completed).any()
    assert fit.status is intensor.Status.OPTIMAL
    rows = pa.table({"city": ["Oslo", "Oslo", "Rome"], "month": [1, 2, 1], "trips": [3.0, 2, 3]})
    filled, _ = intensor.complete(rows, value="trips", cells="all", radius=3.0)
    assert filled.num_rows == 4
    assert filled["trips"].null_count == 0


def check_pandas() -> None:
    """A data frame with gaps comes back without gaps."""
    import pandas as pd  # noqa: PLC0415

    frame = pd.DataFrame({"a": ["x", "x", "y"], "b": [1, 2, 1], "value": [1.0, 2.0, None]})
    completed, _ = intensor.complete(frame, value="value", radius=3.0)
    assert isinstance(completed, pd.DataFrame)
    assert not completed["value"].isna().any()


def check_polars() -> None:
    """So does one of polars."""
    import polars as pl  # noqa: PLC0415

    frame = pl.DataFrame({"a": ["x", "x", "y"], "b": [1, 2, 1], "value": [1.0, 2.0, None]})
    completed, _ = intensor.complete(frame, value="value", radius=3.0)
    assert isinstance(completed, pl.DataFrame)
    assert completed["value"].null_count() == 0


def check_sparse() -> None:
    """A sparse array is completed to a dense one of its package or of NumPy."""
    import sparse  # noqa: PLC0415

    array = sparse.COO(np.array([[0, 0, 1], [0, 1, 0]]), np.array([1.0, 2.0, 3.0]), shape=(2, 2))
    completed, fit = intensor.complete(array, cells="all", radius=3.0)
    assert completed.shape == fit.shape == (2, 2)


def check_xarray() -> None:
    """A data array keeps its coordinates."""
    import xarray as xr  # noqa: PLC0415

    array = xr.DataArray([[1.0, 2.0], [3.0, np.nan]], dims=("a", "b"), coords={"a": ["x", "y"]})
    completed, _ = intensor.complete(array, radius=4.0)
    assert completed.dims == ("a", "b")
    assert not bool(completed.isnull().any())


def check_matplotlib() -> None:
    """A fit is drawn."""
    data = intensor.planted((5, 4), 15, noise=0.05)
    completer = intensor.TensorCompleter().fit(data.coords, data.values)
    assert intensor.plots.boxes(completer.fit_) is not None
    assert intensor.plots.convergence(completer.fit_) is not None


def check_distributed() -> None:
    """Cells are spread over two workers."""
    import distributed  # noqa: PLC0415

    data = intensor.planted((5, 4, 3), 60, noise=0.05)
    common = {"shape": data.shape, "radius": 1.0, "exact": "off"}
    alone = intensor.solve(data.coords, data.values, **common)
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        spread = intensor.solve(data.coords, data.values, client=client, **common)
    assert abs(spread.objective - alone.objective) <= 1e-6


def check_scip() -> None:
    """SCIP proves what the package's own oracle does."""
    check_oracle("scip")


def check_gurobi() -> None:
    """So does Gurobi, within what comes with its package."""
    check_oracle("gurobi")


def check_oracle(name: str) -> None:
    """An outside solver and the package's own agree."""
    data = intensor.planted((3, 3, 2), 15, noise=0.1)
    common = {"shape": data.shape, "radius": 1.0, "rtol": 1e-5}
    own = intensor.solve(data.coords, data.values, **common)
    other = intensor.solve(data.coords, data.values, exact=name, **common)
    assert other.status is own.status is intensor.Status.OPTIMAL
    assert other.bound <= own.objective + 1e-12
    assert own.bound <= other.objective + 1e-12


def check_commands() -> None:
    """The installed command fits, predicts, verifies, reports and demonstrates."""
    Path("ratings.csv").write_text(TABLE, encoding="utf-8")
    assert "demo" in command("--help")
    assert "--radius" in command("fit", "--help")
    assert command("--version") == f"intensor {intensor.__version__}\n"
    observed = ("ratings.csv", "--value", "rating")
    command("fit", *observed, "--radius", "6", "-o", "model.npz")
    command("info", "model.npz")
    command("predict", "model.npz", "ratings.csv", "-o", "predicted.parquet")
    command("complete", *observed, "--radius", "6", "-o", "completed.csv", "--mark")
    assert "predicted" in Path("completed.csv").read_text(encoding="utf-8")
    command("verify", "model.npz", *observed)
    command("report", "model.npz", *observed, "-o", "page.html")
    refused = run("fit", "nothing.csv", "-o", "never.npz")
    assert refused.returncode == 2, refused
    assert refused.stderr.startswith("error: "), refused.stderr
    command("demo")
    assert Path("report.html").stat().st_size > 10_000


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command."""
    program = Path(sysconfig.get_path("scripts")) / "intensor"
    return subprocess.run([str(program), *words], capture_output=True, text=True, check=False)


def command(*words: str) -> str:
    """Run the installed command, which must succeed and say nothing it should not."""
    answer = run(*words)
    assert answer.returncode == 0, (words, answer)
    assert "Traceback" not in answer.stderr, answer.stderr
    assert "Warning" not in answer.stderr, answer.stderr
    return answer.stdout


OPTIONAL = {
    "pandas": check_pandas,
    "polars": check_polars,
    "sparse": check_sparse,
    "xarray": check_xarray,
    "matplotlib": check_matplotlib,
    "distributed": check_distributed,
    "pyscipopt": check_scip,
    "gurobipy": check_gurobi,
}

if __name__ == "__main__":
    main()
