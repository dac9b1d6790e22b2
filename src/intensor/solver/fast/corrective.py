"""Fully corrective conditional gradients on one set of cells: pricing and master in turn."""

from __future__ import annotations

import math

import numpy as np

from intensor._arrays import FlagArray, FloatArray
from intensor.backends.base import Cells
from intensor.runtime.budget import Budget
from intensor.solver.fast.gram_set import GramSet, key
from intensor.solver.fast.pricing import Pricing, Proposals
from intensor.solver.fast.tuning import TUNING, Tuning
from intensor.storage.reader import Tree, TreeReader

ADMISSION_SHARE_WITH_PROOF = 0.25
"""Share of the tolerance that a vertex must gain to enter when the exact oracle proves the rest."""
ADMISSION_SHARE_WITHOUT_PROOF = 0.8
"""Share of the tolerance that a vertex must gain to enter when no proof can follow."""
REFINEMENT_SHARE = 0.01
"""Share of the tolerance by which the objective must fall for a vertex to be refined."""
PLENTY_OF_VERTICES = 24  # new vertices in a round above which the next round looks less hard
SLOW_ROUNDS = 10
"""Rounds in which the error on a sample must halve for the sample to be worth more work."""
CELLS_PER_SAMPLED_CELL = 16
"""One cell in this number is in a sample, unless that makes the sample too small or too large."""
MAX_SAMPLE_CELLS = 1 << 22  # most cells of a sample: more would not tell more about where to begin


class Corrective:
    """Pricing and master around one set of cells."""

    def __init__(
        self,
        cells: Cells,
        *,
        rng: np.random.Generator,
        tolerance: float,
        signed: bool = False,
        admission_share: float = ADMISSION_SHARE_WITH_PROOF,
        tuning: Tuning = TUNING,
    ) -> None:
        self.active = GramSet(cells, tuning=tuning)
        self.gain = np.inf  # gain of the best vertex of the last round
        self.failures = 0  # rounds of full effort in a row that found no new vertex
        self._sample_runs = 0
        self._pricing = Pricing(rng, signed=signed, tuning=tuning)
        self._signed = signed
        self._rng = rng
        self._tolerance = tolerance
        self._admission_share = admission_share
        self._exactness = np.inf
        self._refining_seconds = 0.0  # of the last refinement
        self._effort = 0
        few = cells.n_cells <= tuning.few_cells
        self._efforts = tuning.efforts_few_cells if few else tuning.efforts_many_cells
        self._tuning = tuning

    def start_from_sample(self, budget: Budget) -> bool:
        """Take the vertices that solve a sample of the cells; return whether there are any."""
        cells, tuning = self.active.cells, self._tuning
        least = max(tuning.large_cells // 2, tuning.sample_cells_per_index * sum(cells.shape))
        if cells.n_cells <= 2 * least:
            return False
        share = min(cells.n_cells // CELLS_PER_SAMPLED_CELL, MAX_SAMPLE_CELLS)
        sample = Corrective(
            cells.sample(max(least, share), self._rng),
            rng=self._rng,
            tolerance=self._tolerance,
            signed=self._signed,
            tuning=tuning,
        )
        sample._solve_roughly(budget)
        self._sample_runs += sample.altmin_runs
        used = sample.active.weights > 0.0
        self.admit(sample.active.flags[used], sample.active.signs[used])
        return self.active.count > 0

    def _solve_roughly(self, budget: Budget) -> None:
        """Go on until the next steps would fit the noise of a sample."""
        if self.start_from_sample(budget):
            self.correct(budget.remaining)
        errors = [np.inf]
        hardest = len(self._efforts) - 1  # a sample is not worth that effort
        while self._error > self._tolerance and self._effort < hardest and not budget.spent:
            if self.price(budget):
                self.correct(budget.remaining)
            errors.append(self._error)
            if errors[-1] > errors[max(0, len(errors) - SLOW_ROUNDS)] / 2.0:
                break

    def price(self, budget: Budget) -> bool:
        """Look for new vertices and let them in; return whether the master has work to do."""
        effort = self._efforts[self._effort]
        if self._effort == 0 and self.active.master.size > self._tuning.crowded_support:
            effort = self._tuning.effort_crowded
        proposals = self._pricing.propose(self.active, effort, budget)
        self.gain = proposals.best
        rounding = 8.0 * np.finfo(np.float64).eps * self.active.value
        if proposals.best > max(self._admission_share * self._tolerance, rounding):
            if self._admit_new(proposals, budget):
                return True
            if self._exactness > proposals.best / 8.0:
                self.active.linearise()  # the vertices are known: the master was too lenient
                return True
        self._adapt(0)
        return False

    def _admit_new(self, proposals: Proposals, budget: Budget) -> bool:
        """Let in the proposals and refined vertices; return whether there are any.

        Nothing is refined when there is less time left than the last refinement took.
        """
        refined = None
        few = self.active.master.size <= self._tuning.max_refined_support
        if few and budget.remaining > self._refining_seconds:
            started = budget.elapsed
            refined = self._pricing.refine(self.active, REFINEMENT_SHARE * self._tolerance)
            self._refining_seconds = budget.elapsed - started
        if len(proposals.flags):
            self._adapt(len(proposals.flags))
            self.active.add(proposals.flags, proposals.signs)
        if refined is not None:
            vertices = zip(refined.flags, refined.signs.tolist(), strict=True)
            fresh = [key(row, sign) not in self.active.known for row, sign in vertices]
            if not len(proposals.flags) and any(fresh):
                self._adapt(0)
                self.failures = 0
            self.active.add(refined.flags[fresh], refined.signs[fresh])
        if self.active.count == self.active.seen:
            return False
        self.active.linearise()
        return True

    def _adapt(self, found: int) -> None:
        """Look harder when nothing was found, and less hard when plenty was."""
        hardest = len(self._efforts) - 1
        self.failures = self.failures + 1 if found == 0 and self._effort == hardest else 0
        if found == 0 and self._effort < hardest:
            self._effort += 1
        elif found > PLENTY_OF_VERTICES and self._effort > 1:
            self._effort -= 1

    def admit(self, flags: FlagArray, signs: FloatArray) -> None:
        """Let vertices in with weight 0."""
        self.active.add(flags, signs)
        self.active.linearise()

    def correct(self, seconds: float = math.inf) -> None:
        """Find the best weights, as exactly as the progress of the pricing is worth.

        With many vertices and too few seconds left the weights are good and not the best.
        """
        self._exactness = max(0.0, min(self.gain, self.active.value)) / 64.0
        self.active.correct(self._exactness, seconds)

    def rescale(self, factor: float, tolerance: float) -> None:
        """Multiply the radius by ``factor`` and go on."""
        self.active.rescale(factor)
        self._tolerance = tolerance
        self._exactness = self.gain = np.inf
        self._effort = self.failures = 0

    def capture(self) -> Tree:
        """Return the vertices and how hard the next round looks."""
        return {
            "active": self.active.capture(),
            "gain": float(self.gain),
            "exactness": float(self._exactness),
            "failures": int(self.failures),
            "effort": int(self._effort),
            "runs": int(self._sample_runs),
            "priced": int(self._pricing.runs),
        }

    def restore(self, saved: TreeReader) -> None:
        """Go on from where another one stopped."""
        self.active.restore(saved.branch("active"))
        self.gain, self._exactness = saved.number("gain"), saved.number("exactness")
        self.failures = saved.count("failures")
        self._effort = saved.count("effort", most=len(self._efforts) - 1)
        self._sample_runs, self._pricing.runs = saved.count("runs"), saved.count("priced")

    @property
    def _error(self) -> float:
        """Objective without the part that no fit can remove."""
        return self.active.value - self.active.cells.constant

    @property
    def altmin_runs(self) -> int:
        """Number of descents so far, including those on samples."""
        return self._sample_runs + self._pricing.runs
