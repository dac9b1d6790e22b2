"""The paper's pairs of figures: written whole, from whatever part of the runs is there."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.paper.figures import AXES, MARKERS, draw_all, draw_best, draw_set
from benchmarks.paper.published import published_rows, task_name
from benchmarks.paper.tables import VERSIONS, collect
from tiny_paper import ROWS, ledger_of, run_row, write_paper

SVG = "{http://www.w3.org/2000/svg}"


def texts(path: Path) -> set[str]:
    """Return all words of a picture."""
    return {"".join(one.itertext()).strip() for one in ElementTree.parse(path).iter(f"{SVG}text")}


@pytest.fixture
def ours(tmp_path: Path) -> dict:
    """Return runs of two versions and fast, none of the others."""
    rows = [
        run_row(task_name(*row), version, 0, seconds=seconds)
        for row in dict.fromkeys(row for rows in ROWS.values() for row in rows)
        for version, seconds in [(1, 2.0), (2, 3.0), ("fast", 0.01)]
    ]
    return collect(ledger_of(tmp_path / "runs.csv", rows))


@pytest.mark.parametrize("number", [1, 3])
def test_a_pair_of_figures(tmp_path: Path, ours: dict, number: int) -> None:
    published = published_rows(write_paper(tmp_path / "paper"))
    names = draw_set(number, ROWS[number], ours, published, tmp_path)
    assert names == [f"paper_set{number}_all.svg", f"paper_set{number}_best.svg"]
    everything, best = (texts(tmp_path / name) for name in names)
    assert set(VERSIONS) <= everything, "each version is in the legend, if only by the paper"
    assert {"ours, mean", "the paper, median", "mean time (s)", AXES[number][0]} <= everything
    wanted = {"version 1", "fast", "version 1, the paper", "version 8, the paper", "time (s)"}
    assert wanted <= best
    assert "version 8" not in best
    assert "version 2" not in best
    assert "stroke-dasharray" in (tmp_path / names[1]).read_text()


def test_the_same_figures_give_the_same_file(tmp_path: Path) -> None:
    published = published_rows(write_paper(tmp_path / "paper"))
    told = {(str(version), *row): told for (*row, version), told in published.items()}
    paths = [tmp_path / name / "best.svg" for name in "ab"]
    for path in paths:
        path.parent.mkdir()
        draw_best(1, ROWS[1], told, told, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_no_runs_at_all_still_draw_the_paper(tmp_path: Path) -> None:
    published = published_rows(write_paper(tmp_path / "paper"))
    theirs = {(str(version), *row): told for (*row, version), told in published.items()}
    draw_all(1, ROWS[1], {}, theirs, tmp_path / "all.svg")
    found = texts(tmp_path / "all.svg")
    assert set(VERSIONS[:-1]) <= found
    assert "fast" not in found


def test_markers_differ() -> None:
    assert len(set(MARKERS.values())) == len(VERSIONS)
