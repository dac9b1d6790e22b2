"""The protocols on tensors small enough to do by hand; what is published, what is missing."""

from pathlib import Path

import numpy as np
import pytest
import scipy.io

from benchmarks.problems import dense_of
from benchmarks.real.tasks import (
    DATA_SETS,
    Goal,
    blocks,
    check_data,
    goals,
    kept,
    load,
    randomly,
    seeded,
    traffic,
)

DATA = Path(__file__).parents[4] / "shared" / "data"
TASKS = {task: data_set for data_set in DATA_SETS for task in data_set.tasks}


def small_hangzhou(folder, *, uniforms=None):
    """Write a tensor of 3 stations, 4 days, 5 slots, with two zeros; return it."""
    tensor = np.arange(1, 61).reshape(3, 4, 5)
    tensor[0, 0, 0] = tensor[2, 3, 4] = 0
    scipy.io.savemat(folder / "transdim_hangzhou_tensor.mat", {"tensor": tensor.astype(np.uint16)})
    if uniforms is not None:
        path = folder / "transdim_hangzhou_random_tensor.mat"
        scipy.io.savemat(path, {"random_tensor": uniforms})
    return tensor


def published(row):
    return next(data_set.published[row] for data_set in DATA_SETS if row in data_set.published)


def test_uniforms_below_the_rate_are_hidden():
    told = kept(np.array([0.0, 0.29, 0.31, 0.99]), 0.3)
    np.testing.assert_array_equal(told, [False, False, True, True])
    assert kept(seeded(100, 100), 0.7).mean() == pytest.approx(0.3, abs=0.02)


def test_the_seed_of_the_traffic_protocol():
    np.testing.assert_allclose(seeded(2), [0.65358959, 0.11500694], atol=1e-8)


def test_zeros_are_neither_known_nor_asked_about():
    tensor = np.array([[0.0, 2.0], [3.0, 0.0], [5.0, 6.0]])
    keep = np.array([[True, True], [False, False], [True, False]])
    problem = traffic("small", tensor, keep)
    np.testing.assert_array_equal(problem.coords, [[0, 1], [2, 0]])
    np.testing.assert_array_equal(problem.values, [2.0, 5.0])
    np.testing.assert_array_equal(problem.asked, [[1, 0], [2, 1]])
    np.testing.assert_array_equal(problem.truth, [3.0, 6.0])


def test_a_fibre_is_known_or_hidden_as_a_whole(tmp_path):
    tensor = small_hangzhou(tmp_path).transpose(0, 2, 1)
    problem = load("Hangzhou fibre 70 %", tmp_path)
    assert problem.shape == (3, 5, 4)
    _, known = dense_of(problem)
    keep = kept(np.random.RandomState(1000).rand(3, 4), 0.7)
    assert 0 < keep.sum() < keep.size
    for station in range(3):
        for day in range(4):
            there = tensor[station, :, day] != 0
            np.testing.assert_array_equal(known[station, :, day], there & keep[station, day])
    assert len(problem.values) + len(problem.truth) == 58


def test_days_come_last_in_random_rows_only_where_they_were_drawn_so(tmp_path):
    tensor = small_hangzhou(tmp_path)
    last, second = (load(f"Hangzhou random {rate} %", tmp_path) for rate in (30, 40))
    assert last.shape == (3, 5, 4)
    assert second.shape == (3, 4, 5)
    for problem, dense, rate in [(last, tensor.transpose(0, 2, 1), 0.3), (second, tensor, 0.4)]:
        keep = kept(np.random.RandomState(1000).rand(*dense.shape), rate)
        np.testing.assert_array_equal(problem.values, dense[keep & (dense > 0)])
        np.testing.assert_array_equal(problem.truth, dense[~keep & (dense > 0)])


def test_a_block_is_lost_for_all_stations(tmp_path):
    tensor = small_hangzhou(tmp_path).transpose(0, 2, 1)
    problem = load("Hangzhou blocks 30 %", tmp_path)
    _, known = dense_of(problem)
    drawn = np.random.RandomState(1000).rand(4)  # 5 slots on 4 days: blocks of 6, 6, 6 and 2
    keep = np.array([drawn[time // 6] >= 0.3 for time in range(20)])
    assert 0 < keep.sum() < keep.size
    for day in range(4):
        for slot in range(5):
            there = tensor[:, slot, day] != 0
            np.testing.assert_array_equal(known[:, slot, day], there & keep[5 * day + slot])
    assert len(problem.values) + len(problem.truth) == 58


def test_blocks_follow_time_and_not_the_rows_of_the_array():
    uniforms = blocks(12, 3)
    assert len(np.unique(uniforms)) == 6
    for day in range(3):
        assert np.ptp(uniforms[:6, day]) == np.ptp(uniforms[6:, day]) == 0.0


def test_readings_are_known_and_speeds_asked_about(tmp_path):
    speed = np.array([[[10.0], [20.0]], [[np.nan], [0.0]], [[50.0], [60.0]]], dtype=np.float32)
    readings = np.array([[[11.0], [np.nan]], [[np.nan], [np.nan]], [[np.nan], [66.0]]])
    np.savez(tmp_path / "highd_595x142x3.npz", speed=speed, missing30=readings.astype(np.float32))
    problem = load("HighD 30 %", tmp_path)
    np.testing.assert_array_equal(problem.coords, [[0, 0, 0], [2, 1, 0]])
    np.testing.assert_array_equal(problem.values, [11.0, 66.0])
    np.testing.assert_array_equal(problem.asked, [[0, 1, 0], [2, 0, 0]])
    np.testing.assert_array_equal(problem.truth, [20.0, 50.0])


def test_stored_uniforms_are_taken_as_they_are(tmp_path):
    uniforms = np.random.default_rng(3).random((3, 4, 5))
    tensor = small_hangzhou(tmp_path, uniforms=uniforms)
    problem = load("Hangzhou stored random 60 %", tmp_path)
    np.testing.assert_array_equal(problem.truth, tensor[(uniforms < 0.6) & (tensor > 0)])


def test_random_hiding_keeps_zeros_and_leaves_gaps_out():
    tensor = np.random.default_rng(1).random((4, 5, 6))
    tensor[0, 0, :3] = 0.0
    tensor[1, 1, 1] = np.nan
    problem = randomly("small", tensor, 0.5)
    hidden = np.random.default_rng(0).random((4, 5, 6)) < 0.5
    np.testing.assert_array_equal(problem.truth, tensor[hidden & np.isfinite(tensor)])
    assert len(problem.truth) + len(problem.values) == tensor.size - 1
    assert np.count_nonzero(problem.values == 0) + np.count_nonzero(problem.truth == 0) == 3


def test_folds_are_numbered_from_one(tmp_path):
    arrays = {}
    for fold in range(5):
        arrays[f"train{fold}_idx"] = np.array([[0, 1, 2]], dtype=np.int16)
        arrays[f"train{fold}_val"] = np.array([10.0 + fold], dtype=np.float32)
        arrays[f"test{fold}_idx"] = np.array([[14, 94, 266]], dtype=np.int16)
        arrays[f"test{fold}_val"] = np.array([20.0 + fold], dtype=np.float32)
    np.savez(tmp_path / "us_temp_15x95x267_folds.npz", **arrays)
    problem = load("us_temp fold 1", tmp_path)
    assert (problem.values[0], problem.truth[0]) == (10.0, 20.0)
    assert problem.coords.dtype == np.int64
    assert load("us_temp fold 5", tmp_path).values[0] == 14.0


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere: .*--data"):
        check_data(tmp_path / "nowhere")


def test_the_first_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"transdim_hangzhou_tensor\.mat .*--data"):
        check_data(tmp_path)
    small_hangzhou(tmp_path, uniforms=np.zeros((3, 4, 5)))
    with pytest.raises(FileNotFoundError, match=r"electricity35\.npy \(electricity\).*--data"):
        check_data(tmp_path)


def test_an_unknown_task_is_named(tmp_path):
    with pytest.raises(KeyError, match="no task 'nothing'"):
        load("nothing", tmp_path)


@pytest.mark.parametrize(
    ("row", "method", "figures"),
    [
        ("Hangzhou random 70 %", "LRTC-TNN", {"mape": 0.2016, "rmse": 29.55}),
        ("Hangzhou fibre 30 %", "LRTC-TNN", {"mape": 0.1939, "rmse": 47.60}),
        ("Hangzhou stored random 60 %", "HaLRTC", {"mape": 0.2009, "rmse": 36.19}),
        ("Hangzhou random 40 %", "BGCP", {"mape": 0.1977, "rmse": 33.68}),
        ("electricity 60 %", "LRTC-TNN", {"mape": 0.1314, "rmse": 721.9}),
        ("alog", "BASS-Tucker", {"rmse": 0.989, "mae": 0.519}),
        ("Guangzhou fibre mode 1", "LRTC-TSpN", {"mae": 2.426, "rmse": 3.476}),
        ("amino 90 %", "masked nonnegative CP", {"relative_error": 0.0258}),
        ("Hangzhou blocks 30 %", "LRTC-TNN", {"mape": 0.2137, "rmse": 29.28}),
        ("HighD 50 %", "LCR-2D", {"mape": 0.0406, "rmse": 1.519}),
    ],
)
def test_published_figures(row, method, figures):
    assert published(row)[method] == figures


def test_every_row_of_figures_is_a_row_of_its_table():
    for data_set in DATA_SETS:
        assert set(data_set.published) <= set(data_set.rows)
        assert data_set.peers in data_set.tasks
        for methods in data_set.published.values():
            for figures in methods.values():
                assert tuple(figures) == data_set.metrics
    assert len(TASKS) == 9 + 3 + 5 + 3 + 2 + 3 + 1 + 5 + 3


def test_goals():
    found = {(goal.row, goal.metric): goal for goal in goals()}
    assert len(found) == len(goals()) == 18 + 6 + 1 + 6 + 1
    near = found["Hangzhou random 70 %", "rmse"]
    assert (near.most, near.strict) == (pytest.approx(1.1 * 29.55), False)
    assert near.words == "within 10 % of LRTC-TNN"
    sparse = found["Hangzhou random 90 %", "rmse"]
    assert (sparse.most, sparse.strict, sparse.words) == (38.05, True, "below LRTC-TNN")
    assert found["Guangzhou fibre mode 0", "mae"].most == pytest.approx(1.05 * 2.832)
    assert found["Guangzhou fibre mode 2", "rmse"].most == pytest.approx(1.15 * 3.443)
    assert found["alog", "rmse"].most == 0.78
    assert found["amino 50 %", "relative_error"].most == 0.02


def test_a_goal_that_is_just_reached():
    words = {"row": "x", "metric": "rmse", "most": 2.0, "words": ""}
    assert Goal(**words, strict=False).met(2.0)
    assert not Goal(**words, strict=True).met(2.0)


@pytest.mark.skipif(not DATA.is_dir(), reason="the real data is not here")
def test_figures_are_those_of_the_list():
    text = (DATA / "TASKS.md").read_text(encoding="utf-8")
    for data_set in DATA_SETS:
        for methods in data_set.published.values():
            for figures in methods.values():
                for figure in figures.values():
                    ways = [f"{figure:.{digits}f}" for digits in range(1, 5)]
                    ways = [way.removeprefix("0") for way in ways if float(way) == figure]
                    assert any(way in text for way in ways), figure


@pytest.mark.skipif(not DATA.is_dir(), reason="the real data is not here")
@pytest.mark.parametrize(
    ("task", "shape", "known", "asked"),
    [
        ("Hangzhou stored random 40 %", (80, 25, 108), 125_870, 83_893),
        ("Hangzhou fibre 70 %", (80, 108, 25), 62_618, 147_145),
        ("electricity 20 %", (321, 24, 35), 212_447, 53_072),
        ("alog fold 5", (200, 100, 200), 21_076, 6_608),
        ("Guangzhou fibre mode 2", (144, 50, 15), 53_040, 52_800),
        ("amino 90 %", (5, 201, 61), 6_079, 55_226),
        ("IL-2 80 %", (13, 4, 12, 8), 986, 3_814),
        ("911 calls 20 %", (69, 72, 45), 178_816, 44_744),
        ("us_temp fold 1", (15, 95, 267), 44_755, 11_189),
        ("Hangzhou blocks 30 %", (80, 108, 25), 140_885, 68_878),
        ("HighD 70 %", (595, 142, 3), 59_344, 116_318),
    ],
)
def test_numbers_of_cells(task, shape, known, asked):
    problem = load(task, DATA)
    assert (problem.shape, len(problem.values), len(problem.truth)) == (shape, known, asked)
    assert problem.values.min() >= 0.0
    assert (problem.coords < shape).all()
    assert (problem.asked < shape).all()
