"""The page as text: well-formed, escaped, complete and small, whatever was fitted."""

import dataclasses
import html.parser
import itertools
import re

import numpy as np
import pytest

from graded_cases import graded_model_in
from intensor._verify import Check, Verification
from intensor.data.labels import Labels, number_labels
from intensor.errors import CoordinateError, ValuesError
from intensor.plots.text import count, number
from intensor.report import render
from intensor.report.page import headline, key_figures, status_notice
from intensor.report.sections import certificate_section
from intensor.report.summary import compare
from intensor.solver.result import Status
from report.cases import (
    HOSTILE,
    blended,
    hostile_labels,
    make_fit,
    plain,
    small_fit,
    with_bound,
    with_errors,
    without_terms,
)

VOID = {"meta", "link"}
ELEMENTS = """
    html head meta link title style body main header footer section h1 h2 h3 p b small span bdi dl
    dt dd div ul li figure figcaption table thead tbody tr th td details summary svg g defs path
    clippath rect use text
"""
ATTRIBUTES = """
    lang charset http-equiv content name rel href class style scope data-label tabindex role
    aria-label viewbox d x y id transform clip-path width height
"""


class Page(html.parser.HTMLParser):
    """Reads a page, and raises if something is not allowed or not nested properly."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.seen, self.texts = [], [], []
        self.titles, self.headings = [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in ELEMENTS.split(), f"<{tag}> does not belong on the page"
        for name, value in attrs:
            assert name in ATTRIBUTES.split(), f"{name}={value!r} does not belong on the page"
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert "svg" in self.open  # HTML has no tags that end themselves
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open
        assert self.open.pop() == tag

    def handle_data(self, data):
        where = self.open[-1] if self.open else ""
        if where == "style":
            return
        if where == "title" and "svg" not in self.open:
            self.titles.append(data)
        if re.fullmatch("h[1-6]", where):
            self.headings.append((int(where[1]), data))
        self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def page_of(made, coords, values, **more):
    text = render(made, coords, values, **more)
    text.encode("utf-8")
    return Page(text), text


VARIANTS = {
    "validated": lambda: make_fit(
        radius="auto", components="boxes", transform="auto", n_solutions=2, validation=2
    ),
    "all there is": lambda: make_fit(
        radius=60.0, transform="sqrt", baseline="additive", remainder="kriging", max_iterations=50
    ),
    "one mode": lambda: make_fit(shape=(7,), n=20),
    "one huge observation": lambda: small_fit(np.full(1, 1e60), radius=2e60),
    "no box": lambda: small_fit(np.full(12, 5.0), radius=5.0, max_iterations=0),
}
MORE_VARIANTS = {
    "one observation": lambda: small_fit(np.full(1, 5.0), radius=5.0),
    "huge values": lambda: small_fit(np.arange(12) * 1e59, radius=2e60),
    "numbered": lambda: make_fit(labels=number_labels((3, 9, 4))),
    "tiny values": lambda: small_fit(np.full(12, 4e-60), radius=5e-60),
    "plain": make_fit,
    "signed": lambda: make_fit(baseline="additive", radius=60.0, time_limit=2.0),
    "square root": lambda: make_fit(transform="sqrt", radius=20.0),
    "kriged": lambda: make_fit(remainder="kriging"),
    "six modes": lambda: make_fit(shape=(2, 3, 2, 3, 2, 2)),
    "one zero": lambda: small_fit(np.zeros(1), radius=5.0),
    "zeros": lambda: small_fit(np.zeros(12), radius=5.0),
    "one box": lambda: small_fit(np.full(12, 5.0), radius=5.0),
}


@pytest.mark.filterwarnings("ignore::intensor.errors.ValidationWarning")
@pytest.mark.parametrize(
    "make",
    [
        *(pytest.param(make, id=name) for name, make in VARIANTS.items()),
        *(
            pytest.param(make, id=name, marks=pytest.mark.slow)
            for name, make in MORE_VARIANTS.items()
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::intensor.errors.EmptyModelWarning")
def test_pages_are_well_formed_and_show_the_numbers(make):
    made, coords, values = make()
    page, text = page_of(made, coords, values, verification=made.verify(coords, values))
    assert text.startswith("<!DOCTYPE html>")
    for figure in (made.objective, made.bound, max(made.gap, 0.0), made.radius):
        assert number(figure).replace("\xa0", " ") in page.text.replace("\xa0", " ")
    assert made.status.name in page.text
    assert made.status.sentence in page.text
    assert count(len(made.model)) + " box" in page.text
    rmse = np.sqrt(np.mean((made.predict(coords) - values) ** 2))
    assert f"RMSE {number(rmse)} in units of {made.labels.value}".replace("\xa0", " ") in (
        page.text.replace("\xa0", " ")
    )
    assert "nan" not in page.text
    assert "NaN" not in text
    assert "∞" not in page.text
    levels = [level for level, _ in page.headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert len(text.encode()) < 300_000
    drawings = [attributes for tag, attributes in page.seen if tag == "svg"]
    assert len(drawings) == (2 + (made.validation is not None) + bool(made.result.trace))
    ids = [attributes["id"] for _, attributes in page.seen if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_hostile_labels_are_inert():
    made, coords, values = make_fit(labels=hostile_labels())
    page, text = page_of(
        made,
        coords,
        values,
        title=HOSTILE[5],
        held_out={HOSTILE[0]: 1.5, HOSTILE[1]: 2.5},
        verification=Verification(
            objective=0.0,
            bound=0.0,
            checks=(Check(name=HOSTILE[0], passed=False, message=HOSTILE[2]),),
        ),
    )
    assert HOSTILE[0] in page.text  # shown, as text
    assert "x" * 61 not in text
    for character in "\u202e\u2066\u200f\x00\x07\x1b\ud800":
        assert character not in text
    assert f"{HOSTILE[0]} 1.5" in page.text
    assert page.titles == ["--></style></title><script>document.title='owned'</script>"]
    assert page.headings[0] == (1, page.titles[0])
    assert sum(tag == "style" for tag, _ in page.seen) == 1
    assert not re.search(r"https?:|//|url\(|@import", text.split("</style>")[0])


@pytest.fixture(scope="module")
def plain_page():
    """The text of an ordinary page."""
    return render(*make_fit())


def test_the_parser_notices_what_is_not_escaped(plain_page):
    text = plain_page
    with pytest.raises(AssertionError, match="does not belong"):
        Page(text.replace("a1", HOSTILE[0]))
    with pytest.raises(AssertionError, match="does not belong"):
        Page(text.replace('data-label="mode A"', 'data-label="" onclick="x"'))


def test_nothing_can_be_fetched(plain_page):
    page, text = Page(plain_page), plain_page
    policies = [a["content"] for tag, a in page.seen if a.get("http-equiv")]
    assert policies[0].startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")
    links = [a["href"] for tag, a in page.seen if "href" in a]
    assert [link for link in links if not link.startswith("#")] == ["data:,"]
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in [
        a for _, a in page.seen
    ]
    assert "prefers-color-scheme:dark" in text
    assert "@media print" in text


def test_the_same_fit_gives_the_same_page(plain_page):
    assert render(*make_fit()) == plain_page


def test_data_of_another_shape_is_refused():
    made, coords, values = make_fit()
    with pytest.raises(CoordinateError, match="column"):
        render(made, coords[:, :2], values)
    with pytest.raises(ValuesError, match="one value per row"):
        render(made, coords, values[:-1])


@pytest.mark.needs_jit
@pytest.mark.parametrize("n", [20_000, pytest.param(10**6, marks=pytest.mark.slow)])
def test_many_observations_make_a_small_page(n):
    shape = (40, 300, 50)
    labels = Labels(
        modes=("one", "two", "three"),
        indices=tuple(
            np.array([f"{'long label ' * 5}{i}" for i in range(length)], dtype=object)
            for length in shape
        ),
    )
    made, _, _ = make_fit(shape=shape, n=2000, labels=labels, max_iterations=40)
    rng = np.random.default_rng(1)
    coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
    page, text = page_of(made, coords, rng.gamma(2.0, 20.0, n))
    assert f"{n:,} observations" in page.text
    assert len(text.encode()) < 300_000


# The top of the page: what was fitted, how it ended, and the key figures


@pytest.fixture(scope="module")
def case():
    made, coords, values = make_fit()
    return made, compare(made, coords, values)


def test_the_headline_names_the_data_and_the_gap(case):
    made, comparison = case
    text = plain(headline(*case))
    assert text.startswith(f"{len(made.model)} boxes describe 80 observations of passengers")
    assert f"{comparison.n_observed} of the 108 cells of mode A" in text
    result = dataclasses.replace(made.result, bound=made.objective * (1.0 + 1e-15))
    rounded = dataclasses.replace(made, result=result)
    assert "gap 0 (0 %)" in plain(headline(rounded, comparison))


def test_a_bound_that_says_nothing_is_not_shown_as_a_finding(case):
    made, comparison = case
    useless = with_bound(made, 0.0, status=Status.WITHIN_TOLERANCE)
    notice = plain(status_notice(useless, comparison, None))
    assert "There is no useful bound at this size: nothing is proven about how much" in notice
    assert "WITHIN_TOLERANCE" in notice
    cards = plain(key_figures(useless, comparison, None))
    section = plain(certificate_section(useless, comparison, None))
    for text in (plain(headline(useless, comparison)), cards, section):
        assert "no useful bound at this size" in text
        assert "100 %" not in text
        assert "Relative gap" not in text
    useful = with_bound(made, 0.75, status=Status.STALLED)
    assert "Relative gap 25 % of the objective" in plain(key_figures(useful, comparison, None))
    for text in (headline(useful, comparison), certificate_section(useful, comparison, None)):
        assert "no useful bound" not in text
        assert "25 %" in plain(text)


def test_the_certificate_is_said_to_be_that_before_kriging():
    for remainder in ("none", "kriging"):
        made, coords, values = make_fit(remainder=remainder)
        comparison = compare(made, coords, values)
        text = plain(headline(made, comparison))
        before = " before kriging" if remainder == "kriging" else ""
        assert f"Mean squared error{before} {plain(number(made.objective))}" in text
        assert ("boxes and a remainder (kriging) describe" in text) == (remainder == "kriging")
        assert comparison.agrees_with(made.objective)


def test_a_blend_is_announced_with_the_share_of_this_model(case):
    made, comparison = case
    field = without_terms(made, 0.25, method="smooth field")
    text = plain(headline(blended(made, field), comparison))
    assert "a blend of 2 members, in which this model has a share of 75 %." in text
    unread = plain(headline(blended(made, without_terms(made, 1.0)), comparison))
    assert (
        "a blend of 2 members, in which this model has no share: it is kept to be read." in unread
    )


def test_a_fit_that_is_no_better_than_a_simple_predictor_is_a_warning():
    made, coords, values = make_fit(radius="auto", transform="sqrt", n_solutions=2)
    comparison = compare(made, coords, values)
    references = [("mean", 9.0, 0.0), ("main effects <b>", 4.0, 0.0)]
    for error, warned in [(3.0, False), (5.0, True)]:
        found = with_errors(made, error, references, spread=0.25)
        notice = status_notice(found, comparison, None)
        assert ("No better than a simple predictor." in notice) is warned
        assert ("no better than main effects &lt;b&gt;." in notice) is warned
        cards = plain(key_figures(found, comparison, None))
        assert f"Held-out RMSE {number(error)} ± 0.25, in validation" in cards
    given, *data = make_fit()
    assert "in validation" not in key_figures(given, compare(given, *data), None)


def test_a_failed_certificate_is_a_warning(case):
    checks = (Check(name="check two", passed=False, message="no"),)
    failed = Verification(objective=0.0, bound=0.0, checks=checks)
    text = plain(status_notice(*case, failed))
    assert "The certificate did not hold. These checks failed: check two." in text
    assert "did not hold" not in status_notice(*case, None)
    assert case[0].status.sentence in text


def test_other_data_is_a_warning(case):
    made, same = case
    other = compare(made, same.coords, same.values * 1.5)
    assert "Other data than the fit's" in plain(status_notice(made, other, None))
    assert "Other data" not in status_notice(made, same, None)


def test_key_figures_are_shown_with_those_of_the_caller(case):
    text = plain(key_figures(*case, {"Held-out <RMSE>": 4.875}))
    assert f"RMSE {plain(number(case[1].rmse))} in units of passengers" in text
    assert "Held-out &lt;RMSE&gt; 4.875" in text
    assert "Variance explained" in text
    assert "in units of passengers , weighted" in plain(
        key_figures(case[0], dataclasses.replace(case[1], weighted=True), None)
    )


@pytest.mark.parametrize(
    ("boxes", "graded", "text"),
    [
        (3, 4, "3 boxes and 4 components describe"),
        (1, 1, "1 box and 1 component describe"),
        (0, 1, "1 component describes"),
        (0, 20, "20 components describe"),
    ],
)
def test_a_model_with_components_has_a_page(boxes, graded, text):
    made, coords, values = make_fit()
    made = graded_model_in(made, boxes=boxes, graded=graded)
    page = render(made, coords, values)
    read = Page(page)
    assert text in page
    assert (2, "Components") in read.headings
    assert (2, "The model") not in read.headings
    assert "one entry from 0 to 1 per mode" in page
    assert f"Components {boxes + graded} Radius" in read.text
    ids = [attributes["id"] for _, attributes in read.seen if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert len(page.encode()) < 300_000
