"""Pictures, masks, interpolation and the tensor of patches."""

import numpy as np
import pytest

from benchmarks.images.pictures import (
    BLOCK,
    CLASSICAL,
    MASKS,
    TASKS,
    bayer,
    biharmonic,
    bilinear,
    gradient_corrected,
    keep,
    lift,
    load,
    missing_pixels,
    recall,
    scratches,
    shrink,
)
from benchmarks.problems import from_dense


@pytest.fixture
def plane():
    """A picture whose channels are planes, with an offset each: linear rules recover it."""
    rows, columns = np.mgrid[:16, :16]
    return np.stack([100.0 + rows * 3 + columns * 2 + 20 * channel for channel in range(3)], axis=2)


def task(picture, known):
    return from_dense("t", picture, known, ~known)


def test_shrink_averages_the_middle():
    image = np.zeros((9, 6, 3), dtype=np.uint8)
    image[1:4, :3], image[1:4, 3:] = 9, 3
    image[4:7] = np.arange(3)
    image[0] = image[7:] = 255  # outside of the middle square
    small = shrink(image, 2)
    assert small.shape == (2, 2, 3)
    assert small[0, :, 0].tolist() == [9.0, 3.0]
    assert small[1, 0].tolist() == [0.0, 1.0, 2.0]


def test_shrink_refuses_to_enlarge():
    with pytest.raises(ValueError, match="no 10 x 10 pixels"):
        shrink(np.zeros((9, 12, 3)), 10)


@pytest.mark.parametrize(("name", "side"), sorted({task[:2] for task in TASKS}))
def test_pictures_load_without_a_download(name, side):
    if name not in ("china", "flower"):
        pytest.importorskip("skimage")
    image = load(name, side)
    assert image.shape == (side, side, 3)
    assert image.min() >= 0.0
    assert image.max() <= 255.0
    assert image.std() > 20.0


def test_unknown_picture_is_named():
    with pytest.raises(KeyError, match="lena"):
        load("lena", 64)


def test_bayer_knows_one_colour_a_pixel():
    known = bayer(8)
    assert (known.sum(axis=2) == 1).all()
    assert known[0, 0].argmax() == 0
    assert known[0, 1].argmax() == known[1, 0].argmax() == 1
    assert known[1, 1].argmax() == 2


def test_missing_pixels_are_missing_in_all_channels():
    known = missing_pixels(20, 0.8)
    assert (known.sum(axis=2) % 3 == 0).all()
    assert known.mean() == pytest.approx(0.2)
    assert not np.array_equal(known, missing_pixels(20, 0.8, seed=1))


def test_scratches_are_some_strokes():
    known = scratches(64)
    assert (known.sum(axis=2) % 3 == 0).all()
    assert 0.1 < 1.0 - known.mean() < 0.5


@pytest.mark.parametrize("mask", MASKS)
def test_bilinear_keeps_what_is_known_and_recovers_a_plane_inside(plane, mask):
    known = MASKS[mask](16)
    filled = bilinear(np.where(known, plane, 1e9), known)
    assert np.array_equal(filled[known], plane[known])
    if mask == "Bayer":
        assert np.allclose(filled[1:-1, 1:-1], plane[1:-1, 1:-1])
    else:
        assert np.isclose(filled, plane)[~known].mean() > 0.5
        assert np.abs(filled - plane).max() < 40.0


def test_bilinear_sees_no_hidden_value(plane):
    for known in (bayer(16), missing_pixels(16, 0.5)):
        spoiled = np.where(known, plane, 1e9)
        assert np.array_equal(bilinear(plane, known), bilinear(spoiled, known))


def test_gradient_correction_recovers_a_plane_and_sees_no_hidden_value(plane):
    known = bayer(16)
    filled = gradient_corrected(plane, known)
    assert np.array_equal(filled[known], plane[known])
    assert np.allclose(filled[2:-2, 2:-2], plane[2:-2, 2:-2])
    assert np.array_equal(filled, gradient_corrected(np.where(known, plane, 1e9), known))


def test_gradient_correction_beats_bilinear_on_a_grey_picture():
    image = load("china", 64)
    grey = np.repeat(image.mean(axis=2, keepdims=True), 3, axis=2)
    known = bayer(64)
    filled = [CLASSICAL[name](grey, known) for name in ("bilinear", "Malvar filters")]
    errors = [np.mean((one - grey)[~known] ** 2) for one in filled]
    assert errors[1] < 0.6 * errors[0]


def test_gradient_correction_is_for_bayer_only(plane):
    with pytest.raises(ValueError, match="Bayer"):
        gradient_corrected(plane, missing_pixels(16, 0.5))


def test_biharmonic_fills_holes(plane):
    pytest.importorskip("skimage")
    known = missing_pixels(16, 0.5)
    filled = biharmonic(np.where(known, plane, 1e9), known)
    assert np.array_equal(filled[known], plane[known])
    assert np.abs(filled - plane).mean() < 3.0


@pytest.mark.parametrize("mask", MASKS)
def test_patches_hold_the_same_values_and_merge_back(mask):
    rng = np.random.default_rng(3)
    picture, known = rng.uniform(0, 255, (16, 16, 3)), MASKS[mask](16)
    lifted = lift(task(picture, known))
    row, column, block, place, channel = lifted.problem.coords.T
    down, right = np.divmod(place, lifted.patch)
    assert np.array_equal(picture[row + down, column + right, channel], lifted.problem.values)
    assert known[row + down, column + right, channel].all()
    assert np.array_equal(np.unique(block), np.arange(lifted.problem.shape[2]))
    same = (row // BLOCK == row[0] // BLOCK) & (column // BLOCK == column[0] // BLOCK)
    assert np.array_equal(same, block == block[0])
    assert (lifted.problem.coords < lifted.problem.shape).all()
    assert (lifted.problem.asked < lifted.problem.shape).all()
    assert np.allclose(lifted.merge(lifted.problem.truth), picture[~known])


def test_every_cell_of_the_patch_tensor_is_known_or_asked_once():
    picture, known = np.ones((9, 9, 3)), bayer(9)
    lifted = lift(task(picture, known))
    both = np.concatenate([lifted.problem.coords, lifted.problem.asked])
    assert len(np.unique(both, axis=0)) == len(both) == 8 * 8 * 4 * 3
    assert lifted.patch == 2


def test_patches_grow_with_the_holes():
    picture = np.ones((64, 64, 3))
    sides = [lift(task(picture, missing_pixels(64, share))).patch for share in (0.5, 0.8, 0.95)]
    assert sides == [2, 4, 7]


def test_pictures_are_kept_and_recalled(tmp_path):
    picture = load("flower", 16)
    assert recall(tmp_path, "flower 16, 50 % missing", "ALS") is None
    keep(tmp_path / "new", "flower 16, 50 % missing", "ALS", picture)
    found = recall(tmp_path / "new", "flower 16, 50 % missing", "ALS")
    assert np.abs(found - picture).max() <= 0.5
