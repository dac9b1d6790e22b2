"""Small valid files of every format, most of them by our own writers, to be damaged later.

All of them are the same on every run: no time, no random number is left in them.
"""

from __future__ import annotations

import gzip
import io
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import scipy.io
from pyarrow import parquet

from intensor.data.labels import Labels, number_labels
from intensor.data.writers import write_table, write_tensor
from intensor.fitting.model_file import save
from intensor.fitting.path import GRADED_COLUMNS, RadiusPath
from intensor.fitting.record import Fit, Validation
from intensor.model.baseline import Baseline
from intensor.model.model import build_model
from intensor.model.predictor import Predictor, Remainder
from intensor.model.transform import TRANSFORMS
from intensor.solver.result import Counters, Progress, Result, Seconds, Status

ODD = ("ann", "bob", "żółw", "=1+1", "<b>", "a,b", 'say "x"', " ", "\u202e", "007", "-0", "1e3")
ROWS = 12


def written(write, suffix: str) -> bytes:
    """Return the bytes of a file that ``write(path)`` makes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"seed{suffix}"
        write(path)
        return path.read_bytes()


def columns(n_modes: int, n: int = ROWS) -> dict[str, np.ndarray]:
    """Return a table with labels of all kinds, repeated cells and values to be filled."""
    rng = np.random.default_rng([n_modes, n])
    kinds = (
        np.array([text for text in ODD if text.strip()], dtype=object),
        np.arange(-2, 3),
        np.array([0.5, 1e-300, -7.25]),
        np.array(["2024-02-29", "1969-12-31"], dtype="M8[D]"),
        np.array([True, False]),
        np.array([2**53 + 1, 2**62, 7]),
    )
    made = {}
    for mode in range(n_modes):
        labels = kinds[mode % len(kinds)]
        made[f"mode {mode}"] = labels[rng.integers(0, labels.size, n)]
    values = rng.integers(0, 50, n) / 4.0
    values[::5] = np.nan
    return {**made, "value": values}


def cells(n_modes: int, n: int = ROWS) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Return coordinates, some of them twice, values and a shape."""
    rng = np.random.default_rng([7, n_modes, n])
    shape = tuple(2 + (mode * 3) % 5 for mode in range(n_modes))
    coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
    coords[-1] = coords[0]
    return coords, rng.integers(0, 50, n) / 4.0, shape


def csv_seeds() -> list[bytes]:
    """Return tables as text: plain, quoted, of other delimiters, packed, empty and in Latin-1."""
    made = [
        written(lambda path, p=p: write_table(path, columns(p)), ".csv") for p in (1, 2, 3, 4, 6)
    ]
    plain = made[1]
    return [
        *made,
        plain.replace(b",", b";"),
        plain.replace(b",", b"\t").replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + plain,
        gzip.compress(made[2], mtime=0),
        gzip.compress(plain, mtime=0) + gzip.compress(b"ann,1,2\n", mtime=0),
        b"mode 0,value\n",
        "mode 0,value\nMüller,1\n".encode("latin-1"),
        b'mode 0,"val\nue",value\n"a\nb",1,2\n"c",3,\n',
    ]


def parquet_bytes(table: pa.Table, **options) -> bytes:
    """Return a Parquet file of a table."""
    buffer = io.BytesIO()
    parquet.write_table(table, buffer, **options)
    return buffer.getvalue()


def parquet_seeds() -> list[bytes]:
    """Return Parquet files: ours, and tables of other types, codecs, encodings and versions."""
    made = [written(lambda path, p=p: write_table(path, columns(p)), ".parquet") for p in (1, 3, 6)]
    text = pa.table({"a": ["x", "y", "x", "z"] * 3, "b": range(12), "value": [1.5, 2.0, None] * 4})
    other = pa.table(
        {
            "a": pa.array(["x", "y"] * 6).dictionary_encode(),
            "t": pa.array([1, 2, 3] * 4, pa.time32("s")),
            "z": pa.array([1, 2] * 6, pa.timestamp("us", tz="UTC")),
            "d": pa.array([1, 2, 3] * 4).cast(pa.decimal128(30, 2)),
            "value": pa.array([1, 2, 3] * 4, pa.uint8()),
        }
    )
    return [
        *made,
        *(parquet_bytes(text, compression=codec) for codec in ("none", "gzip", "zstd", "snappy")),
        parquet_bytes(text, compression="none", use_dictionary=False, row_group_size=5),
        parquet_bytes(text, compression="none", data_page_version="2.0"),
        parquet_bytes(
            text,
            compression="none",
            use_dictionary=False,
            column_encoding={"a": "DELTA_BYTE_ARRAY", "b": "DELTA_BINARY_PACKED"},
        ),
        parquet_bytes(other, write_page_checksum=True),
        parquet_bytes(text.slice(0, 0)),
    ]


def dataset_seeds() -> list[bytes]:
    """Return Parquet files of indices, as a dataset on disk has them."""
    coords, values, _ = cells(2, 40)
    table = pa.table({"c0": coords[:, 0], "c1": coords[:, 1], "value": values})
    kinds = pa.schema([("c0", pa.uint8()), ("c1", pa.int32()), ("value", pa.float32())])
    made = [
        parquet_bytes(table, compression=codec, row_group_size=16)
        for codec in ("none", "snappy", "zstd")
    ]
    narrow = table.cast(kinds)
    return [
        *made,
        parquet_bytes(narrow, use_dictionary=False, compression="none"),
        parquet_bytes(narrow, data_page_version="2.0", compression="none"),
    ]


def tns_seeds() -> list[bytes]:
    """Return FROSTT files, with comments, blanks, packed, and of one to six modes."""
    made = []
    for n_modes in range(1, 7):
        coords, values, shape = cells(n_modes)
        made.append(
            written(lambda path, c=coords, v=values, s=shape: write_tensor(path, c, v, s), ".tns")
        )
    return [
        *made,
        b"# a comment\n% another\n\n" + made[1].replace(b" ", b" \t  ").replace(b"\n", b" \r\n"),
        b"0 0 1.5\n1 1 NaN\n",
        b"# nothing\n",
        gzip.compress(made[2], mtime=0),
    ]


def npz_bytes(*, packed: bool = False, **arrays) -> bytes:
    """Return a NumPy archive."""
    buffer = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(buffer, **arrays)
    return buffer.getvalue()


def npz_seeds() -> list[bytes]:
    """Return archives with cells and with dense arrays, packed and not, of many types."""
    made = []
    for n_modes in (1, 2, 3, 6):
        coords, values, shape = cells(n_modes)
        made.append(
            written(lambda path, c=coords, v=values, s=shape: write_tensor(path, c, v, s), ".npz")
        )
    coords, values, shape = cells(3)
    dense = np.full(shape, np.nan)
    dense[tuple(coords.T)] = values
    return [
        *made,
        npz_bytes(packed=True, coords=coords, values=values, shape=shape),
        npz_bytes(coords=coords.astype(np.uint8), values=values.astype(np.float32)),
        npz_bytes(coords=coords.astype(">i4"), values=values.astype(">f8"), weights=values),
        npz_bytes(dense=np.asfortranarray(dense)),
        npz_bytes(packed=True, dense=dense),
        npz_bytes(dense=np.float16([[1, 2], [np.nan, 3]])),
        npz_bytes(dense=np.longdouble([1, 2, np.nan])),
        npz_bytes(dense=np.array([[True, False]])),
        npz_bytes(coords=np.empty((0, 3), dtype=int), values=np.empty(0)),
    ]


def mat_bytes(arrays: dict, **options) -> bytes:
    """Return a MATLAB file whose header has no date."""
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, arrays, **options)
    content = buffer.getvalue()
    return content if options.get("format") == "4" else b"MATLAB 5.0".ljust(116) + content[116:]


def mat_seeds() -> list[bytes]:
    """Return MATLAB files of versions 4 and 5, packed and not, with other things beside numbers."""
    made = []
    for n_modes in (1, 2, 3, 6):
        coords, values, _ = cells(n_modes)
        arrays = {"coords": coords + 1, "values": values[:, np.newaxis]}
        made.append(mat_bytes(arrays, do_compression=n_modes % 2 == 1))
    dense = np.array([[1.0, np.nan, 2.0], [0.0, 3.5, np.nan]])
    struct = {"coords": [[1, 1], [2, 2]], "values": [[1.0], [2.0]], "more": {"a": "text", "b": 1}}
    cell = np.array([["a", np.arange(3)]], dtype=object)
    return [
        *made,
        mat_bytes({"dense": dense}),
        mat_bytes({"dense": np.stack([dense] * 3)}, do_compression=True),
        mat_bytes({"dense": dense}, format="4"),
        mat_bytes({"dense": np.nan_to_num(dense).astype(np.int8)}),
        mat_bytes(struct),
        mat_bytes({"dense": dense, "cell": cell, "text": "words"}, do_compression=True),
        mat_bytes({"dense": dense > 1.0}),
    ]


def model_of(
    labels: Labels, *, k: int = 3, transform: str = "none", baseline: bool = False, **parts
) -> Fit:
    """Return a fit that no solver made, so that it is the same on every run."""
    shape = labels.shape
    rng = np.random.default_rng([k, *shape])
    flags = rng.integers(0, 2, (k, sum(shape)), dtype=np.uint8)
    flags[:, np.cumsum([0, *shape[:-1]])] = 1
    if parts.get("graded"):  # about half of the terms become components
        flags = flags * np.where(rng.random((k, 1)) < 0.5, 1.0, rng.random(flags.shape))
    model = build_model(
        flags, np.arange(k, 0, -1.0), shape=shape, radius=k * (k + 1) / 2, signed=baseline
    )
    counts = np.concatenate([np.full(length, 12.0 / length) for length in shape])
    step = Progress(1, "separation", 2, 0.5, 0.25, 0.1, 0.1, 0.0)
    path = {name: np.array([1.0, 2.0]) for name in ("radii", "errors", "objectives", "boxes")}
    of_components = np.array([2.0, 3.0]) if parts.get("graded") else np.zeros(2)
    path |= dict.fromkeys(GRADED_COLUMNS, of_components)
    validation = Validation(
        metric="rmse",
        folds=2,
        held_out=3.0,
        paths=(
            RadiusPath(
                transform=transform,
                baseline="none",
                metric="rmse",
                sampled=False,
                noise=np.zeros(2),
                seconds=np.zeros(2),
                kriged=np.zeros(2, dtype=bool),
                **path,
            ),
        ),
        chosen=0,
        approach=((0.5, 1.0), (0.25, 0.9)),
        single=1.0,
        averaged=0.9,
    )
    return Fit(
        predictor=Predictor(
            model=model,
            counts=counts,
            transform=TRANSFORMS[transform],
            baseline=Baseline(shape=shape, mean=1.0, effects=np.zeros(sum(shape)))
            if baseline
            else None,
            remainder=Remainder(field=np.ones(shape)) if parts.get("remainder") else None,
        ),
        result=Result(
            status=Status.OPTIMAL,
            objective=0.5,
            bound=0.25,
            model=model,
            witness=model if parts.get("witness") else None,
            bound_source="enumeration",
            tolerance=0.3,
            version="fast",
            trace=(step,) * 3,
            counters=Counters(iterations=3, local_steps=2, altmin_runs=1, exact_calls=1, drops=0),
            seconds=Seconds(setup=0.0, solve=0.0),
        ),
        labels=labels,
        n=12,
        n_solutions=2,
        validation=validation if parts.get("validated") else None,
    )


def model_seeds() -> list[bytes]:
    """Return model files with labels of every kind and every optional part."""
    text = np.array(["ann", "bob", "żółw"], dtype=object)
    mixed = np.array(["ann", 7, True, 2.5], dtype=object)
    dates = np.array(["2024-02-29", "1969-12-31"], dtype="M8[D]")
    spans = np.array([1, 2, 3], dtype="m8[30m]")
    fits = [
        model_of(number_labels((3, 2))),
        model_of(Labels(modes=("user", "day"), indices=(text, dates), value="rating"), k=70),
        model_of(
            Labels(modes=("m", "span", "x"), indices=(mixed, spans, np.array([0.5, 2.5]))),
            transform="log1p",
            baseline=True,
            witness=True,
            validated=True,
        ),
        model_of(number_labels((2, 3, 2)), transform="sqrt", remainder=True, validated=True),
        model_of(number_labels((2,) * 6), k=1, witness=True),
        model_of(number_labels((3, 2, 4)), k=9, graded=True, witness=True),
    ]
    return [written(lambda path, fit=fit: save(fit, path), ".npz") for fit in fits]
