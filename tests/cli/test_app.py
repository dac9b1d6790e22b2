"""Help, version and documentation of all commands."""

import re
from pathlib import Path

import typer

import intensor
from cli.commands import run
from intensor.cli.app import app
from intensor.options import declared

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
COMMANDS = ["fit", "predict", "complete", "verify", "info", "report", "demo"]


def test_the_version_is_shown(capsys):
    assert run("--version") == 0
    assert capsys.readouterr().out == f"intensor {intensor.__version__}\n"


def test_help_names_commands_and_exit_codes(capsys):
    assert run("--help") == 0
    printed = capsys.readouterr().out
    for text in (*COMMANDS, "Exit codes", "130"):
        assert text in printed


def test_every_command_explains_itself(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for command in COMMANDS:
        assert run(command, "--help") == 0
        printed = capsys.readouterr().out
        for text in ("--quiet", "--json", "--debug"):
            assert text in printed, command


def test_the_page_lists_every_option():
    page = PAGE.read_text()
    known = set(re.findall(r"--[a-z][a-z0-9-]*", page))
    commands = typer.main.get_command(app).commands
    for command in COMMANDS:
        assert f"## `intensor {command}" in page
        for option in commands[command].params:
            for name in (*option.opts, *option.secondary_opts):
                if name.startswith("--"):
                    assert name in known, f"docs/cli.md does not mention {name}"


def test_the_page_shows_the_declared_defaults():
    section = PAGE.read_text().split("## `intensor fit")[1].split("## `intensor")[0]
    rows = dict(re.findall(r"^\| `(--[a-z-]+)` \| ([^|]*?) ?\|", section, flags=re.MULTILINE))
    for option in declared.FIT_OPTIONS:
        shown = rows[f"--{option.name.replace('_', '-')}"].strip("`")
        if option.default is None or option.default is False:
            assert shown == (option.shown_default or ""), option.name
        elif isinstance(option.default, str):
            assert shown == option.default
        else:
            assert float(shown) == option.default
