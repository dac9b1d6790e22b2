"""Files are written completely or not at all, and every obstacle is an error of ours."""

import errno
import os
import stat
import tempfile

import pytest

from intensor.errors import FileFormatError
from intensor.storage.atomic import atomic_write, check_writable


def put(path, text):
    with atomic_write(path) as temporary:
        temporary.write_text(text)


def fail(path, problem):
    with atomic_write(path) as temporary:
        temporary.write_text("half")
        raise problem


def test_the_file_is_complete_and_alone(tmp_path):
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


@pytest.mark.parametrize(
    ("name", "message"), [("no/such/a.txt", "no folder"), (".", "is a folder")]
)
def test_a_path_that_cannot_be_written_to(tmp_path, name, message):
    with pytest.raises(FileFormatError, match=message):
        put(tmp_path / name, "x")
    assert os.listdir(tmp_path) == []


def test_a_device_is_not_replaced():
    with pytest.raises(FileFormatError, match="not a regular file"):
        put("/dev/null", "x")


def test_what_a_killed_writer_left_is_replaced(tmp_path):
    path = tmp_path / "run.npz"
    left = tmp_path / ".intensor-run.npz.part"
    left.write_bytes(b"half")
    with atomic_write(path, single_writer=True) as temporary:
        assert temporary == left
        temporary.write_bytes(b"complete")
    assert path.read_bytes() == b"complete"
    assert os.listdir(tmp_path) == ["run.npz"]


def test_a_path_is_tried_beforehand(tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    check_writable(path)
    assert os.listdir(tmp_path) == []
    path.write_bytes(b"there")
    check_writable(path)
    assert path.read_bytes() == b"there"
    with pytest.raises(FileFormatError, match="no folder"):
        check_writable(tmp_path / "nowhere" / "run.npz")
    with pytest.raises(FileFormatError, match="it is a folder"):
        check_writable(tmp_path)

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileFormatError, match="No space left"):
        check_writable(path)
    assert os.listdir(tmp_path) == ["run.npz"]


def test_links_that_lead_nowhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    link = tmp_path / "model.npz"
    link.symlink_to(tmp_path / "gone" / "model.npz")
    (tmp_path / "folder").symlink_to(tmp_path / "gone")
    for path, way in (("model.npz", "model.npz"), (link, link), ("folder/a.npz", "folder")):
        for call in (check_writable, lambda path: put(path, "x")):
            with pytest.raises(FileFormatError) as caught:
                call(path)
            assert f"{way} is a link to {tmp_path / 'gone'}" in str(caught.value)
            assert f"there is no folder {tmp_path / 'gone'}; make it" in str(caught.value)
    (tmp_path / "gone").mkdir()
    put("model.npz", "new")  # a link to a file that is yet to be
    assert (tmp_path / "gone" / "model.npz").read_text() == "new"
    loop = tmp_path / "loop.npz"
    loop.symlink_to(loop)
    with pytest.raises(FileFormatError, match=r"loop\.npz: cannot be written \(Too many levels"):
        check_writable(loop)


def test_a_link_to_another_file_system(tmp_path):
    if not os.path.isdir("/dev/shm") or os.stat("/dev/shm").st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no other file system to write to")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        (tmp_path / "link.txt").symlink_to(os.path.join(folder, "real.txt"))
        put(tmp_path / "link.txt", "new")
        assert os.listdir(folder) == ["real.txt"]
    assert os.listdir(tmp_path) == ["link.txt"]


def test_names_that_are_too_long_or_none(tmp_path):
    with pytest.raises(FileFormatError, match="File name too long"):
        check_writable(tmp_path / f"{'n' * 300}.npz")
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileFormatError, match="file is not a folder"):
        check_writable(tmp_path / "file" / "a.npz")
    for wrong in (None, 3.5, "a\0b"):
        with pytest.raises(FileFormatError, match="is not the path of a file"):
            check_writable(wrong)
    for letter in ("n", "\N{GREEK SMALL LETTER PI}"):  # which takes two bytes
        longest = tmp_path / (letter * (255 // len(letter.encode())))
        twin = longest.with_name(longest.name[:-1] + "x")
        with (
            atomic_write(longest, single_writer=True) as first,
            atomic_write(twin, single_writer=True) as second,
        ):
            assert first != second
            first.write_text("x")
            second.write_text("y")
        assert (longest.read_text(), twin.read_text()) == ("x", "y")


def test_a_working_folder_that_is_gone(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "here").rmdir()
    with pytest.raises(FileFormatError, match="the working folder does not exist"):
        check_writable("a.npz")
