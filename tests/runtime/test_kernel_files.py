"""Kernels work and say so once, whatever becomes of the files that they are kept in."""

import errno
import importlib.util
import itertools
import logging
import os
import pickle
import subprocess
import sys
from textwrap import dedent

import numba
import pytest

from intensor.kernels import gram
from intensor.oracles.exact import scan
from intensor.runtime import compiling, kernel_files
from intensor.runtime.kernel_files import Files, KernelFile, source_stamp
from intensor.runtime.stopwatch import Stopwatch

pytestmark = pytest.mark.needs_jit

KERNELS = """
    from intensor.runtime.compiling import njit

    @njit(cache=True, nogil=True)
    def twice(number):
        return 2 * number

    @njit(cache=True, nogil=True)
    def four_times(number):
        return twice(twice(number))
"""


class Probe:
    """Two small kernels, a folder for their files, and the log."""

    def __init__(self, folder, monkeypatch, caplog):
        self.folder = folder
        self.cache = folder / "cache"
        self.watch = Stopwatch()
        self._patch = monkeypatch
        self._log = caplog
        self._numbers = itertools.count()
        (folder / "probe.py").write_text(dedent(KERNELS))
        monkeypatch.setattr(numba.config, "CACHE_DIR", str(self.cache))
        caplog.set_level(logging.INFO, logger="intensor")

    def run(self):
        """Call the kernels as a fresh process would; return hits, and levels and lines logged."""
        files = Files()
        for module in (compiling, kernel_files):
            self._patch.setattr(module, "FILES", files)
            self._patch.setattr(module, "COMPILING", self.watch)
        self._log.clear()
        name = f"probe_{next(self._numbers)}"
        spec = importlib.util.spec_from_file_location(name, self.folder / "probe.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert (module.four_times(3), module.twice(1.5)) == (12, 3.0)
        hits = sum(module.four_times.stats.cache_hits.values())
        lines = [record.getMessage() for record in self._log.records]
        return hits, [record.levelname for record in self._log.records], lines

    def files(self):
        return sorted(self.cache.rglob("*.nbc"))


@pytest.fixture
def probe(tmp_path, monkeypatch, caplog):
    return Probe(tmp_path, monkeypatch, caplog)


def test_the_first_compilation_is_announced_and_the_next_process_loads(probe):
    hits, levels, lines = probe.run()
    assert (hits, levels) == (0, ["INFO"])
    assert "does not count against time limits" in lines[0]
    compiled = probe.watch.seconds()
    assert compiled > 0.0
    assert probe.run() == (1, [], [])
    assert probe.watch.seconds() > compiled, "loading takes time that is no work either"


def test_under_a_time_limit_the_announcement_is_one_that_everyone_sees(probe):
    probe.watch.limited = True
    assert probe.run()[1] == ["WARNING"]


def test_kernels_of_others_are_counted_but_not_announced(probe, caplog):
    probe.run()
    caplog.clear()
    seconds = probe.watch.seconds()
    assert numba.njit(lambda number: number + 1)(1) == 2
    assert caplog.records == []
    assert probe.watch.seconds() > seconds


# --- files that cannot be written


def refusing(number, message):
    def refuse(*unused, **options):
        raise OSError(number, message)

    return refuse


def test_without_a_folder_kernels_work_and_say_so_once(probe, monkeypatch):
    refuse = refusing(errno.EROFS, "Read-only file system")
    with monkeypatch.context() as patch:
        patch.setattr("numba.core.caching.tempfile.TemporaryFile", refuse)
        hits, levels, lines = probe.run()
    assert (hits, levels) == (0, ["WARNING"])
    assert "every process" in lines[0]
    assert "no locator available" in lines[0]
    assert "NUMBA_CACHE_DIR" in lines[0]
    assert not probe.files()


def test_a_full_disk_turns_storing_off_with_one_line(probe, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", refusing(errno.ENOSPC, "No space left on device"))
        hits, levels, lines = probe.run()
    assert (hits, levels) == (0, ["INFO", "WARNING"])
    assert "No space left on device" in lines[1]
    assert not probe.files()
    assert probe.run()[:2] == (0, ["INFO"]), "the next process can store again"
    assert probe.run() == (1, [], [])


PROGRAM = """
    import numpy as np

    import intensor

    coords = np.array([[0, 0], [0, 1], [1, 0]])
    result = intensor.solve(coords, [1.0, 1.0, 0.0], radius=1.0, version=1, exact="highs")
    print(result.status)
"""


@pytest.mark.slow
def test_a_solve_works_where_nothing_can_be_written(tmp_path):
    # A file instead of every folder that Numba tries: those of the environment are the
    # user's own, and the one beside the sources is taken away.
    (tmp_path / "file").write_text("")
    nowhere = str(tmp_path / "file" / "folder")
    program = """
        import numba.core.caching
        numba.core.caching.InTreeCacheLocator.from_function = classmethod(lambda *unused: None)
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", dedent(program) + dedent(PROGRAM)],
        env={
            **os.environ,
            "NUMBA_CACHE_DIR": nowhere,
            "HOME": nowhere,
            "XDG_CACHE_HOME": nowhere,
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["OPTIMAL"], done.stderr
    assert done.stderr.count("cannot be kept") == 1
    assert len(done.stderr.splitlines()) == 1


# --- files that cannot be read


def truncated(data):
    return data[: len(data) // 2]


def empty(data):
    return b""


def garbage(data):
    return b"\x93garbage" * 50


def foreign(data):
    return pickle.dumps("something else")


@pytest.mark.parametrize(
    "damage",
    [garbage, *(pytest.param(one, marks=pytest.mark.slow) for one in (truncated, empty, foreign))],
)
def test_damaged_files_are_compiled_again_and_replaced(probe, damage, monkeypatch):
    probe.run()
    files = probe.files()
    assert files
    for file in files:
        file.write_bytes(damage(file.read_bytes()))
    with monkeypatch.context() as patch:  # which does no harm
        patch.setattr("os.replace", refusing(errno.EACCES, "Permission denied"))
        hits, levels, lines = probe.run()
    assert (hits, levels) == (0, ["WARNING", "INFO", "WARNING"])
    assert "Permission denied" in lines[2]
    hits, levels, lines = probe.run()
    assert (hits, levels) == (0, ["WARNING", "INFO"])
    assert "cannot be read" in lines[0]
    assert probe.run() == (1, [], [])


def test_entries_under_another_name_are_not_taken(probe):
    probe.run()
    one, two = (file for file in probe.files() if "twice" in file.name)
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)  # code for floats where integers are expected, and the other way round
    two.write_bytes(first)
    probe.run()


def key_of(*types):
    return types, ("x86_64", "any"), ("digest of the code", "of closures")


def file_in(folder, stamp="1"):
    return KernelFile(cache_path=str(folder), filename_base="kernel-1.py", source_stamp=stamp)


def test_an_entry_is_known_by_its_key_and_its_sources(tmp_path, monkeypatch):
    file = file_in(tmp_path)
    file.save(key_of("float64"), "code for floats")
    assert file.load(key_of("float64")) == "code for floats"
    assert file.load(key_of("int64")) is None
    types, processor, _ = key_of("float64")
    assert file.load((types, processor, ("another digest", ""))) is None
    assert file_in(tmp_path, "2").load(key_of("float64")) is None
    with monkeypatch.context() as patch:
        patch.setattr(numba, "__version__", "0.1")
        assert file_in(tmp_path).load(key_of("float64")) is None
    file_in(tmp_path, "2").save(key_of("float64"), "newer code")
    assert file_in(tmp_path, "2").load(key_of("float64")) == "newer code"
    assert len(list(tmp_path.iterdir())) == 1, "a file is replaced when its sources change"


def test_processes_that_compile_at_the_same_time_keep_each_others_entries(tmp_path):
    one, two = file_in(tmp_path), file_in(tmp_path)
    assert one.load(key_of("float64")) is two.load(key_of("int64")) is None
    one.save(key_of("float64"), "code for floats")
    two.save(key_of("int64"), "code for integers")
    later = file_in(tmp_path)
    assert later.load(key_of("float64")) == "code for floats"
    assert later.load(key_of("int64")) == "code for integers"


# --- files that are out of date


def load(folder, name):
    sys.modules.pop(name, None)
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("3 * number", "5 * number"),
        pytest.param("LIMIT = 7", "LIMIT = 8", marks=pytest.mark.slow),
        pytest.param("1000", "1001", marks=pytest.mark.slow),
    ],
)
def test_a_kernel_is_compiled_again_when_one_that_it_calls_has_changed(
    probe, monkeypatch, before, after
):
    inner = """
        from intensor.runtime.compiling import njit

        LIMIT = 7

        @njit(cache=True)
        def thrice(number):
            return 3 * number + 1000
    """
    outer = """
        from inner import LIMIT, thrice
        from intensor.runtime.compiling import njit

        @njit(cache=True)
        def bounded(number):
            return max(LIMIT, thrice(number))
    """
    for name in ("inner", "outer"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (probe.folder / "inner.py").write_text(dedent(inner))
    (probe.folder / "outer.py").write_text(dedent(outer))
    monkeypatch.syspath_prepend(probe.folder)

    def answers():
        kernel_files._digest.cache_clear()
        load(probe.folder, "inner")
        kernel = load(probe.folder, "outer").bounded
        return kernel(1), kernel(-1000), sum(kernel.stats.cache_hits.values())

    assert answers() == (1003, 7, 0)
    assert answers() == (1003, 7, 1)
    (probe.folder / "inner.py").write_text(dedent(inner).replace(before, after))
    assert answers() in {(1005, 7, 0), (1003, 8, 0), (1004, 7, 0)}
    monkeypatch.delitem(sys.modules, "inner")
    monkeypatch.delitem(sys.modules, "outer")


@pytest.mark.parametrize(
    ("kernel", "file", "depends"),
    [
        (scan.scan, "scan.py", True),
        (scan.scan, "blocks.py", True),  # whose kernels it calls
        (scan.scan, "lanes.py", False),
        (gram.gram_rows, "bits.py", True),  # an intrinsic
    ],
)
def test_a_kernel_depends_on_the_files_of_all_that_it_calls(monkeypatch, kernel, file, depends):
    before = source_stamp(kernel.py_func)
    assert before == source_stamp(kernel.py_func)
    digest = kernel_files._digest
    monkeypatch.setattr(
        kernel_files, "_digest", lambda path: "new" if path.endswith(f"/{file}") else digest(path)
    )
    assert (source_stamp(kernel.py_func) != before) == depends
