"""A process that reads damaged files: for each line "FORMAT NUMBER" it answers a line of JSON.

Its memory is limited and it may die at any moment; ``pool`` starts it again. Every case runs in an
empty folder, with an audit hook that records events that no reader should cause.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import shutil
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

from fuzz.formats import FORMATS, MOST_BYTES, Case, Format, made

ADDRESS_SPACE = 3 << 30
"""Bytes of address space that the process may take after its start."""
NEVER = ("pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen")
NEVER += ("socket.connect", "ctypes.dlopen", "shutil.rmtree")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Watch:
    """Records forbidden events while a case runs."""

    def __init__(self) -> None:
        self.inside: Path | None = None
        self.seen: list[str] = []
        sys.addaudithook(self._record)

    def _record(self, event: str, arguments: tuple) -> None:
        if self.inside is None:
            return
        if event in NEVER and not _of_numba():
            self.seen.append(f"{event} {arguments!r}"[:200])
        elif event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITES:
            path = str(arguments[0])
            known = path.startswith(str(self.inside)) or "__pycache__" in path or _of_numba()
            if isinstance(arguments[0], str | bytes | os.PathLike) and not known:
                self.seen.append(f"write to {path}"[:200])

    @classmethod
    @contextlib.contextmanager
    def in_this_process(cls):
        """Yield a watch; what exists now is not collected again and again meanwhile."""
        gc.collect()
        gc.freeze()
        try:
            yield cls()
        finally:
            gc.unfreeze()

    @contextlib.contextmanager
    def over(self, folder: Path):
        """Watch while the body runs."""
        self.seen, self.inside = [], folder
        try:
            yield
        finally:
            self.inside = None


def _of_numba() -> bool:
    """Return whether Numba is the cause: it stores compiled code in pickles of its own."""
    frame = sys._getframe()
    while frame is not None:
        if f"{os.sep}numba{os.sep}" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def peak() -> int:
    """Return the largest resident memory since ``forget_peak``, in bytes."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def forget_peak() -> None:
    """Reset the peak, where the system can."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def run_case(one: Format, case: Case, watch: Watch) -> dict[str, object]:
    """Run one case and return its outcome: accepted, refused with an error of ours, or a fault."""
    outer = Path(tempfile.mkdtemp(prefix="fuzz-"))
    folder = outer / "inner"
    folder.mkdir()
    beside = dict(made(one.beside))
    path = folder / one.file
    path.write_bytes(case.blob)
    for name, content in beside.items():
        (folder / name).write_bytes(content)
    answer: dict[str, object] = {"format": one.name, "case": case.description}
    size = len(case.blob)
    del case
    os.chdir(folder)
    gc.collect()
    forget_peak()
    before = peak()
    try:
        with warnings.catch_warnings(record=True) as escaped, watch.over(folder):
            warnings.simplefilter("always")
            try:
                one.read(path)
                answer["outcome"] = "accepted"
            except one.allowed as problem:
                answer["outcome"] = "refused"
                answer["error"] = f"{type(problem).__name__}: {problem}"[:300]
        used = peak() - before
        faults = [f"warning {one.category.__name__}: {one.message}" for one in escaped]
        faults += watch.seen
        if used > MOST_BYTES + size:
            faults.append(f"{used // 10**6} MB were used for {size} bytes")
        left = {str(found.relative_to(outer)) for found in outer.rglob("*")}
        if more := left - {"inner", f"inner/{one.file}", *(f"inner/{name}" for name in beside)}:
            faults.append(f"left behind: {sorted(more)}")
        if Path("/escaped.npy").exists():
            faults.append("a file was written outside")
        answer["used"] = used
        if faults:
            answer |= {"outcome": "fault", "faults": faults[:5]}
    except BaseException as problem:
        text = traceback.format_exc().splitlines()
        lines = [line.strip() for line in text if "intensor" in line or "fuzz" in line][-3:]
        answer |= {
            "outcome": "fault",
            "faults": [f"{type(problem).__name__}: {problem}"[:300], *lines],
        }
    finally:
        os.chdir("/")
        shutil.rmtree(outer, ignore_errors=True)
    return answer


def serve() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # other output must not mix with the answers
    for name in ("model", "csv", "parquet", "tns", "npz", "mat"):
        run_case(FORMATS[name], FORMATS[name].mutation(10**6), Watch())  # imports and compiles
    gc.collect()
    gc.freeze()  # what exists now is never examined again, so that collecting is cheap
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit = taken + ADDRESS_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    watch = Watch()
    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        name, number = line.split()
        answer = run_case(FORMATS[name], FORMATS[name].case(int(number)), watch)
        answers.write(json.dumps({"number": int(number), **answer}) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve()
