"""Instances, runs and the report of the comparison with peers."""

import numpy as np
import pytest

import intensor
from benchmarks import peers
from benchmarks.contenders import NAMES, Completion, Contender
from benchmarks.ledger import Ledger
from benchmarks.sections import Options

POOR, RICH = peers.INSTANCES[0], peers.INSTANCES[5]


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "runs.csv")


def add(ledger, instance, method, nmse, *, seconds=1.0, rep=0, status="done", message=""):
    row = {
        "section": "peers",
        "task": instance.name,
        "method": method,
        "rep": rep,
        "status": status,
        "message": message,
    }
    ledger.add(row | ({"nmse": nmse, "seconds": seconds} if status == "done" else {}))


def test_a_small_tensor_is_scored_on_every_cell():
    problem = peers.planted_problem((10, 10, 10), 500, 0)
    data = intensor.planted((10, 10, 10), 500, 0)
    np.testing.assert_array_equal(problem.coords, data.coords)
    np.testing.assert_array_equal(problem.truth.reshape(10, 10, 10), data.truth.to_dense())


def test_a_large_tensor_is_scored_on_cells_at_random(monkeypatch):
    monkeypatch.setattr(peers, "MOST_ASKED", 5000)
    problem, again, other = (peers.planted_problem((10,) * 4, 50, rep) for rep in (0, 0, 1))
    assert problem.asked.shape == (5000, 4)
    assert [len(np.unique(column)) for column in problem.asked.T] == [10] * 4
    assert len(np.unique(problem.asked, axis=0)) > 3500
    np.testing.assert_array_equal(problem.asked, again.asked)
    assert (problem.asked != other.asked).any()


def test_the_error_is_that_of_the_paper(monkeypatch):
    data = intensor.planted((6, 6, 6), 100, 2)
    model = intensor.solve(data.coords, data.values, shape=(6, 6, 6), radius=0.4, exact="off").model
    called = []

    def complete(problem, seconds, seed, threads):
        called.append((seconds, seed, threads))
        return Completion(predicted=model.predict(problem.asked), seconds=0.5, chosen="it", boxes=3)

    contender = Contender(name="stub", complete=complete)
    monkeypatch.setattr(peers, "find", lambda name: contender)
    row = peers.compare((6, 6, 6), 100, 2, "stub", 9.0, 1)
    assert row["nmse"] == pytest.approx(intensor.nmse(model, data.truth), rel=1e-9)
    assert row["nmse"] > 1e-3
    assert (row["seconds"], row["chosen"], row["boxes"]) == (0.5, "it", 3)
    assert "gap" not in row
    assert called == [(9.0, peers.SEEDS + 2, 1)]
    assert peers.SEEDS > peers.MOST_REPS  # so that no instance was drawn with that seed


def test_all_methods_run_on_all_instances():
    runs = peers.runs(Options(reps=50, jobs=1000))
    assert len({run.key for run in runs}) == len(runs) == 9 * len(NAMES) * 5
    assert {run.limit for run in runs if run.task.endswith("n=100000")} == {60.0}
    assert all(run.arguments["seconds"] == run.limit for run in runs)
    assert {run.arguments["threads"] for run in runs} == {1}
    assert len(peers.runs(Options(reps=2))) == 9 * len(NAMES) * 2


def test_medians_failures_and_the_best_are_in_the_table(ledger, tmp_path):
    for rep, nmse in enumerate([0.5, 0.1, 0.2]):
        add(ledger, POOR, "intensor", nmse, rep=rep)
    add(ledger, POOR, "ALS", 0.3)
    add(ledger, POOR, "ALS", 0.0, rep=1, status="timeout")
    add(ledger, POOR, "TNCP", 0.0, status="failed", message="MemoryError: needs the dense tensor")
    add(ledger, POOR, "SiLRTC", 0.0, status="failed", message="LinAlgError: singular")
    add(ledger, POOR, "teneva als", 0.0, status="failed", message="ModuleNotFoundError: no")
    lines = peers.report(ledger, Options(out=tmp_path))
    assert "| | 10^3 n=500 |" in lines
    assert "| intensor | **0.2** |" in lines
    assert "| ALS | 0.3 (timeout 1 of 2) |" in lines
    assert "| TNCP | too large 1 of 1 |" in lines
    assert "| SiLRTC | failed 1 of 1 |" in lines
    assert "| teneva als | not installed 1 of 1 |" in lines
    assert "| pyttb gcp_opt | - |" in lines
    assert (tmp_path / "figures" / "peers.svg").stat().st_size < 100_000
    assert any(line.startswith("Not run yet: 20^3 n=500") for line in lines)


def test_all_that_are_exact_are_best(ledger, tmp_path):
    add(ledger, RICH, "intensor", 1e-19)
    add(ledger, RICH, "ALS", 1e-11)
    add(ledger, RICH, "TNCP", 1e-9)
    lines = peers.report(ledger, Options(out=tmp_path))
    assert {"| intensor | **1e-19** |", "| ALS | **1e-11** |", "| TNCP | 1e-09 |"} <= set(lines)


def test_a_report_of_failures_alone_has_no_figure(ledger, tmp_path):
    add(ledger, POOR, "ALS", 0.0, status="timeout")
    lines = peers.report(ledger, Options(out=tmp_path))
    assert not any("svg" in line for line in lines)


def test_losses_name_the_peers_and_by_how_much(ledger):
    add(ledger, POOR, "intensor", 0.22)
    add(ledger, POOR, "intensor, radius 1", 0.6)
    add(ledger, POOR, "ALS", 0.2)
    add(ledger, POOR, "TNCP", 0.21)
    add(ledger, POOR, "SiLRTC", 0.7)
    told = peers.losses(ledger, Options())
    assert told == [
        "Peers, 10^3 n=500: intensor has a median NMSE of 0.22, 10 % more: ALS 0.2, TNCP 0.21.",
        "Peers, 10^3 n=500: intensor, radius 1 has a median NMSE of 0.6, 3 times: "
        "ALS 0.2, TNCP 0.21.",
    ]


def test_the_other_setting_of_intensor_is_no_peer(ledger):
    add(ledger, POOR, "intensor", 0.22)
    add(ledger, POOR, "intensor, radius 1", 0.1)
    assert peers.losses(ledger, Options()) == []


def test_among_exact_methods_the_faster_is_named(ledger):
    add(ledger, RICH, "intensor", 1e-20, seconds=2.0)
    add(ledger, RICH, "ALS", 1e-25, seconds=0.5)
    add(ledger, RICH, "TNCP", 1e-3, seconds=0.1)
    (told,) = peers.losses(ledger, Options())
    assert "ALS is exact as well and takes 0.5 s (median), intensor 2 s" in told


def test_a_run_of_ours_that_failed_is_a_loss(ledger):
    add(ledger, RICH, "intensor", 0.0, status="timeout")
    assert peers.losses(ledger, Options()) == ["Peers, 10^4 n=10000: intensor has no result."]
