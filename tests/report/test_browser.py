"""The page in a real browser: no console errors, the numbers are there, labels are inert."""

import html
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from graded_cases import graded_model_in
from intensor.data.labels import Labels
from intensor.plots.text import number
from intensor.report import render
from report.cases import HOSTILE, hostile_labels, make_fit

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = """
    --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync
    --disable-background-networking --disable-component-update --enable-logging=stderr
    --virtual-time-budget=5000 --window-size=1200,900 --dump-dom
"""

pytestmark = pytest.mark.skipif(
    BROWSER is None, reason=f"no browser: none of {', '.join(NAMES)} is on the path"
)

# Looks at a page from outside, in a frame as wide as a phone; the page itself is not changed.
MEASURE = """<!DOCTYPE html><html><body><pre id="found"></pre><script>
const frame = document.createElement("iframe");
frame.style = "width:%(width)dpx;height:3000px;border:0";
frame.onload = () => {
  const page = frame.contentDocument, root = page.documentElement;
  const wide = [...page.querySelectorAll("main *:not(.scroll *):not(svg *)")].filter(
    (e) => e.getBoundingClientRect().right > root.clientWidth + 0.5).map((e) => e.outerHTML);
  const cut = [...page.querySelectorAll("svg text")].filter((e) => {
    const own = e.getBoundingClientRect();
    const all = e.ownerSVGElement.getBoundingClientRect();
    return own.right > all.right + 0.5 || own.left < all.left - 0.5;
  }).map((e) => e.textContent);
  document.getElementById("found").textContent = JSON.stringify({
    title: page.title, width: root.clientWidth, scroll: root.scrollWidth,
    wide: wide.length, cut: cut,
    alien: page.querySelectorAll("script, img, iframe, object, a, form").length,
    drawings: page.querySelectorAll("svg").length,
    ink: [...new Set([...page.querySelectorAll("svg text")].map(
      (e) => page.defaultView.getComputedStyle(e).fill))].sort(),
    background: page.defaultView.getComputedStyle(page.body).backgroundColor});
};
frame.srcdoc = %(page)s;
document.body.append(frame);
</script></body></html>"""


def load(text, folder, *more):
    """Return the DOM after loading, and what the console said."""
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    profile = f"--user-data-dir={folder / 'profile'}"
    command = [BROWSER, *FLAGS.split(), profile, *more, path.as_uri()]
    done = subprocess.run(command, capture_output=True, timeout=120, check=True)
    shutil.rmtree(folder / "profile", ignore_errors=True)
    said = done.stderr.decode("utf-8", "replace").splitlines()
    return done.stdout.decode("utf-8"), [line for line in said if "CONSOLE" in line]


def measure(text, folder, *more, width=375):
    """Return what can be seen of a page in a frame of the given width."""
    page = json.dumps(text).replace("</", "<\\/").replace("<!--", "<\\u0021--")
    dom, console = load(MEASURE % {"width": width, "page": page}, folder, *more)
    assert console == []
    return json.loads(html.unescape(dom.split('<pre id="found">')[1].split("</pre>")[0]))


@pytest.mark.slow
def test_the_page_loads_silently_and_shows_the_numbers(tmp_path):
    made, coords, values = make_fit(radius="auto", transform="auto", n_solutions=2)
    text = render(made, coords, values, verification=made.verify(coords, values))
    dom, console = load(text, tmp_path)
    assert console == []
    shown = dom.replace("&nbsp;", "\xa0")
    for figure in (made.objective, made.bound, made.gap, made.radius, made.model.weights[0]):
        assert number(figure) in shown
    assert "<title>passengers by mode A, mode B, mode C</title>" in dom


def test_hostile_labels_do_nothing(tmp_path):
    made, coords, values = make_fit(labels=hostile_labels())
    text = render(made, coords, values, title=HOSTILE[0], held_out={HOSTILE[2]: 1.0})
    found = measure(text, tmp_path)  # fails if the console says anything
    assert found["alien"] == 0
    assert found["title"] == HOSTILE[0]
    assert found["scroll"] <= found["width"]
    assert found["wide"] == 0
    assert found["cut"] == []


EVIL = (
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "' onmouseover='document.title=1' autofocus onfocus='alert(1)",
    '" style="position:fixed;inset:0" onload="alert(1)',
    "</style><script>alert(1)</script><style>",
    "</title></svg></table><iframe srcdoc='<script>parent.document.title=1</script>'>",
    "javascript:alert(1)",
    "<a href='javascript:alert(1)'>x</a><meta http-equiv=refresh content='0;url=data:,x'>",
    "<svg onload=alert(1)><foreignObject><form action=x><input autofocus onfocus=alert(1)>",
    "]]><!--<script>alert(1)</script>-->&lt;script&gt;alert(1)",
    "\u202e\u2066\u200f\ufeff<b>",
    "{{constructor.constructor('alert(1)')()}}",
)
# Notices a label that runs: any dialog it opens changes the title of the page.
LISTEN = """<script>
window.alert = window.confirm = window.prompt = () => { document.title = "owned"; };
</script>"""


@pytest.mark.slow
def test_labels_that_attack_run_nothing_even_without_a_policy(tmp_path):
    shape = (len(EVIL), 4)
    labels = Labels(
        modes=(EVIL[0], EVIL[1]),
        indices=(np.array(EVIL, dtype=object), np.array(EVIL[:4], dtype=object)),
        value=EVIL[4],
    )
    made, coords, values = make_fit(shape, 60, labels=labels, baseline="additive")
    text = render(made, coords, values, title="safe", held_out={EVIL[3]: 1.0})
    assert "script" not in text.split("<body>")[0]
    # Escaping alone must suffice: the policy of the page is a second wall.
    bare = re.sub(r"<meta http-equiv=.Content-Security-Policy.[^>]*>", LISTEN, text)
    assert bare != text
    for page in (text, bare):
        dom, console = load(page, tmp_path)
        assert console == []
        assert "<title>safe</title>" in dom
        assert re.search(r"<(iframe|img|a|form|input|object|foreignObject)\b", dom) is None
        assert re.search(r"<[^>]* on\w+=", re.sub(r'"[^"]*"', '""', dom)) is None
        assert "javascript:alert(1)" in dom  # as text
    broken = bare.replace("<main>", f"<main>{EVIL[0]}")
    assert "<title>owned</title>" in load(broken, tmp_path)[0]


@pytest.mark.slow
def test_labels_of_ten_megabytes_are_shortened(tmp_path):
    long = np.array([f"{index}<script>" + "x" * 10**7 for index in range(3)], dtype=object)
    labels = Labels(modes=("m" * 10**7, "short"), indices=(long, np.arange(4)), value="v" * 10**7)
    made, coords, values = make_fit((3, 4), 12, labels=labels, baseline="additive")
    text = render(made, coords, values)
    assert len(text) < 200_000
    dom, console = load(text, tmp_path)
    assert console == []
    assert "<script" not in dom
    assert "0&lt;script&gt;xxx" in dom


@pytest.mark.slow
def test_the_console_tells_of_a_script(tmp_path):
    made, coords, values = make_fit()
    text = render(made, coords, values).replace("a1", HOSTILE[0])
    _, console = load(text, tmp_path)
    assert any("Content Security Policy" in line for line in console)


@pytest.mark.slow
def test_the_page_fits_a_phone(tmp_path):
    made, coords, values = make_fit(
        radius="auto", components="boxes", transform="auto", shape=(3, 60, 4), n=500
    )
    text = render(made, coords, values, verification=made.verify(coords, values))
    found = measure(text, tmp_path)
    assert found["width"] in (375, 360)  # without and with a scroll bar
    assert found["scroll"] <= found["width"]
    assert found["wide"] == 0
    assert found["cut"] == []
    assert found["drawings"] == 4
    broken = text.replace("<main>", '<main><div style="width:500px">wide</div>')
    assert measure(broken, tmp_path)["scroll"] > found["width"]


@pytest.mark.slow
@pytest.mark.parametrize("width", [375, 1200])
@pytest.mark.parametrize("labels", [None, hostile_labels()])
def test_components_fit_any_page(tmp_path, width, labels):
    made, coords, values = make_fit(labels=labels)
    made = graded_model_in(made, boxes=2, graded=8)
    found = measure(render(made, coords, values, title="safe"), tmp_path, width=width)
    assert found["scroll"] <= found["width"]
    assert found["wide"] == 0
    assert found["cut"] == []
    assert found["alien"] == 0
    assert found["drawings"] == 3 + 6


@pytest.mark.slow
def test_the_page_is_dark_where_that_is_preferred(tmp_path):
    text = render(*make_fit())
    light = measure(text, tmp_path, "--blink-settings=preferredColorScheme=1")
    dark = measure(text, tmp_path, "--blink-settings=preferredColorScheme=0")
    assert light["background"] == "rgb(246, 247, 249)"
    assert dark["background"] == "rgb(16, 21, 28)"
    assert light["ink"] == ["rgb(27, 36, 48)", "rgb(85, 96, 112)"]  # in the charts
    assert dark["ink"] == ["rgb(163, 175, 190)", "rgb(232, 237, 243)"]
