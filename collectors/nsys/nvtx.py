"""Spans from NVTX: push/pop ranges, start/end ranges, and marks.

A mark is a span without duration and of category `mark`; ranges are `push_pop` or `start_end`. A domain other than the
default one follows in the category (`push_pop NCCL`), so that names stay as the program gave them. Ranges of hooks that
mark each module's call, as in vLLM and SGLang (`{'Module': 'model.layers.0', …}`), become module calls, and so do the
layers of TensorRT; those of PyTorch's emit_nvtx become ops and annotations.
"""

from collections.abc import Callable

import polars as pl

from tracelens.collectors.nsys import codes, emit_nvtx
from tracelens.collectors.nsys.session import Session, narrow, process_of, thread_of, together
from tracelens.derive.columns.distinct import each_once
from tracelens.derive.events.nesting import nest
from tracelens.derive.events.nesting_walk import as_rows

_CATEGORIES = dict.fromkeys(codes.PUSH_POP, "push_pop") | dict.fromkeys(codes.START_END, "start_end")
_MODULE = r"^\{'Module': '([^']+)'"
_NEEDED = ["start", "eventType", "globalTid"]
_TENSORRT = r" TensorRT$"
_RUNS = r"^I?ExecutionContext::"


def spans(session: Session, end_ns: Callable[[], int | None]) -> pl.DataFrame:
    """NVTX ranges and marks as raw spans; a range still open when the capture ended, at `end_ns()`, is cut there."""
    # Some versions of nsys put _V2 or _V3 behind the table's name.
    tables = sorted(t for t in session.export.columns if t.removesuffix("_V2").removesuffix("_V3") == "NVTX_EVENTS")
    return together(_of_table(session, table, end_ns) for table in tables or ["NVTX_EVENTS"])


def _of_table(session: Session, table: str, end_ns: Callable[[], int | None]) -> pl.DataFrame:
    parts, created = [], []
    for raw in session.chunks(table, _NEEDED, ["end", "textId", "domainId"], ["text"]):
        named = raw.with_columns(
            name=_names(session, raw),
            process_id=process_of("globalTid"),
            thread_id=thread_of("globalTid"),
            domainId=pl.col("domainId").fill_null(0),
        )
        created.append(named.filter(pl.col("eventType") == codes.DOMAIN_CREATE))
        parts.append(narrow(_ranges(session, table, named, end_ns)))
    return _classified(_with_domains(together(parts), pl.concat(created)))


def _classified(ranges: pl.DataFrame) -> pl.DataFrame:
    """The ranges with kind, exact_path and the columns parsed from names, by the library that opened them."""
    named = emit_nvtx.read_names(ranges["name"])
    # PyTorch pushes its ranges in the default domain.
    is_named = named["kind"].is_not_null() & (ranges["domainId"] == 0) & (ranges["category"] == "push_pop")
    parsed = pl.DataFrame([column.zip_with(is_named, column.clear(len(column))) for column in named.get_columns()])
    layer = _find_layers(ranges).cast(pl.Categorical)
    path = ranges["exact_path"].zip_with(ranges["exact_path"].is_not_null(), layer)
    parsed = parsed.with_columns(
        pl.coalesce(parsed["name"], ranges["name"]).alias("name"),
        kind=pl.when(path.is_not_null()).then(codes.constant("module"))
        .otherwise(pl.coalesce(parsed["kind"], codes.constant("nvtx"))),
        exact_path=path,
    )  # fmt: skip
    return narrow(ranges.drop("domainId", "name", "exact_path").hstack(parsed))


def _names(session: Session, raw: pl.DataFrame) -> pl.Series:
    """The text of each row, inline or by its id; null where it has none."""
    written = raw["text"].cast(pl.Categorical)
    return written.zip_with(written.is_not_null(), session.named(raw["textId"]))


def _ranges(session: Session, table: str, raw: pl.DataFrame, end_ns: Callable[[], int | None]) -> pl.DataFrame:
    """The ranges and marks among the rows, as raw spans with their domainId."""
    kind = pl.col("eventType")
    is_range = kind.is_in([*codes.PUSH_POP, *codes.START_END])
    # Schemas before 2.10 had no NULLs: an open range ends at 0 or -1.
    is_open = is_range & (pl.col("end").is_null() | (pl.col("end") < pl.col("start")))
    chosen = raw.with_columns(is_open=is_open).filter(is_range | kind.is_in(codes.MARK))
    n_open = int(chosen["is_open"].sum())
    text = "NVTX ranges were still open when the capture ended; they end there"
    session.diagnostics.add("warning", "open_ranges", text, n_open)
    last = pl.lit(end_ns() if n_open else None, pl.Int64) - session.base_ns
    chosen = chosen.with_columns(
        end=pl.when(kind.is_in(codes.MARK)).then("start")
        .when("is_open").then(pl.max_horizontal("start", last))
        .otherwise("end")
    )  # fmt: skip
    path = each_once(chosen["name"], lambda name: name.str.extract(_MODULE)).alias("exact_path")
    chosen = chosen.with_columns(path)
    return session.intervals(table, chosen).select(
        codes.word(kind, _CATEGORIES | dict.fromkeys(codes.MARK, "mark")).alias("category"),
        pl.col("name").fill_null(""),
        "exact_path",
        "start_ns",
        "duration_ns",
        "process_id",
        "thread_id",
        "domainId",
    )


def _with_domains(ranges: pl.DataFrame, created: pl.DataFrame) -> pl.DataFrame:
    """The ranges with their domain's name appended to the category; domain ids are per process, 0 the default."""
    keys = ["process_id", "domainId"]
    domains = created.filter(pl.col("domainId") != 0).drop_nulls("name").unique(keys, keep="last")
    if domains.is_empty():
        return ranges
    domains = domains.select(pl.col("process_id"), pl.col("domainId").cast(ranges.schema["domainId"]), domain="name")
    seen = ranges.select(*keys, "category").unique().join(domains, on=keys)
    named = seen.with_columns(
        longer=pl.concat_str(pl.col("category", "domain").cast(pl.String), separator=" ").cast(pl.Categorical)
    ).drop("domain")
    joined = ranges.join(named, on=[*keys, "category"], how="left", maintain_order="left")
    return joined.with_columns(category=pl.coalesce("longer", "category")).drop("longer")


def _find_layers(ranges: pl.DataFrame) -> pl.Series:
    """The path of each raw span that is a TensorRT layer, null for the others.

    In its domain, TensorRT marks calls of its own (`ExecutionContext::enqueue`), and directly in a call that runs an
    engine each layer by name; ranges within a layer, or in a call that builds or loads an engine, are no layers.
    """
    nothing = pl.repeat(None, ranges.height, dtype=pl.String, eager=True).alias("exact_path")
    rows = each_once(ranges["category"], lambda category: category.str.contains(_TENSORRT)).arg_true()
    if not len(rows):
        return nothing
    own = ranges.select("name", "process_id", "thread_id", "start_ns", "duration_ns")[rows]
    parent = as_rows(nest(own, own.clear()).parent)
    names = own["name"].cast(pl.String)
    runs = names.str.contains(_RUNS)
    is_layer = runs.gather(parent).fill_null(value=False) & ~runs
    return nothing.scatter(rows.filter(is_layer), names.filter(is_layer))
