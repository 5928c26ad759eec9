"""Make spans from NVTX's push/pop ranges, start/end ranges and marks.

A span's category is `push_pop`, `start_end` or `mark`, with the domain unless it is the default
(`push_pop NCCL`). A mark has no duration.

A span's kind is `nvtx`, except for these ranges:

- `module`: layers of TensorRT, and ranges of hooks in vLLM and SGLang (`{'Module':
  'model.layers.0', …}`).
- `op`: ranges of PyTorch's emit_nvtx, named `aten::mm, seq = 3, op_id = 12, sizes = [[8, 64], [64,
  64]], input_op_ids = [(9,0), (11,0)]` (getNvtxStr in torch/csrc/profiler/util.cpp).
- `annotation`: ranges of the program's record_function, named `NAME, op_id = N`.
"""

from collections.abc import Callable

import polars as pl

from tracelens.collectors.nsys import enums
from tracelens.collectors.nsys.session import Session, narrow, process_of, thread_of, together
from tracelens.derive.columns.per_unique import distinct_rows, each_once
from tracelens.derive.events.nesting import as_rows, nest

_CATEGORIES = dict.fromkeys(enums.PUSH_POP, "push_pop") | dict.fromkeys(
    enums.START_END, "start_end"
)
_MODULE = r"^\{'Module': '([^']+)'"
_NEEDED = ["start", "eventType", "globalTid"]
_TENSORRT = r" TensorRT$"
_RUNS = r"^I?ExecutionContext::"
# Each part but the name may be missing. Without autograd there is no `seq`, before PyTorch 1.11 no
# `op_id`, without record_shapes=True no `sizes` and `input_op_ids`.
_PARTS = (
    r"^(?s:(?P<name>.+?))(?:, seq = (?P<sequence_number>[0-9]{1,18}))?(?:, op_id ="
    r" (?P<external_id>[0-9]{1,18}))?"
    r"(?:, sizes = (?P<input_shapes>\[[\[\]0-9, -]+\]))?(?:, input_op_ids = \[[()0-9, -]*\])?$"
)
_QUALIFIED = r"^[A-Za-z_]\w*(::[A-Za-z_]\w*)+(\.\w+)?(: .+)?$"
"""Matches the names of ops and of autograd's nodes.

Examples are `aten::add.Tensor` and `autograd::engine::evaluate_function: AddmmBackward0`.
"""
_BACKWARD = r"^\w*Backward\w*$"
_BARE = r"^(aten|prim)::\w+$"


def spans(session: Session, end_ns: Callable[[], int | None]) -> pl.DataFrame:
    """Return NVTX ranges and marks as raw spans.

    A range that was still open when the capture ended gets the end `end_ns()`.
    """
    # Some versions of nsys add _V2 or _V3 to the table's name.
    tables = sorted(
        t
        for t in session.export.columns
        if t.removesuffix("_V2").removesuffix("_V3") == "NVTX_EVENTS"
    )
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
        created.append(named.filter(pl.col("eventType") == enums.DOMAIN_CREATE))
        parts.append(narrow(_ranges(session, table, named, end_ns)))
    return _classified(_with_domains(together(parts), pl.concat(created)))


def _classified(ranges: pl.DataFrame) -> pl.DataFrame:
    """Return the ranges with their kind, and with columns parsed from their names.

    The library that opened a range decides how its name is parsed. If a range is the call of a
    module, the column `exact_path` has the module's path in the model.
    """
    named = read_names(ranges["name"])
    # PyTorch pushes its ranges into the default domain.
    is_named = (
        named["kind"].is_not_null() & (ranges["domainId"] == 0) & (ranges["category"] == "push_pop")
    )
    parsed = pl.DataFrame(
        [column.zip_with(is_named, column.clear(len(column))) for column in named.get_columns()]
    )
    layer = _find_layers(ranges).cast(pl.Categorical)
    path = ranges["exact_path"].zip_with(ranges["exact_path"].is_not_null(), layer)
    parsed = parsed.with_columns(
        pl.coalesce(parsed["name"], ranges["name"]).alias("name"),
        kind=pl.when(path.is_not_null())
        .then(enums.constant("module"))
        .otherwise(pl.coalesce(parsed["kind"], enums.constant("nvtx"))),
        exact_path=path,
    )
    return narrow(ranges.drop("domainId", "name", "exact_path").hstack(parsed))


def _names(session: Session, raw: pl.DataFrame) -> pl.Series:
    """Return the text of each row, or None.

    A row has its text in the column `text`, or the id of the text in the column `textId`.
    """
    written = raw["text"].cast(pl.Categorical)
    return written.zip_with(written.is_not_null(), session.named(raw["textId"]))


def _ranges(
    session: Session,
    table: str,
    raw: pl.DataFrame,
    end_ns: Callable[[], int | None],
) -> pl.DataFrame:
    """Return the ranges and marks among the rows, as raw spans with their domainId."""
    kind = pl.col("eventType")
    is_range = kind.is_in([*enums.PUSH_POP, *enums.START_END])
    # Schemas before 2.10 had no NULLs: an open range ends at 0 or -1.
    is_open = is_range & (pl.col("end").is_null() | (pl.col("end") < pl.col("start")))
    chosen = raw.with_columns(is_open=is_open).filter(is_range | kind.is_in(enums.MARK))
    n_open = int(chosen["is_open"].sum())
    text = "NVTX ranges were still open when the capture ended; they end there"
    session.diagnostics.add("warning", "open_ranges", text, n_open)
    last = pl.lit(end_ns() if n_open else None, pl.Int64) - session.base_ns
    closed = chosen.with_columns(
        end=pl.when(kind.is_in(enums.MARK))
        .then("start")
        .when("is_open")
        .then(pl.max_horizontal("start", last))
        .otherwise("end")
    )
    path = each_once(closed["name"], lambda name: name.str.extract(_MODULE))
    with_paths = closed.with_columns(path.alias("exact_path"))
    return session.intervals(table, with_paths).select(
        enums.word(kind, _CATEGORIES | dict.fromkeys(enums.MARK, "mark")).alias("category"),
        pl.col("name").fill_null(""),
        "exact_path",
        "start_ns",
        "duration_ns",
        "process_id",
        "thread_id",
        "domainId",
    )


def _with_domains(ranges: pl.DataFrame, created: pl.DataFrame) -> pl.DataFrame:
    """Return the ranges with their domain's name appended to the category.

    A domain id is unique within its process. Domain 0 is the default and gets no name.
    """
    keys = ["process_id", "domainId"]
    domains = created.filter(pl.col("domainId") != 0).drop_nulls("name").unique(keys, keep="last")
    if domains.is_empty():
        return ranges
    domains = domains.select(
        pl.col("process_id"),
        pl.col("domainId").cast(ranges.schema["domainId"]),
        domain="name",
    )
    seen = ranges.select(*keys, "category").unique().join(domains, on=keys)
    named = seen.with_columns(
        longer=pl.concat_str(
            pl.col("category", "domain").cast(pl.String),
            separator=" ",
        ).cast(pl.Categorical)
    ).drop("domain")
    joined = ranges.join(
        named,
        on=[*keys, "category"],
        how="left",
        maintain_order="left",
    )
    return joined.with_columns(category=pl.coalesce("longer", "category")).drop("longer")


def _find_layers(ranges: pl.DataFrame) -> pl.Series:
    """Return the path of each raw span that is a TensorRT layer, None for the others."""
    nothing = pl.repeat(None, ranges.height, dtype=pl.String, eager=True).alias("exact_path")
    rows = each_once(
        ranges["category"],
        lambda category: category.str.contains(_TENSORRT),
    ).arg_true()
    if not len(rows):
        return nothing
    engine_ranges = ranges.select("name", "process_id", "thread_id", "start_ns", "duration_ns")[
        rows
    ]
    parent = as_rows(nest(engine_ranges, engine_ranges.clear()).parent)
    names = engine_ranges["name"].cast(pl.String)
    runs = names.str.contains(_RUNS)
    # A layer is a range directly inside a call that runs an engine. Calls that build or load an
    # engine contain ranges that are not layers.
    is_layer = runs.gather(parent).fill_null(value=False) & ~runs
    return nothing.scatter(rows.filter(is_layer), names.filter(is_layer))


def read_names(names: pl.Series) -> pl.DataFrame:
    """Return the kind, plain name, ids and shapes of each range, parsed from its full name.

    The kind is op or annotation. It is None for a range that PyTorch did not name.
    """
    # Only PyTorch adds an id, a sequence number or sizes. Without any of these, only a name in
    # `aten` or `prim` is an op.
    rows, places = distinct_rows(names.cast(pl.Categorical).to_physical())
    parsed = _parsed(names.gather(rows).cast(pl.String)).with_columns(
        pl.selectors.string().cast(pl.Categorical)
    )
    return parsed.select(pl.all().gather(places))


def _parsed(texts: pl.Series) -> pl.DataFrame:
    """Return the columns of `read_names` for distinct texts.

    Texts with parts such as `, seq = ` are parsed. Texts without such parts are parsed only if they
    are op names such as `aten::add` or `prim::data`.
    """
    frame = texts.alias("text").to_frame()
    text = pl.col("text")
    has_parts = pl.any_horizontal(
        text.str.contains(f", {part} = ", literal=True) for part in ("seq", "op_id", "sizes")
    )
    rows = (
        frame.select((has_parts | text.str.contains(_BARE)).fill_null(value=False))
        .to_series()
        .arg_true()
    )
    parts = frame[rows].select(text.str.extract_groups(_PARTS)).unnest("text")
    with_numbers = parts.with_columns(pl.col("sequence_number", "external_id").cast(pl.Int64))
    sequence, op_id = pl.col("sequence_number").is_not_null(), pl.col("external_id").is_not_null()
    has_detail, is_qualified = (
        sequence | pl.col("input_shapes").is_not_null(),
        pl.col("name").str.contains(_QUALIFIED),
    )
    is_qualified |= sequence & pl.col("name").str.contains(_BACKWARD)
    is_op = (
        (is_qualified & (has_detail | op_id))
        | (has_detail & op_id)
        | pl.col("name").str.contains(_BARE)
    )
    parsed = with_numbers.select(
        pl.all(),
        kind=pl.when(is_op).then(pl.lit("op")).when(op_id).then(pl.lit("annotation")),
    )
    named = parsed["kind"].is_not_null()
    kept, rows = parsed.filter(named), rows.filter(named)
    spread = [column.clear(len(texts)).scatter(rows, column) for column in kept.get_columns()]
    return pl.DataFrame(spread).with_columns(name=pl.coalesce("name", texts))
