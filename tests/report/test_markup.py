"""HTML of the report: escaped, labelled, and readable in every theme."""

import re
from importlib.resources import files

from intensor.report.markup import escape, label_html, table

STYLE = (files("intensor.report") / "style.css").read_text(encoding="utf-8")


def test_labels_are_escaped_after_they_are_shortened():
    assert escape("<&\"'>") == "&lt;&amp;&quot;&#x27;&gt;"
    assert escape("&" * 100) == "&amp;" * 59 + "…"
    assert label_html("<b>") == "<bdi>&lt;b&gt;</bdi>"


def test_tables_name_every_cell():
    text = table('"t"', ("a<", "b"), [("1", "2"), ("3", "4")], marked=1)
    assert 'aria-label="&quot;t&quot;"' in text
    assert text.count('data-label="a&lt;"') == 2
    assert '<tr class="marked"><th scope="row" data-label="a&lt;"><div>3' in text
    bare = table("t", (), [("1", "2")])
    assert "data-label" not in bare
    assert "<thead>" not in bare


def luminance(colour):
    parts = [int(colour[start : start + 2], 16) / 255.0 for start in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_stands_out_from_its_background_in_every_theme():
    themes = re.findall(r":root\{([^}]*)\}", STYLE)
    assert len(themes) == 3  # light, dark, print
    for theme in themes:
        colours = {
            name: value if len(value) == 7 else "#" + "".join(2 * digit for digit in value[1:])
            for name, value in re.findall(r"--(\w+):(#\w+)", theme)
        }
        for background in ("page", "card"):
            for ink in ("ink", "soft", "blue", "orange", "green", "red", "amber"):
                shades = luminance(colours[background]), luminance(colours[ink])
                assert (max(shades) + 0.05) / (min(shades) + 0.05) >= 4.5, (theme, background, ink)
