"""The span around each call by whole columns: the same result as the walk of `nesting`, for many calls."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import polars as pl

from tracelens.derive.columns.lookup import fill_runs
from tracelens.derive.events.nesting_walk import TOLERANCE_NS

_LANE = ["process_id", "thread_id"]
_TIMES = ["start_ns", "duration_ns"]
_SLICE_ROWS = 1 << 20
_NEVER = 2**63 - 1
_FEW_THREADS = 8
_Thread: TypeAlias = tuple[pl.DataFrame, pl.DataFrame]


def place_calls(spans: pl.DataFrame, parent: Sequence[int] | pl.Series, calls: pl.DataFrame) -> pl.Series:
    """The row of the innermost open span that contains each call, -1 where none does (Int32, a row a call).

    Calls open and close no span, so between two moments at which a span of their thread starts or ends, all calls have
    the same span around them. Only a call that starts at such a moment, or outlasts the span, is looked at by itself.
    Calls are taken in slices, which bounds the memory.
    """
    threads = _by_thread(spans, parent)
    placed = [_placed_on_threads(part, threads) for part in calls.iter_slices(_SLICE_ROWS)]
    return pl.concat(placed) if placed else pl.Series("span", [], pl.Int32)


def _placed_on_threads(calls: pl.DataFrame, threads: dict[tuple[object, ...], _Thread]) -> pl.Series:
    result = pl.repeat(-1, calls.height, dtype=pl.Int32, eager=True).alias("span")
    keyed = calls.select(*_LANE, *_TIMES).with_row_index("row")
    for lane, group in _by_lane(keyed, threads):
        thread = threads.get(lane)
        if thread is not None and group.height:
            by_start = group if group["start_ns"].is_sorted() else group.sort("start_ns")
            result = result.scatter(by_start["row"], _placed(by_start, *thread))
    return result


def _by_lane(calls: pl.DataFrame, threads: Iterable[tuple[object, ...]]) -> Iterable[tuple[Any, pl.DataFrame]]:
    """The calls of each thread. Filtering by each of a few threads takes a third of the time that grouping takes."""
    lanes = list(threads)
    if len(lanes) > _FEW_THREADS:
        yield from calls.group_by(_LANE, maintain_order=True)
        return
    process, thread = calls.select(_LANE).get_columns()
    only = process.min() if process.min() == process.max() and not process.null_count() else None
    for lane in lanes:
        is_mine = thread.eq_missing(lane[1])
        if lane[0] != only:
            is_mine &= process.eq_missing(lane[0])
        yield lane, calls.select(pl.exclude(_LANE)).filter(is_mine)


def _by_thread(spans: pl.DataFrame, parent: Sequence[int] | pl.Series) -> dict[tuple[object, ...], _Thread]:
    """For each thread the moments at which its spans start or end, and its spans in the order of the walk.

    The spans have row, start, end, and above: the parent's row.
    """
    ordered = (
        spans.select(*_LANE, *_TIMES)
        .with_columns(above=pl.Series(parent, dtype=pl.Int64))
        .with_row_index("row")
        .select(*_LANE, "row", "above", start="start_ns", end=pl.col("start_ns") + pl.col("duration_ns"))
        .sort("start", "end", "row", descending=[False, True, False])
    )
    threads = {}
    for lane, group in ordered.group_by(_LANE, maintain_order=True):
        mine = _with_places(group.drop(_LANE).with_row_index("place"))
        threads[lane] = (_around(mine), mine)
    return threads


def _with_places(spans: pl.DataFrame) -> pl.DataFrame:
    """The spans of one thread with `above` and `before` as indices in their order, -1 for none."""
    places = spans.select(above_row=pl.col("row").cast(pl.Int64), above_place="place")
    joined = spans.join(places, left_on="above", right_on="above_row", how="left", maintain_order="left")
    return joined.select(
        "row", "start", "end",
        above=pl.col("above_place").cast(pl.Int64).fill_null(-1),
        before=pl.int_range(-1, pl.len() - 1, dtype=pl.Int64),
    )  # fmt: skip


def _around(spans: pl.DataFrame) -> pl.DataFrame:
    """Each moment at which a span starts or ends, sorted, with the innermost span open from then on and its `limit`.

    An end within the tolerance counts as inside, so `limit` is later than the span's own end.
    """
    moments = pl.concat([spans["start"], spans["end"]]).unique().sort()
    row = _innermost(pl.DataFrame({"start": moments, "end": moments + 1}), spans)
    ends = spans.select(pl.col("row").cast(pl.Int32), limit=pl.col("end") + TOLERANCE_NS)
    return (
        pl.DataFrame({"moment": moments, "row": row})
        .join(ends, on="row", how="left", maintain_order="left")
        .select("moment", "row", pl.col("limit").fill_null(_NEVER))
    )


def _placed(calls: pl.DataFrame, around: pl.DataFrame, spans: pl.DataFrame) -> pl.Series:
    """`place_calls` for calls of one thread, sorted by start."""
    starts = calls["start_ns"]
    # From the first call after a moment on, what is open then is around the calls, until the next moment.
    edges = around.with_columns(
        first=starts.search_sorted(around["moment"], "left"), after=starts.search_sorted(around["moment"], "right")
    )
    turns = edges.filter(pl.col("first") < calls.height).unique("first", keep="last", maintain_order=True)
    row, limit = (fill_runs(turns[name], turns["first"], calls.height) for name in ("row", "limit"))
    together = edges.filter(pl.col("after") > pl.col("first")).select(pl.int_ranges("first", "after").explode())
    outlasting = (starts + calls["duration_ns"] > limit).fill_null(value=False).arg_true()
    alone = pl.concat([together.to_series().cast(pl.UInt32), outlasting.cast(pl.UInt32)]).unique()
    asked = calls[alone].select(start="start_ns", end=pl.col("start_ns") + pl.col("duration_ns"))
    return row.fill_null(-1).cast(pl.Int32).scatter(alone, _innermost(asked, spans))


def _innermost(calls: pl.DataFrame, spans: pl.DataFrame) -> pl.Series:
    """The row of the innermost span around each interval (start, end), -1 for none.

    Starting from the last span to start, each span's parent is tried until one contains the interval.
    """
    result = pl.repeat(-1, calls.height, dtype=pl.Int32, eager=True).alias("row")
    place = spans["start"].search_sorted(calls["start"], "right").cast(pl.Int64) - 1
    left = calls.with_row_index("call").with_columns(place=place).filter(pl.col("place") >= 0)
    while left.height:
        at = left.hstack(spans[left["place"]].rename({name: f"span_{name}" for name in spans.columns}))
        # Of a span and an interval that start together, the longer one came first.
        later = (pl.col("span_start") == pl.col("start")) & (pl.col("span_end") < pl.col("end"))
        is_over = pl.col("span_end") < pl.col("start")
        touches = (pl.col("start") == pl.col("end")) & (pl.col("span_start") < pl.col("span_end"))
        contains = pl.col("end") <= pl.col("span_end") + TOLERANCE_NS
        holds = pl.when(pl.col("span_end") == pl.col("start")).then(touches).otherwise(~is_over & contains)
        at = at.with_columns(later=later, holds=holds & ~later)
        found = at.filter("holds")
        result = result.scatter(found["call"], found["span_row"].cast(pl.Int32))
        at = at.filter(~pl.col("holds"))
        place_next = pl.when("later").then("span_before").otherwise("span_above")
        left = at.select("call", "start", "end", place=place_next).filter(pl.col("place") >= 0)
    return result
