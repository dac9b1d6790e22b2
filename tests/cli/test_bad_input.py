"""Every bad input: one sentence on stderr, exit code 2, no traceback, no file touched."""

import json
import os

import numpy as np
import pytest

from cli.commands import run
from intensor.fitting.model_file import FORMAT_VERSION

GOOD = "user,item,rating\nann,x,3\nbob,y,4\n"
BAD_DATA = {
    "empty": ("data.csv", "", ["is empty"]),
    "no number": ("data.csv", "user,item,rating\nann,x,3\nbob,y,four\n", ["line 3", "'four'"]),
    "negative": ("data.csv", "user,item,rating\nann,x,3\nbob,y,-4\n", ["line 3", "-4"]),
    "no value": ("data.csv", "user,item,rating\nann,x,\nbob,y,\n", ["no value"]),
    "no label": ("data.csv", "user,item,rating\n,x,3\n,y,4\n", ["user"]),
    "one label": ("data.csv", "user,item,rating\nann,x,3\n ann,y,4\n", ["ann"]),
    "binary": ("data.csv", "\0\1\2\3", []),
    "short line": ("data.tns", "1 1 2.0\n1 2\n", ["line 2"]),
    "no cells": ("data.tns", "# nothing\n", []),
}
"""Data that is refused, by name: one case per kind of error; the readers' tests have them all."""


@pytest.fixture
def output(tmp_path):
    return tmp_path / "model.npz"


@pytest.mark.parametrize(("name", "text", "parts"), BAD_DATA.values(), ids=BAD_DATA)
def test_bad_data_is_refused(tmp_path, output, refused, name, text, parts):
    path = tmp_path / name
    path.write_text(text)
    value = "--value rating" if name.endswith(".csv") else ""
    message = refused("fit", path, value, "-o", output, "--radius 5 -q")
    for part in (*parts, name):
        assert part in message


@pytest.mark.parametrize("option", ["--value", "--mode", "--weight"])
def test_a_wrong_column_gets_a_suggestion(table, output, refused, option):
    columns = {"--value": "rating", option: "ratig" if option == "--value" else "usr"}
    message = refused("fit", table, *sum(columns.items(), ()), "-o", output)
    assert f"did you mean {'rating' if option == '--value' else 'user'!r}" in message


def test_the_column_of_values_must_be_named(table, output, refused):
    message = refused("fit", table, "-o", output)
    assert "'value'" in message
    assert "'rating'" in message


BAD_OPTIONS = {
    "--radius": ["-1", "0", "nan", "inf", "wide"],
    "--validation": ["1", "0", "2.5", "some"],
    "--version": ["11", "slow", "2.5"],
    "--n-solutions": ["0", "many"],
    "--n-radii": ["0"],
    "--rtol": ["-1", "nan", "some"],
    "--tol": ["-1"],
    "--time-limit": ["-1"],
    "--max-iterations": ["-1"],
    "--threads": ["0"],
    "--memory-limit": ["much", "0"],
    "--seed": ["-1"],
    "--transform": ["cube"],
    "--baseline": ["mean"],
    "--remainder": ["krige"],
    "--scoring": ["r2"],
    "--exact": ["magic"],
    "--device": ["tpu"],
    "--format": ["xlsx"],
}


def test_bad_options_are_refused_by_name(table, output, refused):
    for option, values in BAD_OPTIONS.items():
        for value in values:
            message = refused("fit", table, "--value", "rating", "-o", output, option, value)
            assert option.strip("-").replace("-", "_") in message.replace("-", "_"), value


def test_additive_needs_fast(table, output, refused):
    arguments = ["--baseline", "additive", "--version", "3"]
    assert "fast" in refused("fit", table, "--value", "rating", "-o", output, *arguments)


def test_bad_usage_is_explained(refused):
    assert "did you mean" in refused("complet").lower()
    assert "command" in refused()
    assert "DATA" in refused("fit", "-o", "model.npz")
    assert "--output" in refused("fit", "data.csv")
    assert "--colour" in refused("info", "model.npz", "--colour")


@pytest.mark.parametrize(
    ("command", "name", "message"),
    [
        ("fit", "missing/model.npz", "no folder"),
        ("fit", "model.pkl", ".npz"),
        ("fit", ".", ""),
        ("complete", "full.xlsx", ".csv"),
        ("complete", "missing/full.csv", "no folder"),
        ("complete", "ratings.csv", "input"),
    ],
)
def test_bad_outputs_are_refused_before_the_data_is_read(table, refused, command, name, message):
    wrong = table.parent / name
    if name != "ratings.csv":
        table.unlink()
    assert message in refused(command, table, "--value", "rating", "-o", wrong)


@pytest.mark.parametrize("command", ["fit", "report"])
def test_outputs_that_only_look_writable_are_refused(command, model, table, tmp_path, refused):
    """Files that cannot be written are refused before the fit, not after it."""
    suffix = {"fit": ".npz", "report": ".html"}[command]
    commands = {"fit": ["fit", table, "--value", "rating"], "report": ["report", model, table]}
    cases = {"dangling": tmp_path / "gone" / "x", "device": "/dev/null", "folder": tmp_path}
    for name, target in cases.items():
        link = tmp_path / f"{name}{suffix}"
        link.symlink_to(target)
        assert f"{link}: cannot be written, since " in refused(*commands[command], "-o", link)
    long = tmp_path / f"{'n' * 300}{suffix}"
    assert "File name too long" in refused(*commands[command], "-o", long)


def test_pipes_and_devices_are_no_data(tmp_path, output, refused):
    """They can be read once, and a pipe without a writer would wait forever."""
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    link = tmp_path / "null.parquet"
    link.symlink_to("/dev/null")
    for path in (pipe, link):
        assert "not a regular file" in refused("fit", path, "-o", output)
    assert "not a regular file" in refused("info", pipe)


def test_inputs_are_not_overwritten(table, model, tmp_path, refused):
    assert "input" in refused("predict", model, table, "-o", table)
    assert "input" in refused("predict", model, table, "-o", model)
    link = tmp_path / "link.csv"
    link.symlink_to(table)
    assert "input" in refused("complete", table, "--value", "rating", "-o", link)
    assert ".html" in refused("report", model, table, "-o", tmp_path / "page.pdf")


def test_missing_files_are_named(tmp_path, table, model, output, refused):
    missing = tmp_path / "missing.csv"
    assert "no such file" in refused("fit", missing, "-o", output)
    assert "folder" in refused("fit", tmp_path, "--format", "csv", "-o", output)
    for command in ("info", "verify", "predict"):
        data = [] if command == "info" else [table]
        assert "missing.npz" in refused(command, tmp_path / "missing.npz", *data)
    assert "missing.csv" in refused("verify", model, missing)
    assert "missing.csv" in refused("predict", model, missing)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read anything")
def test_unreadable_files_are_refused(table, output, refused):
    table.chmod(0)
    assert "ermission" in refused("fit", table, "--value", "rating", "-o", output)


@pytest.mark.parametrize("suffix", [".npz", ".parquet", ".mat"])
def test_truncated_data_is_refused(tmp_path, output, refused, suffix):
    path = tmp_path / f"data{suffix}"
    np.savez(tmp_path / "complete.npz", coords=np.eye(40, dtype=int), values=np.ones(40))
    path.write_bytes((tmp_path / "complete.npz").read_bytes()[:300])
    assert f"data{suffix}" in refused("fit", path, "-o", output)


class TestModelFiles:
    def test_truncated_models_are_refused(self, model, saved, refused):
        for share in (0.0, 0.1, 0.5, 0.95):
            model.write_bytes(saved[: int(share * len(saved))])
            assert "model.npz" in refused("info", model)

    def test_other_archives_are_no_models(self, model, refused):
        np.savez(model, coords=np.eye(3), values=np.ones(3))
        assert "not a model file" in refused("info", model)

    def test_a_newer_version_is_refused(self, model, refused):
        with np.load(model) as archive:
            arrays = dict(archive)
        header = json.loads(arrays["header"].tobytes())
        header["format_version"] = FORMAT_VERSION + 1
        arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        np.savez(model, **arrays)
        assert "newer version" in refused("info", model)

    def test_a_model_of_other_data_is_refused(self, model, tmp_path, refused):
        path = tmp_path / "other.csv"
        path.write_text(GOOD)
        assert "'week'" in refused("verify", model, path)
        assert "'week'" in refused("predict", model, path)


def test_debug_shows_the_traceback(table, output, capsys):
    assert run("fit", table, "--value ratig -o", output, "--debug") == 2
    printed = capsys.readouterr().err
    assert "Traceback" in printed
    assert printed.splitlines()[-1].startswith("error: ")
