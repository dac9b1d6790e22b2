"""The files that compiled kernels are kept in, from one process to the next.

Numba's own cache raises when a folder cannot be written to, a disk is full or a file is damaged,
loses entries when two processes write at the same time, and does not notice when a kernel in
another file that is compiled into this one has changed. Here the files are never needed:
what cannot be stored or read is compiled again, and a line in the log says so once.
"""

from __future__ import annotations

import hashlib
import logging
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numpy as np
from numba.core import config as _numba_config
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache

from intensor.runtime.stopwatch import COMPILING

numba_config: Any = _numba_config
_LOG = logging.getLogger(__name__)
ADVICE = "set NUMBA_CACHE_DIR to a folder that can be written to and has some free space"
"""What to do about files that cannot be written, for messages."""
PACKAGE = __name__.partition(".")[0]
"""The package whose kernels are kept."""


class Files:
    """Whether compiled kernels can be kept in files, and which messages have been logged.

    ``problem`` says why nothing can be stored; it is None as long as files can be written.
    """

    def __init__(self) -> None:
        self.problem: str | None = None
        self._told: set[str] = set()
        self._lock = threading.Lock()

    def close(self, problem: str) -> None:
        """Store nothing from now on; only the first reason is logged."""
        with self._lock:
            self.problem = self.problem or problem

    def announce(self) -> None:
        """Log a compilation: as a warning if it prolongs a limit or happens in every process."""
        compiling = "Compiling kernels for this machine, which takes up to a minute."
        if self.problem is None:
            self.tell(
                f"compiling at level {notice_level()}",
                f"{compiling} It happens once: they are kept in files. It does not count against "
                "time limits.",
                notice_level(),
            )
        else:
            self.tell(
                "no files",
                f"{compiling} They cannot be kept in files, so every process has to compile them "
                f"again: {self.problem}. To keep them, {ADVICE}.",
            )

    def tell(self, kind: str, message: str, level: int = logging.WARNING) -> None:
        """Log a message, unless one of its kind has been logged."""
        with self._lock:
            if kind in self._told:
                return
            self._told.add(kind)
        _LOG.log(level, "%s", message)


FILES = Files()


class KernelFile(IndexDataCacheFile):
    """The files of one kernel: one for each combination of types that it is compiled for.

    Numba lists the files of a kernel in an index, and two processes that extend it at the same time
    lose or mix up entries. Here the types are the name of the file, and each file says what it is.
    """

    def save(self, key: Any, data: Any) -> None:
        """Store an entry together with its key and with what it was compiled from."""
        with self._open_for_write(self._path(key)) as file:
            content = self._dump((key, data))
            file.write(self._dump((self._version, self._source_stamp, content)))

    def load(self, key: Any) -> Any:
        """Return the entry of a key, or None if there is none or its sources have changed."""
        try:
            version, stamp, content = pickle.loads(self._path(key).read_bytes())
        except FileNotFoundError:
            return None
        if (version, stamp) != (self._version, self._source_stamp):
            return None
        found, data = pickle.loads(content)
        return data if found == key else None

    def _path(self, key: Any) -> Path:
        """Return the path of an entry, which depends on the types and the processor alone."""
        types, processor, _ = key
        digest = hashlib.sha256(repr((types, processor)).encode()).hexdigest()
        return Path(self._cache_path, self._index_name).with_suffix(f".{digest[:16]}.nbc")


class KernelCache(FunctionCache):
    """Numba's cache of a function; a problem with files costs time and nothing else."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return a compiled kernel, or None if there is none or it cannot be read."""
        with COMPILING:
            try:
                self._open()
                return super().load_overload(sig, target_context)
            except Exception as problem:  # unpickling a damaged file can raise anything
                FILES.tell(
                    "damaged",
                    f"A compiled kernel in {self.cache_path} cannot be read ({problem!r}); it is "
                    "compiled again.",
                )
                return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store a compiled kernel, if that can be done."""
        if FILES.problem is not None:
            return
        with COMPILING:
            try:
                super().save_overload(sig, data)
            except Exception as problem:
                FILES.close(f"{self.cache_path} cannot be written to ({problem!r})")
                FILES.announce()

    def _open(self) -> None:
        """Replace Numba's files by ours: only now is everything known that the kernel calls."""
        if not isinstance(self._cache_file, KernelFile):
            self._cache_file = KernelFile(
                cache_path=self.cache_path,
                filename_base=self._impl.filename_base,
                source_stamp=source_stamp(self._py_func),
            )


class NoCache(NullCache):
    """The cache of a kernel when there is no folder for its files."""


def kernel_folder() -> Path:
    """Return the folder that compiled kernels are kept in, or below which they are."""
    chosen = str(numba_config.CACHE_DIR)
    return Path(chosen) if chosen else Path(__file__).parents[1]


def notice_level() -> int:
    """Return the level of notices: a warning where a time limit is prolonged."""
    return logging.WARNING if COMPILING.limited else logging.INFO


def source_stamp(function: Callable[..., Any]) -> str:
    """Return a digest of the code of a kernel, of everything that it calls, and of its constants.

    Numba looks at the file of the kernel alone, but the kernels it calls are compiled into it.
    """
    files: set[str] = set()
    constants: set[str] = set()
    seen: set[Any] = set()
    waiting: list[Any] = [function]
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        files.add(current.__code__.co_filename)
        for name, value in _globals_of(current):
            if isinstance(value, (bool, int, float, str, tuple, np.generic)):
                constants.add(f"{current.__module__}.{name} = {value!r}")
            elif hasattr(value, "py_func"):  # a kernel
                waiting.append(value.py_func)
            else:  # such as an intrinsic
                home = sys.modules.get(getattr(value, "__module__", None) or "")
                if home is not None and home.__name__.partition(".")[0] == PACKAGE:
                    files.add(str(home.__file__))
    digests = sorted(_digest(file) for file in files)
    return hashlib.sha256("\n".join([*digests, *sorted(constants)]).encode()).hexdigest()


def _globals_of(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield name and value of the globals that a function uses, also through modules."""
    names = set(_names(function.__code__))
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        if isinstance(value, ModuleType):
            inner = vars(value) if value.__name__.partition(".")[0] == PACKAGE else {}
            yield from ((f"{name}.{part}", inner[part]) for part in names & inner.keys())
        else:
            yield name, value


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):  # a function in the function
            yield from _names(constant)


@cache
def _digest(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()
