"""Writing files completely or not at all: there is never half a file under the name asked for."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from intensor.errors import FileFormatError

TRIAL_BYTES = b"\0" * (1 << 16)
"""Bytes written as a trial, to find out whether a file can be written."""
MAX_KEPT_NAME = 200
"""Longest name, in bytes, that a temporary file repeats; file systems allow 255 in all."""


@contextlib.contextmanager
def atomic_write(path: Any, *, single_writer: bool = False) -> Iterator[Path]:
    """Yield the path of a temporary file that replaces ``path`` when the body succeeds.

    It is in the same folder, so that the last step is a rename. If anything goes wrong, Ctrl-C
    included, the file that was at ``path`` is still there and nothing else is left behind. A link
    is followed. A file that is replaced keeps its permissions; a new file gets those that the umask
    allows.

    With a ``single_writer``, only one process writes this file, again and again: the temporary file
    always has the same name, so that the next write replaces the leftover of a killed process.
    """
    target = _find_target(path)
    name = target.name if single_writer else secrets.token_hex(6)
    if len(encoded := os.fsencode(name)) > MAX_KEPT_NAME:
        name = hashlib.sha256(encoded).hexdigest()
    temporary = target.with_name(f".intensor-{name}.part")
    with _cleaned_up(path, temporary):
        if single_writer:
            temporary.unlink(missing_ok=True)
        # not tempfile, which ignores the umask: only the owner can read its files
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)


def check_writable(path: Any) -> None:
    """Raise when no file can be written at a path: before hours of work and not after.

    A few bytes are written beside it and removed again; an existing file is left alone.
    """
    target = _find_target(path)
    temporary = target.with_name(f".intensor-{secrets.token_hex(6)}.part")
    with _cleaned_up(path, temporary), open(temporary, "xb") as file:
        file.write(TRIAL_BYTES)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def _cleaned_up(path: Any, temporary: Path) -> Iterator[None]:
    """Leave no temporary file behind, and turn errors of the system into ours."""
    try:
        yield
    except OSError as problem:
        raise _unwritable(path, problem) from problem
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _find_target(path: Any) -> Path:
    """Return the file that a path leads to, or say why no file can be written there."""
    try:
        target = Path(os.path.realpath(os.fsdecode(path)))
        mode = target.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return _check_folder(path)
    except OSError as problem:
        raise _unwritable(path, problem) from None
    except (TypeError, ValueError) as problem:
        raise FileFormatError(f"{path!r}: is not the path of a file ({problem})") from None
    if stat.S_ISDIR(mode):
        raise FileFormatError(f"{path}: cannot be written, since it is a folder; name a file in it")
    if not stat.S_ISREG(mode):
        raise FileFormatError(f"{path}: cannot be written, since it is not a regular file")
    return target


def _unwritable(path: Any, problem: OSError) -> FileFormatError:
    return FileFormatError(f"{path}: cannot be written ({problem.strerror or problem})")


def _check_folder(path: Any) -> Path:
    """Return the path of a new file, if its folder exists."""
    given = Path(os.fsdecode(path))
    try:
        target = Path(os.path.realpath(given))
    except FileNotFoundError:
        raise FileFormatError(
            f"{path}: cannot be written, since the working folder does not exist any more"
        ) from None
    if target.parent.is_dir():
        return target
    through = given if given.is_symlink() else given.parent
    link, folder = "", given.parent
    if through.is_symlink():
        link, folder = f"{through} is a link to {os.path.realpath(through)}, and ", target.parent
    reason = f"there is no folder {folder}; make it first"
    if folder.exists():
        reason = f"{folder} is not a folder; choose another path"
    raise FileFormatError(f"{path}: cannot be written, since {link}{reason}")
