import errno
import warnings

import pytest

from intensor.cli.failures import guard, say
from intensor.cli.output import ReaderGoneError, write_json
from intensor.errors import DenseTooLargeError, RadiusWarning, SettingError


def failing(problem):
    def work():
        raise problem

    return work


@pytest.mark.parametrize(
    ("problem", "code", "words"),
    [
        (SettingError("radius is\n bad"), 2, "radius is bad"),
        (DenseTooLargeError("too many"), 2, "too many"),
        (MemoryError(), 2, "not enough memory"),
        (OSError(errno.ENOSPC, "No space left on device", "out.csv"), 2, "out.csv: No space left"),
        (
            PermissionError(errno.EACCES, "Permission denied", "a.csv"),
            2,
            "a.csv: Permission denied",
        ),
        (ZeroDivisionError("oops"), 3, "--debug"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_exit_codes(capsys, problem, code, words):
    assert guard(failing(problem), debug=False) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert printed.err.startswith("error: ")
    assert words in printed.err


def test_a_reader_that_left_is_no_news(capsys):
    assert guard(failing(ReaderGoneError()), debug=False) == 141
    assert capsys.readouterr().err == ""


def test_warnings_are_lines(capsys):
    def work():
        warnings.warn("values above\nthe radius", RadiusWarning, stacklevel=1)
        return 0

    assert guard(work, debug=False) == 0
    assert capsys.readouterr().err == "warning: values above the radius\n"


def test_debug_keeps_the_traceback(capsys):
    assert guard(failing(ZeroDivisionError("oops")), debug=True) == 3
    assert "ZeroDivisionError: oops" in capsys.readouterr().err


def test_letters_that_command_terminals_are_spelt_out(capsys):
    say("error", "a\x1b[2Jb\u202e")
    assert capsys.readouterr().err == "error: a\\x1b[2Jb\\u202e\n"


def test_json_has_no_word_for_infinity(capsys):
    write_json({"a": float("inf"), "b": [float("nan"), 1.5], "c": {"d": (1, None, True)}})
    assert '"a": null' in (printed := capsys.readouterr().out)
    assert "NaN" not in printed
    assert "Infinity" not in printed
