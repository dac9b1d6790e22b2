"""What is in the built files, and the lowest versions that ``pyproject.toml`` allows.

    python packages.py contents DIST TREE
    python packages.py lowest PYPROJECT

Used by ``.ci/release``; needs nothing but Python itself.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path, PurePosixPath

LOWEST = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*>=\s*([0-9][0-9a-z.]*)$")
SUFFIXES = {".py", ".css", ".csv", ".typed"}
"""Of what the package consists of."""


def main() -> int:
    """Do what the command line says; the exit code says whether all is well."""
    match sys.argv[1:]:
        case ["contents", dist, tree]:
            return contents(Path(dist), Path(tree))
        case ["lowest", pyproject]:
            sys.stdout.write("".join(f"{line}\n" for line in lowest(Path(pyproject))))
            return 0
    sys.stderr.write(f"expected: {' or '.join(__doc__.split('    ')[1:3])}\n")
    return 2


def lowest(pyproject: Path) -> list[str]:
    """Return a constraint for every dependency that has a lower bound, extras included."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    extras = project.get("optional-dependencies", {})
    asked = [*project["dependencies"], *(line for lines in extras.values() for line in lines)]
    found: dict[str, str] = {}
    for line in asked:
        name = re.split(r"[\[<>=! ]", line)[0]
        if name == project["name"]:
            continue
        bound = LOWEST.match(line.strip())
        if bound is None:
            if "<" in line and ">=" not in line:  # "numpy<2.5" of an extra is an upper bound
                continue
            raise SystemExit(f"{line!r} of {pyproject} has no lower bound of the form name>=1.2")
        found.setdefault(bound[1].lower(), bound[2])
    return [f"{name}=={version}" for name, version in sorted(found.items())]


def contents(dist: Path, tree: Path) -> int:
    """Compare the files in wheel and sdist with those that git knows."""
    (wheel,) = dist.glob("*.whl")
    (sdist,) = dist.glob("*.tar.gz")
    listed = subprocess.run(
        ["git", "-C", str(tree), "ls-files", "-z"], check=True, capture_output=True, text=True
    )
    known = set(listed.stdout.split("\0")) - {""}
    wrong = [*check_wheel(wheel, known), *check_sdist(sdist, known)]
    for line in wrong:
        sys.stderr.write(f"error: {line}\n")
    for path in (wheel, sdist):
        sys.stdout.write(f"  {path.name}: {path.stat().st_size / 1024:.0f} KiB\n")
    return 1 if wrong else 0


def check_wheel(path: Path, known: set[str]) -> list[str]:
    """The wheel holds the package, its metadata and licence, and nothing else."""
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        info = next(name.split("/")[0] for name in names if ".dist-info/" in name)
        metadata = message_from_bytes(archive.read(f"{info}/METADATA"))
        scripts = archive.read(f"{info}/entry_points.txt").decode()
    package = {name for name in names if not name.startswith(f"{info}/")}
    expected = {name.removeprefix("src/") for name in known if name.startswith("src/")}
    wrong = [f"{path.name} lacks {name}" for name in sorted(expected - package)]
    wrong += [f"{path.name} has a stray {name}" for name in sorted(package - expected)]
    odd = {name for name in package if PurePosixPath(name).suffix not in SUFFIXES}
    wrong += [f"{path.name} has {name}, which is no part of a package" for name in sorted(odd)]
    needed = {"intensor/py.typed", "intensor/datasets/flights.csv", f"{info}/licenses/LICENSE"}
    wrong += [f"{path.name} lacks {name}" for name in sorted(needed - names)]
    if "intensor = intensor.cli:main" not in scripts:
        wrong.append(f"{path.name} has no command intensor: {scripts!r}")
    for field in ("Name", "Version", "Summary", "Requires-Python", "License-Expression"):
        if not metadata[field]:
            wrong.append(f"{path.name} says nothing about {field}")
    return wrong


def check_sdist(path: Path, known: set[str]) -> list[str]:
    """The sdist holds files of the repository alone, and all that a build and the tests need."""
    with tarfile.open(path) as archive:
        members = [member for member in archive.getmembers() if not member.isdir()]
    names = {member.name.split("/", 1)[1] for member in members}
    wrong = [
        f"{path.name} has {member.name}, no plain file" for member in members if not member.isfile()
    ]
    wrong += [f"{path.name} has a stray {name}" for name in sorted(names - known - {"PKG-INFO"})]
    needed = {name for name in known if name.startswith(("src/", "tests/"))}
    needed |= {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml"}
    return wrong + [f"{path.name} lacks {name}" for name in sorted(needed - names)]


if __name__ == "__main__":
    raise SystemExit(main())
