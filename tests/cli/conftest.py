"""A small table, a model of it, and ways to run the command line."""

import pytest

from cli.commands import run

ROWS = """user,item,week,rating
ann,x,1,3
ann,y,1,4
bob,x,1,3.5
bob,y,2,
cat,x,2,1
cat,y,1,2
ann,x,2,5
bob,x,2,4
"""


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text(ROWS)
    return path


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """Bytes of a model of the table, fitted once."""
    folder = tmp_path_factory.mktemp("saved")
    (folder / "ratings.csv").write_text(ROWS)
    model = folder / "model.npz"
    assert run("fit", folder / "ratings.csv", "--value rating --radius 6 -q -o", model) == 0
    return model.read_bytes()


@pytest.fixture
def model(tmp_path, saved):
    path = tmp_path / "model.npz"
    path.write_bytes(saved)
    return path


@pytest.fixture
def refused(capsys, tmp_path):
    """Return a function that runs a command, which must be refused, and returns the message."""

    def refuse(*arguments):
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        capsys.readouterr()
        assert run(*arguments) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        lines = printed.err.splitlines()
        assert len(lines) == 1, printed.err
        assert lines[0].startswith("error: ")
        assert "Traceback" not in printed.err
        after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        assert after == before
        return lines[0]

    return refuse
