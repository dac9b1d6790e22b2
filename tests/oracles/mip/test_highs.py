"""HiGHS: what it leaves behind for others in the same process."""

import numpy as np
import pytest

from intensor.oracles.mip import mip_solver
from intensor.oracles.mip.oracle import MipOracle
from zoo import random_cells


def test_highs_elsewhere_keeps_its_threads():
    highspy = pytest.importorskip("highspy")
    rng = np.random.default_rng(15)
    observations = random_cells(rng, (3, 3, 3), 24)

    def solve_with_two_threads():
        other = highspy.Highs()
        other.setOptionValue("output_flag", False)
        other.setOptionValue("threads", 2)
        other.addVar(0.0, 1.0)
        return other.run()

    assert solve_with_two_threads() == highspy.HighsStatus.kOk
    MipOracle(observations, mip_solver("highs")).minimise(rng.normal(size=24))
    assert solve_with_two_threads() == highspy.HighsStatus.kOk
