"""What the pages show must run."""

import ast
import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(path.name for path in DOCS.glob("*.md"))
BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<why>.+?) -->\n+)?^```python\n(?P<code>.*?)^```", re.M | re.S
)
RUN_ELSEWHERE = {
    "containers.md": "tests/test_complete.py",
    "estimator.md": "tests/test_estimator.py",
    "file-formats.md": "tests/fitting/test_model_file.py",
}
NOT_RUN = {"scale.md": "needs a device, a cluster, or files that are not here"}


def blocks_of(page):
    return list(BLOCK.finditer((DOCS / page).read_text(encoding="utf-8")))


def sessions(page):
    return [block["code"] for block in blocks_of(page) if block["code"].startswith(">>> ")]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page not in RUN_ELSEWHERE and sessions(page)]
)
def test_sessions_run(page):
    found = doctest.DocTestParser().get_doctest("\n".join(sessions(page)), {}, page, page, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(found)
    assert runner.summarize(verbose=False).failed == 0


def test_there_is_something_to_run():
    written = {page: len(sessions(page)) for page in PAGES}
    for page, least in {
        "quickstart.md": 5,
        "faq.md": 10,
        "certificate.md": 4,
        "choosing.md": 2,
    }.items():
        assert written[page] >= least


def test_code_runs_or_says_why_not():
    blocks = [(page, block) for page in PAGES for block in blocks_of(page)]
    for page, block in blocks:
        if not block["code"].startswith(">>> "):
            ast.parse(block["code"])
            assert block["why"] or page in NOT_RUN or page in RUN_ELSEWHERE, (
                f"{page}: write this block as a session with >>>, which is run, or put "
                f"<!-- not run: why --> before it:\n{block['code']}"
            )


def test_linked_files_exist():
    # Sphinx knows pages only; whoever reads them in the repository follows all links.
    for page in PAGES:
        text = (DOCS / page).read_text(encoding="utf-8")
        text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
        for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
            assert (DOCS / link).exists(), f"{page} links to {link}"


@pytest.mark.parametrize("page", RUN_ELSEWHERE)
def test_what_is_run_elsewhere_is(page):
    root = DOCS.parent
    assert page in (root / RUN_ELSEWHERE[page]).read_text(encoding="utf-8")
