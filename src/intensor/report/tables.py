"""Tables of the report: wide ones scroll, and on a phone every row becomes a list."""

from __future__ import annotations

from collections.abc import Sequence

from intensor.report.text import escape

__all__ = ["label_html", "table"]


def label_html(label: object) -> str:
    """Return a label as HTML that cannot change the direction of what stands beside it."""
    return f"<bdi>{escape(label)}</bdi>"


def table(
    name: str, heads: Sequence[str], rows: Sequence[Sequence[str]], *, marked: int | None = None
) -> str:
    """Return a table.

    Parameters
    ----------
    name
        What it shows; escaped here.
    heads
        Names of the columns; escaped here.
    rows
        Cells as HTML that is already safe; the first of each row is its head.
    marked
        Place of a row to set off.
    """
    columns = "".join(f'<th scope="col">{label_html(head)}</th>' for head in heads)
    labels = [escape(head) for head in heads]
    body = []
    for place, (first, *others) in enumerate(rows):
        cells = "".join(
            f'<td data-label="{label}"><div>{cell}</div></td>'
            for label, cell in zip(labels[1:], others, strict=True)
        )
        kind = ' class="marked"' if place == marked else ""
        head = f'<th scope="row" data-label="{labels[0]}"><div>{first}</div></th>'
        body.append(f"<tr{kind}>{head}{cells}</tr>")
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(name)}">'
        f'<table class="stack"><thead><tr>{columns}</tr></thead><tbody>{"".join(body)}</tbody>'
        f"</table></div>"
    )
