"""Tests of the benchmark scripts: left out by default, since they test no code of the library.

    python -m pytest -m benchmarks

runs them.
"""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_ignore_collect(config):
    """Do not even import the tests, and the packages they compare with, when none will run."""
    return True if "not benchmarks" in config.option.markexpr else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the tests of this folder."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.benchmarks)
