"""What the pages say about the code and the measurements is what is there."""

import itertools
import re
from pathlib import Path

import typer

import intensor
from intensor.cli import demo
from intensor.cli.app import app
from intensor.options import declared
from intensor.oracles.cascade import EXACT_CHOICES
from intensor.oracles.contraction import PerCell, PerIndexRemembered
from intensor.solver.paper.rows import DenseRows, SparseRows
from intensor.solver.paper.steps import AcceleratedDescent, PairwiseStep, SimplexDescent
from intensor.solver.variants import VERSIONS

ROOT = Path(__file__).parents[2]
WORDS = {
    SimplexDescent: "simplex descent",
    AcceleratedDescent: "accelerated descent",
    PairwiseStep: "pairwise step",
    DenseRows: "dense",
    SparseRows: "sparse",
    PerCell: "per cell",
    PerIndexRemembered: "per index",
}


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_reference_has_every_public_name():
    page = read("docs/api.md")
    for name in intensor.__all__:
        kinds = "automodule" if name in ("errors", "plots", "report") else "autofunction|autoclass"
        assert re.search(rf"^\.\. (?:{kinds}):: intensor\.{name}$", page, flags=re.M), name


def test_the_table_of_versions_is_the_one_in_the_code():
    rows = re.findall(r"^\| (\d+) \| (.+?) \| (.+?) \| (.+?) \|$", read("docs/method.md"), re.M)
    assert [int(number) for number, *_ in rows] == [name for name in VERSIONS if name != "fast"]
    for number, *words in rows:
        version = VERSIONS[int(number)]
        assert words == [WORDS[version.step], WORDS[version.rows], WORDS[version.contraction]]


def test_every_status_is_explained():
    text = read("docs/certificate.md")
    assert all(f"`{status.name}`" in text for status in intensor.Status)


def test_the_first_minute_is_what_the_demo_says():
    shown = read("docs/quickstart.md").split("## The first minute")[1]
    assert demo.FIRST_WORDS.strip() in shown
    assert "It is no worse on held-out cells than" in shown


def test_every_effort_and_default_is_in_the_tables_of_choices():
    text = read("docs/choosing.md")
    assert all(f'`"{name}"`' in text for name in declared.EFFORT.choices)
    for option in declared._CHOICES:
        if isinstance(option.default, str):
            assert f'| `{option.name}` | `"{option.default}"` |' in text


def test_every_exact_oracle_is_named():
    text = read("docs/choosing.md")
    assert all(f'`"{choice}"`' in text for choice in EXACT_CHOICES)


def test_every_command_has_a_section():
    sections = re.findall(r"^## `intensor (\w+)", read("docs/cli.md"), flags=re.M)
    assert sorted(sections) == sorted(typer.main.get_command(app).commands)


PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "benchmarks/README.md"]
PAGES += sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))


def test_files_that_a_page_names_are_there():
    file = r"\b(?:src|tests|docs|benchmarks|examples)/[\w/.-]+\.(?:py|md)"
    for page in PAGES:
        named = re.findall(file, read(page))
        assert [name for name in named if not (ROOT / name).exists()] == [], page


def test_modules_of_the_architecture_are_there():
    there = [f"/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "src").rglob("*.py")]
    for module in re.findall(r"`([a-z_]+/[\w/]+\.py)`", read("ARCHITECTURE.md")):
        found = any(path.endswith(f"/{module}") for path in there)
        assert found or (ROOT / module).exists(), module


def figures(text):
    """Return all numbers with a point or an exponent."""
    return set(re.findall(r"(?<![\w.])\d+(?:\.\d+(?:e[+-]?\d+)?|e[+-]?\d+)(?![\w.])", text))


def test_figures_of_the_benchmarks_are_those_of_the_reports():
    measured = figures(read("benchmarks/RESULTS.md")) | figures(read("benchmarks/README.md"))
    quoted = figures(read("docs/benchmarks.md"))
    assert len(quoted) > 80
    assert quoted <= measured, sorted(quoted - measured)


def test_rows_of_the_benchmarks_are_rows_of_the_reports():
    """A row quotes cells of one row of a report, in their order."""
    reports = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in itertools.chain(
            read("benchmarks/RESULTS.md").splitlines(), read("benchmarks/README.md").splitlines()
        )
        if line.startswith("|")
    ]
    page = read("docs/benchmarks.md")
    rows = re.findall(r"^\| (?:\d+\^\d n=|picture).*\|$", page, flags=re.M)
    assert len(rows) == 10
    for row in rows:
        cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
        assert any(is_within(cells, report) for report in reports), row


def test_pairs_of_errors_are_those_of_the_reports():
    pairs = re.findall(r"\d+\.\d+ / \d+\.\d+", read("docs/benchmarks.md"))
    reports = read("benchmarks/RESULTS.md") + read("benchmarks/README.md")
    assert len(pairs) > 20
    assert [pair for pair in pairs if f" {pair} " not in reports] == []


def is_within(cells, row):
    left = iter(row)
    return all(cell in left for cell in cells)
