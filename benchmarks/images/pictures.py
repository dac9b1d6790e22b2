"""Pictures as tensors height x width x channel, masks of what is known, classical interpolation.

A picture has neighbours, and a plain tensor has none: its rows could stand in any order. ``lift``
turns a picture into a tensor of overlapping patches, where neighbours share indices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import griddata
from scipy.ndimage import convolve

from benchmarks.problems import Problem

PEAK = 255.0
"""Largest value a pixel can have."""
SCIKIT_LEARN = ("china", "flower")
SCIKIT_IMAGE = ("astronaut", "coffee")
BLOCK = 4
"""Patches whose corners are in the same block of so many rows and columns share an index."""
HOLDING = 0.9
"""Share of the patches that must hold a known value: sets how large a patch is."""
LARGEST_PATCH = 8


def load(name: str, side: int) -> NDArray:
    """Return a picture of (side, side, 3) values 0-255, by area averages of its middle square.

    All come with the installed packages; nothing is downloaded.
    """
    if name in SCIKIT_LEARN:
        from sklearn.datasets import load_sample_image  # noqa: PLC0415

        return shrink(load_sample_image(f"{name}.jpg"), side)
    if name in SCIKIT_IMAGE:
        from skimage import data  # noqa: PLC0415

        return shrink(getattr(data, name)(), side)
    raise KeyError(f"no picture {name!r}; expected one of {SCIKIT_LEARN + SCIKIT_IMAGE}")


def shrink(image: NDArray, side: int) -> NDArray:
    """Return averages over squares of equal size, as large as fit into the middle of the image."""
    height, width, channels = image.shape
    square = min(height, width) // side
    if square == 0:
        raise ValueError(f"an image of {height} x {width} has no {side} x {side} pixels")
    top, left = (height - square * side) // 2, (width - square * side) // 2
    middle = image[top : top + square * side, left : left + square * side].astype(float)
    return middle.reshape(side, square, side, square, channels).mean(axis=(1, 3))


def bayer(side: int) -> NDArray[np.bool_]:
    """Return what a camera sees: red, green / green, blue, one colour a pixel."""
    known = np.zeros((side, side, 3), dtype=bool)
    known[::2, ::2, 0] = known[::2, 1::2, 1] = known[1::2, ::2, 1] = known[1::2, 1::2, 2] = True
    return known


def missing_pixels(side: int, share: float, seed: int = 0) -> NDArray[np.bool_]:
    """Return a mask in which a share of the pixels is unknown in all channels."""
    pixels = side * side
    order = np.random.default_rng(seed).permutation(pixels)
    known = np.ones(pixels, dtype=bool)
    known[order[: round(share * pixels)]] = False
    return np.repeat(known.reshape(side, side, 1), 3, axis=2)


def scratches(side: int, seed: int = 0) -> NDArray[np.bool_]:
    """Return a mask with ten straight strokes across the picture, three pixels wide."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:side, :side]
    known = np.ones((side, side), dtype=bool)
    for _ in range(10):
        row, column = rng.uniform(0, side, size=2)
        angle = rng.uniform(0, np.pi)
        across = np.abs((rows - row) * np.cos(angle) - (columns - column) * np.sin(angle))
        along = np.abs((rows - row) * np.sin(angle) + (columns - column) * np.cos(angle))
        known &= (across > 1.5) | (along > 0.4 * side)
    return np.repeat(known[:, :, None], 3, axis=2)


MASKS: dict[str, Callable[[int], NDArray[np.bool_]]] = {
    "Bayer": bayer,
    "50 % missing": lambda side: missing_pixels(side, 0.5),
    "80 % missing": lambda side: missing_pixels(side, 0.8),
    "scratches": scratches,
}
"""From the side of a picture to what is known of it."""
TASKS: tuple[tuple[str, int, str], ...] = (
    *(("china", 64, mask) for mask in ("Bayer", "80 % missing")),
    *(("flower", 64, mask) for mask in MASKS),
    *(("astronaut", 64, mask) for mask in MASKS),
    *(("coffee", 128, mask) for mask in ("Bayer", "50 % missing")),
)
"""Picture, side and mask of all tasks."""


def bilinear(picture: NDArray, known: NDArray[np.bool_]) -> NDArray:
    """Fill each channel linearly from the nearest known values; known values stay.

    On the Bayer pattern this is the usual weighted mean of the known values among the eight
    neighbours; elsewhere linear interpolation on the Delaunay triangles of the known pixels, and
    the nearest one outside of them.
    """
    filled = np.where(known, picture, 0.0)
    if np.array_equal(known, bayer(len(picture))):
        weights = np.outer([0.5, 1.0, 0.5], [0.5, 1.0, 0.5])
        for channel in range(3):
            seen = known[:, :, channel]
            total = convolve(filled[:, :, channel], weights, mode="constant")
            size = convolve(seen.astype(float), weights, mode="constant")
            filled[:, :, channel] = np.where(seen, picture[:, :, channel], total / size)
        return filled
    for channel in range(3):
        seen = known[:, :, channel]
        points, asked = np.argwhere(seen), np.argwhere(~seen)
        values = picture[:, :, channel][seen]
        inside = griddata(points, values, asked, method="linear")
        nearest = griddata(points, values, asked, method="nearest")
        filled[:, :, channel][~seen] = np.where(np.isnan(inside), nearest, inside)
    return filled


def gradient_corrected(picture: NDArray, known: NDArray[np.bool_]) -> NDArray:
    """Fill a Bayer pattern with the 5 x 5 linear filters of Malvar, He and Cutler (2004).

    A missing colour is its bilinear value plus a share of how far the colour that is known there
    is from the mean of its neighbours of that colour.
    """
    if not np.array_equal(known, bayer(len(picture))):
        raise ValueError("these filters are for the Bayer pattern only")
    raw = np.where(known, picture, 0.0).sum(axis=2)
    green = np.zeros((5, 5))
    green[2, [1, 3]] = green[[1, 3], 2] = 2.0
    green[2, [0, 4]] = green[[0, 4], 2] = -1.0
    green[2, 2] = 4.0
    along = np.zeros((5, 5))  # the wanted colour is to the left and to the right
    along[2] = [-1.0, 4.0, 5.0, 4.0, -1.0]
    along[np.ix_([1, 3], [1, 3])] = -1.0
    along[[0, 4], 2] = 0.5
    corners = np.zeros((5, 5))
    corners[np.ix_([1, 3], [1, 3])] = 2.0
    corners[2, [0, 4]] = corners[[0, 4], 2] = -1.5
    corners[2, 2] = 6.0
    # "mirror" repeats no pixel, so that the pattern goes on beyond the border.
    at_corners, beside, above, at_green = (
        convolve(raw, filters / 8.0, mode="mirror") for filters in (corners, along, along.T, green)
    )
    rows, columns = np.mgrid[: len(raw), : len(raw)] % 2
    even = rows == columns  # red or blue is known there
    filled = np.empty_like(picture)
    filled[:, :, 1] = np.where(even, at_green, raw)
    for channel, own in ((0, 0), (2, 1)):
        elsewhere = np.where(rows == own, beside, above)
        filled[:, :, channel] = np.where(even, at_corners, elsewhere)
    return np.where(known, picture, np.clip(filled, 0.0, PEAK))


def biharmonic(picture: NDArray, known: NDArray[np.bool_]) -> NDArray:
    """Fill pixels that are unknown in all channels by scikit-image's biharmonic equation."""
    from skimage.restoration import inpaint_biharmonic  # noqa: PLC0415

    scaled = np.where(known, picture, 0.0) / PEAK
    filled = inpaint_biharmonic(scaled, ~known[:, :, 0], channel_axis=2)
    return np.where(known, picture, np.clip(PEAK * filled, 0.0, PEAK))


CLASSICAL: dict[str, Callable[[NDArray, NDArray], NDArray]] = {
    "bilinear": bilinear,
    "Malvar filters": gradient_corrected,
    "biharmonic": biharmonic,
}
"""Called with a picture and what is known of it."""


def task_name(picture: str, side: int, mask: str) -> str:
    """Return the name of a task in tables."""
    return f"{picture} {side}, {mask}"


def keep(store: Path, task: str, method: str, filled: NDArray) -> None:
    """Write a completed picture, in whole numbers 0-255, where the report finds it."""
    store.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(_file(store, task, method), filled=np.uint8(np.rint(filled)))


def recall(store: Path, task: str, method: str) -> NDArray | None:
    """Return a completed picture that was kept, or None."""
    path = _file(store, task, method)
    if not path.exists():
        return None
    with np.load(path) as told:
        return told["filled"]


def _file(store: Path, task: str, method: str) -> Path:
    letters = "".join(sign if sign.isalnum() else "_" for sign in f"{task}__{method}")
    return store / f"{letters}.npz"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lifted:
    """A picture as a tensor of overlapping patches.

    Attributes
    ----------
    problem
        The task for any method: modes row and column of a patch's corner, the block of that
        corner, place in the patch, channel. A pixel is in the tensor as often as in a patch.
    patch
        Side of a patch.
    owners
        For each cell that is asked about, the place of the pixel it is a copy of.
    """

    problem: Problem
    patch: int
    owners: NDArray[np.int64]

    def merge(self, predicted: NDArray) -> NDArray:
        """Return one number per asked pixel: the mean of its copies."""
        return np.bincount(self.owners, predicted) / np.bincount(self.owners)


def lift(problem: Problem) -> Lifted:
    """Return the tensor of patches of a picture.

    The side of a patch is the smallest with which nine of ten patches hold a known value.
    """
    height, width, channels = problem.shape
    counts = np.zeros((height, width))
    np.add.at(counts, tuple(problem.coords[:, :2].T), 1.0)
    for patch in range(2, min(LARGEST_PATCH, height, width) + 1):
        held = np.lib.stride_tricks.sliding_window_view(counts, (patch, patch)).sum(axis=(2, 3))
        if np.mean(held > 0) >= HOLDING:
            break
    blocks = [-(-length // BLOCK) for length in held.shape]

    def copy(cells: NDArray) -> tuple[NDArray, NDArray]:
        """Return the cells of the new tensor, and the place of the old one each comes from."""
        found, owners = [], []
        for place in range(patch * patch):
            down, right = divmod(place, patch)
            row, column = cells[:, 0] - down, cells[:, 1] - right
            inside = (row >= 0) & (row < held.shape[0]) & (column >= 0) & (column < held.shape[1])
            row, column, channel = row[inside], column[inside], cells[inside, 2]
            block = row // BLOCK * blocks[1] + column // BLOCK
            found.append(np.stack([row, column, block, np.full_like(row, place), channel], axis=1))
            owners.append(np.flatnonzero(inside))
        return np.concatenate(found), np.concatenate(owners)

    coords, known = copy(problem.coords)
    asked, owners = copy(problem.asked)
    lifted = Problem(
        name=f"{problem.name}, patches",
        shape=(*held.shape, blocks[0] * blocks[1], patch * patch, channels),
        coords=coords,
        values=problem.values[known],
        asked=asked,
        truth=problem.truth[owners],
    )
    return Lifted(problem=lifted, patch=patch, owners=owners)
