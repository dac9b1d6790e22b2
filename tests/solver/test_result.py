"""An empty model is never handed out in silence when a limit is to blame."""

import warnings

import pytest

import intensor
import zoo
from intensor import Status
from intensor.errors import EmptyModelWarning

DATA = zoo.noisy((4, 4, 3), 50, rep=6)


def solve(values=DATA.values, **options):
    return intensor.solve(DATA.coords, values, shape=DATA.shape, radius=1.0, **options)


@pytest.mark.parametrize(
    ("limit", "status"),
    [({"time_limit": 1e-9}, Status.TIME_LIMIT), ({"max_iterations": 0}, Status.ITERATION_LIMIT)],
)
def test_a_limit_that_leaves_no_box_is_a_warning(limit, status):
    with pytest.warns(EmptyModelWarning, match=f"{status}.*raise {next(iter(limit))}") as caught:
        result = solve(**limit)
    assert (result.status, len(result.model)) == (status, 0)
    assert caught[0].filename == __file__, "it points at the caller"


def test_no_warning_without_a_limit_to_blame():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(solve().model) > 0
        nothing = solve(0.0 * DATA.values, time_limit=1e-9)
        assert (nothing.status, len(nothing.model)) == (Status.OPTIMAL, 0)
        stopped = solve(callback=lambda progress: False)
        assert stopped.status is Status.STOPPED
        assert len(solve(max_iterations=0, version=5).model) == 1, "which starts with a box"
