"""Columns of labels, batch by batch, into indices: no batch is kept once it is encoded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from intensor._arrays import AnyArray
from intensor.data.labels import Labels
from intensor.data.readers.numbers import BadRow, NumberColumn
from intensor.data.table import Table, smallest_unsigned
from intensor.errors import EmptyDataError, LabelError

__all__ = ["LabelColumn", "check_distinct", "finish_cells", "finish_table", "label_type"]

SPREAD = 8
"""Integers are counted through rather than sorted when their range is at most so many times
their number."""
AT_ONCE = 16
"""Batches of strings whose words are merged in one go."""
AS_TEXT = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_null,
    pa.types.is_time,
)
AS_IS = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_timestamp,
    pa.types.is_duration,
)


def label_type(found: pa.DataType) -> pa.DataType | None:
    """Return the type that a column of labels is read as, None when it cannot be labels.

    Whole numbers, numbers, truth values and dates stay what they are. Times with a zone and
    times of the day have no NumPy type of their own; as strings they come back unharmed.
    """
    if pa.types.is_dictionary(found):
        return label_type(found.value_type)
    zoned = pa.types.is_timestamp(found) and found.tz is not None
    if zoned or any(is_it(found) for is_it in AS_TEXT):
        return pa.string()
    if pa.types.is_date(found):
        return pa.date32()
    if pa.types.is_decimal(found) or pa.types.is_float16(found):
        return pa.float64()
    return found if any(is_it(found) for is_it in AS_IS) else None


class LabelColumn:
    """The indices of a growing column of labels."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._chunks: list[AnyArray] = []
        self._words: Any = None
        self._pending: list[Any] = []
        self._dtype: np.dtype[Any] | None = None
        self._rows = 0

    def add(self, batch: pa.Array) -> None:
        """Encode a batch; all batches have one type."""
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

    def finish(self) -> tuple[AnyArray, AnyArray]:
        """Return the index of every row, and the sorted labels; the column is then empty."""
        if self._words is not None:
            return self._finish_texts()
        dtype = self._dtype or np.dtype(np.int64)
        column = self._joined(dtype)
        if dtype.kind == "f":
            known, codes = np.unique(column, return_inverse=True)
            return codes.astype(smallest_unsigned(known.size)), known
        codes, known = _factorise_integers(column)
        if dtype.kind in "mM":
            return codes, known.astype(np.int64).view(dtype)
        return codes, known.astype(dtype)

    def _joined(self, dtype: np.dtype[Any]) -> AnyArray:
        """Return all chunks as one array of the widest type among them."""
        chunks, self._chunks = self._chunks, []
        if not chunks:
            return np.empty(0, dtype=np.float64 if dtype.kind == "f" else np.int64)
        return chunks[0] if len(chunks) == 1 else np.concatenate(chunks)

    def _add_numbers(self, batch: pa.Array) -> None:
        self._check_nulls(batch)
        array = batch.to_numpy(zero_copy_only=False)
        self._dtype = array.dtype
        if array.dtype.kind == "f":
            if np.isnan(array).any():
                self._missing(int(np.argmax(np.isnan(array))))
            self._chunks.append(array + 0.0)  # turns -0.0, which is no label of its own, into 0.0
            return
        if array.dtype.kind in "mM":
            if np.isnat(array).any():  # the least number of all, which NumPy takes for no time
                self._missing(int(np.argmax(np.isnat(array))))
            array = array.view(np.int64)
        elif array.dtype.kind == "b":
            array = array.view(np.uint8)
        if array.size:
            self._chunks.append(array.astype(_narrow(array)))

    def _add_texts(self, batch: pa.Array) -> None:
        if not pa.types.is_dictionary(batch.type):
            batch = (
                batch if batch.type == pa.string() else batch.cast(pa.string())
            ).dictionary_encode()
        self._check_nulls(batch)
        words = batch.dictionary.cast(pa.string())
        empty = pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(words.fill_null(""))), 0)
        if pc.any(empty).as_py():
            used = empty.to_numpy(zero_copy_only=False)[batch.indices.to_numpy()]
            if used.any():
                self._missing(int(np.argmax(used)))
            words = words.fill_null("")
        indices = batch.indices.cast(pa.int32())
        self._pending.append(pa.DictionaryArray.from_arrays(indices, words))
        if self._words is None:
            self._words = words.slice(0, 0)
        if len(self._pending) >= AT_ONCE:
            self._merge_words()

    def _merge_words(self) -> None:
        """Number the words of all pending batches; those that had a number keep it."""
        nothing = pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), self._words)
        merged = pa.chunked_array([nothing, *self._pending]).unify_dictionaries()
        self._words, self._pending = merged.chunk(0).dictionary, []
        kind = smallest_unsigned(len(self._words))
        self._chunks += [part.indices.to_numpy().astype(kind) for part in merged.chunks]

    def _finish_texts(self) -> tuple[AnyArray, AnyArray]:
        self._merge_words()
        raw = self._joined(np.dtype(np.int64))
        words = self._words.to_pylist()
        self._words = None
        check_distinct(self.name, words)
        order = sorted(range(len(words)), key=words.__getitem__)
        rank = np.empty(len(words), dtype=smallest_unsigned(len(words)))
        rank[order] = np.arange(len(words))
        used = np.zeros(len(words), dtype=bool)
        used[raw] = True
        known = np.empty(len(words), dtype=object)
        known[:] = [words[place] for place in order]
        if not used.all():  # a dictionary may hold words that no row has
            return _without_unused(rank[raw], known)
        return rank[raw], known

    def _check_nulls(self, batch: pa.Array) -> None:
        if batch.null_count:
            self._missing(int(np.argmax(batch.is_null().to_numpy(zero_copy_only=False))))

    def _missing(self, row: int) -> None:
        raise BadRow(
            self._rows + row,
            f"the label in column {self.name!r} is empty; expected one in every row",
            LabelError,
        )


def finish_table(
    path: Any, labels: list[LabelColumn], numbers: list[NumberColumn], *, value: str
) -> Table:
    """Put encoded columns together; numbers are the values, then the weights if there are any."""
    values = numbers[0].finish()
    if np.isnan(values).all():
        raise EmptyDataError(f"{path}: column {value!r} has no value at all")
    weights = numbers[1].finish() if len(numbers) > 1 else None
    encoded = _finish(path, labels)
    return Table(
        labels=Labels(
            modes=tuple(column.name for column in labels),
            indices=tuple(known for _, known in encoded),
            value=value,
        ),
        codes=tuple(codes for codes, _ in encoded),
        values=values,
        weights=weights,
    )


def finish_cells(path: Any, labels: list[LabelColumn]) -> tuple[AnyArray, ...]:
    """Return the label of every row, column by column."""
    return tuple(known[codes] for codes, known in _finish(path, labels))


def _finish(path: Any, labels: list[LabelColumn]) -> list[tuple[AnyArray, AnyArray]]:
    try:
        return [column.finish() for column in labels]
    except LabelError as problem:
        raise LabelError(f"{path}: {problem}") from None


def check_distinct(column: str, words: list[str]) -> None:
    """Raise when two labels differ in nothing but the blanks around them."""
    bare: dict[str, str] = {}
    for word in words:
        twin = bare.setdefault(word.strip(), word)
        if twin != word:
            raise LabelError(
                f"column {column!r} has the labels {twin!r} and {word!r}, which differ only in "
                "blanks; make them the same"
            )


def _without_unused(codes: AnyArray, known: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return codes and labels with only those labels that occur."""
    packed, places = _factorise_integers(codes)
    return packed, known[places]


def _factorise_integers(column: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return indices and the sorted distinct integers."""
    if not column.size:
        return column.astype(np.uint8), column
    low, high = int(column.min()), int(column.max())
    if high - low >= SPREAD * column.size + 256:
        known, codes = np.unique(column, return_inverse=True)
        return codes.astype(smallest_unsigned(known.size)), known
    # shifted in place of a wider copy: the range is small, so the type of the column will do
    shifted = column if low == 0 else _shift(column, low, high)
    present = np.zeros(high - low + 1, dtype=bool)
    present[shifted] = True
    places = np.flatnonzero(present)
    if places.size == present.size and shifted.dtype == smallest_unsigned(places.size):
        return shifted, _shift_back(places, low)
    rank = np.empty(present.size, dtype=smallest_unsigned(places.size))
    rank[places] = np.arange(places.size)
    return rank[shifted], _shift_back(places, low)


def _shift_back(places: AnyArray, low: int) -> AnyArray:
    """Return ``places + low``, unsigned where that is beyond the signed numbers."""
    if low < 2**62:
        return places + low
    return places.astype(np.uint64) + np.uint64(low)


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
