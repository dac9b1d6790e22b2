"""What the README shows must run."""

import doctest
import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


@pytest.fixture(scope="module")
def text():
    return README.read_text()


@pytest.mark.needs_jit
def test_the_session_runs(text):
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    session = parser.get_doctest("\n".join(blocks), {}, "README", str(README), 0)
    assert len(session.examples) >= 15
    runner.run(session)
    assert runner.summarize(verbose=False).failed == 0


def test_there_are_two_commands_of_one_line(text):
    commands = re.findall(r"```sh\n(.*?)\n```", text, flags=re.DOTALL)
    assert [command.split()[-2:] for command in commands] == [
        [".venv/bin/intensor", "demo"],
        ["--dist", "worksteal"],
    ]
    assert all("\n" not in command for command in commands)


def test_linked_files_exist(text):
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    assert len(links) >= 3
    assert all((README.parent / link).exists() for link in links)
