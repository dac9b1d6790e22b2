"""The page as text: well-formed, escaped, complete and small, whatever was fitted."""

import dataclasses
import html.parser
import itertools
import re

import numpy as np
import pytest

from intensor._verify import Check, Verification
from intensor.data.labels import Labels, number_labels
from intensor.errors import CoordinateError, ValuesError
from intensor.fitting.fit import fit
from intensor.fitting.options import check_options
from intensor.report import render
from intensor.report.numbers import count, number
from report.cases import HOSTILE, hostile_labels, make_fit, without_trace

VOID = {"meta", "link"}
ELEMENTS = """
    html head meta link title style body main header footer section h1 h2 h3 p b small span bdi dl
    dt dd div ul li figure figcaption table thead tbody tr th td details summary svg path text
    circle
"""
ATTRIBUTES = """
    lang charset http-equiv content name rel href class style scope data-label tabindex role
    aria-label viewbox d x y text-anchor cx cy r
"""


class Page(html.parser.HTMLParser):
    """Reads a page, and complains about anything that is not nested as it should be."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.seen, self.words = [], [], []
        self.titles, self.headings = [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in ELEMENTS.split(), f"<{tag}> does not belong on the page"
        for name, value in attrs:
            assert name in ATTRIBUTES.split(), f"{name}={value!r} does not belong on the page"
        self.seen.append((tag, dict(attrs)))
        if tag == "path":
            assert self.get_starttag_text().endswith("/>")
        elif tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

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
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def page_of(made, coords, values, **more):
    text = render(made, coords, values, **more)
    text.encode("utf-8")
    return Page(text), text


def small(values, **words):
    """Return a fit of a 3 x 4 tensor with the given values, or of its first cell alone."""
    coords = np.argwhere(np.ones((3, 4)))[: len(values)]
    return fit(coords, values, check_options(**words)), coords, values


def traceless():
    made, *data = make_fit()
    return without_trace(made), *data


VARIANTS = {
    "plain": make_fit,
    "validated": lambda: make_fit(radius="auto", transform="auto", n_solutions=2, validation=2),
    "signed": lambda: make_fit(baseline="additive", radius=60.0, time_limit=2.0),
    "square root": lambda: make_fit(transform="sqrt", radius=20.0),
    "kriged": lambda: make_fit(remainder="kriging"),
    "all there is": lambda: make_fit(
        radius=60.0, transform="sqrt", baseline="additive", remainder="kriging", time_limit=2.0
    ),
    "one mode": lambda: make_fit(shape=(7,), n=20),
    "six modes": lambda: make_fit(shape=(2, 3, 2, 3, 2, 2)),
    "numbered": lambda: make_fit(labels=number_labels((3, 9, 4))),
    "no trace": traceless,
    "one observation": lambda: small(np.full(1, 5.0), radius=5.0),
    "one zero": lambda: small(np.zeros(1), radius=5.0),
    "zeros": lambda: small(np.zeros(12), radius=5.0),
    "one box": lambda: small(np.full(12, 5.0), radius=5.0),
    "no box": lambda: small(np.full(12, 5.0), radius=5.0, max_iterations=0),
    "tiny values": lambda: small(np.full(12, 4e-60), radius=5e-60),
    "huge values": lambda: small(np.arange(12) * 1e59, radius=2e60),
}


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.filterwarnings("ignore::intensor.errors.EmptyModelWarning")
def test_pages_are_well_formed_and_show_the_numbers(name):
    made, coords, values = VARIANTS[name]()
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


def test_drawings_have_titles_and_stay_inside():
    made, coords, values = make_fit(radius="auto", transform="auto")
    page, text = page_of(made, coords, values)
    drawings = [attributes for tag, attributes in page.seen if tag == "svg"]
    assert len(drawings) == 4
    assert all(drawing["role"] == "img" and drawing["aria-label"] for drawing in drawings)
    for piece in re.findall(r'<circle class="[^"]*" cx="([^"]*)" cy="([^"]*)"', text):
        assert 0.0 <= float(piece[0]) <= 400.0
        assert 0.0 <= float(piece[1]) <= 280.0


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
    assert page.titles == ["--></style></title><script>document.title='owned'</script>"]
    assert sum(tag == "style" for tag, _ in page.seen) == 1
    assert not re.search(r"https?:|//|url\(|@import", text.split("</style>")[0])


def test_parser_would_notice_what_is_not_escaped():
    made, coords, values = make_fit()
    text = render(made, coords, values)
    with pytest.raises(AssertionError, match="does not belong"):
        Page(text.replace("a1", HOSTILE[0]))
    with pytest.raises(AssertionError, match="does not belong"):
        Page(text.replace('data-label="mode A"', 'data-label="" onclick="x"'))


def test_nothing_can_be_fetched():
    page, text = page_of(*make_fit())
    policies = [a["content"] for tag, a in page.seen if a.get("http-equiv")]
    assert policies[0].startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")
    assert [a["href"] for tag, a in page.seen if "href" in a] == ["data:,"]
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in [
        a for _, a in page.seen
    ]
    assert "prefers-color-scheme:dark" in text
    assert "@media print" in text


def test_same_fit_same_page():
    made, coords, values = make_fit()
    assert render(made, coords, values) == render(made, coords, values)


def test_checks_are_listed_with_their_outcome():
    made, coords, values = make_fit()
    checks = tuple(
        Check(name=f"check {word}", passed=passed, message="so it is")
        for word, passed in (("one", True), ("two", False), ("three", None))
    )
    found = Verification(objective=0.0, bound=0.0, checks=checks)
    text = page_of(made, coords, values, verification=found)[0].text
    assert "✓ pass check one" in text
    assert "✗ fail check two" in text
    assert "? open check three" in text
    assert "The certificate did not hold. These checks failed: check two." in text
    assert "did not hold" not in page_of(made, coords, values)[0].text


def test_validation_is_told():
    made, coords, values = make_fit(radius="auto", transform="auto", n_solutions=2)
    text = page_of(made, coords, values)[0].text
    validation = made.validation
    for path in validation.paths:
        assert number(path.error) in text
    assert text.count("✓ taken") == 1
    assert f"from {number(validation.single)} to {number(validation.averaged)}" in text
    given = page_of(*make_fit())[0].text
    assert "The radius was given" in given


def test_the_certificate_is_said_to_be_that_before_kriging():
    data = {}
    for remainder in ("none", "kriging"):
        made, coords, values = make_fit(remainder=remainder)
        verification = made.verify(coords, values)
        assert verification.ok
        page, _ = page_of(made, coords, values, verification=verification)
        text = data[remainder] = page.text.replace("\xa0", " ")
        objective = number(made.objective).replace("\xa0", " ")
        before = " before kriging" if remainder == "kriging" else ""
        assert f"Mean squared error{before} {objective}" in text
        assert "Other data than the fit's" not in text
    boxes = "boxes and a kriged remainder describe"
    assert boxes in data["kriging"]
    assert "remainder kriging" in data["kriging"]  # among the settings
    assert "remainder none" in data["none"]
    assert "krig" not in data["none"]


def test_worst_observations_come_first():
    made, coords, values = make_fit()
    wrong = values.copy()
    wrong[17] = 1e5
    text = page_of(made, coords, wrong)[0].text
    worst = text.split("Worst fitted observations")[1]
    place = [column[0] for column in made.labels.decode(coords[17:18])]
    assert " ".join(place) in worst.split("100,000")[1].split("\N{MINUS SIGN}")[0]
    assert "Other data than the fit's" in text
    assert "Other data" not in page_of(made, coords, values)[0].text


def test_sample_weights_count():
    made, coords, values = make_fit()
    wrong = values.copy()
    wrong[3] += 1000.0
    weights = np.ones(values.size)
    weights[3] = 0.0
    text = page_of(made, coords, wrong, sample_weight=weights)[0].text
    kept = np.arange(values.size) != 3
    rmse = np.sqrt(np.mean((made.predict(coords[kept]) - values[kept]) ** 2))
    assert f"RMSE {number(rmse)} in units" in text


def test_held_out_figures_and_title_are_shown():
    made, coords, values = make_fit()
    page, _ = page_of(made, coords, values, held_out={"Held-out RMSE": 4.875}, title="A & B")
    assert "Held-out RMSE 4.875" in page.text
    assert page.titles == ["A & B"]
    assert (1, "A & B") in page.headings


def test_the_fit_is_compared_with_the_mean():
    made, coords, values = make_fit(radius="auto")

    def said(error_of_mean):
        validation = dataclasses.replace(made.validation, error_of_mean=error_of_mean)
        return page_of(dataclasses.replace(made, validation=validation), coords, values)[0].text

    error, words = made.path.error, "The mean of all other observations has an error of"
    assert f"{words} {number(2.0 * error)}. All" in said(2.0 * error)
    assert f"{words} {number(0.5 * error)}, so the fit predicts no better" in said(0.5 * error)
    assert words not in said(None)


def test_data_of_another_form_are_refused():
    made, coords, values = make_fit()
    with pytest.raises(CoordinateError, match="column"):
        render(made, coords[:, :2], values)
    with pytest.raises(ValuesError, match="one value per row"):
        render(made, coords, values[:-1])


@pytest.mark.needs_jit
def test_a_million_observations_stay_small():
    made, _, _ = make_fit(shape=(40, 300, 50), n=2000, labels=_wide())
    rng = np.random.default_rng(1)
    coords = np.stack([rng.integers(0, length, 10**6) for length in (40, 300, 50)], axis=1)
    page, text = page_of(made, coords, rng.gamma(2.0, 20.0, 10**6))
    assert "1,000,000 observations" in page.text
    assert len(text.encode()) < 300_000


def _wide():
    return Labels(
        modes=("one", "two", "three"),
        indices=tuple(
            np.array([f"{'long label ' * 5}{i}" for i in range(length)], dtype=object)
            for length in (40, 300, 50)
        ),
    )


def test_negative_gap_of_rounding_is_none():
    made, coords, values = make_fit()
    result = dataclasses.replace(made.result, bound=made.objective * (1.0 + 1e-15))
    text = page_of(dataclasses.replace(made, result=result), coords, values)[0].text
    assert "gap 0 (0\xa0%)" in text or "gap 0 (0 %)" in text


@pytest.mark.parametrize("odd", [1e308, -1e308, np.inf, -np.inf, np.nan, 5e-324])
def test_traces_and_paths_of_any_numbers_are_drawn(odd):
    made, coords, values = make_fit(radius="auto")
    first = made.result.trace[0]._replace(objective=odd, bound=-odd, seconds=abs(odd))
    validation = made.validation
    path = dataclasses.replace(validation.path, errors=np.append(odd, validation.path.errors[1:]))
    page = render(
        dataclasses.replace(
            made,
            result=dataclasses.replace(made.result, trace=(first, *made.result.trace[1:])),
            validation=dataclasses.replace(validation, paths=(path,), chosen=0),
        ),
        coords,
        values,
    )
    assert re.search(r'="[^"]*\b(nan|inf)\b[^"]*"', page.split("<body>")[1]) is None
