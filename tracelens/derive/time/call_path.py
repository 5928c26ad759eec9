"""Places in a program, in words that people know: Python lines, annotations, ops, API calls."""

import sys

import polars as pl

from tracelens.derive.events.steps import FAMILIES

LOADER = r"DataLoader|_next_data"
"""Names of spans from a data loader's own code."""

OWN_HOOKS = r"(?:^|/)collectors/torch/live/\w+\.py\("
"""Python frames of a live capture's hooks in the program."""

_STDLIB = "|".join(sorted(name for name in sys.stdlib_module_names if not name.startswith("_")))
_NOT_THE_PROGRAMS = (
    rf"^<|^(?:.*/)?torch/|^(?:{_STDLIB})(?:\.py\(|/)"
    rf"|(?:^|/)tracelens/|{OWN_HOOKS}|/(?:dist|site)-packages/|/lib/python3"
)
_UNINFORMATIVE = (
    "|".join(f"(?:{words})" for words in FAMILIES.values())
    + rf"|{OWN_HOOKS}|^ProfilerPart#|^PyTorch Profiler|^nn\.Module: "
)
_LONGEST = 100
_MOST_CALLS = 8
"""Levels of calls below the innermost span that are followed."""


def describe(spans: pl.DataFrame, asked: pl.DataFrame) -> pl.DataFrame:
    """`segment`, `what` and `span_id` of each stretch in `asked` (segment, span_id, api, start_ns, end_ns).

    `span_id` is the row in `spans` (parent_id, kind, name, start_ns, duration_ns) of the innermost
    span around. A call has an `api`; for any other stretch only spans count that cover at least
    half of it, and the innermost of these is its span_id. `what` leads from the outside in: the
    program's own Python function and line, the annotation, the loader, the outermost op, the
    innermost span, the function that it calls repeatedly, and the API call, as far as there are
    any; null where there are none.
    """
    chains = _chains(spans, asked)
    is_call = pl.col("api").is_not_null()
    reaches = pl.min_horizontal("span_end", "end_ns") - pl.max_horizontal("span_start", "start_ns")
    chains = chains.filter(
        is_call | (2 * reaches >= pl.col("end_ns") - pl.col("start_ns")).fill_null(value=False)
    )
    innermost = (
        chains.sort("level").group_by("segment", maintain_order=True).agg(pl.col("span").first())
    )
    texts = pl.concat(
        [_informative(chains), _called_most(spans, asked.filter(~is_call), innermost)]
    )
    steps = texts.group_by("segment", maintain_order=True).agg(pl.col("text"))
    named = asked.select("segment", "api").join(
        steps, on="segment", how="left", maintain_order="left"
    )
    named = named.join(innermost, on="segment", how="left", maintain_order="left")
    whole = pl.concat_list(
        pl.col("text").fill_null([]), pl.col("api").cast(pl.String)
    ).list.drop_nulls()
    what = whole.list.eval(
        pl.element().filter(pl.element() != pl.element().shift(1).fill_null(""))
    ).list.join(" > ")
    return named.select(
        "segment", span_id="span", what=pl.when(what == "").then(None).otherwise(what)
    )


def _called_most(spans: pl.DataFrame, asked: pl.DataFrame, innermost: pl.DataFrame) -> pl.DataFrame:
    """Segment and text of the program's function, below each stretch's innermost span, that takes half of the stretch.

    For example a loader's function that is called for one sample after the other.
    """
    left = asked.select("segment", "start_ns", "end_ns").join(innermost, on="segment")
    found = pl.DataFrame(schema={"segment": asked.schema["segment"], "text": pl.String})
    is_python = spans["kind"] == "python"
    for _ in range(_MOST_CALLS if is_python.any() else 0):
        called = (spans["parent_id"].is_in(left["span"].unique().implode()) & is_python).fill_null(
            value=False
        )
        rows = called.arg_true() if left.height else pl.Series([], dtype=pl.UInt32)
        calls = spans.select("name", "start_ns", "duration_ns", span="parent_id")[rows].select(
            pl.col("name").cast(pl.String),
            pl.col("span").cast(pl.Int64),
            row=rows.cast(pl.Int64),
            begins=pl.col("start_ns").cast(pl.Int64),
            ends=pl.col("start_ns").cast(pl.Int64) + pl.col("duration_ns"),
        )
        reaches = pl.min_horizontal("ends", "end_ns") - pl.max_horizontal("begins", "start_ns")
        reached = left.join(calls, on="span").with_columns(
            sum=reaches.clip(0).sum().over("segment", "name")
        )
        most = reached.filter(2 * pl.col("sum") >= pl.col("end_ns") - pl.col("start_ns"))
        if not most.height:
            break
        # The innermost function of the program's own stands for those around it.
        own = most.filter(~pl.col("name").str.contains(_NOT_THE_PROGRAMS)).unique(
            "segment", maintain_order=True
        )
        own = own.select("segment", text=shortened(pl.col("name")))
        found = pl.concat([found.join(own, on="segment", how="anti"), own])
        left = most.select("segment", "start_ns", "end_ns", span="row")
    return found


def between(before: pl.Expr, after: pl.Expr) -> pl.Expr:
    """A text for time in which nothing is recorded, from the names before and after it."""
    before, after = (
        pl.when(name.str.contains(_UNINFORMATIVE))
        .then(pl.lit(f"the step's {edge}"))
        .otherwise(shortened(name))
        for name, edge in ((before, "begin"), (after, "end"))
    )
    return (
        pl.when(before.is_null())
        .then("before " + after)
        .when(after.is_null())
        .then("after " + before)
        .otherwise("between " + before + " and " + after)
    )


def shortened(name: pl.Expr) -> pl.Expr:
    """A span's name in short: a Python frame's file without folders, a builtin's own name."""
    name = name.str.replace(r"^<built-in (?:method|function) ([\w.]+).*$", "${1}")
    name = name.str.replace(
        r"^enumerate\(DataLoader\)#(_\w+)\.__next__$", "DataLoader.__next__ (${1})"
    )
    # An __init__.py or __main__.py keeps its folder, as every package has one.
    name = name.str.replace(r"^.*/([^/()]+/__(?:init|main)__\.py\(\d+\): )", "${1}")
    is_package = name.str.contains(r"^[^/()]+/__(?:init|main)__\.py\(")
    name = (
        pl.when(is_package)
        .then(name)
        .otherwise(name.str.replace(r"^.*/([^/()]+\.py\(\d+\): )", "${1}"))
    )
    name = name.str.replace(r"^## ?(.+?) ?##$", "${1}")
    return (
        pl.when(name.str.len_chars() > _LONGEST)
        .then(name.str.slice(0, _LONGEST - 1) + "…")
        .otherwise(name)
    )


def _chains(spans: pl.DataFrame, asked: pl.DataFrame) -> pl.DataFrame:
    """The spans around each stretch, level 0 the innermost: its columns, level, the span's row, times, kind, name."""
    columns = ["segment", "api", "start_ns", "end_ns"]
    left = asked.select(*columns, span=pl.col("span_id").cast(pl.Int64)).drop_nulls("span")
    levels: list[pl.DataFrame] = []
    while left.height or not levels:  # once without rows, too, which gives the columns
        row = left["span"]
        start = spans["start_ns"].gather(row).cast(pl.Int64)
        kind, name = (spans[column].gather(row).cast(pl.String) for column in ("kind", "name"))
        times = {"span_start": start, "span_end": start + spans["duration_ns"].gather(row)}
        levels.append(left.with_columns(kind, name, level=pl.lit(len(levels), pl.Int32), **times))
        left = left.with_columns(span=spans["parent_id"].gather(row).cast(pl.Int64)).drop_nulls(
            "span"
        )
    return pl.concat(levels)


def _informative(chains: pl.DataFrame) -> pl.DataFrame:
    """Segment and text of the spans around each stretch that are worth naming, from the outside in."""
    kind, name, level = pl.col("kind"), pl.col("name"), pl.col("level")
    informs = ~name.str.contains(_UNINFORMATIVE)
    is_loader = name.str.contains(LOADER) & informs
    is_own = (kind == "python") & ~name.str.contains(_NOT_THE_PROGRAMS)
    flagged = chains.with_columns(
        loader=pl.when(is_loader).then(level).max().over("segment"),
        own=pl.when(is_own).then(level).min().over("segment"),
        annotation=pl.when(kind.is_in(["annotation", "nvtx"]) & informs)
        .then(level)
        .min()
        .over("segment"),
        op=pl.when(kind == "op").then(level).max().over("segment"),
        leaf=pl.when(informs).then(level).min().over("segment"),
    )
    flagged = flagged.with_columns(
        above=pl.when(is_own & (level > pl.col("loader"))).then(level).min().over("segment")
    )
    marks = ("loader", "own", "annotation", "op", "leaf", "above")
    chosen = pl.any_horizontal((level == pl.col(mark)).fill_null(value=False) for mark in marks)
    # The function that the program's own one called says more than a library's innermost one.
    is_called = (level == pl.col("own") - 1) & pl.col("loader").is_null()
    chosen = chosen | is_called.fill_null(value=False)
    is_call = pl.col("api").is_not_null()
    is_inner_op = (kind == "op") & (level != pl.col("op")) & is_call
    text = shortened(name)
    return (
        flagged.filter(chosen & informs & ~is_inner_op)
        .sort("segment", "level", descending=[False, True])
        .select("segment", text=text)
    )
