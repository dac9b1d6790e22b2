"""A fingerprint tells data apart, whatever the order of its rows."""

import numpy as np
import pytest

import zoo
from intensor.data.observations import observe
from intensor.solver.fingerprint import fingerprint, random_boxes

DATA = zoo.noisy((5, 4, 4), 60, rep=5)


def of(coords=DATA.coords, values=DATA.values, **options):
    return fingerprint(observe(coords, values, shape=DATA.shape, **options))


def test_the_order_of_rows_does_not_matter():
    order = np.random.default_rng(0).permutation(DATA.values.size)
    known, found = of(), of(DATA.coords[order], DATA.values[order])
    assert found["random_boxes"] == pytest.approx(known["random_boxes"], rel=1e-12)
    assert found["mean_square"] == pytest.approx(known["mean_square"], rel=1e-12)
    for name in ("shape", "indices", "n", "n_cells"):
        assert found[name] == known[name]


def test_every_change_of_the_data_is_seen():
    known = of()["random_boxes"]
    low, high = int(DATA.values.argmin()), int(DATA.values.argmax())
    swapped, nudged, moved = DATA.values.copy(), DATA.values.copy(), DATA.coords.copy()
    swapped[[low, high]] = swapped[[high, low]]
    nudged[high] *= 1.0 + 1e-6
    moved[0] = (moved[0] + 1) % DATA.shape
    for other in (of(values=swapped), of(values=nudged), of(coords=moved)):
        assert abs(other["random_boxes"] - known) > 1e-10 * known
    assert of(DATA.coords[1:], DATA.values[1:])["n"] == of()["n"] - 1


def test_the_random_model_is_always_the_same_and_covers_half():
    one, other = random_boxes((20, 30), 2.0), random_boxes((20, 30), 2.0)
    assert one.weights.tolist() == other.weights.tolist()
    assert one.vertices.words.tolist() == other.vertices.words.tolist()
    cells = tuple(np.indices((20, 30)).reshape(2, -1))
    covered = one.evaluate(cells).mean() / one.weights.sum()
    assert 0.4 < covered < 0.6
