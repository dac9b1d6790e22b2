import errno
import os
import stat

import pytest

from intensor.data.atomic import atomic_write, check_place
from intensor.errors import FileFormatError


def put(path, text):
    with atomic_write(path) as temporary:
        temporary.write_text(text)


def fail(path, problem):
    with atomic_write(path) as temporary:
        temporary.write_text("half")
        raise problem


def test_the_file_is_whole_and_alone(tmp_path):
    put(tmp_path / "a.txt", "one")
    put(tmp_path / "a.txt", "two")
    assert (tmp_path / "a.txt").read_text() == "two"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("problem", [RuntimeError, KeyboardInterrupt])
def test_what_was_there_stays_when_writing_fails(tmp_path, problem):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(problem):
        fail(path, problem)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_full_disk_is_an_error_of_ours(tmp_path):
    with pytest.raises(FileFormatError, match="No space left") as caught:
        fail(tmp_path / "a.txt", OSError(28, "No space left on device"))
    assert str(caught.value).startswith(str(tmp_path / "a.txt"))
    assert os.listdir(tmp_path) == []


def test_the_umask_is_respected_and_old_permissions_kept(tmp_path):
    before = os.umask(0o027)
    try:
        put(tmp_path / "new.txt", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new.txt").stat().st_mode) == 0o640
    (tmp_path / "new.txt").chmod(0o600)
    put(tmp_path / "new.txt", "y")
    assert stat.S_IMODE((tmp_path / "new.txt").stat().st_mode) == 0o600


def test_a_link_is_followed(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    put(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


@pytest.mark.parametrize(("name", "words"), [("no/such/a.txt", "no folder"), (".", "is a folder")])
def test_a_place_that_cannot_be_written_to(tmp_path, name, words):
    with pytest.raises(FileFormatError, match=words):
        put(tmp_path / name, "x")
    assert os.listdir(tmp_path) == []


def test_a_device_is_not_replaced():
    with pytest.raises(FileFormatError, match="not a regular file"):
        put("/dev/null", "x")


def test_what_a_killed_writer_left_is_replaced(tmp_path):
    path = tmp_path / "run.npz"
    left = tmp_path / ".intensor-run.npz.part"
    left.write_bytes(b"half")
    with atomic_write(path, sole=True) as temporary:
        assert temporary == left
        temporary.write_bytes(b"whole")
    assert path.read_bytes() == b"whole"
    assert os.listdir(tmp_path) == ["run.npz"]


def test_a_place_is_tried_beforehand(tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    check_place(path)
    assert os.listdir(tmp_path) == []
    path.write_bytes(b"there")
    check_place(path)
    assert path.read_bytes() == b"there"
    with pytest.raises(FileFormatError, match="no folder"):
        check_place(tmp_path / "nowhere" / "run.npz")
    with pytest.raises(FileFormatError, match="it is a folder"):
        check_place(tmp_path)

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileFormatError, match="No space left"):
        check_place(path)
    assert os.listdir(tmp_path) == ["run.npz"]
