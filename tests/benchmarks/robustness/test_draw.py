"""Sub-tasks: the same seed draws the same, order is kept, and whole groups are hidden."""

import numpy as np
import pytest

from benchmarks.robustness import draw as module
from benchmarks.robustness.draw import cut, draw, hide_blocks, hide_groups
from benchmarks.robustness.sources import Source


def dense(shape=(20, 15, 12), ordered=(1, 2), name="dense"):
    """Every cell, with a value that tells where it is."""
    coords = np.argwhere(np.ones(shape))
    values = 1.0 + np.ravel_multi_index(tuple(coords.T), shape)
    return Source(name=name, shape=shape, coords=coords, values=values, ordered=ordered)


def repeated():
    """Cells that are observed up to three times."""
    one = dense((30, 20, 10), ordered=())
    some = np.random.default_rng(0).integers(0, len(one.values), size=9000)
    return Source(
        name="repeated",
        shape=one.shape,
        coords=one.coords[some],
        values=one.values[some],
        ordered=(),
    )


@pytest.fixture
def sources(monkeypatch):
    """Two data sets that need no file."""
    monkeypatch.setattr(
        module,
        "SOURCES",
        {
            "dense": ("none", lambda path, rng: dense((40, 30, 20))),
            "repeated": ("none", lambda path, rng: repeated()),
        },
    )


def test_the_same_seed_and_number_give_the_same_sub_task(sources, tmp_path):
    first, again = (draw(3, seed=5, folder=tmp_path) for _ in range(2))
    for name in ("coords", "values", "asked", "truth"):
        np.testing.assert_array_equal(getattr(first.problem, name), getattr(again.problem, name))
    others = [draw(3, seed=6, folder=tmp_path), draw(5, seed=5, folder=tmp_path)]
    told = {(one.problem.shape, one.kind, one.rate) for one in (first, *others)}
    assert len(told) == 3


def test_sub_tasks_keep_to_the_rules(sources, tmp_path):
    kinds = set()
    for number in range(24):
        task = draw(number, seed=1, folder=tmp_path)
        problem = task.problem
        known = {tuple(cell) for cell in problem.coords.tolist()}
        hidden = {tuple(cell) for cell in problem.asked.tolist()}
        assert not known & hidden
        assert module.MIN_KNOWN <= len(known) <= module.MAX_KNOWN
        assert 0.15 < task.rate < 0.97
        assert task.rate == pytest.approx(len(hidden) / len(known | hidden))
        assert (problem.coords < problem.shape).all()
        kinds.add(task.kind.split()[0])
    assert kinds == {"random", "fibre", "block"}


def test_all_data_sets_take_turns(sources, tmp_path):
    names = [draw(number, seed=1, folder=tmp_path).source for number in range(10)]
    for turn in range(5):
        assert set(names[2 * turn : 2 * turn + 2]) == {"dense", "repeated"}


def test_a_data_set_that_is_too_small_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "MAX_KNOWN", module.MIN_KNOWN - 1)
    monkeypatch.setattr(module, "SOURCES", {"dense": ("none", lambda path, rng: dense())})
    with pytest.raises(RuntimeError, match="draws from dense gave no sub-task"):
        draw(0, seed=1, folder=tmp_path)


def test_ordered_modes_keep_a_range_and_others_a_subset_in_order():
    whole = dense()
    part = cut(whole, np.random.default_rng(2), wanted=400)
    assert np.prod(part.shape) == len(part.values) < len(whole.values)
    cells = np.stack(np.unravel_index((part.values - 1).astype(int), whole.shape), axis=1)
    for mode in range(3):
        kept = np.unique(cells[:, mode])
        assert len(kept) == part.shape[mode]
        np.testing.assert_array_equal(kept[part.coords[:, mode]], cells[:, mode])
        if mode in whole.ordered:
            np.testing.assert_array_equal(kept, np.arange(kept[0], kept[-1] + 1))


def test_groups_are_hidden_as_a_whole_up_to_the_share():
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 50, size=(4000, 1))
    for rate in (0.2, 0.5, 0.95):
        hidden = hide_groups(keys, rate, rng)
        assert hidden.mean() == pytest.approx(rate, abs=0.02)
        for key in range(50):
            assert len(set(hidden[keys[:, 0] == key])) == 1


def test_blocks_are_contiguous_ranges_of_an_ordered_mode():
    part = dense((12, 24, 10), ordered=(1,))
    for seed in range(6):
        name, hidden = hide_blocks(part, 0.4, np.random.default_rng(seed))
        words = name.replace(",", "").split()
        length, other = int(words[2]), int(words[-1])
        assert words[5] == "1"  # along the only ordered mode
        mask = np.moveaxis(hidden.reshape(part.shape), (1, other), (0, 1))
        changes = (mask[1:] != mask[:-1]).any(axis=(1, 2))
        assert np.diff(np.flatnonzero(changes)).min() >= 1
        assert len(np.unique(np.flatnonzero(changes) % length)) == 1  # at borders of blocks only
        if "for all" in name:
            assert (mask == mask[:, :1]).all()
        assert 0.2 < hidden.mean() < 0.6
