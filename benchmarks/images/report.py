"""The report on pictures: a table of PSNR, what was lost, and the pictures side by side."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from benchmarks.images.pictures import CLASSICAL, MASKS, TASKS, load, recall, task_name
from benchmarks.ledger import Ledger
from benchmarks.sections import Options

NAME = "images"
PLAIN, PATCHES, BLEND = "intensor, plain", "intensor, patches", "intensor, patches + bilinear"
OURS = (PLAIN, PATCHES, BLEND)
SHOWN = (
    ("astronaut", 64, "Bayer"),
    ("astronaut", 64, "80 % missing"),
    ("flower", 64, "50 % missing"),
    ("flower", 64, "scratches"),
    ("coffee", 128, "Bayer"),
)
"""Tasks whose pictures are in the report."""
TILE = 256
"""Width of a picture in the report, in pixels."""
CAPTION = 28

OPENING = """\
Pictures that come with scikit-learn (china, flower) and scikit-image (astronaut, coffee), reduced
by area averages. Bayer: one colour a pixel is known. Missing: a share of the pixels, in all
channels. Scratches: ten strokes, three pixels wide. PSNR in dB over the unknown values; bold: the
best. All methods keep known values, so that the PSNR over all values is the same number plus the
column "over all". Predictions are clipped to 0-255. Every method may take 10 s (64 x 64) or 20 s
(128 x 128) and is run once.

- *intensor, plain* completes the tensor height x width x channel with default settings. Such a
  tensor has no neighbours: its rows could stand in any order.
- *intensor, patches* completes the tensor of overlapping patches, with default settings too. Its
  modes are row and column of a patch's corner, the 4 x 4 block of that corner, place in the patch,
  channel; a pixel is the mean of its copies. The patch is the smallest square of which nine of ten
  hold a known value. Modes, block and that rule were decided on china alone, by its unknown
  pixels; the other pictures are the test.
- *intensor, patches + bilinear* is a weighted mean of the two. The weight is chosen on a tenth of
  the known pixels, which both predict from the others, within the same time. That a mean helps had
  been seen on all pictures before.
- *ALS, patches* is a peer on the same tensor of patches.
- Malvar filters (2004) are for the Bayer pattern, the biharmonic equation is for holes.

Radius and gap are chosen by the library on held-out cells. On patches these have copies among the
cells that are not held out, so that the choice errs towards close fits.
"""


def report(ledger: Ledger, options: Options) -> list[str]:
    """Return the tables, and the pictures of the tasks that are shown."""
    psnr = _figures(ledger, "psnr")
    names = _order({method for found in psnr.values() for method in found})
    tasks = [task for task in _tasks() if task in psnr]
    lines = [*OPENING.splitlines(), ""]
    lines += [
        f"| | over all | {' | '.join(names)} |",
        "|---" * (2 + len(names)) + "|",
    ]
    for task in tasks:
        best = max(psnr[task].values())
        cells = [_cell(psnr[task].get(name), best) for name in names]
        lines.append(f"| {task} | {_over_all(task):+.2f} | {' | '.join(cells)} |")
    lines += ["", *_methods(ledger, psnr, names), "", *_failures(ledger)]
    missing = [task for task in _tasks() if task not in psnr]
    if missing:
        lines += ["", f"Not run yet: {'; '.join(missing)}."]
    for place in SHOWN:
        lines += _strip(place, psnr, options)
    return lines


def losses(ledger: Ledger, options: Options) -> list[str]:
    """Return where another method has a higher PSNR than the best of intensor's."""
    told = []
    psnr = _figures(ledger, "psnr")
    for task in _tasks():
        found = psnr.get(task, {})
        ours = {name: found[name] for name in OURS if name in found}
        others = {name: value for name, value in found.items() if name not in OURS}
        if not ours or not others:
            continue
        best, other = max(ours, key=ours.__getitem__), max(others, key=others.__getitem__)
        if others[other] > ours[best]:
            told.append(
                f"Pictures, {task}: {others[other]:.2f} dB with {other}, {ours[best]:.2f} dB "
                f"with {best}."
            )
    both = [found for found in psnr.values() if PLAIN in found and "bilinear" in found]
    behind = [found["bilinear"] - found[PLAIN] for found in both]
    if any(difference > 0.0 for difference in behind):
        told.append(
            f"Pictures as plain tensors: bilinear interpolation is better in "
            f"{sum(difference > 0.0 for difference in behind)} of {len(behind)} tasks, by "
            f"{statistics.mean(behind):.1f} dB on average over all; without neighbours boxes "
            "cannot follow a natural picture."
        )
    return told


def _tasks() -> list[str]:
    return [task_name(*task) for task in TASKS]


def _figures(ledger: Ledger, column: str) -> dict[str, dict[str, float]]:
    """Return a column as task -> method -> number, of the runs that are done."""
    found: dict[str, dict[str, float]] = {}
    for row in ledger.rows(section=NAME, status="done"):
        found.setdefault(row["task"], {})[row["method"]] = float(row[column])
    return found


def _order(names: set[str]) -> list[str]:
    """Return interpolation first, then intensor's, then peers by name."""
    first = [name for name in (*CLASSICAL, *OURS) if name in names]
    return first + sorted(names - set(first))


def _cell(value: float | None, best: float) -> str:
    if value is None:
        return "-"
    return f"**{value:.2f}**" if value >= best - 0.005 else f"{value:.2f}"


def _over_all(task: str) -> float:
    """Return by how much the PSNR grows when known values, which are exact, count too."""
    side, mask = next(
        (side, mask) for name, side, mask in TASKS if task_name(name, side, mask) == task
    )
    return -10.0 * float(np.log10(1.0 - np.mean(MASKS[mask](side))))


def _methods(ledger: Ledger, psnr: dict[str, dict[str, float]], names: Sequence[str]) -> list[str]:
    """Return what each method gains over bilinear interpolation, and its time."""
    seconds = _figures(ledger, "seconds")
    lines = ["| method | tasks | dB above bilinear, mean | least | most | seconds, mean |"]
    lines.append("|---|---|---|---|---|---|")
    for name in names:
        tasks = [task for task, found in psnr.items() if name in found and "bilinear" in found]
        if not tasks:
            continue
        gains = [psnr[task][name] - psnr[task]["bilinear"] for task in tasks]
        taken = statistics.mean(seconds[task][name] for task in tasks)
        lines.append(
            f"| {name} | {len(tasks)} | {statistics.mean(gains):+.2f} | {min(gains):+.2f} | "
            f"{max(gains):+.2f} | {taken:.2g} |"
        )
    return lines


def _failures(ledger: Ledger) -> list[str]:
    rows = [row for row in ledger.rows(section=NAME) if row["status"] != "done"]
    return [f"- {row['task']}, {row['method']}: {row['status']}, {row['message']}" for row in rows]


def _strip(
    place: tuple[str, int, str], psnr: dict[str, dict[str, float]], options: Options
) -> list[str]:
    """Return the line that shows a task, with its picture drawn anew where all parts are there."""
    task = task_name(*place)
    path = options.figures / f"images_{place[0]}_{list(MASKS).index(place[2])}.png"
    found = psnr.get(task, {})
    peers = [name for name in found if name not in (*OURS, *CLASSICAL)]
    named = ["bilinear", PLAIN, PATCHES, *sorted(peers, key=found.__getitem__)[-1:]]
    kept = {name: recall(options.out / "pictures", task, name) for name in named if name in found}
    tiles = [
        (f"{name}\n{found[name]:.2f} dB", one) for name, one in kept.items() if one is not None
    ]
    if tiles and len(tiles) == len(kept):
        picture, side, mask = place
        image = load(picture, side)
        known = np.where(MASKS[mask](side), image, 0.0)
        draw_strip([("original", image), (f"known\n{mask}", known), *tiles], path)
    if not path.exists():
        return []
    return [
        "",
        f"{task}: original; known; {'; '.join(kept)}.",
        "",
        f"![{task}](figures/{path.name})",
    ]


def draw_strip(tiles: Sequence[tuple[str, NDArray]], path: Path) -> None:
    """Write pictures side by side, each pixel repeated, with a caption of two lines above each."""
    gap = 6
    sheet = Image.new("RGB", (len(tiles) * (TILE + gap) - gap, TILE + CAPTION), "white")
    pen = ImageDraw.Draw(sheet)
    for place, (caption, values) in enumerate(tiles):
        times = max(1, TILE // len(values))
        pixels = np.uint8(np.clip(np.rint(values), 0, 255)).repeat(times, 0).repeat(times, 1)
        left = place * (TILE + gap)
        sheet.paste(Image.fromarray(pixels), (left, CAPTION))
        pen.multiline_text((left, 0), caption, fill="black", spacing=1)
    sheet.save(path, optimize=True)
