import numpy as np

from intensor.datasets import flights


def test_what_is_in_it():
    table = flights()
    assert len(table) == 3864
    assert table.shape == (3, 104, 16, 12)
    assert table.labels.modes == ("origin", "dest", "carrier", "month")
    assert table.labels.value == "air_time"
    assert table.labels.indices[0].tolist() == ["EWR", "JFK", "LGA"]
    assert table.labels.indices[3].tolist() == list(range(1, 13))
    assert table.missing().shape == (0, 4)


def test_values_are_minutes_in_the_air():
    coords, values, weights = flights().observed()
    assert weights is None
    assert 20.0 < values.min() < 30.0
    assert 600.0 < values.max() < 700.0
    assert len(np.unique(coords, axis=0)) == len(coords)
    np.testing.assert_array_equal(values, values.round(1))


def test_one_cell():
    table = flights()
    coords, values, _ = table.observed()
    wanted = table.labels.encode([["EWR"], ["ALB"], ["EV"], [1]])[0]
    assert values[(coords == wanted).all(axis=1)].tolist() == [32.6]
