import gzip

import pytest

from intensor.data.readers import read_table
from intensor.storage import limits as room


def test_room_grows_with_the_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(1000))
    assert room.room_of(path) == room.ROOM + 1000 * room.RATIO


def test_a_packed_file_is_read_up_to_its_room(tmp_path, monkeypatch):
    path = tmp_path / "data.csv.gz"
    text = b"a,value\n" + b"x,1\n" * 30_000
    path.write_bytes(gzip.compress(text))
    with room.open_gzip(path) as file:
        assert file.read() == text
    assert len(read_table(path)) == 30_000
    monkeypatch.setattr(room, "ROOM", 0)
    with (
        room.open_gzip(path) as file,
        pytest.raises(OSError, match=r"holds more than \d+ bytes.*unpack it first"),
    ):
        file.read()


def test_readers_name_the_file_that_holds_too_much(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "ROOM", 0)
    for name, line in (("data.csv.gz", b"x,1\n"), ("data.tns.gz", b"1 1 1\n")):
        path = tmp_path / name
        path.write_bytes(gzip.compress(b"a,value\n" * (line == b"x,1\n") + line * 30_000))
        with pytest.raises(ValueError, match=rf"{name}: cannot be unpacked \(it holds more"):
            read_table(path)
