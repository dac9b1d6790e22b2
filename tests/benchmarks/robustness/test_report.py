"""Ratios, shares and honesty from rows made up for it."""

import pytest

from benchmarks.ledger import JsonLedger
from benchmarks.robustness.report import compare, summarise, write_report


@pytest.fixture
def ledger(tmp_path):
    return JsonLedger(tmp_path / "lines.jsonl")


def add(ledger, task, method, rmse, *, status="done", **columns):
    ledger.add(
        {
            "section": "Seed 1",
            "task": task,
            "method": method,
            "rep": 0,
            "status": status,
            "rmse": rmse,
            "mae": rmse / 2.0,
            "seconds": 1.0,
            "source": "amino",
            "shape": [3, 4],
            "kind": "random",
            "rate": 0.5,
            "known": 7,
            "metric": "rmse",
            **columns,
        }
    )


def fill(ledger):
    """Ratios of 1.02, 1.25 and 0.9; the third beside a simple prediction that is best."""
    add(ledger, "00", "default", 1.02, reported=1.02, chosen="one thing")
    add(ledger, "00", "none, none, graded", 1.0)
    add(ledger, "00", "none, none, boxes", 2.0)
    add(ledger, "00", "mean", 5.0)
    add(ledger, "01", "default", 2.5, reported=1.25, spread=0.1)
    add(ledger, "01", "none, none, graded", 3.0)
    add(ledger, "01", "interpolation along mode 0", 2.0)
    add(ledger, "02", "default", 0.9, reported=0.99)
    add(ledger, "02", "sqrt, none, graded", 1.0)
    add(ledger, "03", "none, none, graded", 1.0)  # no default yet
    add(ledger, "04", "default", 1.0)
    add(ledger, "04", "mean", 1.0)  # no single candidate yet
    add(ledger, "00", "log1p, none, graded", 0.1, status="timeout", message="killed after 80 s")


def test_ratios_to_the_best_candidate(ledger):
    fill(ledger)
    found = compare(ledger, "Seed 1", label="default")
    assert [one.ratio() for one in found] == pytest.approx([1.02, 1.25, 0.9])
    assert found[1].best() == ("interpolation along mode 0", 2.0)
    assert found[1].ratio(names=["none, none, graded"]) == pytest.approx(2.5 / 3.0)
    assert [one.honesty for one in found] == pytest.approx([1.0, 0.5, 1.1])


def test_the_summary(ledger):
    fill(ledger)
    text = "\n".join(summarise(compare(ledger, "Seed 1", label="default")))
    assert "within 3% of the best single candidate | 66.7% (goal 95%)" in text
    assert "| worst ratio | 1.250 (goal 1.1) |" in text
    assert "| median ratio | 1.020 |" in text
    assert "| interpolation along mode 0 1 |" in text
    assert "within 15% of the true one | 66.7% of 3 |" in text


def test_the_report_has_a_line_per_sub_task_and_names_failures(ledger, tmp_path):
    fill(ledger)
    path = tmp_path / "report.md"
    write_report(ledger, path, label="default", command="it")
    lines = path.read_text().splitlines()
    assert "3 of 5 sub-tasks have all that is needed." in lines
    line = next(one for one in lines if one.startswith("| 01 amino |"))
    assert "| **1.250** | 0.50 | 0.1 |" in line
    assert "- 00, log1p, none, graded: killed after 80 s" in lines


def test_an_exact_fit_beside_an_exact_candidate_is_equal(ledger):
    add(ledger, "00", "default", 0.0)
    add(ledger, "00", "none, none, graded", 0.0)
    assert compare(ledger, "Seed 1", label="default")[0].ratio() == 1.0


def test_a_report_of_nothing_says_so(ledger, tmp_path):
    add(ledger, "00", "mean", 1.0)
    lines = write_report(ledger, tmp_path / "report.md", label="default", command="it")
    assert "0 of 1 sub-tasks have all that is needed." in lines
