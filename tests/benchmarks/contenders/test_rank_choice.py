"""The rank comes from known cells alone, within the time, and bad ranks are passed over."""

import sys
import warnings

import numpy as np
import pytest

from benchmarks.contenders.rank_choice import (
    CHUNK,
    PATIENCE,
    check_dense,
    complete_by_kind,
    complete_by_rank,
    cp_predictor,
    hold_out,
    quiet,
)
from benchmarks.problems import Problem


def line(n=100, repeats=1):
    """Values 1 everywhere; the asked cells have values that no method could guess."""
    cells = np.stack([np.arange(n), np.arange(n)], axis=1)
    coords = np.concatenate([cells] * repeats)
    return Problem(
        name="line",
        shape=(n, n),
        coords=coords,
        values=np.ones(len(coords)),
        asked=np.array([[0, 1], [2, 3]]),
        truth=np.array([777.0, 888.0]),
    )


def constant(error):
    """Return a fit whose predictions are off by ``error(rank)``."""

    def fit(training, rank, seconds, seed):
        return lambda cells: np.full(len(cells), 1.0 + error(rank))

    return fit


def test_the_rank_with_the_least_held_out_error_is_taken():
    done = complete_by_rank(
        line(), 5.0, 0, 1, fit=constant(lambda rank: abs(rank - 4)), ranks=(2, 4, 8)
    )
    assert done.chosen == "rank 4 of 2, 4, 8"
    np.testing.assert_array_equal(done.predicted, [1.0, 1.0])


def test_larger_ranks_are_not_tried_once_the_error_no_longer_falls():
    ranks = tuple(range(1, 20))
    done = complete_by_rank(line(), 5.0, 0, 1, fit=constant(lambda rank: rank), ranks=ranks)
    tried = ", ".join(map(str, range(1, 2 + PATIENCE)))
    assert done.chosen == f"rank 1 of {tried}"


def test_the_kind_with_the_least_held_out_error_is_taken():
    fits = {"one": constant(lambda rank: 3.0 + rank), "two": constant(lambda rank: abs(rank - 2))}
    done = complete_by_kind(line(), 5.0, 0, 1, fits=fits, ranks=(1, 2, 4, 8), patience=1)
    assert done.chosen == "two, rank 2 of 1, 2, 4; one, rank 1 of 1, 2, worse"
    np.testing.assert_array_equal(done.predicted, [1.0, 1.0])


def test_a_kind_that_fails_is_passed_over_and_all_that_fail_are_an_error():
    def bad(training, rank, seconds, seed):
        raise np.linalg.LinAlgError("singular matrix")

    fits = {"bad": bad, "good": constant(lambda rank: 0.0)}
    done = complete_by_kind(line(), 5.0, 0, 1, fits=fits, ranks=(1,))
    assert done.chosen == "good, rank 1 of 1"
    with pytest.raises(RuntimeError, match="singular matrix"):
        complete_by_kind(line(), 5.0, 0, 1, fits={"bad": bad, "worse": bad}, ranks=(1,))


def test_kinds_share_the_time_for_choosing(clock):
    given = []

    def fit(training, rank, seconds, seed):
        given.append(seconds)
        clock[0] += seconds
        return lambda cells: np.full(len(cells), 1.0 + 1.0 / rank)

    complete_by_kind(line(), 100.0, 0, 1, fits={"one": fit, "two": fit}, ranks=(1, 2, 3))
    np.testing.assert_allclose(given, [10.0] * 6 + [40.0])


def test_a_fit_never_sees_the_answers_and_the_held_out_cells_only_at_the_end():
    problem = line(repeats=2)
    seen = []

    def fit(training, rank, seconds, seed):
        assert training.asked.shape == (0, 2)
        assert training.truth.shape == (0,)
        assert training.values.max() == 1.0
        seen.append({tuple(cell) for cell in training.coords.tolist()})
        return lambda cells: np.ones(len(cells))

    complete_by_rank(problem, 5.0, 3, 1, fit=fit, ranks=(1, 2))
    known = {tuple(cell) for cell in problem.coords.tolist()}
    assert [len(cells) for cells in seen] == [90, 90, 100]
    assert seen[0] == seen[1] < known
    assert seen[2] == known


def test_other_answers_change_nothing():
    rng = np.random.default_rng(0)
    problem = line()
    other = Problem(
        name=problem.name,
        shape=problem.shape,
        coords=problem.coords,
        values=problem.values,
        asked=problem.asked,
        truth=rng.uniform(size=2),
    )

    def fit(training, rank, seconds, seed):
        noise = np.random.default_rng([seed, rank]).uniform()
        return lambda cells: np.full(len(cells), noise + training.values.mean())

    first, second = (complete_by_rank(one, 5.0, 0, 1, fit=fit) for one in (problem, other))
    assert first.chosen == second.chosen
    np.testing.assert_array_equal(first.predicted, second.predicted)


def test_all_observations_of_a_cell_are_on_one_side():
    problem = line(n=30, repeats=4)
    training, held = hold_out(problem, 5)
    assert held.sum() == 4 * 3
    np.testing.assert_array_equal(training, ~held)
    for mask in (training, held):
        np.testing.assert_array_equal(*(mask.reshape(4, 30)[[0, 3]]))


def test_the_held_out_cells_follow_the_seed():
    masks = [hold_out(line(), seed)[1] for seed in (0, 0, 1)]
    np.testing.assert_array_equal(masks[0], masks[1])
    assert (masks[0] != masks[2]).any()


def test_one_known_cell_is_refused():
    with pytest.raises(ValueError, match="1 known cells"):
        hold_out(line(n=1), 0)


@pytest.mark.parametrize("way", ["raises", "predicts nan"])
def test_a_rank_that_fails_is_passed_over(way):
    def fit(training, rank, seconds, seed):
        if rank == 2:
            if way == "raises":
                raise np.linalg.LinAlgError("singular")
            return lambda cells: np.full(len(cells), np.nan)
        return lambda cells: np.full(len(cells), 1.0 + 1.0 / rank)

    done = complete_by_rank(line(), 5.0, 0, 1, fit=fit, ranks=(1, 2, 3))
    assert done.chosen == "rank 3 of 1, 3; failed: 2"


def test_when_all_ranks_fail_it_says_so():
    def fit(training, rank, seconds, seed):
        raise np.linalg.LinAlgError("singular matrix")

    with pytest.raises(RuntimeError, match=r"every rank of 1, 2 failed.*singular matrix"):
        complete_by_rank(line(), 5.0, 0, 1, fit=fit, ranks=(1, 2))


def test_a_last_fit_that_fails_or_is_worse_is_not_used():
    for bad in (np.nan, 50.0):

        def fit(training, rank, seconds, seed, bad=bad):
            level = bad if len(training.values) == 100 else 1.0
            return lambda cells: np.full(len(cells), level)

        done = complete_by_rank(line(), 5.0, 0, 1, fit=fit, ranks=(1,))
        assert "fitting again" in done.chosen
        np.testing.assert_array_equal(done.predicted, [1.0, 1.0])


@pytest.fixture
def clock(monkeypatch):
    """Replace the clock by one that is moved by hand."""
    now = [100.0]
    monkeypatch.setattr("benchmarks.contenders.rank_choice.time.perf_counter", lambda: now[0])
    return now


def test_the_time_limit_is_kept_and_choosing_counts(clock):
    given = []

    def fit(training, rank, seconds, seed):
        given.append(seconds)
        clock[0] += seconds
        return lambda cells: np.full(len(cells), 1.0 + 1.0 / rank)

    done = complete_by_rank(line(), 90.0, 0, 1, fit=fit)
    np.testing.assert_allclose(given, [6.0] * 9 + [36.0])  # nine ranks, and the last fit
    assert done.seconds == pytest.approx(90.0)


def test_time_that_a_rank_leaves_over_goes_to_the_others(clock):
    given = []

    def fit(training, rank, seconds, seed):
        given.append(seconds)
        clock[0] += 1.0
        return lambda cells: np.full(len(cells), 1.0 + 1.0 / rank)

    done = complete_by_rank(line(), 100.0, 0, 1, fit=fit, ranks=(1, 2, 3))
    np.testing.assert_allclose(given, [20.0, 29.5, 58.0, 97.0])
    assert done.seconds == pytest.approx(4.0)


def test_a_fit_that_takes_too_long_ends_the_choice(clock):
    def fit(training, rank, seconds, seed):
        clock[0] += 15.0
        return lambda cells: np.full(len(cells), 1.0 + 1.0 / rank)

    done = complete_by_rank(line(), 10.0, 0, 1, fit=fit)
    assert done.chosen == "rank 1 of 1, no time to fit again"
    assert done.seconds == pytest.approx(15.0)


def test_predictions_are_not_negative():
    done = complete_by_rank(line(), 5.0, 0, 1, fit=constant(lambda rank: -9.0), ranks=(1,))
    np.testing.assert_array_equal(done.predicted, [0.0, 0.0])


def test_cp_predictions_against_the_dense_tensor():
    rng = np.random.default_rng(2)
    weights = rng.uniform(size=3)
    factors = [rng.normal(size=(length, 3)) for length in (40, 50, 60)]
    dense = np.einsum("r,ir,jr,kr->ijk", weights, *factors)
    cells = np.argwhere(np.ones(dense.shape))
    assert len(cells) > CHUNK
    np.testing.assert_allclose(cp_predictor(weights, factors)(cells), dense.ravel(), atol=1e-12)


def test_a_tensor_too_large_to_hold_is_refused():
    check_dense(line(), 10_000)
    with pytest.raises(MemoryError, match=r"needs the dense tensor: 1e\+04 cells"):
        check_dense(line(), 9_999)


def test_quiet_lets_nothing_through(capsys):
    with quiet(1):
        sys.stdout.write("iteration 1")
        warnings.warn("careful", stacklevel=1)
        np.log(np.zeros(1))
    assert capsys.readouterr() == ("", "")
