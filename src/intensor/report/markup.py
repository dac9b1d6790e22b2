"""HTML of the report: escaped labels, tables, figures and cards.

Whatever a user supplied passes through ``escape`` on its way into text or an attribute of the page,
so that it is never markup.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from intensor.plots.text import MAX_LABEL_LENGTH, clean, shorten

TIMES = " \N{MULTIPLICATION SIGN} "


def escape(label: object, *, most: int = MAX_LABEL_LENGTH) -> str:
    """Return a label that may be used in text and in quoted attributes of HTML and SVG."""
    return html.escape(shorten(clean(label), most=most), quote=True)


def label_html(label: object) -> str:
    """Return a label as HTML that cannot change the direction of the text beside it."""
    return f"<bdi>{escape(label)}</bdi>"


def figure(chart: str, caption: str = "") -> str:
    """Return a chart with its caption, if it has one; both are HTML that is already safe."""
    below = f"<figcaption>{caption}</figcaption>" if caption else ""
    return f"<figure>{chart}{below}</figure>"


def cards(rows: Iterable[tuple[str, str, str]]) -> str:
    """Return key figures as cards: a name, a figure and a note each, all safe HTML."""
    parts = []
    for name, value, note in rows:
        small = f"<small>{note}</small>" if note else ""
        parts.append(f"<div><dt>{name}</dt><dd>{value}{small}</dd></div>")
    return f'<dl class="cards">{"".join(parts)}</dl>'


def table(
    name: str, heads: Sequence[str], rows: Sequence[Sequence[str]], *, marked: int | None = None
) -> str:
    """Return a table, which scrolls when it is wide and becomes a list on a phone.

    Its name, for screen readers, and the names of the columns are escaped here; without columns it
    has no head. Cells are HTML that is already safe; the first cell of each row is its head. The
    row with the index ``marked`` is highlighted.
    """
    labels = [f' data-label="{escape(head)}"' for head in heads] or [""] * len(rows[0])
    body = []
    for index, (first, *others) in enumerate(rows):
        cells = "".join(
            f"<td{label}><div>{cell}</div></td>"
            for label, cell in zip(labels[1:], others, strict=True)
        )
        kind = ' class="marked"' if index == marked else ""
        head = f'<th scope="row"{labels[0]}><div>{first}</div></th>'
        body.append(f"<tr{kind}>{head}{cells}</tr>")
    columns = "".join(f'<th scope="col">{label_html(head)}</th>' for head in heads)
    top = f"<thead><tr>{columns}</tr></thead>" if heads else ""
    kind = ' class="stack"' if heads else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(name)}">'
        f"<table{kind}>{top}<tbody>{''.join(body)}</tbody></table></div>"
    )
