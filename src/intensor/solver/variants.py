"""The versions of the solver: a table, not code. Rows 0-10 are those of the paper's Appendix 1.

Graded components are a version of their own, which the options ``components`` and
``max_components`` ask for.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from intensor.errors import SettingError, UnknownVersionError
from intensor.oracles.contraction import PerCell, PerIndexRemembered
from intensor.solver.engine import Version
from intensor.solver.fast.engine import Fast
from intensor.solver.graded.engine import DEFAULT_COMPONENTS, Graded
from intensor.solver.paper.engine import Blended
from intensor.solver.paper.rows import DenseRows, SparseRows
from intensor.solver.paper.steps import AcceleratedDescent, PairwiseStep, SimplexDescent

FAST = Fast(name="fast")  # the default version, which fits use to walk up the radii

VERSIONS: dict[int | str, Version] = {
    0: Blended(SimplexDescent, DenseRows, PerCell),
    1: Blended(SimplexDescent, DenseRows, PerIndexRemembered),
    2: Blended(SimplexDescent, SparseRows, PerCell),
    3: Blended(AcceleratedDescent, DenseRows, PerCell),
    4: Blended(SimplexDescent, SparseRows, PerIndexRemembered),
    5: Blended(AcceleratedDescent, DenseRows, PerIndexRemembered),
    6: Blended(AcceleratedDescent, SparseRows, PerIndexRemembered),
    7: Blended(PairwiseStep, DenseRows, PerCell),
    8: Blended(PairwiseStep, DenseRows, PerIndexRemembered),
    9: Blended(PairwiseStep, SparseRows, PerCell),
    10: Blended(PairwiseStep, SparseRows, PerIndexRemembered),
    "fast": FAST,
}


def find_version(name: int | str) -> Version:
    """Return a row of the table with its name, or raise an error that lists the names."""
    plain = isinstance(name, (int, str, np.integer)) and not isinstance(name, bool)
    if not plain or name not in VERSIONS:
        known = ", ".join(repr(known) for known in VERSIONS)
        raise UnknownVersionError(f"version is {name!r}; expected one of {known}")
    return replace(VERSIONS[name], name=name if isinstance(name, str) else int(name))


def with_components(version: Version, max_components: int | None, *, graded: bool) -> Version:
    """Return the version for boxes or graded components, or raise if options do not go together."""
    if graded and not version.gradable:
        raise SettingError(
            f'components="graded" needs version="fast"; got version={version.name!r}'
        )
    if not graded and max_components is not None:
        raise SettingError(
            f'max_components is {max_components}, which needs components="graded"; the number of '
            "boxes is not limited"
        )
    if not graded:
        return version
    return Graded(name="graded", max_components=max_components or DEFAULT_COMPONENTS)


def check_enough_observations(max_components: int | None, n: int) -> None:
    """Raise if there would be more components than observations."""
    if max_components is not None and max_components > n:
        raise SettingError(
            f"max_components is {max_components}, more than the {n} observations; expected at most "
            "one component per observation"
        )
