"""A recipe comes back from a model file, and a damaged one is an error that names the file."""

import copy
from dataclasses import fields, replace

import numpy as np
import pytest

from fitting_cases import NOISY
from intensor.errors import ModelFileError
from intensor.fitting.fit import fit
from intensor.fitting.model_file import load, save
from intensor.fitting.options import RemainderMethod, Scale, check_options
from intensor.fitting.recipe import Part, Recipe, capture_recipe
from intensor.fitting.references import Kind, Reference
from intensor.fitting.smooth_field import SMOOTH
from intensor.model.transform import IDENTITY, TRANSFORMS
from intensor.storage.codec import read_entries, write_entries
from intensor.storage.reader import MODEL_FILE


@pytest.fixture(scope="module")
def found():
    options = {"components": "boxes", "transform": "none", "baseline": "none", "n_radii": 3}
    made = fit(
        NOISY.coords, NOISY.values, check_options(**options, remainder="kriging"), shape=NOISY.shape
    )
    graded = Part(
        scale=Scale(transform=TRANSFORMS["sqrt"], additive=True, graded=True),
        share=0.25,
        radius=2.5,
        remainder=RemainderMethod.NONE,
        max_components=7,
        sweeps=16,
        rounds=2,
        n_solutions=3,
        tolerance=None,
    )
    references = (
        (Reference(kind=Kind.INTERPOLATION, mode=2), 0.125),
        (
            Reference(
                kind=Kind.FIELD,
                transform=TRANSFORMS["log1p"],
                smoothness=SMOOTH,
                rounds=1,
                noise_ratio=4.0,
            ),
            0.5,
        ),
    )
    parts = (*made.recipe.parts, graded)
    recipe = replace(made.recipe, parts=parts, references=references, max_iterations=40, seed=9)
    assert len(recipe.parts[0].start) > 0
    return replace(made, recipe=recipe)


def plain(recipe):
    """Return a recipe as plain values, without the model that it starts from."""
    return capture_recipe(recipe)


def test_every_part_comes_back(found, tmp_path):
    save(found, tmp_path / "model.npz")
    recipe = load(tmp_path / "model.npz").recipe
    assert plain(recipe) == plain(found.recipe)
    assert recipe.parts[0].start == found.recipe.parts[0].start
    assert recipe.parts[1].start is None
    assert recipe.references == found.recipe.references
    for kind, one, other in (
        (Recipe, recipe, found.recipe),
        (Part, recipe.parts[1], found.recipe.parts[1]),
    ):
        for field in fields(kind):  # none was forgotten
            mine, theirs = getattr(one, field.name), getattr(other, field.name)
            simple = mine is None or isinstance(mine, int | float | str | RemainderMethod)
            assert not simple or mine == theirs, field.name


@pytest.mark.parametrize("name", ["version"])
@pytest.mark.parametrize("version", [8, "fast"])
def test_the_version_keeps_its_type(found, name, version, tmp_path):
    save(replace(found, recipe=replace(found.recipe, version=version)), tmp_path / "model.npz")
    assert getattr(load(tmp_path / "model.npz").recipe, name) == version


def test_files_without_a_recipe_have_none(found, tmp_path):
    save(replace(found, recipe=None), tmp_path / "model.npz")
    assert load(tmp_path / "model.npz").recipe is None


def change_part(name, value):
    return lambda recipe: recipe["parts"][1].update({name: value})


def change_reference(name, value):
    return lambda recipe: recipe["references"][0].update({name: value})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda recipe: recipe.update(parts=[]), "no part"),
        (lambda recipe: recipe.update(seed=-1), "seed"),
        (lambda recipe: recipe.update(exact="\x1b[2J"), "exact"),
        (lambda recipe: recipe.update(version=None), "version"),
        (lambda recipe: recipe.pop("keep_all"), "keep_all"),
        (lambda recipe: recipe.pop("references"), "references"),
        (change_part("transform", "custom"), "transform"),
        (change_part("baseline", "auto"), "baseline"),
        (change_part("remainder", "auto"), "remainder"),
        (change_part("graded", False), "not graded"),
        (change_part("max_components", None), "graded"),
        (change_part("n_solutions", 10**9), "n_solutions"),
        (change_part("radius", 0.0), "radius"),
        (change_part("radius", "inf"), "radius"),
        (change_part("tolerance", -1.0), "tolerance"),
        (change_part("share", "nan"), "share"),
        (lambda recipe: recipe["parts"][0]["start"].update(signed=True), "another kind"),
        (lambda recipe: recipe["parts"][0].update(start={}), "start_0_"),
        (change_reference("kind", "MAGIC"), "kind"),
        (change_reference("mode", 3), "along mode 3 of 3"),
        (change_reference("rounds", 10**9), "rounds"),
        (change_reference("smoothness", -1.0), "smoothness"),
    ],
)
def test_a_damaged_recipe_is_an_error(found, change, message, tmp_path):
    path = tmp_path / "model.npz"
    save(found, path)
    header, arrays = read_entries(path, MODEL_FILE)
    arrays = {name: np.array(array) for name, array in arrays.items()}
    header = copy.deepcopy(header)
    change(header["recipe"])
    write_entries(path, header, arrays)
    with pytest.raises(ModelFileError, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_only_remainders_and_fields_need_every_cell(found):
    first = found.recipe.parts[0]
    bare = replace(first, remainder=RemainderMethod.NONE, start=None)
    for references, parts, dense in (
        ((), (first,), True),
        ((), (bare,), False),
        (((Reference(kind=Kind.MEAN), 0.5),), (bare,), False),
        (((Reference(kind=Kind.MAIN_EFFECTS), 0.5),), (bare,), False),
        (((Reference(kind=Kind.INTERPOLATION, mode=0), 0.5),), (bare,), True),
        (((Reference(kind=Kind.FIELD, transform=IDENTITY), 0.5),), (bare,), True),
    ):
        recipe = replace(found.recipe, parts=parts, references=references)
        assert recipe.dense is dense


def test_a_recipe_names_its_members(found):
    assert repr(found.recipe).startswith("<Recipe: none, none; sqrt, additive, graded; interp")
