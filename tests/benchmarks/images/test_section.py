"""Runs on pictures and their report, with stand-ins for the peers."""

import numpy as np
import pytest

import benchmarks.images.section
from benchmarks.contenders.base import Completion, Contender
from benchmarks.images.pictures import TASKS, bayer, load, missing_pixels, recall, task_name
from benchmarks.images.report import BLEND, PATCHES, PLAIN, draw_strip
from benchmarks.images.section import (
    SECTION,
    blended,
    complete_picture,
    fit,
    lifted,
    losses,
    methods,
    report,
    runs,
)
from benchmarks.ledger import Ledger
from benchmarks.problems import from_dense
from benchmarks.sections import Options


@pytest.fixture
def peers(monkeypatch):
    """Let every peer predict 100, and remember the problems it was given."""
    given = []

    def complete(problem, seconds, seed, threads):
        given.append(problem)
        return Completion(predicted=np.full(len(problem.asked), 100.0), seconds=0.5, chosen="100")

    def find(name):
        return Contender(name=name, complete=complete)

    monkeypatch.setattr(benchmarks.images.section, "find", find)
    return given


def run_one(tmp_path, mask, method, side=16):
    return complete_picture(
        "flower", side, mask, method, seconds=2.0, threads=1, store=tmp_path / "pictures"
    )


def test_runs_have_names_of_their_own():
    found = runs(Options())
    assert len({run.key for run in found}) == len(found)
    assert {run.task for run in found} == {task_name(*task) for task in TASKS}


def test_methods_fit_the_mask():
    assert "Malvar filters" in methods("Bayer")
    assert "biharmonic" not in methods("Bayer")
    assert "biharmonic" in methods("80 % missing")
    assert "Malvar filters" not in methods("80 % missing")
    for mask in ("Bayer", "scratches"):
        assert {"bilinear", PLAIN, PATCHES, BLEND, "ALS", "SiLRTC"} <= set(methods(mask))
        assert "intensor" not in methods(mask)


def test_a_peer_is_scored_on_unknown_values_and_kept(tmp_path, peers):
    row = run_one(tmp_path, "50 % missing", "ALS")
    image, known = load("flower", 16), missing_pixels(16, 0.5)
    square = np.mean((image[~known] - 100.0) ** 2)
    assert row["psnr"] == pytest.approx(10 * np.log10(255**2 / square))
    assert (row["seconds"], row["chosen"]) == (0.5, "100")
    assert peers[0].shape == (16, 16, 3)
    assert np.array_equal(peers[0].values, image[known])
    filled = recall(tmp_path / "pictures", "flower 16, 50 % missing", "ALS")
    assert np.array_equal(filled[known], np.rint(image[known]))
    assert (filled[~known] == 100).all()


def test_a_peer_gets_the_patches_too(tmp_path, peers):
    row = run_one(tmp_path, "Bayer", "ALS, patches")
    assert len(peers[0].shape) == 5
    assert row["psnr"] == pytest.approx(run_one(tmp_path, "Bayer", "ALS")["psnr"])
    assert row["chosen"] == "patches of 2 x 2, 100"


def test_classical_methods_are_given_no_hidden_value(tmp_path, monkeypatch):
    seen = []

    def spy(picture, known):
        seen.append((picture, known))
        return picture

    monkeypatch.setitem(benchmarks.images.section.CLASSICAL, "bilinear", spy)
    run_one(tmp_path, "Bayer", "bilinear")
    picture, known = seen[0]
    assert not picture[~known].any()


def test_no_number_is_a_failure(tmp_path, monkeypatch):
    def complete(problem, seconds, seed, threads):
        return Completion(predicted=np.full(len(problem.asked), np.nan), seconds=0.1)

    monkeypatch.setattr(
        benchmarks.images.section, "find", lambda name: Contender(name=name, complete=complete)
    )
    with pytest.raises(ValueError, match="no numbers"):
        run_one(tmp_path, "Bayer", "ALS")


def test_patches_see_neighbours():
    rows, columns = np.mgrid[:16, :16]
    smooth = 120.0 + 100.0 * np.sin((rows + columns) / 5.0)  # diagonals: no tensor of low rank
    picture, known = np.repeat(smooth[:, :, None], 3, axis=2), missing_pixels(16, 0.5)
    problem = from_dense("waves", picture, known, ~known)

    def error(done):
        return np.sqrt(np.mean((done.predicted - problem.truth) ** 2))

    assert error(lifted(problem, fit, 2.0, 1)) < 0.8 * error(fit(problem, 2.0, 1))


@pytest.mark.parametrize("better", ["patches", "bilinear"])
def test_the_mean_follows_what_predicts_held_out_pixels(better, monkeypatch):
    image, known = load("china", 16), bayer(16)
    problem = from_dense("china", image, known, ~known)
    asked = []

    def answer(name):
        def predict(inner, *told):
            asked.append(inner)
            good = name == better
            return inner.truth + (0.0 if good else 50.0)

        return predict

    exact, interpolate = answer("patches"), answer("bilinear")
    monkeypatch.setattr(
        benchmarks.images.section,
        "lifted",
        lambda inner, *told: Completion(predicted=exact(inner), seconds=0.1, chosen="c"),
    )
    monkeypatch.setattr(benchmarks.images.section, "interpolated", interpolate)
    done = blended(problem, 1.0, 1)
    assert np.allclose(done.predicted, problem.truth)
    assert done.chosen.startswith("weight 1.00" if better == "patches" else "weight 0.00")
    held = asked[0]
    assert len(held.asked) == 25  # a tenth of 256 known values
    assert len(held.coords) + len(held.asked) == len(problem.coords)
    assert not {*map(tuple, held.asked)} & {*map(tuple, held.coords)}


def row(task, method, psnr, status="done"):
    return {
        "section": "images",
        "task": task,
        "method": method,
        "rep": 0,
        "status": status,
        "psnr": psnr,
        "seconds": 2.0,
        "message": "" if status == "done" else "out of memory",
    }


def test_report_and_losses(tmp_path):
    ledger = Ledger(tmp_path / "runs.csv")
    lost, won = "flower 64, Bayer", "astronaut 64, scratches"
    told = {"bilinear": 24.0, PLAIN: 20.0, PATCHES: 25.0, "Malvar filters": 27.0, "ALS": 15.0}
    for method, psnr in told.items():
        ledger.add(row(lost, method, psnr))
    for method, psnr in {"bilinear": 21.0, PLAIN: 19.0, PATCHES: 22.0, "ALS": 12.0}.items():
        ledger.add(row(won, method, psnr))
    ledger.add(row(won, "TNCP", "", status="failed"))
    text = "\n".join(report(ledger, Options(out=tmp_path)))
    assert f"| {lost} | +1.76 | 24.00 | **27.00** | 20.00 | 25.00 | 15.00 |" in text
    assert "| - | 19.00 | **22.00** | 12.00 |" in text
    assert f"| {PATCHES} | 2 | +1.00 | +1.00 | +1.00 | 2 |" in text
    assert f"- {won}, TNCP: failed, out of memory" in text
    assert "Not run yet: china 64, Bayer;" in text
    assert "![" not in text  # no picture was kept
    sentences = losses(ledger, Options(out=tmp_path))
    assert sentences[0].startswith(f"Pictures, {lost}: 27.00 dB with Malvar filters, 25.00 dB")
    assert "2 of 2 tasks, by 3.0 dB" in sentences[1]
    assert len(sentences) == 2


def test_report_shows_pictures_that_were_kept_and_leaves_them_when_they_are_gone(tmp_path, peers):
    ledger = Ledger(tmp_path / "runs.csv")
    options = Options(out=tmp_path)
    for method in ("bilinear", "ALS"):
        made = run_one_64(tmp_path, method)
        ledger.add({**row("flower 64, 50 % missing", method, made["psnr"])})
    shown = "![flower 64, 50 % missing](figures/images_flower_1.png)"
    assert shown in report(ledger, options)
    drawn = (tmp_path / "figures" / "images_flower_1.png").read_bytes()
    for kept in (tmp_path / "pictures").iterdir():
        kept.unlink()
    assert shown in report(ledger, options)
    assert (tmp_path / "figures" / "images_flower_1.png").read_bytes() == drawn


def run_one_64(tmp_path, method):
    return run_one(tmp_path, "50 % missing", method, side=64)


def test_strip_repeats_pixels(tmp_path):
    image = pytest.importorskip("PIL.Image")
    tile = np.zeros((64, 64, 3))
    tile[0, 1] = 255.0
    draw_strip([("one", tile), ("two", tile)], tmp_path / "strip.png")
    pixels = np.asarray(image.open(tmp_path / "strip.png"))
    below = pixels[-256:, :256, 0]
    assert below[:4, 4:8].min() == 255
    assert below.sum() == 255 * 16


def test_section_is_named_like_its_rows():
    assert {run.section for run in SECTION.runs(Options())} == {SECTION.name}
