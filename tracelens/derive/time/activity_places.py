"""Name the places of a host thread's activities: a stretch is cut where the place changes."""

import polars as pl

from tracelens.derive.columns.per_unique import each_once
from tracelens.derive.columns.split_intervals import cut_rows
from tracelens.derive.time.call_path import CallPaths, between, find_paths, is_step
from tracelens.derive.time.host_lanes import Lanes

PROFILER = "the profiler's own work"
"""The place of time that the profiler takes for itself in a thread, for example to allocate a
buffer."""
CLASSES = (
    "profiler",
    "loading",
    "call",
    "waiting",
    "input",
    "communication",
    "computing",
    "launch",
    "host",
)
"""Classes of activity on a thread by priority where several overlap: an API call within
compilation is compilation."""
_LEAST = 0.01
"""A place with less than this share of a stretch is charged to the place around it."""
_MOST_ROUNDS = 8
_LENGTH = pl.col("end_ns") - pl.col("start_ns")


def with_places(
    segments: pl.DataFrame, lanes: Lanes, spans: pl.DataFrame, causing: pl.DataFrame
) -> pl.DataFrame:
    """Turn segments of the lanes into activities: name each one's place (`what`, `span_id`).

    A segment has start_ns, end_ns, class, cause and `at`. Where `at` is a row of `causing`, the
    segment is that call: its place is the call's path and the API function. Any other segment is
    cut where the place changes, so that a place is charged for its own time only; launching is not
    cut. `span_id` is the span around a call, else the innermost span of the place.
    """
    is_call = pl.col("at").is_not_null()
    without_api = pl.col("class").is_in([_number("launch"), _number("profiler")])
    is_named = is_call | ~without_api
    near = _overlapping(lanes.spans, segments.filter(is_named))
    paths = find_paths(spans, near)
    api = causing.select("api", "span_id", at="row")
    call_segments = segments.filter(is_call)
    calls = call_segments.join(api, on="at", how="left", maintain_order="left")
    path_of_call = paths.texts(spans, paths.places(calls["span_id"]))
    calls = calls.with_columns(what=_called(path_of_call, calls["api"]))
    other_segments = segments.filter(is_named & ~is_call)
    stretches = _cut(other_segments, lanes, spans, paths)
    bare = stretches["what"].is_null()
    start_ns = pl.col("start_ns")
    bare_stretches = stretches.filter(bare)
    middle = bare_stretches.select((start_ns + pl.col("end_ns")) // 2)
    names = pl.concat(
        [
            stretches.filter(~bare),
            bare_stretches.with_columns(what=_between(spans, lanes, middle.to_series())),
        ]
    )
    is_profiler = pl.col("class") == _number("profiler")
    rest = segments.filter(~is_named).with_columns(
        what=pl.when(is_profiler).then(pl.lit(PROFILER)),
        span_id=pl.lit(None, pl.Int64),
    )
    columns = ("start_ns", "end_ns", "cause", "at", "what", "span_id")
    whole = pl.concat([part.select(columns) for part in (calls, names, rest)]).sort("start_ns")
    of_thread = lanes.threads[lanes.thread_of(whole["start_ns"])]
    return whole.select(
        of_thread["process_id"],
        of_thread["thread_id"],
        start_ns=start_ns - of_thread["shift_ns"],
        duration_ns=_LENGTH,
        cause="cause",
        what="what",
        span_id="span_id",
        api_call_id="at",
    )


def _number(name: str) -> int:
    return CLASSES.index(name)


def _called(path: pl.Series, api: pl.Series) -> pl.Series:
    """Return the path of a call with the function of the API at its end."""
    parts = pl.DataFrame({"path": path, "api": api.cast(pl.String)})
    return parts.select(
        pl.concat_str("path", "api", separator=" > ", ignore_nulls=True)
    ).to_series()


def _overlapping(spans: pl.DataFrame, segments: pl.DataFrame) -> pl.Series:
    """Return the sorted rows of the spans that overlap a segment.

    Segments are disjoint and sorted by start.
    """
    n_begun = segments["end_ns"].search_sorted(spans["start_ns"], side="right")
    first = n_begun.cast(pl.Int64)
    first = first.set(first >= segments.height, None)
    begins = segments["start_ns"].gather(first)
    ends_before = (begins < spans["end_ns"]).fill_null(value=False)
    return spans["row"].filter(ends_before).sort()


def _cut(
    stretches: pl.DataFrame, lanes: Lanes, spans: pl.DataFrame, paths: CallPaths
) -> pl.DataFrame:
    """Cut the stretches where the place changes; add `place` and `what`.

    Both are None outside of any span.
    """
    owners = _owners(lanes.spans, paths)
    numbered = stretches.drop("at").with_row_index("stretch")
    whole = numbered.with_columns(whole_ns=_LENGTH)
    pieces = cut_rows(whole, owners)
    place_of_piece = owners["place"].gather(pieces["at"])
    pieces = pieces.with_columns(place=place_of_piece).drop("at")
    texts = paths.frame.select("place").drop_nulls().unique()
    text_of_place = paths.texts(spans, texts["place"])
    texts = texts.with_columns(what=text_of_place)
    pieces = _without_small(pieces, texts, paths)
    is_new = pl.any_horizontal(
        pl.col(name).ne_missing(pl.col(name).shift(1)) for name in ("stretch", "what")
    )
    starts_anew = is_new.fill_null(value=True)
    number = pieces.select(starts_anew.cum_sum()).to_series()
    return (
        pieces.with_columns(number.alias("number"))
        .group_by("number", maintain_order=True)
        .agg(
            pl.col("start_ns", "cause", "what").first(),
            pl.col("end_ns").last(),
            span_id=pl.col("place").get(_LENGTH.arg_max()),
            at=pl.lit(None, pl.Int64),
        )
    )


def _without_small(pieces: pl.DataFrame, texts: pl.DataFrame, paths: CallPaths) -> pl.DataFrame:
    """Charge a place that takes too little of a stretch to the place around it.

    Where no place is around it, the time goes to the place before. Add `what`, the places' texts.
    """
    length_of_text = _LENGTH.sum().over("stretch", "what")
    is_small = length_of_text < _LEAST * pl.col("whole_ns")
    for _ in range(_MOST_ROUNDS):
        named = pieces.join(texts, on="place", how="left", maintain_order="left")
        around = paths.enclosing(pieces["place"])
        small = named.select(is_small).to_series() & around.is_not_null()
        if not small.any():
            break
        kept_place = around.zip_with(small, pieces["place"])
        pieces = pieces.with_columns(kept_place.alias("place"))
    place = pl.col("place")
    is_gap = place.is_null() & is_small
    filled = place.forward_fill().over("stretch")
    filled = pl.coalesce(filled, place.backward_fill().over("stretch"))
    place_or_filled = pl.when(is_gap).then(filled).otherwise("place")
    named = named.with_columns(place=place_or_filled).drop("what")
    return named.join(texts, on="place", how="left", maintain_order="left")


def _owners(spans: pl.DataFrame, paths: CallPaths) -> pl.DataFrame:
    """Divide a thread's time among places: disjoint start_ns, end_ns and place, sorted by start.

    A place is a span's row.
    """
    rows = spans["row"].cast(pl.Int64)
    is_place = (paths.places(rows) == rows).fill_null(value=False)
    place_rows = rows.filter(is_place)
    charged = spans.filter(is_place).select("start_ns", "end_ns", place=place_rows)
    end_ns = pl.col("end_ns")
    start_ns = pl.col("start_ns")
    charged = charged.filter(end_ns > start_ns)
    around = paths.enclosing(charged["place"])
    depth = paths.depths(charged["place"])
    begins = charged.select(ns="start_ns", place="place", is_begin=1, order=depth)
    ends = charged.select(ns="end_ns", place=around, is_begin=0, order=-depth)
    edges = pl.concat([ends, begins], how="vertical_relaxed")
    edges = edges.sort("ns", "is_begin", "order", maintain_order=True)
    next_ns = pl.col("ns").shift(-1)
    tiles = edges.select(start_ns="ns", end_ns=next_ns, place="place")
    return tiles.drop_nulls().filter(end_ns > start_ns)


def _nearest(events: pl.DataFrame, lanes: Lanes, moments: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return two places per moment: those of the thread's last event before it and of the next.

    The last event began no later than the moment. A place is None where there is no such event.
    """
    thread = lanes.thread_of(moments)
    after = events["start_ns"].search_sorted(moments, "right")
    places = after.cast(pl.Int64) - 1, after.cast(pl.Int64)
    inside = [place.set((place < 0) | (place >= events.height), None) for place in places]
    owners = [lanes.thread_of(events["start_ns"].gather(place)) for place in inside]
    last, following = (
        place.set(~(owner == thread).fill_null(value=False), None)
        for place, owner in zip(inside, owners, strict=True)
    )
    return last, following


def _ends(spans: pl.DataFrame, rows: pl.Series) -> pl.Series:
    """Return when the spans of these rows end."""
    starts = spans["start_ns"].gather(rows).cast(pl.Int64)
    return starts + spans["duration_ns"].gather(rows)


def _between(spans: pl.DataFrame, lanes: Lanes, moments: pl.Series) -> pl.Series:
    """Describe each moment outside of any span by the spans just before and just after it.

    Where one side has nothing but the mark of a step, a call is named instead: before the replay of
    a graph there is nothing else.
    """
    place, following = _nearest(lanes.spans, lanes, moments)
    row = lanes.spans["row"].cast(pl.Int64).gather(place)
    recorded = lanes.recorded(moments)
    while row.count():
        above = spans["parent_id"].gather(row).cast(pl.Int64)
        has_ended = _ends(spans, above) <= recorded
        if not has_ended.any():
            break
        row = above.zip_with(has_ended.fill_null(value=False), row)
    span_names = spans["name"].gather(row)
    is_mark = each_once(span_names, is_step).fill_null(value=False)
    ends_before_record = _ends(spans, row) <= recorded
    is_outside = is_mark & ends_before_record.fill_null(value=False)
    calls = _bare_calls(lanes.calls, spans)
    last_call, next_call = _nearest(calls, lanes, moments)
    next_mark = each_once(lanes.spans["name"].gather(following), is_step)
    names = pl.DataFrame(
        {
            "before": span_names.cast(pl.String),
            "after": lanes.spans["name"].gather(following).cast(pl.String),
            "call_before": calls["api"].gather(last_call).cast(pl.String),
            "call_after": calls["api"].gather(next_call).cast(pl.String),
            "is_next_mark": next_mark.fill_null(value=True),
            "is_later": calls["start_ns"].gather(last_call)
            >= lanes.spans["start_ns"].gather(place),
            "is_earlier": calls["start_ns"].gather(next_call)
            < lanes.spans["start_ns"].gather(following),
            "is_outside": is_outside,
        }
    )
    by_call_after = pl.col("is_next_mark") & pl.col("is_earlier").fill_null(value=True)
    by_call_after &= pl.col("call_after").is_not_null()
    by_call_before = pl.col("before").is_null() | by_call_after
    by_call_before &= pl.col("is_later").fill_null(value=True) & pl.col("call_before").is_not_null()
    before = pl.when(by_call_before).then("call_before").otherwise("before")
    after = pl.when(by_call_after).then("call_after").otherwise("after")
    text = between(before, after, pl.col("is_outside"))
    return names.select(text).to_series().alias("what")


def _bare_calls(calls: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Return the calls that lie outside of all spans but marks of steps."""
    around = spans["name"].gather(calls["span_id"])
    return calls.filter(each_once(around, is_step).fill_null(value=True))
