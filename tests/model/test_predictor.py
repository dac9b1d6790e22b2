"""Predictions in the units of the data, and what happens to indices nobody has seen."""

import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest

from graded_cases import random_model
from intensor.errors import (
    CoordinateError,
    EmptyDataError,
    SettingError,
    UnseenIndexError,
    UnseenIndexWarning,
)
from intensor.model.baseline import Baseline
from intensor.model.model import build_model
from intensor.model.predictor import (
    CELLS_AT_ONCE,
    MAX_FLAGS_AT_ONCE,
    Predictor,
    Remainder,
    index_counts,
)
from intensor.model.transform import TRANSFORMS
from intensor.options.unseen import Unseen
from zoo import mostly_slow

SHAPE = (4, 3, 5)
RNG = np.random.default_rng(8)
FLAGS = (RNG.uniform(size=(7, 12)) < 0.6).astype(np.uint8)
COORDS = np.stack([RNG.integers(0, length - (length == 5), 40) for length in SHAPE], axis=1)
COORDS[COORDS[:, 0] == 2, 0] = 1  # index 2 of mode 0 and index 4 of mode 2 are never seen
WEIGHTS = RNG.uniform(0.5, 2.0, 40)
EVERY = np.argwhere(np.ones(SHAPE))
FIELD = np.random.default_rng(5).normal(0.0, 0.2, SHAPE)
SEEN = EVERY[(EVERY[:, 0] != 2) & (EVERY[:, 2] != 4)]


def build(*, signed=False, transform="none", baseline=False, weights=None, remainder=False):
    sizes = np.linspace(0.4, 0.1, 7) * (np.where(np.arange(7) % 2, -1.0, 1.0) if signed else 1.0)
    effects = None
    if baseline:
        effects = np.random.default_rng(1).normal(0.0, 0.3, 12)
        effects[[2, 11]] = 0.0
        effects = Baseline(shape=SHAPE, mean=0.1, effects=effects)
    return Predictor(
        model=build_model(FLAGS, sizes, shape=SHAPE, radius=3.0, signed=signed),
        counts=index_counts(tuple(COORDS.T), SHAPE, weights),
        transform=TRANSFORMS[transform],
        baseline=effects,
        remainder=Remainder(field=FIELD) if remainder else None,
    )


def graded(predictor):
    """Return the same predictor with a model of boxes and components."""
    return replace(predictor, model=random_model(SHAPE, signed=predictor.model.signed))


def dense(predictor):
    """Return the full fitted tensor, baseline, remainder and all."""
    tensor = predictor.model.to_dense()
    if predictor.baseline is not None:
        parts = np.split(predictor.baseline.effects, np.cumsum(SHAPE)[:-1])
        tensor = tensor + predictor.baseline.mean
        tensor = tensor + sum(np.ix_(*parts)[mode] for mode in range(3))
    if predictor.remainder is not None:
        tensor = tensor + predictor.remainder.field
    return tensor


def brute_mean(predictor, tensor, cell):
    """Average over all observed indices of the unknown modes, each by how often it was seen."""
    parts = np.split(predictor.counts, np.cumsum(SHAPE)[:-1])
    choices = []
    for index, counts in zip(cell, parts, strict=True):
        if 0 <= index < counts.size and counts[index] > 0:
            choices.append([(index, 1.0)])
        else:
            seen = np.flatnonzero(counts)
            choices.append([(i, counts[i] / counts.sum()) for i in seen])
    total = 0.0
    for combination in itertools.product(*choices):
        cell_indices = tuple(index for index, _ in combination)
        total += np.prod([share for _, share in combination]) * tensor[cell_indices]
    return total


ALL = [
    {"signed": signed, "transform": transform, "baseline": baseline, "remainder": remainder}
    for signed in (False, True)
    for transform in TRANSFORMS
    for baseline in (False, True)
    for remainder in (False, True)
]
TELLING = [kind for kind in ALL if not kind["signed"] ^ kind["baseline"] ^ kind["remainder"]]
"""Half of all kinds, in which any two options still meet in every way."""
KINDS = mostly_slow(ALL, telling=TELLING)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_cells_that_were_seen(kind):
    predictor = build(**kind)
    fitted = dense(predictor)[tuple(SEEN.T)]
    undone = {
        "none": fitted,
        "sqrt": np.maximum(fitted, 0.0) ** 2,
        "log1p": np.expm1(fitted),
    }[kind["transform"]]
    found = predictor.predict(SEEN)
    np.testing.assert_allclose(found, np.maximum(undone, 0.0), atol=1e-13)
    assert found.min() >= 0.0
    np.testing.assert_allclose(predictor.fitted(SEEN), fitted, atol=1e-14)
    if kind["signed"]:
        assert fitted.min() < 0.0


def test_cells_that_were_seen_of_a_model_with_components():
    predictor = graded(build(signed=True, baseline=True))
    fitted = dense(predictor)[tuple(SEEN.T)]
    np.testing.assert_allclose(predictor.fitted(SEEN), fitted, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_unknown_indices_are_averaged_over(kind):
    cells = np.array(list(itertools.product((-1, 0, 2, 3), (-1, 1), (-1, 3, 4, 5, 10**6))))
    plain = [build(**kind, weights=weights) for weights in (None, WEIGHTS)]
    for predictor in (*plain, *map(graded, plain)):
        found = predictor.predict(cells, unseen="mean")
        tensor = dense(predictor)
        fitted = np.array([brute_mean(predictor, tensor, cell) for cell in cells.tolist()])
        np.testing.assert_allclose(found, predictor.transform.undo(fitted), atol=1e-12)
        assert found.min() >= 0.0


def test_a_remainder_is_added_before_clipping():
    plain, kriged = build(), build(remainder=True)
    added = kriged.fitted(SEEN) - plain.fitted(SEEN)
    np.testing.assert_allclose(added, FIELD[tuple(SEEN.T)], atol=1e-14)
    below = kriged.fitted(SEEN) < 0.0
    assert below.any()
    assert not kriged.predict(SEEN)[below].any()


def test_targets_of_the_boxes_are_not_those_of_the_remainder():
    values = np.random.default_rng(0).uniform(0.0, 3.0, 40)
    plain, kriged = build(baseline=True), build(baseline=True, remainder=True)
    assert np.array_equal(
        plain.residual_targets(COORDS, values), kriged.residual_targets(COORDS, values)
    )


def test_cells_come_in_portions():
    n_boxes = 2 * MAX_FLAGS_AT_ONCE // CELLS_AT_ONCE
    flags = np.random.default_rng(0).integers(0, 2, (n_boxes, sum(SHAPE)), dtype=np.uint8)
    model = build_model(flags, np.full(n_boxes, 0.001), shape=SHAPE, radius=3.0)
    predictor = replace(build(baseline=True, remainder=True), model=model)
    cells = np.vstack((EVERY, EVERY - [0, 0, 5] * (EVERY == [0, 0, 4]), [[-1, -1, -1]]))
    cells = np.resize(np.maximum(cells, -1), (CELLS_AT_ONCE + 100, len(SHAPE)))
    one_by_one = predictor.predict(cells[:121], unseen="mean")
    found = predictor.predict(cells, unseen="mean")
    np.testing.assert_allclose(found, np.resize(one_by_one, len(cells)), rtol=1e-12)


def test_what_was_seen_is_predicted_alike_with_and_without_strangers():
    predictor = build()
    mixed = np.vstack((SEEN, [[2, 0, 0]]))
    assert np.array_equal(predictor.predict(mixed, unseen="mean")[:-1], predictor.predict(SEEN))


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([[0, 0, 0], [2, 0, 0], [2, 1, 4]], r"coords\[1, 0\] is 2, .* mode 0"),
        ([[0, 0, 4]], r"coords\[0, 2\] is 4, an index of mode 2"),
        ([[0, -1, 0]], r"coords\[0, 1\] is -1"),
        ([[0, 0, 0], [0, 9, 0]], r"coords\[1, 1\] is 9.*unseen=\"mean\""),
    ],
)
def test_unknown_indices_are_named(cells, message):
    with pytest.raises(UnseenIndexError, match=message):
        build().predict(cells, unseen="error")
    with pytest.warns(UnseenIndexWarning, match=message.replace("mean", "error")) as caught:
        found = build().predict(cells, unseen="warn")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(found, build().predict(cells)), "the mean is the default"
    assert np.array_equal(found, build().predict(cells, unseen=Unseen.MEAN))


@pytest.mark.parametrize(
    ("cells", "error", "message"),
    [
        ([[0, 0]], CoordinateError, r"2 column\(s\).*3 mode"),
        ([[0, 0, 0, 0]], CoordinateError, r"4 column\(s\)"),
        ([[0, 0, -2]], CoordinateError, r"coords\[0, 2\] is -2"),
        ([0, 0, 0], CoordinateError, "1 dimension"),
        ([[0.0, 0.0, 0.0]], CoordinateError, "float64"),
        ([[True, False, True]], CoordinateError, "bool"),
        ([], EmptyDataError, "no observation"),
        (np.empty((0, 2), dtype=int), EmptyDataError, r"\(0, 2\)"),
    ],
)
def test_coordinates_that_make_no_sense(cells, error, message):
    for unseen in Unseen:
        with pytest.raises(error, match=message):
            build().predict(cells, unseen=unseen)


@pytest.mark.parametrize("cells", [[["a", "b", "c"]], [[0, None, 1]], [[0, 1, 2], [0]]])
def test_coordinates_that_are_no_integers_are_refused_by_an_error_of_ours(cells):
    cells = np.array(cells, dtype=object) if None in cells[0] else cells
    with pytest.raises(CoordinateError):
        build().predict(cells)


def test_a_very_large_index_is_unseen_like_any_other():
    predictor = build()
    expected = predictor.predict([[-1, 0, 0]], unseen="mean")
    assert predictor.predict([[2**40, 0, 0]], unseen="mean") == pytest.approx(expected)


@pytest.mark.parametrize("unseen", ["zero", None, "", True])
def test_what_to_do_with_them_is_one_of_three_options(unseen):
    with pytest.raises(SettingError, match="expected 'mean', 'warn' or 'error'"):
        build().predict(SEEN, unseen=unseen)


@pytest.mark.parametrize("unseen", list(Unseen))
def test_no_cells_have_no_predictions(unseen):
    assert build().predict(np.empty((0, 3), dtype=int), unseen=unseen).shape == (0,)
    assert build(baseline=True).fitted(np.empty((0, 3), dtype=int)).shape == (0,)
    strangers = build(remainder=True).predict([[2, 0, 0]] * 3, unseen="mean")  # and no others
    assert strangers.shape == (3,)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.uint64])
def test_any_integers_will_do(kind):
    predictor = build()
    assert np.array_equal(predictor.predict(SEEN.astype(kind)), predictor.predict(SEEN))


@pytest.mark.parametrize("unseen", list(Unseen))
def test_a_model_without_boxes(unseen):
    empty = build_model(FLAGS[:0], np.empty(0), shape=SHAPE, radius=1.0)
    counts = index_counts(tuple(COORDS.T), SHAPE)
    assert not Predictor(model=empty, counts=counts).predict(SEEN, unseen=unseen).any()
    strange = Predictor(model=empty, counts=counts).predict([[-1, 0, 9]], unseen="mean")
    assert strange.tolist() == [0.0]


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("baseline", [False, True])
def test_the_targets_of_the_boxes(transform, baseline):
    predictor = build(transform=transform, baseline=baseline)
    values = np.random.default_rng(0).uniform(0.0, 3.0, 40)
    left = predictor.residual_targets(COORDS, values)
    boxes = predictor.model.predict(COORDS)
    np.testing.assert_allclose(
        boxes - left,
        predictor.fitted(COORDS) - predictor.transform.apply(values),
        atol=1e-13,
    )


def test_counts_by_hand():
    coords = (np.array([0, 2, 2]), np.array([1, 1, 0]))
    assert index_counts(coords, (4, 2)).tolist() == [1, 0, 2, 0, 1, 2]
    weighted = index_counts(coords, (4, 2), np.array([0.5, 2.0, 4.0]))
    assert weighted.tolist() == [0.5, 0.0, 6.0, 0.0, 4.0, 2.5]
    assert index_counts(coords, (4, 2)).dtype == np.float64


def test_an_index_is_shown_as_it_was_given():
    far = np.zeros((1, len(SHAPE)), dtype=np.uint64)
    far[0, 0] = 2**63
    with pytest.raises(UnseenIndexError, match=r"coords\[0, 0\] is 9223372036854775808"):
        build().predict(far, unseen="error")
