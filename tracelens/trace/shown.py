"""A trace as a notebook shows it."""

from __future__ import annotations

from html import escape

import polars as pl

from tracelens.trace.capture import Manifest


def to_html(name: str, manifest: Manifest, summary: pl.DataFrame) -> str:
    """Its name, ranks and a table of its tables, as `Trace.summary` gives it."""
    rows = "".join(
        f"<tr><td><code>{escape(table)}</code></td><td style='text-align:right'>{n:,}</td>"
        f"<td>{escape(doc)}</td><td>{escape(why or '')}</td></tr>"
        for table, n, doc, why in summary.iter_rows()
    )
    ranks = ", ".join(map(str, manifest.ranks))
    return (
        f"<p><b>{escape(name)}</b> · ranks {ranks} · complete: {manifest.complete}</p>"
        f"<table><tr><th>table</th><th>rows</th><th>a row is</th><th>empty because</th></tr>{rows}</table>"
    )
