"""Writing files: all of it or nothing, never half a file under the name that was asked for."""

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

__all__ = ["atomic_write", "check_place"]

PROBE = b"\0" * (1 << 16)
"""What is written to find out whether anything can be."""
LONGEST_NAME = 200
"""Most bytes of a name that are part of the name of its temporary file; 255 may be in all."""


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
    target = _find_target(path)
    name = _short_name(target.name) if sole else secrets.token_hex(6)
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
    target = _find_target(path)
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


def _find_target(path: Any) -> Path:
    """Return the file that a path leads to, or say why no file can be written there."""
    try:
        target = Path(os.path.realpath(os.fsdecode(path)))
        mode = target.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return _check_folder(path)
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise FileFormatError(f"{path}: cannot be written ({reason})") from None
    except (TypeError, ValueError) as problem:
        raise FileFormatError(f"{path!r}: is not the path of a file ({problem})") from None
    if stat.S_ISDIR(mode):
        raise FileFormatError(f"{path}: cannot be written, since it is a folder; name a file in it")
    if not stat.S_ISREG(mode):
        raise FileFormatError(f"{path}: cannot be written, since it is not a regular file")
    return target


def _check_folder(path: Any) -> Path:
    """Return where a new file is to be, if there is a folder for it."""
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
    link = (
        f"{through} is a link to {os.path.realpath(through)}, and " if through.is_symlink() else ""
    )
    folder = target.parent if link else given.parent
    if folder.exists():
        raise FileFormatError(
            f"{path}: cannot be written, since {link}{folder} is not a folder; choose another place"
        )
    raise FileFormatError(
        f"{path}: cannot be written, since {link}there is no folder {folder}; make it first"
    )


def _short_name(name: str) -> str:
    """Return a name for a file beside one of this name, which may be as long as names can be."""
    whole = os.fsencode(name)
    return name if len(whole) <= LONGEST_NAME else hashlib.sha256(whole).hexdigest()
