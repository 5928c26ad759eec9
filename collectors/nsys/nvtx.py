"""Spans from NVTX: push/pop ranges, start/end ranges, and marks.

A mark is a span without duration and of category `mark`; ranges are `push_pop` or `start_end`. A domain other than the
default one follows in the category (`push_pop NCCL`), so that names stay as the program gave them.
"""

from __future__ import annotations

import polars as pl

from tracelens.collectors.nsys import codes
from tracelens.collectors.nsys.events import Session, process_of, thread_of

_CATEGORIES = dict.fromkeys(codes.PUSH_POP, "push_pop") | dict.fromkeys(codes.START_END, "start_end")
_NEEDED = ["start", "eventType", "globalTid"]


def spans(session: Session, end_ns: int | None) -> pl.DataFrame:
    """NVTX ranges and marks as raw spans; a range still open when the capture ended (`end_ns`) is cut there."""
    parts = [_of_table(session, table, end_ns) for table in nvtx_tables(session)]
    return pl.concat(parts) if parts else pl.DataFrame()


def nvtx_tables(session: Session) -> list[str]:
    """The export's NVTX tables; some versions put _V2 or _V3 behind the name."""
    return sorted(t for t in session.export.columns if t.removesuffix("_V2").removesuffix("_V3") == "NVTX_EVENTS")


def _of_table(session: Session, table: str, end_ns: int | None) -> pl.DataFrame:
    raw = session.rows(table, _NEEDED, ["end", "textId", "domainId"], ["text"])
    raw = raw.with_columns(
        name=pl.coalesce("text", session.name("textId")),
        process_id=process_of("globalTid"),
        thread_id=thread_of("globalTid"),
        domainId=pl.col("domainId").fill_null(0),
    )
    kind = pl.col("eventType")
    category = codes.word(kind, _CATEGORIES | dict.fromkeys(codes.MARK, "mark"))
    is_range = kind.is_in([*codes.PUSH_POP, *codes.START_END])
    # Schemas before 2.10 had no NULLs: an open range ends at 0 or -1.
    is_open = is_range & (pl.col("end").is_null() | (pl.col("end") < pl.col("start")))
    chosen = raw.with_columns(category=category, is_open=is_open).filter(is_range | kind.is_in(codes.MARK))
    n_open = int(chosen["is_open"].sum())
    text = "NVTX ranges were still open when the capture ended; they end there"
    session.diagnostics.add("warning", "open_ranges", text, n_open)
    last = pl.lit(end_ns, pl.Int64) - session.base_ns
    chosen = chosen.with_columns(
        end=pl.when(category == "mark").then("start")
        .when("is_open").then(pl.max_horizontal("start", last))
        .otherwise("end")
    )  # fmt: skip
    chosen = _with_domains(chosen, raw.filter(kind == codes.DOMAIN_CREATE))
    return session.intervals(table, chosen).select(
        pl.lit("nvtx").alias("kind"),
        "category",
        pl.col("name").fill_null(""),
        "start_ns",
        "duration_ns",
        "process_id",
        "thread_id",
    )


def _with_domains(ranges: pl.DataFrame, created: pl.DataFrame) -> pl.DataFrame:
    """Categories with the domain's name behind; domain ids are numbered by process, 0 being the default domain."""
    keys = ["process_id", "domainId"]
    domains = created.filter(pl.col("domainId") != 0).drop_nulls("name").unique(keys, keep="last")
    if domains.is_empty():
        return ranges
    named = ranges.join(domains.select(*keys, domain="name"), on=keys, how="left", maintain_order="left")
    return named.with_columns(pl.concat_str("category", "domain", separator=" ", ignore_nulls=True))
