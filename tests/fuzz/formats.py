"""The table of formats: valid files, ways to damage them, their readers and the errors allowed.

A new format is a new entry: seeds, crafted files, mutators, and a reader that raises what the
library raises and asserts that what it accepts makes sense.
"""

from __future__ import annotations

import contextlib
import io
import warnings
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

import intensor
from fuzz import archives, crafted, damage, seeds
from intensor.cli import main
from intensor.data.readers import read_cells, read_table
from intensor.data.readers.dataset import open_dataset
from intensor.errors import IntensorError
from intensor.options.ranges import LARGEST_MAGNITUDE
from intensor.report import render

MOST_BYTES = 200_000_000
"""Bytes of memory that reading may take beyond the size of the file."""


class Case(NamedTuple):
    """A file that may be damaged, and how it was made."""

    description: str
    blob: bytes


@dataclass(frozen=True, kw_only=True)
class Format:
    """One kind of file, or one command on it.

    Attributes
    ----------
    name, file
        Name of the format, and of the file that is read.
    seeds
        Returns valid files.
    crafted
        Returns files that were crafted by hand, by name.
    mutators
        Functions of bytes and a random generator.
    read
        Reads the file at a path and asserts that what it gets makes sense.
    beside
        Other files in the same folder, by name.
    allowed
        Errors that the reader may raise.
    """

    name: str
    file: str
    seeds: Callable[[], list[bytes]]
    crafted: Callable[[], Mapping[str, bytes]]
    mutators: tuple[Callable[[bytes, np.random.Generator], bytes], ...]
    read: Callable[[Path], None]
    beside: Callable[[], Mapping[str, bytes]] = field(default=dict)
    allowed: tuple[type[BaseException], ...] = (IntensorError,)

    def case(self, number: int) -> Case:
        """Return one case: crafted ones first, then mutations."""
        crafted_files = made(self.crafted)
        if number < len(crafted_files):
            name = list(crafted_files)[number]
            return Case(name, crafted_files[name])
        return self.mutation(number)

    def mutation(self, number: int) -> Case:
        """Return a mutation of a valid file, the same one for the same number."""
        rng = np.random.default_rng([zlib.crc32(self.name.encode()), number])
        valid = made(self.seeds)
        blob = valid[int(rng.integers(0, len(valid)))]
        names = []
        for turn in range(1 if rng.random() < 0.7 else 2):
            mutator = self.mutators[(number + turn * number // 7) % len(self.mutators)]
            names.append(mutator.__name__)
            with contextlib.suppress(Exception):  # a file too damaged for the second one
                blob = mutator(blob, rng)
        if rng.random() < 0.05:  # two files in one
            other = valid[int(rng.integers(0, len(valid)))]
            cut = damage.position(blob, rng)
            blob, names = blob[:cut] + other[damage.position(other, rng) :], [*names, "splice"]
        return Case(" + ".join(names), blob)


@cache
def made(make: Callable[[], object]):
    """Return the result of a function that is called only once."""
    return make()


def check_table(table) -> None:
    """Assert that a table makes sense."""
    n = len(table)
    assert n > 0
    assert len(table.labels.modes) == len(table.codes) == len(table.labels.indices)
    assert all(isinstance(mode, str) for mode in table.labels.modes)
    for codes, known in zip(table.codes, table.labels.indices, strict=True):
        assert codes.shape == (n,)
        assert int(codes.max()) < known.size
        assert int(codes.min()) >= 0
        check_labels(known)
    values = table.values[~np.isnan(table.values)]
    assert table.values.shape == (n,)
    assert values.size
    assert values.min() >= 0.0
    assert values.max() <= LARGEST_MAGNITUDE
    if table.weights is not None:
        assert np.isfinite(table.weights).all()
    if n <= 10**5:  # coordinates take more memory than the file
        coords, observed, _ = table.observed()
        assert len(coords) == len(observed) == values.size


def check_labels(known) -> None:
    """Assert that labels are different from each other, and that none is missing."""
    if known.dtype.kind in "iu" and known.size > 10**5:  # the numbers of a long mode
        assert (int(known[0]), int(known[-1])) == (0, known.size - 1)
        return
    labels = known.tolist()
    assert len(set(labels)) == len(labels)
    assert all(label is not None and label == label for label in labels)


def read_data(path: Path) -> None:
    """Read a file as observations, with weights where it has some, and as cells."""
    problems = []
    tried = [lambda: check_table(read_table(path))]
    if path.name.endswith((".npz", ".mat")):
        tried.append(lambda: check_table(read_table(path, weight="weights", one_based=True)))
    tried.append(lambda: check_cells(read_cells(path, modes=("mode 0", "mode 1"))))
    for attempt in tried:
        try:
            attempt()
        except IntensorError as problem:
            problems.append(problem)
    if len(problems) == len(tried):
        raise problems[0]


def check_cells(table) -> None:
    """Assert that the cells of a table make sense."""
    columns = [table.mode_labels(mode) for mode in range(2)]
    assert [column.shape for column in columns] == [(len(table),)] * 2


def read_dataset(path: Path) -> None:
    """Go through a folder of Parquet files, batch by batch."""
    dataset = open_dataset(path.parent, "value")
    n = 0
    for file in dataset.files:
        for batch in dataset.batches(file):
            n += len(batch.values)
            assert batch.coords.shape == (len(batch.values), len(dataset.modes))
            assert np.isfinite(batch.values).all()
            if len(batch.values):
                assert batch.values.min() >= 0.0
                assert batch.coords.min() >= 0
    assert n == dataset.n_rows


def read_model(path: Path) -> None:
    """Load a model and predict with it."""
    fit = intensor.load(path)
    shape = fit.shape
    for known, length in zip(fit.labels.indices, shape, strict=True):
        assert known.size == length
        check_labels(known)
    corners = np.array([np.zeros(len(shape)), np.array(shape) - 1, -np.ones(len(shape))])
    predicted = fit.predict(corners.astype(np.int64), unseen="mean")
    assert np.isfinite(predicted).all()
    assert (predicted >= 0.0).all()
    assert np.isfinite([fit.objective, fit.bound, fit.radius]).all()
    assert repr(fit)
    page = render(fit, corners[:2].astype(np.int64), np.ones(2))
    assert len(page) < 1_000_000
    assert "<script" not in page
    fit.save(path.with_name("again.npz"))
    assert intensor.load(path.with_name("again.npz")).shape == shape
    path.with_name("again.npz").unlink()


RUNS = ("fast", 3)
"""Versions of the solver whose checkpoints are damaged."""


def run_of(path: Path, version: int | str, *, rounds: int, resume: bool) -> intensor.Result:
    """Solve a small problem for some rounds, with a checkpoint."""
    data = intensor.planted((3, 4, 2), 20, noise=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", intensor.errors.EmptyModelWarning)
        return intensor.solve(
            data.coords,
            data.values,
            shape=data.shape,
            radius=1.0,
            version=version,
            tol=1e-9,
            rtol=0.0,
            exact="off",
            threads=1,
            max_iterations=rounds,
            time_limit=5.0,
            checkpoint=path,
            resume=resume,
        )


def checkpoint_seeds() -> list[bytes]:
    """Return checkpoints of solves on their way."""
    return [
        seeds.written(lambda path, v=v, n=n: run_of(path, v, rounds=n, resume=False), ".npz")
        for v in RUNS
        for n in (1, 3)
    ]


def read_checkpoint(path: Path) -> None:
    """Go on for some rounds from a checkpoint: what it says of the iterate must hold."""
    blob = path.read_bytes()
    problems = []
    for version in RUNS:
        path.write_bytes(blob)
        try:
            result = run_of(path, version, rounds=5, resume=True)
        except IntensorError as problem:
            problems.append(problem)
            continue
        data = intensor.planted((3, 4, 2), 20, noise=0.3)
        checks = intensor.verify(result, data.coords, data.values).checks
        # a forged bound is for verify to find; the model and its error must be true
        assert all(check.passed for check in checks if check.name not in ("bound", "status"))
    if len(problems) == len(RUNS):
        raise problems[0]


class RefusedError(Exception):
    """The command line said in one sentence what is wrong."""


def command(*arguments: str) -> None:
    """Run the command line: it ends with 0 or with 2 and one sentence, all of it printable."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(arguments))
    said = err.getvalue()
    assert code in (0, 2), f"exit code {code}: {said[:500]}"
    for text in (out.getvalue(), said):
        odd = {letter for letter in text if not letter.isprintable() and letter != "\n"}
        assert not odd, f"not printable: {odd}"
        # JSON is data, which nobody shortens
        said_all = "--json" in arguments or len(text) < 100_000
        assert said_all, f"{len(text)} characters were said"
    if code:
        assert said.count("error: ") == 1
        assert said.splitlines()[-1].startswith("error: ")
        assert out.getvalue() == ""
        raise RefusedError(said.strip())


def command_info(path: Path) -> None:
    """Show a model file."""
    command("info", str(path))
    command("info", str(path), "--json")


def command_predict(path: Path) -> None:
    """Predict cells of a damaged table with a good model."""
    output = path.with_name("out.csv")
    command(
        "predict", str(path.with_name("good.npz")), str(path), "-o", str(output), "--unseen", "mean"
    )
    output.unlink()


def command_fit(path: Path) -> None:
    """Fit a damaged table for an iteration or two."""
    output = path.with_name("out.npz")
    options = ["--radius", "5", "--exact", "off", "--max-iterations", "2", "--threads", "1", "-q"]
    command("fit", str(path), "-o", str(output), *options)
    output.unlink()


def good_model() -> dict[str, bytes]:
    """Return a model of the tables with two modes."""
    two = seeds.columns(2)
    labels = intensor.data.labels.Labels(
        modes=("mode 0", "mode 1"),
        indices=tuple(intensor.data.labels.factorise(two[name])[1] for name in list(two)[:2]),
    )
    fit = seeds.model_of(labels)
    return {"good.npz": seeds.written(fit.save, ".npz")}


def small_csv() -> dict[str, bytes]:
    """Return the crafted tables that do not take long; the reader alone is given all of them."""
    return {name: blob for name, blob in made(crafted.crafted_csv).items() if len(blob) < 10**5}


def crafted_models() -> dict[str, bytes]:
    """Return crafted archives and crafted models."""
    models = archives.crafted_models(made(seeds.model_seeds)[0])
    return {**models, **made(archives.crafted_archives)}


PARQUET = (
    crafted.damage_footer,
    crafted.damage_pages,
    damage.flip_bits,
    damage.set_bytes,
    damage.truncate,
    damage.insert,
    damage.resize,
    crafted.damage_footer,
    damage.grow_varint,
    crafted.damage_pages,
)
FORMATS = {
    one.name: one
    for one in (
        Format(
            name="csv",
            file="data.csv",
            seeds=seeds.csv_seeds,
            crafted=crafted.crafted_csv,
            mutators=damage.TEXT,
            read=read_data,
        ),
        Format(
            name="parquet",
            file="data.parquet",
            seeds=seeds.parquet_seeds,
            crafted=crafted.crafted_parquet,
            mutators=PARQUET,
            read=read_data,
        ),
        Format(
            name="dataset",
            file="b.parquet",
            seeds=seeds.dataset_seeds,
            crafted=crafted.crafted_parquet,
            mutators=PARQUET,
            read=read_dataset,
            beside=lambda: {"a.parquet": made(seeds.dataset_seeds)[1]},
        ),
        Format(
            name="tns",
            file="data.tns",
            seeds=seeds.tns_seeds,
            crafted=crafted.crafted_tns,
            mutators=damage.TEXT,
            read=read_data,
        ),
        Format(
            name="npz",
            file="data.npz",
            seeds=seeds.npz_seeds,
            crafted=archives.crafted_archives,
            mutators=archives.ARCHIVES,
            read=read_data,
        ),
        Format(
            name="mat",
            file="data.mat",
            seeds=seeds.mat_seeds,
            crafted=crafted.crafted_mat,
            mutators=(crafted.damage_packed, *damage.BYTES, crafted.damage_packed),
            read=read_data,
        ),
        Format(
            name="model",
            file="model.npz",
            seeds=seeds.model_seeds,
            crafted=crafted_models,
            mutators=archives.MODELS,
            read=read_model,
        ),
        Format(
            name="checkpoint",
            file="run.npz",
            seeds=checkpoint_seeds,
            crafted=archives.crafted_archives,
            mutators=archives.MODELS,
            read=read_checkpoint,
        ),
        Format(
            name="info",
            file="model.npz",
            seeds=seeds.model_seeds,
            crafted=crafted_models,
            mutators=archives.MODELS,
            read=command_info,
            allowed=(RefusedError,),
        ),
        Format(
            name="predict",
            file="cells.csv",
            seeds=seeds.csv_seeds,
            crafted=small_csv,
            mutators=damage.TEXT,
            read=command_predict,
            beside=good_model,
            allowed=(RefusedError,),
        ),
        Format(
            name="fit",
            file="data.tns",
            seeds=seeds.tns_seeds,
            crafted=lambda: {"negative": b"-1 1 1\n", "values": b"1 1 1e70\n2 2 1e-300\n"},
            mutators=damage.TEXT,
            read=command_fit,
            allowed=(RefusedError,),
        ),
    )
}
