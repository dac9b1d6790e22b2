"""Model files give back every bit of a fit, whatever its data, scale and labels."""

import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

import intensor
from forall import forall
from intensor.data.labels import Labels
from intensor.errors import RadiusWarning
from intensor.fitting.fit import fit
from intensor.fitting.options import check_options
from strategies import any_weights, observations, shapes

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
kinds = {
    "text": texts,
    "whole": st.integers(-(2**63), 2**63 - 1),
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
    if kind in ("whole", "number"):
        return np.array(labels)
    column = np.empty(length, dtype=object)
    column[:] = labels
    return column


@forall(
    few=25,
    many=400,
    raw=raws,
    factor=st.sampled_from([0.3, 1.0, 5.0]),
    transform=st.sampled_from(["none", "none", "sqrt", "log1p"]),
    baseline=st.sampled_from(["none", "none", "additive"]),
    exact=st.sampled_from(["auto", "off"]),
    data=st.data(),
)
def test_a_fit_comes_back_to_the_last_bit(raw, factor, transform, baseline, exact, data):
    options = check_options(
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
