"""The rate of the guarantee, the fitted exponent, and where a curve ends."""

import math

import numpy as np
import pytest

import intensor
from benchmarks.ledger import Ledger
from benchmarks.paper.complexity import (
    METHODS,
    NAME,
    NOISE,
    measure,
    report,
    runs,
    skip,
    slope,
    task_name,
    zeta,
)
from benchmarks.sections import Options


def filled(tmp_path, points, noisy=False, reps=3):
    """Return a table with the same NMSE in every repetition of a point."""
    ledger = Ledger(tmp_path / "runs.csv")
    for (modes, n), error in points.items():
        for rep in range(reps):
            ledger.add(
                {
                    "section": NAME,
                    "task": task_name(modes, n),
                    "method": METHODS[noisy],
                    "rep": rep,
                    "status": "done",
                    "nmse": error,
                    "seconds": 1.0,
                    "chosen": "OPTIMAL",
                    "machine": "m",
                    "version": "v",
                    "date": "d",
                }
            )
    return ledger


def test_zeta_has_the_two_cases_of_the_paper():
    assert zeta(10_000, 30) == pytest.approx(math.sqrt(math.log(math.e * 2**30 / 100.0) / 10_000))
    assert zeta(10_000, 3) == pytest.approx(8.0 / 10_000)
    assert zeta(64, 3) == pytest.approx(8.0 / 64)  # 2^rho = sqrt(n) belongs to the first case
    assert math.isfinite(zeta(10, 5000))  # 2^5000 is no float


def test_slope_is_the_exponent_where_something_was_learnt():
    points = {n: 30.0 / n for n in (100, 1000, 10_000)}
    assert slope(points) == pytest.approx(-1.0)
    assert slope({10: 1.0, 50: 0.9, **points}) == pytest.approx(-1.0)
    assert slope({10: 1.0, 100: 0.3}) is None


def test_a_curve_ends_once_it_is_exact(tmp_path):
    ledger = filled(tmp_path, {(3, 500): 1e-12, (3, 1000): 1e-12, (4, 500): 1e-3})
    wanted = {(run.task, run.method): skip(ledger, run) for run in runs(Options(reps=1))}
    assert wanted["10^3 n=1000", METHODS[False]] == "exact from n = 500 on"
    assert wanted["10^3 n=500", METHODS[False]] is None
    assert wanted["10^4 n=1000", METHODS[False]] is None
    assert wanted["10^3 n=1000", METHODS[True]] is None


def test_runs_have_names_of_their_own_and_at_most_three_repetitions():
    found = runs(Options(reps=5))
    assert len({run.key for run in found}) == len(found)
    assert {run.rep for run in found} == {0, 1, 2}
    assert {run.arguments["modes"] for run in found} == {3, 4, 5, 6, 7, 8}


def test_a_run_measures_the_error_over_all_cells():
    few = measure(3, 50, 0, noisy=False, seconds=5.0, threads=1)
    many = measure(3, 2000, 0, noisy=False, seconds=5.0, threads=1)
    assert few["nmse"] > 0.05
    assert many["nmse"] < 1e-10
    assert few["nmse"] / few["rmse"] ** 2 == pytest.approx(1.0 / mean_square(), rel=1e-9)


def mean_square():
    """Of the truth of three modes, repetition 0, cell by cell."""
    truth = intensor.planted((10, 10, 10), 50, 0).truth
    return float(np.mean(truth.predict(np.argwhere(np.ones(truth.shape))) ** 2))


def test_noise_is_bounded_centred_and_may_be_negative(monkeypatch):
    seen = {}
    solve = intensor.solve

    def watch(coords, values, **words):
        seen.update(values=values, coords=coords)
        return solve(coords, values, **words)

    monkeypatch.setattr(intensor, "solve", watch)
    measure(3, 500, 1, noisy=True, seconds=2.0, threads=1)
    clean = intensor.planted((10, 10, 10), 500, 1)
    noise = seen["values"] - clean.values
    assert seen["values"].min() < 0.0
    assert abs(noise).max() <= math.sqrt(3.0) * NOISE + 1e-12
    assert noise.std() == pytest.approx(NOISE, rel=0.1)
    assert abs(noise.mean()) < 0.01


def test_report_has_the_table_the_rates_and_the_figure(tmp_path):
    clean = {(3, 200): 0.2, (3, 500): 1e-12, (4, 500): 0.3, (4, 1000): 0.005}
    noisy = {(3, n): 40.0 / n for n in (200, 1000, 5000)}
    ledger = filled(tmp_path, clean)
    for row in filled(tmp_path / "noisy", noisy, noisy=True).rows():
        ledger.add(row)
    text = "\n".join(report(ledger, Options(out=tmp_path)))
    assert "| 3 | 30 | 300 | 10^3 | 500 | 500 | 500 |" in text
    assert "| 4 | 40 | 400 | 10^4 | 1000 | 1000 | > 1000 |" in text
    assert "| 3 | -1.00 | -0.5" in text
    svg = (tmp_path / "figures" / "complexity.svg").read_text()
    assert "3 modes" in svg
    assert "rate of the bound" in svg


def test_report_works_with_a_single_run(tmp_path):
    text = "\n".join(report(filled(tmp_path, {(3, 50): 0.5}, reps=1), Options(out=tmp_path)))
    assert "> 50" in text
