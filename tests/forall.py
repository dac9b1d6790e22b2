"""Property tests that are the same in every run: a few examples by default, many when slow."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings


def forall(*, few, many, **strategies):
    """Make a test of a property: ``few`` examples, or ``many`` among the slow tests.

    Examples follow from the property alone (derandomised), and there is no deadline: the first
    one may have to compile a kernel.
    """

    def decorate(check):
        @pytest.mark.parametrize("examples", [few, pytest.param(many, marks=pytest.mark.slow)])
        def test(examples):
            try_out(check, examples, **strategies)

        test.__name__, test.__qualname__ = check.__name__, check.__qualname__
        test.__doc__, test.__module__ = check.__doc__, check.__module__
        return test

    return decorate


def try_out(check, examples, **strategies):
    """Call a check with so many examples, the same ones every time."""
    limits = settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    limits(given(**strategies)(check))()
