"""Model files: a fit in one ``.npz`` of plain arrays and a JSON header, without pickle.

``docs/file-formats.md`` describes every entry. Each value is checked as it is read, so that a
damaged file is an error and never a wrong prediction.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from importlib import metadata
from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FloatArray, Shape
from intensor.data.checks import check_shape
from intensor.data.labels import Labels
from intensor.data.readers.files import check_file, check_path
from intensor.errors import (
    EmptyDataError,
    FileFormatError,
    InputError,
    LabelError,
    ModelFileError,
    SettingError,
)
from intensor.fitting.label_columns import capture_labels, restore_labels
from intensor.fitting.path import GRADED_COLUMNS, PATH_COLUMNS, PATH_TEXTS, RadiusPath, read_path
from intensor.fitting.recipe import Recipe, capture_recipe, capture_starts, restore_recipe
from intensor.fitting.record import SHARE_ROUNDING, Fit, ReferenceError, Validation
from intensor.model.baseline import Baseline
from intensor.model.model import Model
from intensor.model.predictor import REMAINDER_METHODS, Predictor, Remainder
from intensor.model.transform import TRANSFORMS
from intensor.options.ranges import Clip, check_clip, check_radius
from intensor.problem.vertex import mode_slices
from intensor.solver.result import SMALL_GAP_SHARE, Counters, Result, Seconds, Status
from intensor.solver.snapshot import (
    COUNTER_FIELDS,
    MAX_MAGNITUDE,
    RESULT_FIELDS,
    SECONDS_FIELDS,
    capture_factors,
    capture_fields,
    capture_trace,
    count_components,
    restore_model,
    restore_trace,
    restore_witness,
)
from intensor.storage.codec import read_entries, write_entries
from intensor.storage.reader import MODEL_FILE, Getter, Tree, TreeReader, read_fields

FORMAT_VERSION = 4
"""Version of the format; it grows when older readers would misunderstand a file."""
CLIP_ENDS = ("low", "high")
"""Keys of the ends of the range that predictions are clipped to."""


def _read_error(saved: TreeReader, name: str) -> float | None:
    """Return an error on held-out cells, which may be infinite, or None when there is none."""
    return saved.amount(name, infinite=True) if name in saved else None


def _read_approach(saved: TreeReader, name: str) -> tuple[tuple[float, float], ...]:
    """Return the pairs of a gap and the error of the fit that stops at it."""
    return tuple(
        (pair.amount("gap"), pair.amount("error", infinite=True)) for pair in saved.branches(name)
    )


def _read_references(saved: TreeReader, name: str) -> tuple[ReferenceError, ...]:
    """Return the predictors without terms, which files of earlier versions do not have."""
    return tuple(
        ReferenceError(
            one.printable("name"), one.amount("error", infinite=True), one.amount("share")
        )
        for one in (saved.branches(name) if name in saved else ())
    )


VALIDATION_FIELDS: dict[str, Getter] = {
    "metric": TreeReader.text,
    "folds": partial(TreeReader.count, least=1),
    "held_out": TreeReader.amount,
    "chosen": TreeReader.count,
    "approach": _read_approach,
    **dict.fromkeys(
        ("single", "averaged", "error_of_mean", "blended", "error", "spread"), _read_error
    ),
    "references": _read_references,
}


def save(fit: Fit, path: Any) -> None:
    """Write a fit to a model file; if it cannot be written, a file that was there stays."""
    names = [one.predictor.transform.name for one in fit.members]
    for name in names:
        if name in TRANSFORMS:
            continue
        raise SettingError(
            f"a fit with a {name} transform cannot be saved, since functions are not data; use "
            f"one of {', '.join(repr(known) for known in TRANSFORMS)}, or transform the values "
            "before the fit"
        )
    modes, label_arrays = capture_labels(fit.labels)
    arrays = {**label_arrays, **_capture_arrays(fit)}
    if fit.recipe is not None:
        arrays |= capture_starts(fit.recipe)
    header = {**_capture_header(fit, modes), **_capture_member(fit)}
    if fit.partners:
        partners = [{**_capture_member(one), "share": float(one.share)} for one in fit.partners]
        header |= {"share": float(fit.share), "partners": partners}
    for number, partner in enumerate(fit.partners):
        stem = _partner_stem(number)
        arrays |= {stem + name: array for name, array in _capture_arrays(partner).items()}
    try:
        write_entries(path, header, arrays)
    except UnicodeEncodeError as problem:
        raise LabelError(
            "the fit cannot be saved, since the name of a mode or of the values, or a label, is "
            f"not valid text ({problem}); rename it"
        ) from None


def load(path: Any) -> Fit:
    """Read a fit from a model file.

    Raises
    ------
    ModelFileError
        When the file is damaged, was written by a newer version, or is no model file.
    """
    try:
        path = check_path(path)
        check_file(path)
    except (EmptyDataError, FileFormatError) as problem:
        raise ModelFileError(str(problem)) from None
    header, arrays = read_entries(path, MODEL_FILE)
    try:
        return _restore_fit(
            TreeReader(header, path, kind=MODEL_FILE, prefix="header."),
            TreeReader(dict(arrays), path, kind=MODEL_FILE),
        )
    except ModelFileError:
        raise
    except (InputError, ValueError, TypeError, LookupError, OverflowError, RecursionError) as wrong:
        raise MODEL_FILE.damaged(path, " ".join(str(wrong).split())[:200]) from wrong


def _partner_stem(number: int) -> str:
    """Return how the names of the arrays of a partner begin."""
    return f"partner_{number}_"


def _steps_of(fit: Fit) -> list[str]:
    """Return the names of the steps of a trace, which rows refer to by number."""
    return sorted({row.step for row in fit.result.trace})


def _capture_header(fit: Fit, modes: list[Tree]) -> Tree:
    """Return what the members of a fit have in common."""
    validation = None
    if fit.validation is not None:
        pairs, paths = fit.validation.approach, fit.validation.paths
        validation = {
            **capture_fields(fit.validation, VALIDATION_FIELDS),
            "approach": [{"gap": gap, "error": error} for gap, error in pairs],
            "references": [one._asdict() for one in fit.validation.references],
            "paths": [capture_fields(path, (*PATH_TEXTS, "sampled")) for path in paths],
        }
    return {
        "format": MODEL_FILE.format,
        "format_version": FORMAT_VERSION,
        "intensor_version": metadata.version("intensor"),
        "shape": [int(length) for length in fit.shape],
        "n": int(fit.n),
        "value": fit.labels.value,
        "modes": modes,
        "validation": validation,
        **({} if fit.clip is None else {"clip": dict(zip(CLIP_ENDS, fit.clip, strict=True))}),
        **({} if fit.recipe is None else {"recipe": capture_recipe(fit.recipe)}),
    }


def _capture_member(fit: Fit) -> Tree:
    """Return what a member of a fit has of its own."""
    result, baseline, witness = fit.result, fit.predictor.baseline, fit.result.witness
    remainder = fit.predictor.remainder
    return {
        "radius": float(fit.radius),
        "signed": bool(fit.model.signed),
        **count_components(fit.model),
        "transform": fit.predictor.transform.name,
        "baseline": "none" if baseline is None else "additive",
        "baseline_mean": None if baseline is None else float(baseline.mean),
        "remainder": "none" if remainder is None else remainder.method,
        "status": result.status.name,
        **capture_fields(result, RESULT_FIELDS),
        "solver": result.version,
        "witness": None
        if witness is None
        else {**capture_fields(witness, ("radius", "signed")), **count_components(witness)},
        "counters": capture_fields(result.counters, COUNTER_FIELDS),
        "seconds": capture_fields(result.seconds, SECONDS_FIELDS),
        "steps": _steps_of(fit),
        "n_solutions": int(fit.n_solutions),
    }


def _capture_arrays(fit: Fit) -> dict[str, AnyArray]:
    """Return the arrays of a fit by their names in the file."""
    predictor, witness = fit.predictor, fit.result.witness
    arrays: dict[str, AnyArray] = {
        "words": fit.model.vertices.words,
        "weights": _as_floats(fit.model.weights),
        **capture_factors(fit.model),
        "counts": _as_floats(predictor.counts),
    }
    if predictor.baseline is not None:
        arrays["effects"] = _as_floats(predictor.baseline.effects)
    if predictor.remainder is not None:
        arrays["remainder"] = _as_floats(predictor.remainder.field)
    if witness is not None:
        arrays["witness_words"] = witness.vertices.words
        arrays["witness_weights"] = _as_floats(witness.weights)
        for name, array in capture_factors(witness).items():
            arrays[f"witness_{name}"] = array
    for name, column in capture_trace(fit.result.trace, _steps_of(fit)).items():
        arrays[f"trace_{name}"] = column
    for index, path in enumerate(fit.validation.paths if fit.validation else ()):
        columns = (*PATH_COLUMNS, *(GRADED_COLUMNS if path.graded else ()))
        for name in (*columns, "kriged"):
            arrays[f"path_{index}_{name}"] = _as_floats(getattr(path, name))
    return arrays


def _as_floats(numbers: Any) -> FloatArray:
    return np.asarray(numbers, dtype=np.float64)


def _restore_fit(header: TreeReader, arrays: TreeReader) -> Fit:
    version = header.count("format_version", least=1)
    if version > FORMAT_VERSION:
        raise MODEL_FILE.refused(
            header.path,
            f"was written by a newer version of intensor (format {version}, this one reads up to "
            f"{FORMAT_VERSION}); upgrade intensor",
        )
    if version == 1:  # which had no remainder
        header.tree["remainder"] = "none"
    labels = restore_labels(header, arrays, check_shape(header.elements("shape")))
    n = header.count("n", least=1)
    partners = []
    for number, saved in enumerate(header.branches("partners") if "partners" in header else ()):
        own = _join({}, arrays, _partner_stem(number))
        partners.append(_restore_member(saved, own, labels, n))
    fit = replace(
        _restore_member(header, arrays, labels, n),
        validation=_restore_validation(header, arrays, version),
        partners=tuple(partners),
        clip=_restore_clip(header),
        recipe=_restore_recipe(header, arrays, labels.shape),
    )
    total = math.fsum(one.share for one in fit.members)
    if abs(total - 1.0) > SHARE_ROUNDING:
        raise header.damaged(f"the shares of its members add up to {total:.6g}")
    return fit if version >= 4 else _with_status_of_today(fit)


def _with_status_of_today(fit: Fit) -> Fit:
    """Return a fit of an older file whose OPTIMAL stood for any gap within the tolerance.

    The file does not say how large the values were, so an exact fit cannot be told from others:
    OPTIMAL stays where the gap is small beside the objective.
    """
    result, partners = fit.result, tuple(map(_with_status_of_today, fit.partners))
    if result.status is Status.OPTIMAL and result.gap > SMALL_GAP_SHARE * result.objective:
        result = replace(result, status=Status.WITHIN_TOLERANCE)
    return replace(fit, result=result, partners=partners)


def _restore_clip(header: TreeReader) -> Clip | None:
    if "clip" not in header:
        return None
    saved = header.branch("clip")
    ends = [saved.finite(end) if end in saved else None for end in CLIP_ENDS]
    return check_clip("clip", ends)


def _restore_recipe(header: TreeReader, arrays: TreeReader, shape: Shape) -> Recipe | None:
    if "recipe" not in header:
        return None
    return restore_recipe(
        header.branch("recipe"), shape, lambda tree, stem: _join(tree, arrays, stem)
    )


def _restore_member(header: TreeReader, arrays: TreeReader, labels: Labels, n: int) -> Fit:
    """Return a member of a fit without its validation and partners."""
    predictor = _restore_predictor(header, arrays, labels.shape)
    return Fit(
        predictor=predictor,
        result=_restore_result(header, arrays, predictor.model),
        labels=labels,
        n=n,
        n_solutions=header.count("n_solutions", least=1),
        share=header.amount("share") if "share" in header else 1.0,
    )


def _join(header: Tree, arrays: TreeReader, stem: str) -> TreeReader:
    """Return a part of the header joined with the arrays whose names begin with ``stem``."""
    named = arrays.tree.items()
    own = {name.removeprefix(stem): array for name, array in named if name.startswith(stem)}
    return TreeReader({**header, **own}, arrays.path, kind=arrays.kind, prefix=stem)


def _restore_predictor(header: TreeReader, arrays: TreeReader, shape: Shape) -> Predictor:
    model = restore_model(_join(header.tree, arrays, ""), shape)
    check_radius(model.radius)
    counts: FloatArray = arrays.finite_array("counts", (sum(shape),), largest=MAX_MAGNITUDE)
    if (counts < 0.0).any():
        raise arrays.damaged("counts are out of range: some are below 0")
    totals = [float(counts[part].sum()) for part in mode_slices(shape)]
    if min(totals) <= 0.0 or max(totals) > (1.0 + 1e-9) * min(totals):
        raise arrays.damaged("counts do not add up to the same in every mode")
    transform = TRANSFORMS[header.text("transform", TRANSFORMS)]
    baseline = remainder = None
    if header.text("baseline", ("none", "additive")) == "additive":
        effects = arrays.finite_array("effects", counts.shape, largest=MAX_MAGNITUDE)
        mean = header.finite("baseline_mean", largest=MAX_MAGNITUDE)
        baseline = Baseline(shape=shape, mean=mean, effects=effects)
    method = header.text("remainder", ("none", *REMAINDER_METHODS))
    if method != "none":
        field = arrays.finite_array("remainder", shape, largest=MAX_MAGNITUDE)
        remainder = Remainder(field=field, method=method)
    return Predictor(
        model=model, counts=counts, transform=transform, baseline=baseline, remainder=remainder
    )


def _restore_result(header: TreeReader, arrays: TreeReader, model: Model) -> Result:
    witness = None
    if "witness" in header:
        saved = _join(header.branch("witness").tree, arrays, "witness_")
        witness = restore_witness(saved, model.shape)
        check_radius(witness.radius)
    number = isinstance(header.tree.get("solver"), int)
    steps = [str(step) for step in header.elements("steps")]
    return Result(
        **read_fields(header, RESULT_FIELDS),
        status=Status[header.text("status", Status.__members__)],
        model=model,
        witness=witness,
        version=header.count("solver") if number else header.printable("solver"),
        trace=tuple(restore_trace(_join({}, arrays, "trace_"), steps)),
        counters=Counters(**read_fields(header.branch("counters"), COUNTER_FIELDS)),
        seconds=Seconds(**read_fields(header.branch("seconds"), SECONDS_FIELDS)),
    )


def _restore_validation(header: TreeReader, arrays: TreeReader, version: int) -> Validation | None:
    if "validation" not in header:
        return None
    saved = header.branch("validation")
    paths = []
    for index, part in enumerate(saved.branches("paths")):
        path = _join(part.tree, arrays, f"path_{index}_")
        if version == 1:  # which had no remainder
            path.tree["kriged"] = np.zeros_like(path.tree.get("radii"))
        paths.append(RadiusPath(**read_path(path, "<f8"), sampled=path.flag("sampled")))
    validation = Validation(**read_fields(saved, VALIDATION_FIELDS), paths=tuple(paths))
    if validation.chosen >= len(paths):
        raise saved.damaged(f"path {validation.chosen} was chosen of {len(paths)}")
    return validation
