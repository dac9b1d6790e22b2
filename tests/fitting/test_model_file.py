"""Model files: every bit of a fit comes back, and a damaged file is an error that names it."""

import json
import os
import re
import tempfile
import warnings
import zipfile
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

import intensor
from fitting_cases import plain_options
from forall import forall
from graded_cases import graded_fit
from intensor.data.labels import Labels
from intensor.errors import FileFormatError, LabelError, ModelFileError, RadiusWarning, SettingError
from intensor.fitting.fit import fit
from intensor.fitting.model_file import load, save
from intensor.fitting.path import GRADED_COLUMNS, PATH_COLUMNS, PATH_TEXTS
from intensor.fitting.record import Validation
from intensor.solver.result import Status
from naming import naming
from strategies import any_weights, observations, shapes

UNITS = {"transform": "none", "baseline": "none", "remainder": "none"}
"""Options of a model in the units of the data, without a remainder."""
DOCS = Path(__file__).parents[2] / "docs" / "file-formats.md"


@pytest.fixture(scope="module")
def data():
    return intensor.planted((4, 4, 3), 40, noise=0.1)


@pytest.fixture(scope="module")
def plain(data):
    made = fit(data.coords, data.values, plain_options(radius=0.5), shape=data.shape)
    assert made.result.witness is not None
    return made


@pytest.fixture(scope="module")
def automatic(data):
    """A fit that has chosen between graded components and boxes."""
    made = fit(data.coords, data.values, plain_options(n_radii=3, rtol=1e-6), shape=data.shape)
    assert [path.graded for path in made.validation.paths] == [True, False]
    return made


@pytest.fixture(scope="module")
def rich(data):
    chosen = {"transform": "sqrt", "baseline": "additive", "n_solutions": 2, "n_radii": 3}
    options = plain_options(**chosen, components="boxes", rtol=1e-6)
    found = fit(data.coords, data.values, options, shape=data.shape)
    steps = ((0.25, 0.5), (0.1, 0.4))
    return replace(found, validation=replace(found.validation, approach=steps))


@pytest.fixture(scope="module")
def kriged(data):
    chosen = {"transform": "sqrt", "baseline": "additive", "n_radii": 2, "remainder": "kriging"}
    options = plain_options(**chosen, components="boxes", rtol=1e-6)
    made = fit(data.coords, data.values, options, shape=data.shape)
    assert np.abs(made.predictor.remainder.field).max() > 0.0
    return made


@pytest.fixture(params=["plain", "rich", "kriged"])
def fitted(request):
    return request.getfixturevalue(request.param)


def saved(fit, tmp_path):
    save(fit, tmp_path / "model.npz")
    return tmp_path / "model.npz"


def read_header(path):
    with np.load(path, allow_pickle=False) as file:
        return json.loads(file["header"].tobytes())


def test_everything_comes_back(fitted, data, tmp_path):
    back = load(saved(fitted, tmp_path))
    cells = np.argwhere(np.ones(data.shape))
    assert np.array_equal(back.predict(cells), fitted.predict(cells))
    beyond = cells + np.array([0, 0, 3])
    assert np.array_equal(
        back.predict(beyond, unseen="mean"), fitted.predict(beyond, unseen="mean")
    )
    mine, theirs = (f.verify(data.coords, data.values) for f in (back, fitted))
    assert theirs.ok
    assert theirs.complete
    assert mine == theirs
    assert repr(back) == repr(fitted)
    for name in ("status", "objective", "bound", "tolerance", "bound_source", "version"):
        assert getattr(back.result, name) == getattr(fitted.result, name)
    assert back.result.trace == fitted.result.trace
    assert len(back.result.trace) > 0
    assert back.result.counters == fitted.result.counters
    assert back.result.seconds == fitted.result.seconds
    assert (back.n, back.n_solutions) == (fitted.n, fitted.n_solutions)
    assert back.labels.modes == fitted.labels.modes
    assert back.labels.plain


@pytest.mark.parametrize("name", ["rich", "automatic"])
def test_the_validation_comes_back(request, tmp_path, name):
    made = request.getfixturevalue(name)
    back = load(saved(made, tmp_path)).validation
    for one in {field.name for field in fields(Validation)} - {"paths"}:
        assert getattr(back, one) == getattr(made.validation, one)
    assert back.averaged is not None or name == "automatic"
    assert back.error_of_mean is not None
    assert len(back.paths) == len(made.validation.paths)
    for one, other in zip(back.paths, made.validation.paths, strict=True):
        for column in (*PATH_TEXTS, *PATH_COLUMNS, *GRADED_COLUMNS, "kriged", "best"):
            assert np.array_equal(getattr(one, column), getattr(other, column))
        assert one.sampled is other.sampled is False
        assert (one.graded, one.max_components) == (other.graded, other.max_components)


def test_the_remainder_comes_back(kriged, plain, tmp_path):
    back = load(saved(kriged, tmp_path))
    assert np.array_equal(back.predictor.remainder.field, kriged.predictor.remainder.field)
    assert back.path.kriged.tolist() == kriged.path.kriged.tolist()
    assert back.path.kriged.dtype == bool
    assert back.path.remainder == "kriging"
    assert load(saved(plain, tmp_path)).predictor.remainder is None


def test_a_transform_of_functions_cannot_be_saved(data, tmp_path):
    options = plain_options(radius=2.0, transform=(np.cbrt, lambda x: x**3))
    made = fit(data.coords, data.values, options, shape=data.shape)
    with pytest.raises(SettingError, match="custom transform"):
        made.save(tmp_path / "model.npz")
    assert os.listdir(tmp_path) == []


def test_a_name_that_is_not_text_cannot_be_saved(plain, tmp_path):
    labels = replace(plain.labels, value="\ud800")
    with pytest.raises(LabelError, match="not valid text"):
        save(replace(plain, labels=labels), tmp_path / "model.npz")
    assert os.listdir(tmp_path) == []


def test_saving_to_a_missing_folder_is_an_error(plain, tmp_path):
    with pytest.raises(FileFormatError, match="no folder"):
        plain.save(tmp_path / "no" / "model.npz")


def test_the_five_lines_of_the_documentation_read_a_model(plain, tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(), flags=re.DOTALL)
    assert len(blocks) == 1
    assert len(blocks[0].splitlines()) == 5
    saved(plain, tmp_path)
    monkeypatch.chdir(tmp_path)
    for cell in ([0, 0, 0], [3, 1, 2], [2, 3, 1]):
        names = {"np": np, "json": json, "cell": cell}
        exec(blocks[0], names)
        names["file"].close()
        assert names["fitted"] == pytest.approx(plain.predict([cell])[0], abs=1e-14)
    assert plain.predict([[3, 1, 2]])[0] != plain.predict([[2, 3, 1]])[0]


def test_the_line_on_components_reads_a_graded_model(plain, data, tmp_path, monkeypatch):
    text = DOCS.read_text()
    (block,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    (line,) = re.findall(r"`(fitted \+= .*?)`", text)
    made = graded_fit(plain, data.coords, data.values)
    path = saved(made, tmp_path)
    monkeypatch.chdir(tmp_path)
    for cell in ([0, 0, 0], [3, 1, 2], [2, 3, 1]):
        components = read_header(path)["components"]
        names = {"np": np, "json": json, "cell": cell, "components": components}
        exec(f"{block}{line}", names)
        names["file"].close()
        assert names["fitted"] == pytest.approx(made.predict([cell])[0], abs=1e-14)


def test_every_entry_is_documented(rich, plain, kriged, automatic, data, tmp_path):
    text = DOCS.read_text()
    strings = np.array(list("abcd"), dtype=object)
    named = replace(rich, labels=replace(rich.labels, indices=(strings, *rich.labels.indices[1:])))
    for one in (named, plain, kriged, automatic, graded_fit(plain, data.coords, data.values)):
        path = saved(one, tmp_path)
        with np.load(path, allow_pickle=False) as file:
            entries = [re.sub(r"^(path|labels)_\d+", r"\1_0", name) for name in file.files]
        names = [*entries, *read_header(path)]
        assert [name for name in names if f"`{name}`" not in text] == []


def altered(path, **changes):
    """Write the file again with other entries; None leaves one out, a function changes it."""
    with np.load(path, allow_pickle=False) as file:
        entries = {name: file[name] for name in file.files}
    for name, change in changes.items():
        if change is None:
            del entries[name]
        else:
            entries[name] = change(entries[name])
    np.savez(path, **entries)


def header_with(*, without=(), **changes):
    def change(raw):
        header = {**json.loads(raw.tobytes()), **changes}
        for name in without:
            del header[name]
        return np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)

    return change


def but(index, value):
    def change(array):
        changed = array.copy()
        changed[index] = value
        return changed

    return change


DAMAGE = {
    "no header": ({"header": None}, "not a model file"),
    "no JSON": ({"header": lambda raw: raw[:-5]}, "not JSON"),
    "nested": ({"header": lambda raw: np.full(10**5, ord("["), np.uint8)}, "not JSON"),
    "other format": ({"header": header_with(format="x")}, "not a model file"),
    "newer": ({"header": header_with(format_version=5)}, "newer version of intensor.*upgrade"),
    "no version": ({"header": header_with(format_version="1")}, "format_version' is '1'"),
    "shape": ({"header": header_with(shape=[4, 4, 4])}, "expected"),
    "empty shape": ({"header": header_with(shape=[])}, "shape"),
    "huge shape": ({"header": header_with(shape=[2**31 - 3, 1, 1])}, "expected"),
    "negative shape": ({"header": header_with(shape=[4, 8, -1])}, "length"),
    "radius": ({"header": header_with(radius=-1.0)}, "radius"),
    "radius inf": ({"header": header_with(radius="inf")}, "radius"),
    "radius text": ({"header": header_with(radius="big")}, "radius"),
    "status": ({"header": header_with(status="PERFECT")}, "status"),
    "objective": ({"header": header_with(objective=None)}, "objective' is missing"),
    "huge number": ({"header": header_with(objective=10**400)}, "too large"),
    "transform": ({"header": header_with(transform="custom")}, "transform"),
    "baseline": ({"header": header_with(baseline="additive")}, "effects"),
    "signed": ({"header": header_with(signed=1)}, "signed"),
    "n": ({"header": header_with(n=0)}, "'header.n' is '0', expected an integer from 1 to"),
    "counts not finite": ({"counts": but(0, np.nan)}, "counts"),
    "counters": ({"header": header_with(counters={})}, "iterations"),
    "modes": ({"header": header_with(modes=[])}, "modes"),
    "unit": (
        {"header": header_with(modes=[{"name": "a", "kind": "date", "unit": "x", "step": 1}] * 3)},
        "damaged",
    ),
    "no witness": ({"header": header_with(witness={})}, "signed"),
    "no steps": ({"header": header_with(steps=[])}, "damaged"),
    "validation": ({"header": header_with(validation={"paths": []})}, "validation.metric' is"),
    "no seconds": ({"header": header_with(without=["seconds"])}, "seconds"),
    "no words": ({"words": None}, "'words' is missing"),
    "no trace": ({"trace_phi": None}, "'trace_phi' is missing"),
    "short trace": ({"trace_phi": lambda a: a[:-1]}, "trace_phi"),
    "words of another type": ({"words": lambda a: a.astype(np.int64)}, "type"),
    "one dimension": ({"words": np.ravel}, "shape"),
    "weights too few": ({"weights": lambda a: a[:-1]}, "boxes without a weight"),
    "weights too many": ({"weights": lambda a: np.append(a, np.ones(64))}, "shape"),
    "spare bits": ({"words": lambda a: a | np.uint64(1 << 63)}, "boxes without a weight"),
    "weights nan": ({"weights": but(0, np.nan)}, "not all finite"),
    "weights below 0": ({"weights": but(0, -1.0)}, "below 0"),
    "weights beyond the radius": ({"weights": but(0, 0.51)}, "weights sum to .* radius 0.5 does"),
    "witness far beyond the radius": ({"witness_weights": but(0, 1.1)}, "witness_weights sum to"),
    "counts below 0": ({"counts": but(0, -1)}, "counts"),
    "counts uneven": ({"counts": but(0, 0)}, "add up"),
    "weights too large": ({"weights": but(0, 1e200)}, "too large"),
    "counts too large": ({"counts": but(0, 1e200)}, "'counts' has .* too large"),
    "objective not finite": ({"header": header_with(objective="nan")}, "objective"),
    "bound not finite": ({"header": header_with(bound="-inf")}, "bound"),
    "n beyond 64 bits": ({"header": header_with(n=2**63)}, "'header.n' is"),
    "half a character": ({"header": header_with(value="\ud800")}, "not JSON"),
}


def check_refused(made, tmp_path, damage):
    path = saved(made, tmp_path)
    altered(path)
    load(path)
    content = path.read_bytes()
    for kind, (changes, message) in damage.items():
        path.write_bytes(content)
        altered(path, **changes)
        with naming(kind):
            with pytest.raises(ModelFileError, match=message) as caught:
                load(path)
            assert str(caught.value).startswith(str(path))
            assert "\n" not in str(caught.value)


@pytest.mark.parametrize("clip", [(0.05, 0.1), (None, 0.1), (0.05, None)])
def test_the_range_of_predictions_is_stored(plain, data, tmp_path, clip):
    made = replace(plain, clip=clip)
    path = saved(made, tmp_path)
    assert read_header(path)["format_version"] == 4
    back = load(path)
    assert back.clip == clip
    assert np.array_equal(back.predict(data.coords), made.predict(data.coords))
    assert not np.array_equal(back.predict(data.coords), plain.predict(data.coords))
    plain_path = saved(plain, tmp_path)
    assert "clip" not in read_header(plain_path)


CLIP_DAMAGE = {
    "no group": ({"header": header_with(clip=[1, 2])}, "header.clip' is"),
    "text": ({"header": header_with(clip={"low": "one", "high": 2})}, "low"),
    "not finite": ({"header": header_with(clip={"low": 0, "high": "inf"})}, "high"),
    "upside down": ({"header": header_with(clip={"low": 2, "high": 1})}, "low end below"),
    "below 0": ({"header": header_with(clip={"low": None, "high": -1})}, "above 0"),
}


def test_a_damaged_range_is_an_error(plain, tmp_path):
    check_refused(replace(plain, clip=(0.2, 0.4)), tmp_path, CLIP_DAMAGE)


def test_damage_is_an_error_that_names_the_file(plain, tmp_path):
    check_refused(plain, tmp_path, DAMAGE)


GRADED_DAMAGE = {
    "factor above 1": ({"factors": but((0, 0), 1.5)}, "'factors' has entries that are not numbers"),
    "factor barely above 1": ({"factors": but((0, 0), 1.0 + 1e-15)}, "'factors' has entries"),
    "factor below 0": ({"factors": but((0, 0), -0.1)}, "'factors' has entries"),
    "factor not a number": ({"factors": but((0, 0), np.nan)}, "'factors' has entries"),
    "witness's factor": ({"witness_factors": but((0, 0), 1.5)}, "'witness_factors' has entries"),
    "too few rows": ({"factors": lambda a: a[:-1]}, "'factors' has shape"),
    "flat": ({"factors": np.ravel}, "'factors' has shape"),
    "single precision": ({"factors": lambda a: a.astype(np.float32)}, "type float32"),
    "fewer components": ({"factors": lambda a: a[:, 1:]}, "'factors' has shape"),
    "no factors": ({"factors": None}, "'factors' is missing"),
    "no witness's factors": ({"witness_factors": None}, "'witness_factors' is missing"),
    "no number of components": (
        {"header": header_with(without=["components"])},
        "'components' is missing",
    ),
    "number of components": ({"header": header_with(components=3)}, "'factors' has shape"),
    "components below 0": ({"header": header_with(components=-1)}, "'components' is '-1'"),
    "fewer weights": ({"weights": lambda a: a[-3:]}, "factors have components without a weight"),
    "no boxes": ({"weights": lambda a: a[-4:]}, "words have boxes without a weight"),
    "weights beyond the radius": ({"weights": but(-1, 0.51)}, "weights sum to"),
}


def test_graded_components_come_back(plain, data, tmp_path):
    made = graded_fit(plain, data.coords, data.values)
    assert len(made.model.components) > 0
    path = saved(made, tmp_path)
    assert read_header(path)["format_version"] == 4
    back = load(path)
    assert back.model == made.model
    assert back.result.witness == made.result.witness
    cells = np.argwhere(np.ones(data.shape))
    beyond = cells + np.array([0, 0, 3])
    for each in (cells, beyond):
        mine, theirs = (one.predict(each, unseen="mean") for one in (back, made))
        assert np.array_equal(mine, theirs)
    assert back.verify(data.coords, data.values) == made.verify(data.coords, data.values)
    assert back.verify(data.coords, data.values).ok
    assert back.to_frame().equals(made.to_frame())
    assert repr(back) == repr(made)


def test_either_of_model_and_witness_may_be_graded(plain, data, tmp_path):
    made = graded_fit(plain, data.coords, data.values)
    for result in (
        replace(made.result, witness=plain.result.witness),
        replace(made.result, model=plain.model),
        replace(made.result, witness=None),
    ):
        predictor = replace(made.predictor, model=result.model)
        path = saved(replace(made, result=result, predictor=predictor), tmp_path)
        assert read_header(path)["format_version"] == 4
        back = load(path).result
        assert (back.model, back.witness) == (result.model, result.witness)


def test_damaged_components_are_an_error_that_names_the_file(plain, data, tmp_path):
    made = graded_fit(plain, data.coords, data.values)
    check_refused(made, tmp_path, GRADED_DAMAGE)


PATH_DAMAGE = {
    "endless": ({"path_0_limits": but(0, np.inf)}, "limits' has numbers that are not all finite"),
    "negative": ({"path_0_limits": but(0, -1.0)}, "limits has numbers below 0"),
    "no sweeps": ({"path_0_sweeps": but(0, np.nan)}, "sweeps' has numbers"),
    "shorter": ({"path_0_averages": lambda a: a[:-1]}, "averages"),
}


def test_damaged_numbers_of_graded_paths_are_refused(automatic, tmp_path):
    check_refused(automatic, tmp_path, PATH_DAMAGE)


def test_a_missing_path_cannot_be_chosen(rich, tmp_path):
    validation = read_header(saved(rich, tmp_path))["validation"]
    changed = header_with(validation={**validation, "chosen": 9})
    check_refused(rich, tmp_path, {"chosen": ({"header": changed}, "path 9 was chosen of 1")})


def test_effects_that_are_not_finite_are_refused(rich, tmp_path):
    check_refused(rich, tmp_path, {"infinite": ({"effects": but(0, np.inf)}, "effects")})


REMAINDER_DAMAGE = {
    "missing": ({"remainder": None}, "'remainder' is missing"),
    "shorter": ({"remainder": lambda a: a[:-1]}, r"shape \(3, 4, 3\), expected \(4, 4, 3\)"),
    "flat": ({"remainder": np.ravel}, r"shape \(48,\)"),
    "turned": ({"remainder": lambda a: a.transpose(2, 0, 1)}, "shape"),
    "single precision": ({"remainder": lambda a: a.astype(np.float32)}, "type float32"),
    "nan": ({"remainder": but((1, 2, 0), np.nan)}, "'remainder' has .*not all finite"),
    "infinite": ({"remainder": but((0, 0, 0), -np.inf)}, "'remainder' has .*not all fin"),
    "unknown text": ({"header": header_with(remainder="loess")}, "remainder.*loess"),
    "no text": ({"header": header_with(without=["remainder"])}, "'header.remainder' is missing"),
    "a number for a text": ({"header": header_with(remainder=1)}, "'header.remainder' is '1'"),
    "no kriged": ({"path_0_kriged": None}, "'path_0_kriged' is missing"),
    "short kriged": ({"path_0_kriged": lambda a: a[:-1]}, "path_0_kriged"),
    "kriged of another type": ({"path_0_kriged": lambda a: a > 0.0}, "type bool"),
}


def test_a_damaged_remainder_is_an_error_that_names_the_file(kriged, tmp_path):
    check_refused(kriged, tmp_path, REMAINDER_DAMAGE)


def as_first_version(path):
    """Turn a file without a remainder into what version 1 wrote."""
    assert read_header(path)["remainder"] == "none"
    with np.load(path, allow_pickle=False) as file:
        kriged = [name for name in file.files if name.endswith("_kriged")]
    header = header_with(without=["remainder"], format_version=1)
    altered(path, header=header, **dict.fromkeys(kriged))


@pytest.mark.parametrize("name", ["plain", "rich"])
def test_files_of_the_first_version_are_read(request, data, tmp_path, name):
    made = request.getfixturevalue(name)
    path = saved(made, tmp_path)
    assert read_header(path)["format_version"] == 4
    as_first_version(path)
    back = load(path)
    cells = np.argwhere(np.ones(data.shape))
    assert np.array_equal(back.predict(cells), made.predict(cells))
    assert back.predictor.remainder is None
    assert back.verify(data.coords, data.values).ok
    for walk in back.validation.paths if back.validation else ():
        assert walk.kriged.tolist() == [False] * len(walk)
        assert walk.remainder == "none"
    saved(back, tmp_path)  # and written as the newest
    assert np.array_equal(load(path).predict(cells), made.predict(cells))
    assert read_header(path)["format_version"] == 4


@pytest.mark.parametrize("version", [2, 3])
def test_older_files_call_any_gap_within_the_tolerance_optimal(plain, data, tmp_path, version):
    assert plain.status is Status.OPTIMAL
    wide = {"bound": 0.0, "witness": None, "tolerance": 2.0 * plain.objective}
    loose = replace(plain, result=replace(plain.result, **wide))
    for made, status in [(plain, Status.OPTIMAL), (loose, Status.WITHIN_TOLERANCE)]:
        path = saved(made, tmp_path)
        assert read_header(path)["status"] == "OPTIMAL"
        altered(path, header=header_with(format_version=version))
        back = load(path)
        assert back.status is status
        assert back.verify(data.coords, data.values).ok
        saved(back, tmp_path)  # as the newest, which has both words
        assert load(path).status is status


def test_older_statuses_of_partners_are_renamed_too(plain, tmp_path):
    wide = {"bound": 0.0, "witness": None, "tolerance": 2.0 * plain.objective}
    partner = replace(plain, result=replace(plain.result, **wide), share=0.5)
    path = saved(replace(plain, share=0.5, partners=(partner,)), tmp_path)
    altered(path, header=header_with(format_version=3))
    back = load(path)
    assert [one.status for one in back.members] == [Status.OPTIMAL, Status.WITHIN_TOLERANCE]


def test_a_second_version_without_its_entries_is_damaged(rich, tmp_path):
    path = saved(rich, tmp_path)
    as_first_version(path)
    altered(path, header=header_with(format_version=2))
    with pytest.raises(ModelFileError, match="remainder"):
        load(path)


@pytest.mark.parametrize("share", [0.5, pytest.param(1.0, marks=pytest.mark.slow)])
def test_cut_and_flipped_bytes_never_give_another_model(plain, data, tmp_path, share):
    path = saved(plain, tmp_path)
    content = path.read_bytes()
    rng = np.random.default_rng(3)
    expected = plain.predict(data.coords)
    rejected = 0
    for length in rng.integers(0, len(content), int(30 * share)).tolist():
        path.write_bytes(content[:length])
        with pytest.raises(ModelFileError):
            load(path)
    for index in rng.integers(0, len(content), int(150 * share)).tolist():
        broken = bytearray(content)
        broken[index] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(broken))
        try:
            assert np.array_equal(load(path).predict(data.coords), expected)
        except ModelFileError:
            rejected += 1
    assert rejected > 50 * share


def test_a_claim_of_a_huge_array_is_not_believed(plain, tmp_path):
    path = saved(plain, tmp_path)
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    shape = f"({plain.model.weights.size},)".encode()
    assert shape in entries["weights.npy"]
    claim = b"(99999999999999,)"
    entries["weights.npy"] = (
        entries["weights.npy"]
        .replace(shape + b" " * (len(claim) - len(shape)), claim)
        .replace(shape + b", }" + b" " * (len(claim) - len(shape)), claim + b", }")
    )
    assert claim in entries["weights.npy"]
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    with pytest.raises(ModelFileError, match="claims"):
        load(path)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04" + b"\0" * 100])
def test_files_that_are_no_archives_are_refused(tmp_path, content):
    (tmp_path / "model.npz").write_bytes(content)
    with pytest.raises(ModelFileError, match=r"model\.npz: "):
        load(tmp_path / "model.npz")


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(ModelFileError, match="no such file"):
        load(tmp_path / "model.npz")
    with pytest.raises(ModelFileError, match="folder"):
        load(tmp_path)


def test_python_objects_are_never_read(tmp_path):
    np.savez(tmp_path / "model.npz", header=np.array([{"format": "intensor model"}]))
    with pytest.raises(ModelFileError, match="Python objects"):
        load(tmp_path / "model.npz")


def test_compressed_models_are_refused(plain, tmp_path):
    path = saved(plain, tmp_path)
    with np.load(path) as file:
        np.savez_compressed(path, **file)
    with pytest.raises(ModelFileError, match="compressed"):
        load(path)


def test_other_archives_are_refused(tmp_path):
    np.savez(tmp_path / "model.npz", x=np.ones(3))
    with pytest.raises(ModelFileError, match="not a model file"):
        load(tmp_path / "model.npz")


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
kinds = {
    "text": texts,
    "integer": st.integers(-(2**63), 2**63 - 1),
    "number": st.floats(allow_nan=False),
    "mixed": st.one_of(texts, st.integers(-(2**40), 2**40), st.floats(-1e6, 1e6), st.dates()),
}
raws = st.one_of(
    observations(shape=shapes(most=4), most=15),
    observations(shape=shapes(most=4), most=15, weights=any_weights),
).filter(lambda raw: not 0.0 < raw.values.max() < 1e-70)  # which is refused


@st.composite
def columns(draw, length):
    kind = draw(st.sampled_from(list(kinds)))
    labels = draw(
        st.lists(kinds[kind], min_size=length, max_size=length, unique_by=lambda x: (x, str(x)))
    )
    if kind in ("integer", "number"):
        return np.array(labels)
    column = np.empty(length, dtype=object)
    column[:] = labels
    return column


@pytest.mark.filterwarnings("ignore::intensor.errors.ValidationWarning")
@forall(
    few=5,
    many=400,
    raw=raws,
    factor=st.sampled_from([0.3, 1.0, 5.0]),
    transform=st.sampled_from(["none", "none", "sqrt", "log1p"]),
    baseline=st.sampled_from(["none", "none", "additive"]),
    exact=st.sampled_from(["auto", "off"]),
    data=st.data(),
)
def test_a_fit_comes_back_to_the_last_bit(raw, factor, transform, baseline, exact, data):
    options = plain_options(
        radius=factor * max(float(raw.values.max()), 1e-3),
        transform=transform,
        baseline=baseline,
        exact=exact,
        threads=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RadiusWarning)
        made = fit(raw.coords, raw.values, options, shape=raw.shape, sample_weight=raw.weights)
    labels = Labels(
        modes=tuple(data.draw(st.lists(texts, min_size=len(raw.shape), max_size=len(raw.shape)))),
        indices=tuple(data.draw(columns(length)) for length in raw.shape),
        value=data.draw(texts),
    )
    made = replace(made, labels=labels)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        made.save(path)
        back = intensor.load(path)
    assert_same(made, back, raw)


def assert_same(made, back, raw):
    cells = np.indices(raw.shape).reshape(len(raw.shape), -1).T
    mine, theirs = (one.predict(cells, unseen="mean") for one in (back, made))
    assert mine.tolist() == theirs.tolist()
    for name in ("status", "objective", "bound", "tolerance", "bound_source", "version", "trace"):
        assert repr(getattr(back.result, name)) == repr(getattr(made.result, name))
    for one, other in (
        (back.result.model, made.result.model),
        (back.result.witness, made.result.witness),
    ):
        assert (one is None) == (other is None)
        if one is not None:
            assert one.weights.tolist() == other.weights.tolist()
            assert one.vertices.words.tolist() == other.vertices.words.tolist()
            assert (one.radius, one.signed) == (other.radius, other.signed)
    assert back.labels.modes == made.labels.modes
    assert back.labels.value == made.labels.value
    for one, other in zip(back.labels.indices, made.labels.indices, strict=True):
        assert one.dtype == other.dtype
        assert [(type(x), repr(x)) for x in one.tolist()] == [
            (type(x), repr(x)) for x in other.tolist()
        ]
    mine, theirs = (
        one.verify(raw.coords, raw.values, sample_weight=raw.weights) for one in (back, made)
    )
    assert mine == theirs
    assert mine.ok
