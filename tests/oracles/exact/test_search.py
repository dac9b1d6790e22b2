"""One exact search: it keeps the best boxes, makes every call, and stops when it must."""

import threading
import time

import numpy as np
import pytest

from intensor.oracles.exact.plan import plan_enumeration
from intensor.oracles.exact.pool import FoundBox
from intensor.oracles.exact.search import ExactSearch
from intensor.runtime.budget import Budget
from intensor.runtime.threads import Pool


def a_search(pool_size=1, budget=None, threads=1):
    return ExactSearch(
        costs=np.zeros((1, 1), dtype=np.int64),
        plan=plan_enumeration((1, 1)),
        target=-5,
        pool_size=pool_size,
        good_enough=lambda cost, lowest: False,
        budget=Budget() if budget is None else budget,
        threads=Pool(threads),
    )


def test_a_search_keeps_the_best_and_the_first_of_equals():
    search = a_search(pool_size=3)
    assert (search.cutoff, search.best) == (-5, -5)
    search.keep([FoundBox(-6, ["a"]), FoundBox(-9, ["b"])])
    assert (search.cutoff, search.best) == (-5, -9)
    search.keep([FoundBox(-7, ["c"]), FoundBox(-7, ["d"])])
    found = [(box.cost, box.chosen) for box in search.found]
    assert found == [(-9, ["b"]), (-7, ["c"]), (-7, ["d"])]
    assert search.cutoff == -7
    search.keep([FoundBox(-7, ["e"]), FoundBox(-8, ["f"])])
    assert [box.chosen for box in search.found] == [["b"], ["f"], ["c"]]


@pytest.mark.parametrize("pool_size", [1, 3])
def test_a_new_pool_looks_for_what_the_search_looks_for(pool_size):
    search = a_search(pool_size)
    search.keep([FoundBox(-8, ["a"])] * pool_size)
    pool = search.new_pool()
    assert (pool.costs.size, pool.target[0]) == (pool_size, -8)
    assert pool.per_pattern == (pool_size > 1)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_search_makes_every_call_once_and_returns_the_results_in_order(threads):
    search = a_search(threads=threads)
    seen = set()

    def work(piece):
        seen.add(threading.get_ident())
        return piece

    assert search.run([lambda piece=piece: work(piece) for piece in range(20)]) == list(range(20))
    assert len(seen) <= threads
    assert not search.stop[0]


def wait_for_stop(search):
    for _ in range(60_000):
        if search.stop[0]:
            return
        time.sleep(0.001)
    raise AssertionError("nobody said stop")


@pytest.mark.parametrize("threads", [1, 2])
def test_a_spent_budget_stops_the_calls(threads):
    search = a_search(budget=Budget(0.05), threads=threads)
    search.run([lambda: wait_for_stop(search)] * 4)
    assert search.stop[0]
    assert search.budget.spent


def test_an_error_in_a_call_stops_the_others_and_comes_out():
    search = a_search(threads=2)

    def fail():
        raise RuntimeError("broke")

    with pytest.raises(RuntimeError, match="broke"):
        search.run([fail, *[lambda: wait_for_stop(search)] * 2])
    assert search.stop[0]


def test_progress_is_reported_every_few_seconds(caplog):
    search = a_search()
    with caplog.at_level("INFO"):
        search.report(0.25)
        assert caplog.messages == []
        search.reported = -10.0
        search.report(0.5)
        search.report(0.75)
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("50 % searched")
