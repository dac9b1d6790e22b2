"""The section on real data: runs, goals met and missed, losses, from rows made up for it."""

import numpy as np
import pytest

from benchmarks.contenders import Completion, Contender
from benchmarks.ledger import Ledger
from benchmarks.problems import Problem
from benchmarks.real import section as real
from benchmarks.real.tasks import DATA_SETS, goals
from benchmarks.sections import Options
from report.cases import blended, make_fit, without_terms

BY_NAME = {data_set.name: data_set for data_set in DATA_SETS}


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "runs.csv")


def add(ledger, task, method="intensor", *, status="done", **columns):
    ledger.add(
        {
            "section": "real",
            "task": task,
            "method": method,
            "rep": 0,
            "status": status,
            "limit": 130.0,
            **columns,
        }
    )


def goal(row, metric):
    return next(one for one in goals() if (one.row, one.metric) == (row, metric))


def line_of(lines, task):
    return next(line for line in lines if line.startswith(f"| {task} |"))


def test_a_run_for_every_task_and_peers_on_one_of_each_data_set():
    runs = real.make_runs(Options(seconds=100.0))
    ours = [run for run in runs if run.method == "intensor"]
    assert len(ours) == len({run.task for run in ours}) == 34
    assert {run.limit for run in ours} == {130.0}
    assert len({run.key for run in runs}) == len(runs)
    for peer in real.PEERS:
        theirs = [run for run in runs if run.method == peer]
        assert [run.task for run in theirs] == [data_set.peers for data_set in DATA_SETS]
        assert {run.arguments["seconds"] for run in theirs} == {50.0}


def test_masked_cp_is_run_on_every_task_within_its_time():
    runs = real.make_runs(Options(seconds=100.0))
    ours = [run.task for run in runs if run.method == "intensor"]
    for peer in real.MASKED:
        theirs = [run for run in runs if run.method == peer]
        assert [run.task for run in theirs] == ours
        assert {run.arguments["seconds"] for run in theirs} == {real.MASKED_SECONDS}
        assert {run.arguments["method"] for run in theirs} == {peer}
    short = real.make_runs(Options(seconds=10.0))
    assert {run.arguments["seconds"] for run in short if run.method in real.MASKED} == {10.0}


def test_masked_cp_is_a_column_of_every_row_and_a_loss_where_it_is_better(ledger, tmp_path):
    for task, mape in (("Hangzhou random 40 %", 0.15), ("Hangzhou random 70 %", 0.21)):
        add(ledger, task, mape=0.19, rmse=29.0)
        add(ledger, task, "masked CP, pyttb", mape=mape, rmse=40.0, seconds=12.0)
    lines = real.SECTION.report(ledger, Options(out=tmp_path))
    for data_set in DATA_SETS:
        head = lines.index(next(line for line in lines if line.startswith(f"### {data_set.name}:")))
        heads = next(line for line in lines[head:] if line.startswith("| task |"))
        assert "| masked CP, tensorly | masked CP, pyttb |" in heads
    assert "| not run | 0.1500 / 40 (12 s) |" in line_of(lines, "Hangzhou random 40 %")
    assert "| not run | 0.2100 / 40 (12 s) |" in line_of(lines, "Hangzhou random 70 %")
    assert real.SECTION.losses(ledger, Options()) == [
        "Hangzhou random 40 %: MAPE 0.1900 against 0.1500 of masked CP, pyttb (run here), "
        "1.27 times.",
    ]


def test_masked_cp_of_folds_is_their_mean(ledger):
    for fold in range(1, 6):
        add(ledger, f"alog fold {fold}", rmse=0.9, mae=0.5)
        add(ledger, f"alog fold {fold}", "masked CP, tensorly", rmse=0.8, mae=0.6)
    found = [one for one in real.SECTION.losses(ledger, Options()) if "mean of folds" in one]
    assert [one for one in found if "masked CP, tensorly (run here)" in one] == [
        "alog, mean of folds: RMSE 0.9 against 0.8 of masked CP, tensorly (run here), 1.12 times."
    ]


def test_goals_met_and_missed():
    errors = {"mape": 0.20, "rmse": 1.21 * 29.55}
    met = real.judge(goal("Hangzhou random 70 %", "mape"), errors)
    assert met == "MAPE below LRTC-TNN: met, 0.8 % to spare"
    missed = real.judge(goal("Hangzhou random 70 %", "rmse"), errors)
    assert missed == "RMSE within 10 % of LRTC-TNN: **missed by 10.0 %**"
    assert real.judge(goal("alog", "rmse"), None) == "RMSE at most 0.78: open"


def test_the_report_counts_goals_and_says_what_was_not_run(ledger, tmp_path):
    add(ledger, "Hangzhou random 30 %", mape=0.18, rmse=30.0, seconds=99.0, chosen="sqrt, radius 7")
    add(ledger, "Hangzhou random 70 %", status="timeout", message="killed after 300 s")
    lines = real.SECTION.report(ledger, Options(out=tmp_path))
    assert "Goals met: 1 of 2; 30 open for want of runs." in lines
    done = line_of(lines, "Hangzhou random 30 %")
    assert "| 0.1800 / 30 | 0.1863 / 24.95 |" in done
    assert "MAPE below LRTC-TNN: met, 3.4 % to spare" in done
    assert "RMSE within 10 % of LRTC-TNN: **missed by 9.3 %**" in done
    assert done.endswith("| 99 |")
    assert "| too slow |" in line_of(lines, "Hangzhou random 70 %")
    assert "| not run |" in line_of(lines, "Hangzhou random 90 %")
    assert "- Hangzhou random 30 %, intensor: sqrt, radius 7" in lines
    assert "- Hangzhou random 70 %, intensor: killed after 300 s" in lines
    assert "within 100 s" in lines[0]
    assert "completed, fit = intensor.complete(table)" in lines[0]
    assert "(random_state 0)" in lines[0]


def test_the_table_has_as_many_cells_as_heads(ledger, tmp_path):
    add(ledger, "amino 50 %", relative_error=0.03, seconds=1.0)
    add(ledger, "amino 50 %", "ALS", relative_error=0.02, seconds=2.0)
    add(ledger, "IL-2 50 %", "ALS", status="failed", message="ValueError: no")
    lines = real.SECTION.report(ledger, Options(out=tmp_path))
    tables = 0
    for line in lines:
        if line.startswith("| task |"):
            tables, width = tables + 1, line.count("|")
        elif line.startswith("|"):
            assert line.count("|") == width
    assert tables == len(DATA_SETS)
    assert "| 0.02 (2 s) |" in line_of(lines, "amino 50 %")
    assert "| failed |" in line_of(lines, "IL-2 50 %")


def test_folds_count_when_all_are_done(ledger, tmp_path):
    rmse = [0.70, 0.75, 0.80, 0.75, 0.70]
    for fold, error in enumerate(rmse[:4], start=1):
        add(ledger, f"alog fold {fold}", rmse=error, mae=0.4, seconds=1.0)
    assert real.find_errors(ledger, BY_NAME["alog"], "alog") is None
    add(ledger, "alog fold 5", rmse=rmse[4], mae=0.5, seconds=1.0)
    errors = real.find_errors(ledger, BY_NAME["alog"], "alog")
    assert errors == {"rmse": pytest.approx(0.74), "mae": pytest.approx(0.42)}
    line = line_of(real.SECTION.report(ledger, Options(out=tmp_path)), "mean of 5 folds")
    assert "| 0.74 / 0.42 | 1.661 / 0.751 |" in line
    assert "RMSE at most 0.78: met, 5.1 % to spare" in line


def test_losses_are_figures_better_than_ours(ledger):
    add(ledger, "Hangzhou random 70 %", mape=0.19, rmse=36.9375)
    add(ledger, "Hangzhou random 70 %", "ALS", mape=0.18, rmse=50.0)
    add(ledger, "amino 50 %", relative_error=0.01)
    assert real.SECTION.losses(ledger, Options()) == [
        "Hangzhou random 70 %: RMSE 36.94 against 29.55 of LRTC-TNN, 1.25 times.",
        "Hangzhou random 70 %: RMSE 36.94 against 35.69 of tensorly nonnegative CP, best rank on "
        "test, 1.03 times.",
        "Hangzhou random 70 %: MAPE 0.1900 against 0.1800 of ALS (run here), 1.06 times.",
    ]


def test_the_overview_is_the_same_each_time(ledger, tmp_path):
    assert not real.draw_overview(ledger, tmp_path / "none.svg")
    assert not (tmp_path / "none.svg").exists()
    add(ledger, "amino 50 %", relative_error=0.0448)
    add(ledger, "Hangzhou random 70 %", mape=0.19, rmse=36.0)
    for name in ("a.svg", "b.svg"):
        assert real.draw_overview(ledger, tmp_path / name)
    text = (tmp_path / "a.svg").read_text()
    assert text == (tmp_path / "b.svg").read_text()
    assert "amino 50 %" in text
    assert "alog" not in text


def small_problem():
    rng = np.random.default_rng(0)
    tensor = np.einsum("i,j,k->ijk", *(rng.random(4) + 0.5 for _ in range(3)))
    cells = rng.permutation(np.argwhere(tensor > 0))
    known, asked = cells[:44], cells[44:]
    return Problem(
        name="small",
        shape=tensor.shape,
        coords=known,
        values=tensor[tuple(known.T)],
        asked=asked,
        truth=tensor[tuple(asked.T)],
    )


def test_a_run_of_ours(monkeypatch, tmp_path):
    problem = small_problem()
    monkeypatch.setattr(real, "load", lambda task, folder: problem)
    row = real.run_intensor("small", tmp_path, 60.0)
    spread = float(np.std(problem.truth))
    assert row["rmse"] < spread
    assert row["boxes"] >= 1
    assert row["seconds"] > 0.0
    assert row["chosen"].startswith("transform ")
    assert "components" in row["chosen"] or "boxes" in row["chosen"]
    assert ", expected rmse " in row["chosen"]


def test_members_without_terms_are_said():
    made, *_ = make_fit(radius="auto", transform="sqrt", n_solutions=2)
    field = without_terms(made, 0.25, method="smooth field")
    words = real.said(blended(made, field))
    assert "blend of 75% " in words
    assert ", 25% a smooth field of their sqrt" in words


def test_a_peer_is_scored_from_its_predictions(monkeypatch, tmp_path):
    problem = small_problem()

    def complete(given, seconds, seed, threads):
        assert (given, seconds, seed) == (problem, 5.0, 0)
        return Completion(predicted=problem.truth + 0.5, seconds=1.5, chosen="rank 2")

    contender = Contender(name="other", complete=complete, most_cells=64)
    monkeypatch.setattr(real, "load", lambda task, folder: problem)
    monkeypatch.setattr(real, "find", lambda name: contender)
    row = real.run_peer("small", "other", tmp_path, 5.0)
    assert row["rmse"] == pytest.approx(0.5)
    assert (row["seconds"], row["chosen"]) == (1.5, "rank 2")


def test_a_tensor_too_large_for_a_peer_is_a_failure(monkeypatch, tmp_path):
    contender = Contender(name="other", complete=None, most_cells=63)
    monkeypatch.setattr(real, "load", lambda task, folder: small_problem())
    monkeypatch.setattr(real, "find", lambda name: contender)
    with pytest.raises(ValueError, match="64 cells are too many"):
        real.run_peer("small", "other", tmp_path, 5.0)


def test_the_data_is_asked_for_before_anything_runs(tmp_path):
    with pytest.raises(FileNotFoundError, match="--data"):
        real.SECTION.needs(Options(data=tmp_path))
