"""Every example runs as it is and prints what it promises."""

import ast
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
GALLERY = EXAMPLES.parent / "docs" / "gallery.md"
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py"))
PROMISED = {
    "certificate.py": [
        "exact='off'          STALLED",
        "exact='enumeration'  OPTIMAL",
        "pass  bound",
        "too good to be true:\n0.00249719856587 is above the objective",
        "heavier boxes:\nthe sizes of the weights sum to",
    ],
    "components.py": ["full fit:", "held-out cells, all boxes", "certificate holds: True"],
    "images.py": ["of the pixels", "boxes and kriging", "linear interpolation"],
    "quick_start.py": [
        "status OPTIMAL",
        " 50.0 in shops [0, 1], goods [0, 1, 2], seasons [0, 1, 2, 3]",
        " 30.0 in shops [0, 1, 2, 3, 4], goods [0], seasons [0, 1]",
        "saved model: 100.0",
    ],
    "radius_path.py": ["planted tensor", "air times by", "<- taken", "hidden cells"],
    "ratings.py": [
        "2160 ratings",
        "expected of",
        "intensor",
        "mean of the film",
        "without ratings",
    ],
    "scaling_out.py": ["arrays in memory", "four Parquet files", "two Dask workers"],
    "traffic.py": ["station days", "boxes as they are", "everything chosen", "of the prediction"],
}


def run(script):
    runpy.run_path(str(EXAMPLES / script), run_name="__main__")


def printed_by(script, capsys):
    run(script)
    printed = capsys.readouterr().out
    for words in PROMISED[script]:
        assert words in printed
    return printed


def figures(printed, word):
    """Return the figure after a word, line by line."""
    return [
        float(line.split(word)[1].split()[0].rstrip(","))
        for line in printed.splitlines()
        if word in line
    ]


def test_there_is_a_promise_for_each():
    assert sorted(PROMISED) == SCRIPTS


@pytest.mark.parametrize("script", SCRIPTS)
def test_it_says_what_one_learns_and_is_in_the_gallery(script):
    docstring = ast.get_docstring(ast.parse((EXAMPLES / script).read_text()))
    assert "What one learns:" in docstring
    assert f"../examples/{script}" in GALLERY.read_text()


@pytest.mark.parametrize("script", ["certificate.py", "images.py", "quick_start.py"])
def test_examples_that_need_nothing_else(script, capsys):
    printed_by(script, capsys)


def test_ratings_are_better_than_means(capsys):
    printed = printed_by("ratings.py", capsys)
    lines = [line for line in printed.splitlines() if line.startswith("RMSE on")]
    ours, film, everything = (float(line.split()[-1]) for line in lines)
    assert ours < min(film, everything)


def test_components_predict_no_worse_than_boxes(capsys):
    printed = printed_by("components.py", capsys)
    errors, boxes = figures(printed, "RMSE "), figures(printed, "all boxes ")
    assert min(errors) < boxes[-1]
    winter, summer = figures(printed, "= ")
    assert winter > summer


@pytest.mark.slow
def test_radius_path(capsys):
    printed = printed_by("radius_path.py", capsys)
    assert printed.count("<- taken") == 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Dask's own
def test_scaling_out_finds_the_same(capsys):
    pytest.importorskip("distributed")
    printed = printed_by("scaling_out.py", capsys)
    assert printed.count("OPTIMAL") == 3
    assert max(figures(printed, "true tensor ")) < 1e-10


@pytest.mark.slow
def test_traffic(capsys):
    before, plain, chosen, expected = figures(printed_by("traffic.py", capsys), "RMSE ")
    assert chosen < plain < before
    assert expected == pytest.approx(chosen, rel=0.15)
