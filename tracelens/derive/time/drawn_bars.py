"""Choose the bars of a timeline that fit, and add details to each."""

from typing import Any

import polars as pl

from tracelens.derive.columns.intervals import END
from tracelens.derive.kernels.grids import SHAPE
from tracelens.derive.time.event_bars import BAR, IDS_OF_WORK
from tracelens.trace import Trace

DETAILS = {"op": pl.String, "layer": pl.String, "shapes": pl.String, "size": pl.String}
"""Columns that `with_details` adds.

- `op`: the innermost op around a launch
- `size`: a kernel's grid and block, or the bytes that are copied or filled
"""
_FIRST_WIDTH = 1 / 4_000
"""Bars shorter than this share of the step are merged first."""
_BARS_OF_LEVEL = 4
"""Number of bars that fit on each level of each lane."""
_AS_TEXT: dict[Any, Any] = {pl.Categorical: pl.String}
"""Casts that turn the texts of bars from categorical codes into strings."""
_OF_SPAN = ["name", "kind", "module_path", "input_shapes"]


def without_deepest(bars: pl.DataFrame, most: int) -> pl.DataFrame:
    """Leave out the deepest levels if all lanes together have too many levels to draw."""
    most_levels = most // _BARS_OF_LEVEL
    levels = bars.select("lane", "level").unique(maintain_order=True)
    if levels.height <= most_levels:
        return bars
    shallowest_first = levels.sort("level", maintain_order=True)
    return bars.join(
        shallowest_first.head(most_levels),
        on=["lane", "level"],
        how="semi",
        maintain_order="left",
    )


def merge_short(bars: pl.DataFrame, length: int, most: int) -> tuple[pl.DataFrame, int | None]:
    """Merge short bars until at most `most` bars remain.

    Each lane and level is divided into equal intervals. All bars that are shorter than an interval
    and begin in the same one become one bar. `length` is the length of the drawn step in ns. Also
    return the interval's length in ns, None if nothing was merged.
    """
    width = max(round(length * _FIRST_WIDTH), 1)
    kept = bars
    merged_ns = None
    while kept.height > most:
        is_short = pl.col("duration_ns") < width
        long = bars.filter(~is_short)
        merged = _merged(bars.filter(is_short), width)
        kept = pl.concat([long, merged])
        merged_ns = width
        width = width * 2
    distinct_lanes = bars.select("lane").unique(maintain_order=True)
    lanes = distinct_lanes.with_row_index("order")
    with_order = kept.join(lanes, on="lane", how="left")
    drawn = with_order.sort("order", "level", "start_ns").drop("order")
    return drawn.cast(_AS_TEXT), merged_ns


def _merged(bars: pl.DataFrame, width: int) -> pl.DataFrame:
    """Merge the bars of a lane and level that begin in the same interval of this width.

    A merged bar has the name and the kind of its longest bar.
    """
    start_ns = pl.col("start_ns")
    interval = (start_ns // width).alias("interval")
    by_interval = bars.group_by(
        "lane",
        "level",
        interval,
        maintain_order=True,
    )
    shown = pl.col("name", "kind", "api_call_id", "rank", "source", "event_id")
    merged = by_interval.agg(
        start_ns.min(),
        shown.sort_by("duration_ns").last(),
        duration_ns=END.max() - start_ns.min(),
        n=pl.len().cast(pl.Int64),
    )
    return merged.select(BAR)


def with_details(trace: Trace, bars: pl.DataFrame) -> pl.DataFrame:
    """Add the columns of DETAILS to the bars of a timeline, None if nothing is recorded.

    `bars` have rank, source and event_id. The rows stay in their order.
    """
    numbered = bars.with_row_index("row")
    parts = [numbered.clear().with_columns(_nothing())]
    by_rank = numbered.partition_by("rank", as_dict=True)
    for (rank,), bars_of_rank in by_rank.items():
        parts.append(_of_rank(trace, bars_of_rank, rank))
    return pl.concat(parts).sort("row").drop("row")


def _nothing() -> list[pl.Expr]:
    return [pl.lit(None, dtype).alias(name) for name, dtype in DETAILS.items()]


def _of_rank(trace: Trace, bars: pl.DataFrame, rank: int | None) -> pl.DataFrame:
    """Return a rank's bars with the columns of DETAILS, which are all None if `rank` is None."""
    if rank is None:
        return bars.with_columns(_nothing())
    key = ["source", "event_id"]
    spans, sizes = _spans_and_sizes(trace, bars, rank)
    around = spans.unique(key)
    ids = around["span_id"].drop_nulls().unique()
    is_wanted = pl.col("span_id").is_in(ids.implode())
    recorded = trace.select(
        "spans",
        "span_id",
        *_OF_SPAN,
        where=is_wanted,
        rank=rank,
    )
    texts = recorded.cast({pl.Categorical: pl.String})
    is_op = pl.col("kind") == "op"
    named = around.join(texts, on="span_id", how="left").select(
        *key,
        op=pl.when(is_op).then("name"),
        layer="module_path",
        shapes="input_shapes",
    )
    with_spans = bars.join(named, on=key, how="left")
    with_sizes = with_spans.join(sizes.unique(key), on=key, how="left")
    return with_sizes.select(*bars.columns, *DETAILS)


def _spans_and_sizes(
    trace: Trace,
    bars: pl.DataFrame,
    rank: int,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the span around each event that a bar shows, and the sizes of device work in words.

    Columns of the first frame: source, event_id and span_id. Columns of the second frame: source,
    event_id and size.
    """
    of_spans = bars.filter(source="spans")
    spans = [of_spans.select("source", "event_id", span_id="event_id")]
    schema = {"source": pl.String, "event_id": pl.Int64, "size": pl.String}
    sizes = [pl.DataFrame(schema=schema)]
    for table, id_name in {"api_calls": "api_call_id", **IDS_OF_WORK}.items():
        ids = bars.filter(source=table)["event_id"].unique()
        if ids.is_empty():
            continue
        columns = (id_name, "span_id", *_size_columns(table))
        is_wanted = pl.col(id_name).is_in(ids.implode())
        recorded = trace.select(
            table,
            *columns,
            where=is_wanted,
            rank=rank,
        )
        events = recorded.with_columns(source=pl.lit(table), event_id=id_name)
        spans.append(events.select("source", "event_id", "span_id"))
        if table in IDS_OF_WORK:
            sizes.append(events.select("source", "event_id", size=_size(table)))
    return pl.concat(spans), pl.concat(sizes)


def _size_columns(table: str) -> tuple[str, ...]:
    if table == "api_calls":
        return ()
    return SHAPE if table == "kernels" else ("size_bytes",)


def _size(table: str) -> pl.Expr:
    """Describe the size of a launch, copy or fill in words."""
    if table == "kernels":
        return pl.format("grid {}×{}×{}, block {}×{}×{}", *SHAPE)
    return pl.format("{} bytes", "size_bytes")
