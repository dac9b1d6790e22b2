"""Batches of Arrow columns become a table; no batch is kept once it is encoded.

Files that have columns are encoded as they are read. Columns of labels of data frames (``series``)
come here in one batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from intensor._arrays import AnyArray
from intensor.data.checks import BadRow, find_bad_value, find_bad_weight
from intensor.data.columns import Choice
from intensor.data.labels import NO_LABEL, Encoded, Labels, sort_labels
from intensor.data.table import Source, Table, join_chunks, smallest_unsigned
from intensor.errors import EmptyDataError, LabelError

MAX_RANGE_RATIO = 8
"""Integers are counted, not sorted, if their range is at most this many times their number."""
BATCHES_PER_MERGE = 16
"""Number of batches of text whose dictionaries are merged at once."""
READ_AS_TEXT = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_null,
    pa.types.is_time,
)
READ_AS_IS = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_timestamp,
    pa.types.is_duration,
)


def label_type(found: pa.DataType) -> pa.DataType | None:
    """Return the type that a column of labels is read as, or None if it cannot hold labels.

    Numbers, truth values and dates stay what they are. Times with a zone and times of the day have
    no NumPy type of their own; as text they come back unharmed.
    """
    if pa.types.is_dictionary(found):
        return label_type(found.value_type)
    zoned = pa.types.is_timestamp(found) and found.tz is not None
    if zoned or any(is_it(found) for is_it in READ_AS_TEXT):
        return pa.string()
    if pa.types.is_date(found):
        return pa.date32()
    if pa.types.is_decimal(found) or pa.types.is_float16(found):
        return pa.float64()
    return found if any(is_it(found) for is_it in READ_AS_IS) else None


class TableBuilder:
    """Encodes the labels and gathers the numbers of a table, batch by batch."""

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._encoders = [LabelEncoder(name) for name in choice.modes]
        self._values: list[AnyArray] = []
        self._weights: list[AnyArray] = []
        self.n_rows = 0

    @property
    def names(self) -> list[str]:
        """Names of the columns that ``add`` takes, in their order."""
        numbers = (self._choice.value, self._choice.weight)
        return [*self._choice.modes, *(name for name in numbers if name is not None)]

    def add(self, columns: Sequence[pa.Array]) -> None:
        """Take in a batch: a column per mode, then the values and the weights, if chosen.

        A ``BadRow`` is raised when a label is missing, or when a number cannot be used.
        """
        for encoder, column in zip(self._encoders, columns, strict=False):
            encoder.add(column)
        numbers = [
            column.cast(pa.float64(), safe=False).fill_null(float("nan")).to_numpy()
            for column in columns[len(self._encoders) :]
        ]
        if numbers:
            bad = find_bad_value(numbers[0])
            if bad is not None:
                raise bad.within(self.n_rows, f"{self._choice.value!r}")
        if len(numbers) > 1:
            bad = find_bad_weight(numbers[1])
            if bad is not None:
                raise bad.within(self.n_rows, f"the weight in column {self._choice.weight!r}")
        for column, chunks in zip(numbers, (self._values, self._weights), strict=False):
            chunks.append(column.copy())  # it may be a view into a larger buffer
        self.n_rows += len(columns[0])

    def finish(self, path: Any, columns: Sequence[str]) -> Table:
        """Return the table of all batches; ``columns`` names all columns of the file."""
        if self.n_rows == 0:
            raise EmptyDataError(f"{path}: has columns but no rows")
        choice = self._choice
        values = np.full(self.n_rows, np.nan) if choice.value is None else join_chunks(self._values)
        if choice.value is not None and np.isnan(values).all():
            raise EmptyDataError(f"{path}: column {choice.value!r} has no value at all")
        try:
            encoded = [encoder.finish() for encoder in self._encoders]
        except LabelError as problem:
            raise LabelError(f"{path}: {problem}") from None
        return Table(
            labels=Labels(
                modes=choice.modes,
                indices=tuple(column.labels for column in encoded),
                value=choice.value or "value",
            ),
            codes=tuple(column.codes for column in encoded),
            values=values,
            weights=None if choice.weight is None else join_chunks(self._weights),
            source=Source(path=path, columns=tuple(columns), weight=choice.weight),
        )


class LabelEncoder:
    """Encodes a column of labels that comes in batches; messages call it by its name.

    In data frames blanks matter: blank text is a label like any other. In files they do not: blank
    text is a missing label, and labels that differ only in the blanks around them are refused.
    """

    def __init__(self, name: str, *, blanks_matter: bool = False) -> None:
        self.name = name
        self._blanks_matter = blanks_matter
        self._chunks: list[AnyArray] = []
        self._texts: Any = None
        self._pending: list[Any] = []
        self._dtype: np.dtype[Any] = np.dtype(np.int64)
        self._rows = 0

    def add(self, batch: pa.Array) -> None:
        """Encode a batch; all batches must have one type."""
        kind = label_type(batch.type)
        if kind is None:
            raise BadRow(
                self._rows,
                f"column {self.name!r} is of type {batch.type}; expected labels that are "
                "numbers, dates, truth values or strings",
                LabelError,
            )
        if kind == pa.string():
            self._add_texts(batch)
        else:
            self._add_numbers(batch if batch.type == kind else batch.cast(kind))
        self._rows += len(batch)

    def finish(self) -> Encoded:
        """Return the index of every row and the sorted labels, and empty the column."""
        if self._texts is not None:
            return self._finish_texts()
        dtype = self._dtype
        if not self._chunks:
            self._chunks.append(np.empty(0, dtype=np.float64 if dtype.kind == "f" else np.int64))
        column = join_chunks(self._chunks)
        if dtype.kind == "f":
            known, codes = np.unique(column, return_inverse=True)
            return Encoded(codes.astype(smallest_unsigned(known.size)), known)
        codes, known = encode_integers(column)
        if dtype.kind in "mM":
            return Encoded(codes, known.astype(np.int64).view(dtype))
        return Encoded(codes, known.astype(dtype))

    def _add_numbers(self, batch: pa.Array) -> None:
        self._check_nulls(batch)
        array = batch.to_numpy(zero_copy_only=False)
        self._dtype = array.dtype
        if array.dtype.kind == "f":
            self._refuse_missing(np.isnan(array))
            self._chunks.append(array + 0.0)  # turns -0.0, which is no label of its own, into 0.0
            return
        if array.dtype.kind in "mM":
            self._refuse_missing(np.isnat(array))  # NumPy takes the least number for no time
            array = array.view(np.int64)
        elif array.dtype.kind == "b":
            array = array.view(np.uint8)
        if array.size:
            self._chunks.append(array.astype(_narrow(array)))

    def _add_texts(self, batch: pa.Array) -> None:
        if not pa.types.is_dictionary(batch.type):
            plain = pa.types.is_string(batch.type) or pa.types.is_large_string(batch.type)
            batch = (batch if plain else batch.cast(pa.string())).dictionary_encode()
        self._check_nulls(batch)
        texts = batch.dictionary.cast(pa.string())
        missing = texts.is_null()
        if not self._blanks_matter:
            trimmed = pc.utf8_trim_whitespace(texts.fill_null(""))
            missing = pc.equal(pc.utf8_length(trimmed), 0)
        if pc.any(missing).as_py():
            self._refuse_missing(missing.to_numpy(zero_copy_only=False)[batch.indices.to_numpy()])
            texts = texts.fill_null("")
        indices = batch.indices.cast(pa.int32())
        self._pending.append(pa.DictionaryArray.from_arrays(indices, texts))
        if self._texts is None:
            self._texts = texts.slice(0, 0)
        if len(self._pending) >= BATCHES_PER_MERGE:
            self._merge_texts()

    def _merge_texts(self) -> None:
        """Number the texts of all pending batches; those that had a number keep it."""
        nothing = pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), self._texts)
        merged = pa.chunked_array([nothing, *self._pending]).unify_dictionaries()
        self._texts, self._pending = merged.chunk(0).dictionary, []
        kind = smallest_unsigned(len(self._texts))
        self._chunks += [part.indices.to_numpy().astype(kind) for part in merged.chunks]

    def _finish_texts(self) -> Encoded:
        self._merge_texts()
        raw = join_chunks(self._chunks)
        texts = self._texts.to_pylist()
        self._texts = None
        if not self._blanks_matter:
            self._check_blanks(texts)
        rank, known = sort_labels(texts)
        return drop_unused(rank.astype(smallest_unsigned(len(texts)))[raw], known)

    def _check_blanks(self, texts: list[str]) -> None:
        """Raise when two labels differ in nothing but the blanks around them."""
        stripped: dict[str, str] = {}
        for text in texts:
            twin = stripped.setdefault(text.strip(), text)
            if twin != text:
                raise LabelError(
                    f"column {self.name!r} has the labels {twin!r} and {text!r}, which differ only "
                    "in blanks; make them the same"
                )

    def _check_nulls(self, batch: pa.Array) -> None:
        if batch.null_count:
            self._refuse_missing(batch.is_null().to_numpy(zero_copy_only=False))

    def _refuse_missing(self, missing: AnyArray) -> None:
        """Raise at the first row that has no label, if there is one."""
        if missing.any():
            row = self._rows + int(np.argmax(missing))
            raise BadRow(row, NO_LABEL.format(column=f" in column {self.name!r}"), LabelError)


def drop_unused(codes: AnyArray, known: AnyArray) -> Encoded:
    """Return codes and labels without labels that no row has, as a dictionary may hold."""
    used = np.zeros(known.size, dtype=bool)
    used[codes] = True
    if used.all():
        return Encoded(codes, known)
    rank = np.cumsum(used) - 1
    return Encoded(rank[codes].astype(smallest_unsigned(int(used.sum()))), known[used])


def encode_integers(column: AnyArray) -> Encoded:
    """Encode a column of integers, by counting where their range is small."""
    if not column.size:
        return Encoded(column.astype(np.uint8), column)
    low, high = int(column.min()), int(column.max())
    if high - low >= MAX_RANGE_RATIO * column.size + 256:
        known, codes = np.unique(column, return_inverse=True)
        return Encoded(codes.astype(smallest_unsigned(known.size)), known)
    # The range is small, so the column is shifted in its own type, not in a wider copy.
    shifted = column if low == 0 else _shift(column, low, high)
    present = np.zeros(high - low + 1, dtype=bool)
    present[shifted] = True
    found = np.flatnonzero(present)
    known = found + low if low < 2**62 else found.astype(np.uint64) + np.uint64(low)
    if found.size == present.size and shifted.dtype == smallest_unsigned(found.size):
        return Encoded(shifted, known)
    rank = np.empty(present.size, dtype=smallest_unsigned(found.size))
    rank[found] = np.arange(found.size)
    return Encoded(rank[shifted], known)


def _shift(column: AnyArray, low: int, high: int) -> AnyArray:
    """Return ``column - low``, which is from 0 to ``high - low``, without overflow."""
    unsigned = smallest_unsigned(high - low + 1)
    wide = column if column.dtype.kind == "u" else column.astype(np.int64, copy=False)
    shifted: AnyArray = wide - wide.dtype.type(low)
    return shifted.astype(unsigned, copy=False)


def _narrow(array: AnyArray) -> np.dtype[Any]:
    """Return a type that holds these integers; chunks of all such types join without loss."""
    high = int(array.max())
    small = int(array.min()) >= 0 and high < 2**32
    return smallest_unsigned(high + 1) if small else array.dtype
