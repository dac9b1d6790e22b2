"""Writing files: all of it or nothing, never half a file under the name that was asked for."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from intensor.errors import FileFormatError

__all__ = ["atomic_write", "check_place"]

PROBE = b"\0" * (1 << 16)
"""What is written to find out whether anything can be."""


@contextlib.contextmanager
def atomic_write(path: Any, *, sole: bool = False) -> Iterator[Path]:
    """Yield the path of a temporary file that takes the place of ``path`` when all went well.

    It lies in the same folder, so that the last step is a rename. Whatever goes wrong, Ctrl-C
    included, what was at ``path`` before is still there and nothing else is left behind.

    Parameters
    ----------
    path
        Where the file is to be. A link is followed; the permissions of a file that is replaced
        are kept, a new one gets those that the umask allows.
    sole
        Only one process writes there, over and over: the temporary file always has the same name,
        so that what one that was killed left behind is replaced by the next.
    """
    target = Path(os.path.realpath(path))
    _check_target(path, target)
    name = target.name[:200] if sole else secrets.token_hex(6)
    temporary = target.with_name(f".intensor-{name}.part")
    with _spared(path, temporary):
        if sole:
            temporary.unlink(missing_ok=True)
        # not tempfile: its files are for the owner alone, whatever the umask says
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)


def check_place(path: Any) -> None:
    """Raise when no file can be written at a path: before hours of work and not after.

    A few bytes are written beside it and removed again; a file that is there is left alone.
    """
    target = Path(os.path.realpath(path))
    _check_target(path, target)
    temporary = target.with_name(f".intensor-{secrets.token_hex(6)}.part")
    with _spared(path, temporary), open(temporary, "xb") as file:
        file.write(PROBE)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def _spared(path: Any, temporary: Path) -> Iterator[None]:
    """Leave no temporary file behind, and say what cannot be written in words of ours."""
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise FileFormatError(f"{path}: cannot be written ({reason})") from problem
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _check_target(path: Any, target: Path) -> None:
    """Say what is wrong with a place to write to, before any work is done for it."""
    try:
        mode = target.stat().st_mode
    except OSError:
        if not target.parent.is_dir():
            raise FileFormatError(
                f"{path}: cannot be written, since there is no folder {Path(path).parent}; "
                "make it first"
            ) from None
        return
    if stat.S_ISDIR(mode):
        raise FileFormatError(f"{path}: cannot be written, since it is a folder; name a file in it")
    if not stat.S_ISREG(mode):
        raise FileFormatError(f"{path}: cannot be written, since it is not a regular file")
