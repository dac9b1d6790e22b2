"""From the entries of a model file back to a fit, trusting none of them."""

from __future__ import annotations

import datetime
import itertools
import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FloatArray
from intensor.data.checks import check_shape
from intensor.data.labels import Labels
from intensor.errors import ModelFileError
from intensor.fitting.packing import COUNTERS, FORMAT, PATH, TRACE, VERSION
from intensor.fitting.path import RadiusPath
from intensor.fitting.record import Fit, Validation
from intensor.model.baseline import Baseline
from intensor.model.model import Model
from intensor.model.predictor import Predictor
from intensor.model.remainder import Remainder
from intensor.model.transform import TRANSFORMS
from intensor.options.ranges import check_radius
from intensor.problem.vertex import Vertices, mode_slices
from intensor.solver.result import Counters, Progress, Result, Seconds, Status

__all__ = ["unpack"]

BASELINES = ("none", "additive")
REMAINDERS = ("none", "kriging")
NOT_FINITE = ("inf", "-inf", "nan")
LARGEST = 1e100
"""Weights, effects and counts must stay below this, so that no sum of them overflows: data is
far smaller (``ranges.EXTREME``)."""
MOST = 2**63 - 1
"""Largest whole number of a header."""


def unpack(entries: dict[str, AnyArray]) -> Fit:
    """Return the fit that the entries of a model file describe.

    Raises
    ------
    ModelFileError
        Saying what is wrong with them, without the name of the file.
    """
    header = _read_header(entries)
    return _Entries(header, entries).fit()


def _read_header(entries: dict[str, AnyArray]) -> dict[str, Any]:
    """Return the header, if it is one and of a version that is known."""
    raw = entries.get("header")
    if raw is None or raw.dtype != np.uint8 or raw.ndim != 1:
        raise ModelFileError("is not a model file of intensor (it has no header)")
    try:
        header = json.loads(raw.tobytes().decode())
        json.dumps(header, ensure_ascii=False).encode()  # half a character is no text
    except (ValueError, RecursionError):
        raise ModelFileError("is a damaged model file (its header is not JSON)") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError("is not a model file of intensor (its header says something else)")
    version = header.get("format_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise _damaged(f"its format version is {version!r}")
    if version > VERSION:
        raise ModelFileError(
            f"was written by a newer version of intensor (format {version}, this one reads up to "
            f"{VERSION}); upgrade intensor"
        )
    return header


class _Entries:
    """Header and arrays, checked as they are asked for."""

    def __init__(self, header: dict[str, Any], arrays: dict[str, AnyArray]) -> None:
        self._header = header
        self._arrays = arrays
        self._shape = check_shape(_get(header, "shape", list))
        self._first = header["format_version"] == 1  # which had no remainder

    def fit(self) -> Fit:
        """Return the fit."""
        header = self._header
        model = self._model("", header)
        n = _count(header, "n", least=1)
        transform = TRANSFORMS[_word(header, "transform", TRANSFORMS)]
        return Fit(
            predictor=Predictor(
                model=model,
                counts=self._counts(),
                transform=transform,
                baseline=self._baseline(),
                remainder=self._remainder(),
            ),
            result=self._result(model),
            labels=self._labels(),
            n=n,
            n_solutions=_count(header, "n_solutions", least=1),
            validation=self._validation(),
        )

    def _model(self, prefix: str, header: dict[str, Any]) -> Model:
        """Return the boxes of the model, or of the witness."""
        weights = self._array(f"{prefix}weights", "<f8", (None,))
        count = weights.size
        n_words = max(1, -(-count // 64))
        words = self._array(f"{prefix}words", "<u8", (sum(self._shape), n_words))
        signed = _get(header, "signed", bool)
        if not _in_range(weights):
            raise _damaged(f"{prefix}weights are not all finite, or too large")
        if not signed and (weights < 0.0).any():
            raise _damaged(f"{prefix}weights below 0 in a model that is not signed")
        # the last word has room for more boxes than there are; those bits must be off
        spare = 64 * n_words - count
        if spare and (words[:, -1] >> np.uint64(64 - spare) if spare < 64 else words[:, -1]).any():
            raise _damaged(f"{prefix}words have boxes without a weight")
        return Model(
            radius=check_radius(_number(header, "radius")),
            weights=weights,
            vertices=Vertices(shape=self._shape, count=count, words=words),
            signed=signed,
        )

    def _counts(self) -> FloatArray:
        counts: FloatArray = self._array("counts", "<f8", (sum(self._shape),))
        if not (_in_range(counts) and (counts >= 0.0).all()):
            raise _damaged("counts are out of range")
        totals = [float(counts[part].sum()) for part in mode_slices(self._shape)]
        if min(totals) <= 0.0 or max(totals) > (1.0 + 1e-9) * min(totals):
            raise _damaged("counts do not add up to the same in every mode")
        return counts

    def _baseline(self) -> Baseline | None:
        if _word(self._header, "baseline", BASELINES) == "none":
            return None
        effects = self._array("effects", "<f8", (sum(self._shape),))
        mean = _number(self._header, "baseline_mean")
        if not (_in_range(effects) and abs(mean) <= LARGEST):
            raise _damaged("effects are not all finite, or too large")
        return Baseline(shape=self._shape, mean=mean, effects=effects)

    def _remainder(self) -> Remainder | None:
        if self._first or _word(self._header, "remainder", REMAINDERS) == "none":
            return None
        field = self._array("remainder", "<f8", self._shape)
        if not _in_range(field):
            raise _damaged("the remainder is not all finite, or too large")
        return Remainder(field=field)

    def _result(self, model: Model) -> Result:
        header = self._header
        witness = header.get("witness")
        counters, seconds = _get(header, "counters", dict), _get(header, "seconds", dict)
        solver = _get(header, "solver", (int, str))
        if isinstance(solver, str):
            solver = _printable(header, "solver")
        return Result(
            status=Status[_word(header, "status", Status.__members__)],
            objective=_square(header, "objective"),
            bound=_square(header, "bound"),
            model=model,
            witness=None
            if witness is None
            else self._model("witness_", _get(header, "witness", dict)),
            bound_source=_printable(header, "bound_source"),
            tolerance=_amount(header, "tolerance", infinite=True),
            version=solver,
            trace=self._trace(),
            counters=Counters(**{name: _count(counters, name) for name in COUNTERS}),
            seconds=Seconds(setup=_amount(seconds, "setup"), solve=_amount(seconds, "solve")),
        )

    def _trace(self) -> tuple[Progress, ...]:
        steps = _get(self._header, "steps", list)
        length = self._array("trace_iteration", "<i8", (None,)).size
        columns = {
            name: self._array(f"trace_{name}", kind, (length,)).tolist()
            for name, kind in TRACE.items()
        }
        columns["step"] = [str(steps[step]) for step in columns["step"]]
        for name in ("objective", "bound", "seconds"):
            if not all(map(math.isfinite, columns[name])):
                raise _damaged(f"trace_{name} is not all finite")
        for name in ("phi", "pricing_gap"):  # which are infinite before the first oracle call
            if any(map(math.isnan, columns[name])):
                raise _damaged(f"trace_{name} has entries that are no numbers")
        return tuple(itertools.starmap(Progress, zip(*columns.values(), strict=True)))

    def _labels(self) -> Labels:
        modes = _get(self._header, "modes", list)
        if len(modes) != len(self._shape):
            raise _damaged(f"{len(modes)} modes have names, the shape has {len(self._shape)}")
        columns = [self._label_column(place, mode) for place, mode in enumerate(modes)]
        for place, column in enumerate(columns):
            labels = column.tolist()
            if len(set(labels)) != column.size:
                raise _damaged(f"labels of mode {place} are not all different")
            # None and what is not equal to itself: a number or a date that is none
            if any(label is None or label != label for label in labels):  # noqa: PLR0124
                raise _damaged(f"a label of mode {place} is missing")
        return Labels(
            modes=tuple(_get(mode, "name", str) for mode in modes),
            indices=tuple(columns),
            value=_get(self._header, "value", str),
        )

    def _label_column(self, place: int, mode: dict[str, Any]) -> AnyArray:
        length = self._shape[place]
        kind = _word(mode, "kind", ("number", "date", "duration", "string", "mixed"))
        if kind == "number":
            column = self._array(f"labels_{place}", None, (length,))
            if column.dtype.kind not in "biuf" or column.dtype.itemsize > 8:
                raise _damaged(f"labels_{place} has the type {column.dtype}")
            return column
        if kind in ("date", "duration"):
            step, unit = _count(mode, "step", least=1), _get(mode, "unit", str)
            letter = "M" if kind == "date" else "m"
            dtype = np.dtype(f"{letter}8[{unit}]" if step == 1 else f"{letter}8[{step}{unit}]")
            return self._array(f"labels_{place}", "<i8", (length,)).view(dtype)
        text = self._array(f"labels_{place}_text", "|u1", (None,)).tobytes()
        ends = [0, *self._array(f"labels_{place}_ends", "<i8", (length,)).tolist()]
        if ends[-1] != len(text) or any(low > high for low, high in itertools.pairwise(ends)):
            raise _damaged(f"labels_{place}_ends do not fit the text")
        words = [text[low:high].decode() for low, high in itertools.pairwise(ends)]
        column = np.empty(length, dtype=object)
        column[:] = words if kind == "string" else [_plain_label(json.loads(w)) for w in words]
        return column

    def _validation(self) -> Validation | None:
        if self._header.get("validation") is None:
            return None
        header = _get(self._header, "validation", dict)
        paths = [
            RadiusPath(
                transform=_get(walk, "transform", str),
                baseline=_get(walk, "baseline", str),
                metric=_get(walk, "metric", str),
                sampled=_get(walk, "sampled", bool),
                **self._path(place),
            )
            for place, walk in enumerate(_get(header, "paths", list))
        ]
        chosen = _count(header, "chosen")
        if chosen >= len(paths):
            raise _damaged(f"path {chosen} was chosen of {len(paths)}")
        return Validation(
            metric=_get(header, "metric", str),
            folds=_count(header, "folds", least=1),
            held_out=_amount(header, "held_out"),
            paths=tuple(paths),
            chosen=chosen,
            approach=tuple(
                (_amount(step, "gap"), _amount(step, "error", infinite=True))
                for step in _get(header, "approach", list)
            ),
            single=_amount_or_none(header, "single"),
            averaged=_amount_or_none(header, "averaged"),
            error_of_mean=_amount_or_none(header, "error_of_mean"),
        )

    def _path(self, place: int) -> dict[str, AnyArray]:
        length = self._array(f"path_{place}_radii", "<f8", (None,)).size
        if not length:
            raise _damaged(f"path_{place} is empty")
        columns = {
            name: self._array(f"path_{place}_{name}", "<f8", (length,))
            for name in PATH
            if name != "kriged" or not self._first
        }
        radii = columns["radii"]
        if not (_in_range(radii) and (radii > 0.0).all()):
            raise _damaged(f"path_{place}_radii are not all positive and finite")
        return {**columns, "kriged": columns.get("kriged", np.zeros(length)) > 0.0}

    def _array(self, name: str, kind: str | None, shape: tuple[int | None, ...]) -> AnyArray:
        """Return an entry of the type and shape it must have; None allows any."""
        array = self._arrays.get(name)
        if array is None:
            raise _damaged(f"entry {name!r} is missing")
        if kind is not None and array.dtype != np.dtype(kind):
            raise _damaged(f"entry {name!r} has the type {array.dtype}")
        fits = array.ndim == len(shape) and all(
            wanted is None or wanted == found
            for wanted, found in zip(shape, array.shape, strict=True)
        )
        if not fits:
            wanted = tuple("any" if length is None else length for length in shape)
            raise _damaged(f"entry {name!r} has shape {array.shape}, expected {wanted}")
        return np.ascontiguousarray(array)


def _in_range(numbers: FloatArray) -> bool:
    """Say whether all numbers are finite and far from the end of what float64 can hold."""
    return bool((np.abs(numbers) <= LARGEST).all())


def _plain_label(label: Any) -> Any:
    """Return a label of a mixed mode."""
    if isinstance(label, (bool, int, float, str)):
        str(label).encode()
        return label
    if not isinstance(label, dict):
        raise _damaged(f"a label is {str(label)[:60]}")
    ((kind, text),) = label.items()
    kinds = {"date": datetime.date, "datetime": datetime.datetime}
    return kinds[kind].fromisoformat(text)


def _get(header: Any, name: str, kind: Any) -> Any:
    """Return a part of the header that is of a kind."""
    found = header.get(name) if isinstance(header, dict) else None
    if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
        raise _damaged(f"{name!r} in its header is {str(found)[:60]!r}")
    return found


def _number(header: Any, name: str) -> float:
    found = _get(header, name, (int, float, str))
    if isinstance(found, str) and found not in NOT_FINITE:
        raise _damaged(f"{name!r} in its header is {found[:60]!r}")
    return float(found)


def _square(header: Any, name: str) -> float:
    """Return a mean squared error, or a bound of one: the square of something in range."""
    found = _number(header, name)
    if not 0.0 <= found <= LARGEST**2:
        raise _damaged(f"{name!r} in its header is {found}")
    return found


def _amount(header: Any, name: str, *, infinite: bool = False) -> float:
    """Return a number that is not below 0, and finite unless told otherwise."""
    found = _number(header, name)
    if not (0.0 <= found < math.inf or (infinite and found == math.inf)):
        raise _damaged(f"{name!r} in its header is {found}")
    return found


def _amount_or_none(header: Any, name: str) -> float | None:
    """Return an error on held-out cells, infinite ones included, where there is one."""
    return None if header.get(name) is None else _amount(header, name, infinite=True)


def _printable(header: Any, name: str) -> str:
    """Return a name that may be shown on a terminal."""
    found: str = _get(header, name, str)
    if not found.isprintable():
        raise _damaged(f"{name!r} in its header is {found[:60]!r}")
    return found


def _count(header: Any, name: str, *, least: int = 0) -> int:
    found: int = _get(header, name, int)
    if not least <= found <= MOST:
        raise _damaged(f"{name!r} in its header is {found}")
    return found


def _word(header: Any, name: str, words: Iterable[str]) -> str:
    found: str = _get(header, name, str)
    if found not in words:
        raise _damaged(f"{name!r} in its header is {found[:60]!r}")
    return found


def _damaged(why: str) -> ModelFileError:
    return ModelFileError(f"is a damaged model file ({why})")
