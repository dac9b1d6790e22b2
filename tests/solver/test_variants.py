"""What every version must do, whatever it is made of, and how a version is found."""

import contextlib

import numpy as np
import pytest

import intensor
import zoo
from intensor.errors import UnknownVersionError
from intensor.solver.fast.engine import Fast
from intensor.solver.fast.tuning import Tuning
from intensor.solver.variants import FAST, VERSIONS, find_version

PAPER = [version for version in VERSIONS if isinstance(version, int)]
TWINS = [(0, 1), (2, 4), (3, 5), (7, 8), (9, 10)]


@pytest.fixture(
    scope="module",
    params=[((4, 4, 3), 50), pytest.param(((6, 6), 25), marks=pytest.mark.slow)],
    ids=["4x4x3", "6x6"],
)
def noisy(request):
    shape, n = request.param
    data = zoo.noisy(shape, n, rep=0)
    return data, zoo.optimum(shape, data.coords, data.values, 1.0)


@pytest.mark.parametrize("version", zoo.mostly_slow(VERSIONS, telling=("fast", 6, 8)))
def test_reaches_the_optimum_of_an_independent_solve(version, noisy):
    data, optimum = noisy
    result = intensor.solve(
        data.coords, data.values, shape=data.shape, radius=1.0, version=version, tol=1e-9, rtol=0.0
    )
    assert result.status is intensor.Status.OPTIMAL
    assert abs(result.objective - optimum) <= 1e-8
    assert result.bound <= optimum + 1e-14
    assert result.gap <= 1e-9
    assert intensor.verify(result, data.coords, data.values).ok


@pytest.mark.parametrize(("version", "radius"), [(5, 2.5), (8, 0.3)])
def test_other_radii(version, radius):
    data = zoo.noisy((4, 3, 3), 40, rep=3)
    optimum = zoo.optimum(data.shape, data.coords, data.values, radius)
    values_fit = data.values.max() <= radius
    with (
        pytest.warns(intensor.errors.RadiusWarning) if not values_fit else contextlib.nullcontext()
    ):
        result = intensor.solve(
            data.coords,
            data.values,
            shape=data.shape,
            radius=radius,
            version=version,
            tol=1e-9,
            rtol=0.0,
        )
    assert result.status is intensor.Status.OPTIMAL
    assert abs(result.objective - optimum) <= 1e-8
    assert result.model.weights.sum() <= radius * (1 + 1e-12)


@pytest.mark.parametrize("twins", zoo.mostly_slow(TWINS, telling=((3, 5), (9, 10))))
def test_versions_that_differ_in_computation_only_walk_the_same_way(twins):
    data = intensor.planted((6, 6, 6), 120, rep=1)
    walks = []
    for version in twins:
        result = intensor.solve(
            data.coords,
            data.values,
            shape=data.shape,
            radius=1.0,
            version=version,
            tol=1e-4,
            rtol=0.0,
        )
        walks.append([(row.step, row.active, row.objective, row.phi) for row in result.trace])
        walks.append(result.model.weights.tolist())
    assert walks[0] == walks[2]
    assert walks[1] == walks[3]


def test_other_seeds_walk_another_way():
    data = intensor.planted((6, 6, 6), 120, rep=1)
    ends = {
        intensor.solve(data.coords, data.values, shape=data.shape, radius=1.0, seed=seed).objective
        for seed in (0, 1)
    }
    assert len(ends) == 2


# NMSE of the authors' own runs on repetitions 0-9 (10x10x10, n = 500).
AUTHORS_NMSE = {
    1: "0.025019165 0.016273065 0.017905561 0.0092247674 0.041057454"
    " 0.005909469 0.021855843 0.033780192 0.018779348 0.04087484",
    8: "0.018321675 0.0075286369 0.02226363 0.014912896 0.036929566"
    " 0.0075827624 0.024567368 0.027467944 0.023950231 0.039187557",
}


@pytest.mark.slow
@pytest.mark.parametrize("version", AUTHORS_NMSE)
def test_nmse_agrees_with_the_published_runs(version):
    authors = [float(number) for number in AUTHORS_NMSE[version].split()]
    differences = []
    for rep, published in enumerate(authors):
        data = intensor.planted((10, 10, 10), 500, rep)
        result = intensor.solve(
            data.coords,
            data.values,
            shape=data.shape,
            radius=1.0,
            version=version,
            tol=1e-4,
            rtol=0.0,
        )
        assert result.status is intensor.Status.WITHIN_TOLERANCE
        differences.append(intensor.nmse(result.model, data.truth) - published)
    error = np.std(differences, ddof=1) / np.sqrt(len(differences))
    assert abs(np.mean(differences)) <= 3 * error
    assert error <= np.mean(authors) / 5


def test_a_version_knows_its_name_and_what_it_can_do():
    fast, paper = find_version("fast"), find_version(np.int64(8))
    assert (fast.name, paper.name, type(paper.name)) == ("fast", 8, int)
    assert fast.warm_start
    assert fast.signed
    assert fast.anywhere
    assert not fast.patient
    assert (paper.warm_start, paper.signed, paper.anywhere) == (False, False, False)
    assert paper.patient
    assert fast == FAST


@pytest.mark.parametrize("name", ["slow", 11, True, None, [1], 1.0, b"fast"])
def test_an_unknown_version_is_refused_with_those_there_are(name):
    with pytest.raises(UnknownVersionError, match=r"expected one of 0, 1, .*'fast'"):
        find_version(name)


def test_a_version_from_outside_gets_the_name_it_is_registered_by(monkeypatch):
    monkeypatch.setitem(VERSIONS, "mine", Fast(tuning=Tuning(few_cells=1)))
    assert find_version("mine").name == "mine"
    assert find_version("mine").tuning.few_cells == 1
