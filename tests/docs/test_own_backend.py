"""A backend of your own: costs of indices by dense array arithmetic instead of loops over cells."""

import numpy as np
import pytest

import intensor
from cells_cases import Case, check_descent
from intensor.backends.base import descend_by_mode
from intensor.backends.cpu import CpuCells
from intensor.backends.packed_cells import pack_cells
from intensor.backends.select import BACKENDS
from intensor.problem.vertex import mode_slices
from intensor.runtime.threads import Workers


class DenseCells(CpuCells):
    """Prices vertices on the dense tensor of costs: for small tensors that are mostly observed."""

    descents = 0

    def descend(self, lanes, count, sweeps, *, negative=False):
        DenseCells.descents += 1
        cells = tuple((self.packed.rows - self.offsets[:-1]).T.astype(np.int64))
        dense = np.zeros(self.shape)
        dense[cells] = -self.costs if negative else self.costs
        parts = mode_slices(self.shape)

        def index_costs(lanes, live, mode):
            """Return the (length, 64) cost of each index of a mode, start by start."""
            on = (lanes[:, np.newaxis] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
            costs = np.moveaxis(dense, mode, 0)[..., np.newaxis] * np.ones(64)
            for other in reversed(range(len(parts))):
                if other != mode:
                    costs = (costs * on[parts[other]]).sum(axis=-2)
            return costs

        return descend_by_mode(index_costs, self.offsets, lanes, count, sweeps)


def open_dense(observations, radius, workers):
    return DenseCells(pack_cells(observations, radius), workers)


@pytest.fixture(autouse=True)
def dense(monkeypatch):
    # Outside of a test: BACKENDS["dense"] = open_dense
    monkeypatch.setitem(BACKENDS, "dense", open_dense)


@pytest.mark.parametrize(("shape", "negative"), [((7,), False), ((4, 5), True), ((3, 4, 2), False)])
def test_it_does_what_every_backend_must(shape, negative):
    case = Case(lambda data, radius: open_dense(data, radius, Workers(1)), shape)
    check_descent(case, negative=negative)


def test_a_solve_uses_it():
    data = intensor.planted((6, 5, 4), 90, noise=0.1)
    options = {"shape": data.shape, "radius": 1.0, "rtol": 1e-5}
    before = DenseCells.descents
    mine = intensor.solve(data.coords, data.values, device="dense", **options)
    ours = intensor.solve(data.coords, data.values, device="cpu", **options)
    assert DenseCells.descents > before
    assert mine.status is intensor.Status.OPTIMAL
    assert intensor.verify(mine, data.coords, data.values).ok
    assert abs(mine.objective - ours.objective) <= mine.tolerance + ours.tolerance


def test_fits_use_it_too():
    data = intensor.planted((6, 5, 4), 90)
    before = DenseCells.descents
    completer = intensor.TensorCompleter(radius=1.0, device="dense").fit(data.coords, data.values)
    assert completer.status_ is intensor.Status.WITHIN_TOLERANCE
    assert DenseCells.descents > before


def test_where_it_cannot_be_used_is_said(tmp_path):
    data = intensor.planted((6, 5, 4), 90)
    message = "device='dense' needs version=\"fast\""
    with pytest.raises(intensor.errors.SettingError, match=message):
        intensor.solve(data.coords, data.values, radius=1.0, device="dense", version=3)
    with pytest.raises(intensor.errors.SettingError, match=message):
        intensor.solve(tmp_path, "value", radius=1.0, device="dense")
    with pytest.raises(intensor.errors.SettingError, match=message):
        intensor.TensorCompleter(device="dense", version=3).fit(data.coords, data.values)
    with pytest.raises(intensor.errors.SettingError, match=r"expected one of 'cpu'.*'dense'"):
        intensor.solve(data.coords, data.values, radius=1.0, device="sparse")
