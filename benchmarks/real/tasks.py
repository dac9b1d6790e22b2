"""Real tensors: every task of the data folder's ``TASKS.md``, its published figures, the goals.

Nothing here is drawn anew: masks come from stored files or from the seeds of the protocols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import scipy.io
from numpy.typing import NDArray

from benchmarks.problems import Problem, from_dense

__all__ = ["DATA_SETS", "DataSet", "Goal", "check_data", "goals", "load"]

Figures = dict[str, dict[str, dict[str, float]]]
"""Row of a table -> method -> metric -> figure."""
BEST_RANK = "tensorly nonnegative CP, best rank on test"
MASKED = "masked nonnegative CP"
RIDGE = f"{MASKED} with ridge, tuned on validation"
LATC = "LATC, best of 20 settings on test"
INTERPOLATION = "linear interpolation"
BLOCK = 6
"""Slots that are lost together, for all stations."""
UNNAMED = "listed figure, method not named"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DataSet:
    """A tensor with the tasks made of it.

    Attributes
    ----------
    name, about
        For tables, and a few sentences for the reader.
    files
        What it is read from.
    metrics
        Columns of the scorer that the published figures are in.
    tasks
        By name: called with the folder and the name.
    published
        Figures by row: the name of a task or, for folds, of the data set.
    folds
        Whether the tasks are folds, whose mean is the row that counts.
    peers
        The task that other packages are run on too.
    """

    name: str
    about: str
    files: tuple[str, ...]
    metrics: tuple[str, ...]
    tasks: Mapping[str, Callable[[Path, str], Problem]]
    published: Figures = field(default_factory=dict)
    folds: bool = False
    peers: str

    @property
    def rows(self) -> tuple[str, ...]:
        """Rows of its table: the tasks and, for folds, their mean."""
        return (*self.tasks, self.name) if self.folds else tuple(self.tasks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What an error should be: at most ``most``, or below it when ``strict``."""

    row: str
    metric: str
    most: float
    strict: bool
    words: str

    def met(self, error: float) -> bool:
        """Say whether an error is small enough."""
        return error < self.most if self.strict else error <= self.most


def load(task: str, folder: Path) -> Problem:
    """Read one task by its name."""
    for data_set in DATA_SETS:
        if task in data_set.tasks:
            return data_set.tasks[task](folder, task)
    raise KeyError(f"there is no task {task!r}")


def check_data(folder: Path) -> None:
    """Raise FileNotFoundError when the folder or a file is missing, naming the first."""
    hint = "name the folder of the real data with --data FOLDER"
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}: {hint}")
    for data_set in DATA_SETS:
        for file in data_set.files:
            if not (folder / file).is_file():
                raise FileNotFoundError(
                    f"the folder {folder} has no file {file} ({data_set.name}): {hint}"
                )


def kept(uniforms: NDArray, rate: float) -> NDArray:
    """Return what the traffic protocol keeps when it hides a share of the cells."""
    return np.round(uniforms + 0.5 - rate) > 0


def seeded(*shape: int) -> NDArray:
    """Return the uniforms that the traffic protocol draws from its seed."""
    return np.random.RandomState(1000).rand(*shape)


def traffic(name: str, tensor: NDArray, keep: NDArray) -> Problem:
    """Make a task in which a 0 counts as missing: neither known nor asked about."""
    there = tensor != 0
    return from_dense(name, tensor, there & keep, there & ~keep)


def randomly(name: str, tensor: NDArray, rate: float) -> Problem:
    """Hide a share of the cells, a 0 among them or not; NaN is neither known nor asked about."""
    hidden = np.random.default_rng(0).random(tensor.shape) < rate
    there = np.isfinite(tensor)
    return from_dense(name, tensor, there & ~hidden, there & hidden)


def blocks(slots: int, days: int) -> NDArray:
    """Return (slots, days) uniforms, one for each block of consecutive slots.

    Days follow each other, so that a block may run over midnight where their length is no
    multiple of that of a block.
    """
    drawn = seeded(-(-slots * days // BLOCK))
    return np.repeat(drawn, BLOCK)[: slots * days].reshape((slots, days), order="F")


def _hangzhou(folder: Path, name: str, *, rate: float, draw: str) -> Problem:
    """Read metro counts; the days come last with "random", "fibre" and "blocks", as published."""
    tensor = _mat(folder / "transdim_hangzhou_tensor.mat").astype(float)
    if draw == "stored":
        uniforms = _mat(folder / "transdim_hangzhou_random_tensor.mat")
    elif draw == "days second":
        uniforms = seeded(*tensor.shape)
    else:
        tensor = tensor.transpose(0, 2, 1)
        stations, slots, days = tensor.shape
        if draw == "fibre":
            uniforms = seeded(stations, days)[:, None, :]
        elif draw == "blocks":
            uniforms = blocks(slots, days)
        else:
            uniforms = seeded(*tensor.shape)
    return traffic(name, tensor, np.broadcast_to(kept(uniforms, rate), tensor.shape))


def _electricity(folder: Path, name: str, *, rate: float) -> Problem:
    tensor = np.load(folder / "electricity35.npy").reshape((321, 24, 35), order="F")
    return traffic(name, tensor, kept(np.load(folder / "electricity_random_tensor.npy"), rate))


def _guangzhou(folder: Path, name: str, *, mode: int) -> Problem:
    tensor = np.load(folder / "guangzhou_small.npy").astype(float)
    keep = np.load(folder / "guangzhou_small_masks_seed123.npz")[f"fiber{mode}_50"]
    return traffic(name, tensor, keep)


def _fold(folder: Path, name: str, *, file: str, shape: tuple[int, ...], fold: int) -> Problem:
    stored = np.load(folder / file)
    return Problem(
        name=name,
        shape=shape,
        coords=stored[f"train{fold}_idx"].astype(np.int64),
        values=stored[f"train{fold}_val"].astype(float),
        asked=stored[f"test{fold}_idx"].astype(np.int64),
        truth=stored[f"test{fold}_val"].astype(float),
    )


def _amino(folder: Path, name: str, *, rate: float) -> Problem:
    measured = np.load(folder / "amino_5x201x61.npz")["X"].astype(float)
    return randomly(name, np.maximum(measured, 0.0), rate)


def _il2(folder: Path, name: str, *, rate: float) -> Problem:
    return randomly(name, np.load(folder / "tensorly_IL2_Response_Tensor.npy"), rate)


def _calls(folder: Path, name: str, *, rate: float) -> Problem:
    return randomly(name, np.load(folder / "calls911_69x72x45.npz")["X"].astype(float), rate)


def _highd(folder: Path, name: str, *, rate: float) -> Problem:
    """Read speeds; known cells are readings of some vehicles, asked are those of all vehicles."""
    stored = np.load(folder / "highd_595x142x3.npz")
    readings, speed = stored[f"missing{round(100 * rate)}"], stored["speed"]
    known = np.isfinite(readings)
    hidden = ~known & (np.nan_to_num(speed) > 0.0)
    return Problem(
        name=name,
        shape=speed.shape,
        coords=np.argwhere(known),
        values=readings[known].astype(float),
        asked=np.argwhere(hidden),
        truth=speed[hidden].astype(float),
    )


def _mat(path: Path) -> NDArray:
    """Return the one array of a MATLAB file."""
    return next(value for key, value in scipy.io.loadmat(path).items() if not key.startswith("__"))


def _figures(metrics: tuple[str, ...], rows: dict[str, dict[str, tuple[float, ...]]]) -> Figures:
    return {
        row: {
            method: dict(zip(metrics, numbers, strict=True)) for method, numbers in methods.items()
        }
        for row, methods in rows.items()
    }


def _percent(name: str, loader: Callable[..., Problem], *rates: int) -> dict[str, partial]:
    return {f"{name} {rate} %": partial(loader, rate=rate / 100) for rate in rates}


def _folds(
    name: str, file: str, shape: tuple[int, ...], stored: tuple[int, ...]
) -> dict[str, partial]:
    return {
        f"{name} fold {place}": partial(_fold, file=file, shape=shape, fold=fold)
        for place, fold in enumerate(stored, start=1)
    }


DATA_SETS = (
    DataSet(
        name="Hangzhou",
        about="Metro inflow, 80 stations, 25 days, 108 slots of ten minutes (transdim, MIT). Zeros "
        "count as missing. Random and fibre rows at 30, 70, 90 % and blocks are stations x slots x "
        "days, the others stations x days x slots; a fibre is a whole day of a station; a block is "
        "6 consecutive slots, lost for all stations; stored: a mask from a file. The figures of "
        "LRTC-TNN, HaLRTC and BGCP were reproduced digit for digit. The rank that is best on test "
        "cells is one that looks at the answers, and so are the settings of LATC. Of the fibres "
        "hidden at 30 %, one (station 15 on the first day, with nearly twice the passengers of any "
        "other day) makes up nearly two thirds of our squared error.",
        files=("transdim_hangzhou_tensor.mat", "transdim_hangzhou_random_tensor.mat"),
        metrics=("mape", "rmse"),
        tasks={
            **_percent("Hangzhou random", partial(_hangzhou, draw="random"), 30, 70, 90),
            **_percent("Hangzhou fibre", partial(_hangzhou, draw="fibre"), 30, 70),
            **_percent("Hangzhou blocks", partial(_hangzhou, draw="blocks"), 30),
            **_percent("Hangzhou stored random", partial(_hangzhou, draw="stored"), 40, 60),
            **_percent("Hangzhou random", partial(_hangzhou, draw="days second"), 40),
        },
        published=_figures(
            ("mape", "rmse"),
            {
                "Hangzhou random 30 %": {"LRTC-TNN": (0.1863, 24.95), BEST_RANK: (0.2146, 30.24)},
                "Hangzhou random 70 %": {"LRTC-TNN": (0.2016, 29.55), BEST_RANK: (0.2457, 35.69)},
                "Hangzhou random 90 %": {
                    "LRTC-TNN": (0.2295, 38.05),
                    LATC: (0.2432, 34.44),
                    BEST_RANK: (0.3806, 54.22),
                },
                "Hangzhou fibre 30 %": {"LRTC-TNN": (0.1939, 47.60), BEST_RANK: (0.2270, 55.01)},
                "Hangzhou fibre 70 %": {"LRTC-TNN": (0.2264, 41.83), BEST_RANK: (0.3170, 53.67)},
                "Hangzhou blocks 30 %": {"LRTC-TNN": (0.2137, 29.28), LATC: (0.2193, 28.64)},
                "Hangzhou stored random 40 %": {"HaLRTC": (0.1902, 31.81)},
                "Hangzhou stored random 60 %": {"HaLRTC": (0.2009, 36.19)},
                "Hangzhou random 40 %": {"BGCP": (0.1977, 33.68)},
            },
        ),
        peers="Hangzhou random 70 %",
    ),
    DataSet(
        name="electricity",
        about="Load of 321 clients, 24 hours, 35 days (UCI, by way of tensor-learning, MIT). Zeros "
        "count as missing; masks from a file.",
        files=("electricity35.npy", "electricity_random_tensor.npy"),
        metrics=("mape", "rmse"),
        tasks=_percent("electricity", _electricity, 20, 40, 60),
        published=_figures(
            ("mape", "rmse"),
            {
                "electricity 20 %": {"LRTC-TNN": (0.1036, 496.5)},
                "electricity 40 %": {"LRTC-TNN": (0.1129, 626.2)},
                "electricity 60 %": {"LRTC-TNN": (0.1314, 721.9)},
            },
        ),
        peers="electricity 40 %",
    ),
    DataSet(
        name="alog",
        about="Log counts of 200 users, 100 actions, 200 resources, 0.69 % of the cells in five "
        "fixed folds (Bayesian-streaming-sparse-tucker, Apache-2.0). BASS-Tucker: three folds.",
        files=("alog_200x100x200_folds.npz",),
        metrics=("rmse", "mae"),
        tasks=_folds("alog", "alog_200x100x200_folds.npz", (200, 100, 200), (1, 2, 3, 4, 5)),
        published=_figures(
            ("rmse", "mae"),
            {
                "alog": {
                    "nonnegative CP": (1.661, 0.751),
                    "cp_wopt": (1.135, 0.567),
                    "BASS-Tucker": (0.989, 0.519),
                    RIDGE: (0.941, 0.440),
                }
            },
        ),
        folds=True,
        peers="alog fold 1",
    ),
    DataSet(
        name="Guangzhou",
        about="Traffic speed, 144 slots, 50 links, 15 days (tensorlib, MIT); half of the fibres "
        "along one mode hidden. Zeros (the whole of one link) count as missing, as in the scorer "
        "that the figures of LRTC-TSpN come from.",
        files=("guangzhou_small.npy", "guangzhou_small_masks_seed123.npz"),
        metrics=("mae", "rmse"),
        tasks={
            f"Guangzhou fibre mode {mode}": partial(_guangzhou, mode=mode) for mode in (0, 1, 2)
        },
        published=_figures(
            ("mae", "rmse"),
            {
                f"Guangzhou fibre mode {mode}": {"LRTC-TSpN": low_rank, MASKED: cp}
                for mode, (low_rank, cp) in enumerate(
                    [
                        ((2.832, 4.261), (3.391, 4.953)),
                        ((2.426, 3.476), (3.340, 4.829)),
                        ((2.397, 3.443), (3.064, 4.426)),
                    ]
                )
            },
        ),
        peers="Guangzhou fibre mode 0",
    ),
    DataSet(
        name="amino",
        about="Fluorescence of amino acids, 5 x 201 x 61 (Bro 1997, by way of rrcov3way); negative "
        "readings are set to 0.",
        files=("amino_5x201x61.npz",),
        metrics=("relative_error",),
        tasks=_percent("amino", _amino, 50, 90),
        published=_figures(
            ("relative_error",),
            {
                "amino 50 %": {MASKED: (0.0224,)},
                "amino 90 %": {MASKED: (0.0258,)},
            },
        ),
        peers="amino 50 %",
    ),
    DataSet(
        name="IL-2",
        about="Response of cells to interleukin 2, 13 x 4 x 12 x 8, with gaps of its own that are "
        "neither known nor asked about (tensorly 0.10.0). The list of figures names no method.",
        files=("tensorly_IL2_Response_Tensor.npy",),
        metrics=("rmse",),
        tasks=_percent("IL-2", _il2, 20, 50, 80),
        published=_figures(
            ("rmse",),
            {
                "IL-2 20 %": {UNNAMED: (0.054,)},
                "IL-2 50 %": {UNNAMED: (0.056,)},
                "IL-2 80 %": {UNNAMED: (0.092,)},
            },
        ),
        peers="IL-2 50 %",
    ),
    DataSet(
        name="911 calls",
        about="Weekly counts of calls, 69 x 72 x 45 "
        "(Stochastic-Nonparametric-Event-Tensor-Decomposition); zeros are counts like others. The "
        "list of figures names no method, and the figure is taken to be an RMSE.",
        files=("calls911_69x72x45.npz",),
        metrics=("rmse",),
        tasks=_percent("911 calls", _calls, 20),
        published=_figures(("rmse",), {"911 calls 20 %": {UNNAMED: (0.552,)}}),
        peers="911 calls 20 %",
    ),
    DataSet(
        name="us_temp",
        about="Temperatures, 15 x 95 x 267, five folds "
        "(Functional-Bayesian-Tucker-Decomposition, MIT). All are positive (7 to 83), so that they "
        "are fitted as they are. A cell is observed up to 33 times in training, and four of five "
        "test observations lie in cells that training has seen: this is smoothing as much as "
        "completion. Observations of one cell differ by 1.0 (standard deviation), which bounds "
        "what can be reached. No published figure is listed.",
        files=("us_temp_15x95x267_folds.npz",),
        metrics=("rmse", "mae"),
        tasks=_folds("us_temp", "us_temp_15x95x267_folds.npz", (15, 95, 267), (0, 1, 2, 3, 4)),
        folds=True,
        peers="us_temp fold 1",
    ),
    DataSet(
        name="HighD",
        about="Speed on a motorway, 595 times, 142 positions, 3 lanes (LCR, MIT). Known cells are "
        "readings of a sample of the vehicles, of which the rate is missing; asked about is the "
        "speed of all vehicles in the other cells, so that known values differ from the truth too. "
        "LCR-2D was run with its authors' code and settings. Interpolation is linear in each lane.",
        files=("highd_595x142x3.npz",),
        metrics=("mape", "rmse"),
        tasks=_percent("HighD", _highd, 30, 50, 70),
        published=_figures(
            ("mape", "rmse"),
            {
                "HighD 30 %": {"LCR-2D": (0.0358, 1.401), INTERPOLATION: (0.0372, 1.457)},
                "HighD 50 %": {"LCR-2D": (0.0406, 1.519)},
                "HighD 70 %": {"LCR-2D": (0.0473, 1.772), INTERPOLATION: (0.0464, 1.727)},
            },
        ),
        peers="HighD 50 %",
    ),
)
"""In the order of the report."""


def goals() -> list[Goal]:
    """Return what is to be reached."""
    found = [
        Goal(row="alog", metric="rmse", most=0.78, strict=False, words="at most 0.78"),
        Goal(
            row="amino 50 %", metric="relative_error", most=0.02, strict=False, words="at most 0.02"
        ),
    ]
    for data_set in DATA_SETS:
        for row, methods in data_set.published.items():
            for method, figures in methods.items():
                for metric, figure in figures.items():
                    share = _allowed(row, method, metric)
                    if share is not None:
                        words = f"within {share:.0%} of {method}" if share else f"below {method}"
                        found.append(
                            Goal(
                                row=row,
                                metric=metric,
                                most=(1.0 + share) * figure,
                                strict=share == 0.0,
                                words=words.replace("%", " %"),
                            )
                        )
    return found


def _allowed(row: str, method: str, metric: str) -> float | None:
    """Return the share by which a method's error may be exceeded; None where there is no goal."""
    if method in ("HaLRTC", "BGCP"):
        return 0.0
    if method == "LRTC-TNN":
        return 0.0 if metric == "mape" or row.endswith("90 %") else 0.1
    if method == "LRTC-TSpN":
        return 0.05 if row.endswith("mode 0") else 0.15
    return None
