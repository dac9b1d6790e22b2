"""Checkpoints on the command line: what is wrong is said before the data is read."""

import json

import pytest

import intensor
from intensor.cli import main
from intensor.storage.codec import read_tree


@pytest.fixture
def words(tmp_path):
    table = intensor.planted((5, 5, 5), 80, noise=0.1)
    lines = ["a,b,c,value"]
    for (a, b, c), value in zip(table.coords.tolist(), table.values.tolist(), strict=True):
        lines.append(f"{a},{b},{c},{value!r}")
    (tmp_path / "data.csv").write_text("\n".join(lines))
    return [str(tmp_path / "data.csv"), "-o", str(tmp_path / "out.npz"), "--quiet"]


@pytest.mark.parametrize("command", ["fit", "complete"])
def test_a_command_is_resumed(words, tmp_path, capsys, command):
    run = ["--checkpoint", str(tmp_path / "run.npz"), "--checkpoint-every", "0", "--json"]
    assert main([command, *words, *run, "--max-iterations", "5"]) == 0
    cut = json.loads(capsys.readouterr().out)
    assert cut["status"] == "ITERATION_LIMIT"
    assert main([command, *words, *run, "--resume"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert main([command, *words, "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    for name in ("status", "objective", "bound", "radius", "boxes", "iterations"):
        assert found[name] == whole[name]
    kept = read_tree(tmp_path / "run.npz")
    assert "result" in kept.tree["content"]["entries"]["fit, 0"]


def refused(capsys, words):
    assert main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_what_is_wrong_is_said_first(words, tmp_path, capsys):
    gone = ["fit", str(tmp_path / "not-there.csv"), *words[1:]]
    run = ["--checkpoint", str(tmp_path / "run.npz")]
    (tmp_path / "run.npz").write_bytes(b"something")
    assert "is there already; go on from it" in refused(capsys, [*gone, *run])
    assert "cannot be read as a checkpoint" in refused(capsys, [*gone, *run, "--resume"])
    assert (tmp_path / "run.npz").read_bytes() == b"something"
    place = ["--checkpoint", str(tmp_path / "nowhere" / "run.npz")]
    assert "there is no folder" in refused(capsys, [*gone, *place])
    assert "resume needs the file" in refused(capsys, [*gone, "--resume"])
    assert "checkpoint_every" in refused(capsys, [*gone, *place, "--checkpoint-every", "-1"])
    for other in (words[2], gone[1]):
        line = refused(capsys, [*gone, "--checkpoint", other])
        assert "is another file of this command too" in line
