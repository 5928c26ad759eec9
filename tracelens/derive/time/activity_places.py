"""Name the call paths of host threads' activities, and split activities where the path changes."""

import polars as pl

from tracelens.derive.columns.split_intervals import cut_rows
from tracelens.derive.time.call_path import CallPaths, find_paths
from tracelens.derive.time.outside_spans import name_by_neighbours
from tracelens.derive.time.thread_axis import ThreadAxis

PROFILER = "the profiler's own work"
"""The call path of time that the live capture itself takes, for example to allocate a buffer."""
CLASSES = (
    "profiler",
    "loading",
    "call",
    "waiting",
    "input",
    "communication",
    "computing",
    "python",
    "launch",
    "host",
)
"""Classes of activity. Of overlapping activities, the first class counts."""
_LEAST = 0.01
"""A call path with a smaller share of an interval is merged into the path around it."""
_MOST_ROUNDS = 8
_LENGTH = pl.col("end_ns") - pl.col("start_ns")


def with_places(
    segments: pl.DataFrame,
    axis: ThreadAxis,
    spans: pl.DataFrame,
    causing: pl.DataFrame,
) -> pl.DataFrame:
    """Add the call path (`what`, `span_id`) to segments of a thread axis, and split them by path.

    Columns of segments: start_ns, end_ns, class, cause and `at`. `at` is the row number of the
    segment's API call, None without a call. `span_id` is the span around the API call. Without a
    call, it is the innermost span of the path. `causing` is the result of `causing_calls`.
    """
    is_call = pl.col("at").is_not_null()
    without_path = pl.col("class").is_in([_number("launch"), _number("profiler")])
    parts = [_without_path(segments.filter(~is_call & without_path))]
    on_path = segments.filter(is_call | ~without_path)
    if on_path.height:
        paths = find_paths(spans, _overlapping(axis.spans, on_path))
        api = causing.select("api", "span_id", at="row")
        calls = on_path.filter(is_call).join(
            api,
            on="at",
            how="left",
            maintain_order="left",
        )
        places_of_calls = paths.places(calls["span_id"])
        path_of_call = paths.texts(spans, places_of_calls)
        parts.append(calls.with_columns(what=_called(path_of_call, calls["api"])))
        parts.append(_on_paths(on_path.filter(~is_call), axis, spans, paths))
    columns = ("start_ns", "end_ns", "cause", "at", "what", "span_id")
    every = pl.concat([part.select(columns) for part in parts])
    named = every.sort("start_ns")
    thread = axis.thread_of(named["start_ns"])
    threads = axis.threads[thread]
    return named.select(
        threads["process_id"],
        threads["thread_id"],
        start_ns=pl.col("start_ns") - threads["shift_ns"],
        duration_ns=_LENGTH,
        cause="cause",
        what="what",
        span_id="span_id",
        api_call_id="at",
    )


def _on_paths(
    segments: pl.DataFrame,
    axis: ThreadAxis,
    spans: pl.DataFrame,
    paths: CallPaths,
) -> pl.DataFrame:
    """Split segments where the path changes, and name them by path.

    Time without a path is named by the events before and after it.
    """
    cut = _cut(segments, axis, spans, paths)
    is_bare = cut["what"].is_null()
    bare = cut.filter(is_bare)
    if bare.is_empty():
        return cut
    middle = (bare["start_ns"] + bare["end_ns"]) // 2
    names = name_by_neighbours(spans, axis, middle)
    described = bare.with_columns(what=names)
    return pl.concat([cut.filter(~is_bare), described])


def _without_path(segments: pl.DataFrame) -> pl.DataFrame:
    """Add `what` and `span_id` to segments of launching and of the profiler's own work.

    `what` is None for launching. `span_id` is None.
    """
    is_profiler = pl.col("class") == _number("profiler")
    return segments.with_columns(
        what=pl.when(is_profiler).then(pl.lit(PROFILER)),
        span_id=pl.lit(None, pl.Int64),
    )


def _number(name: str) -> int:
    return CLASSES.index(name)


def _called(path: pl.Series, api: pl.Series) -> pl.Series:
    """Return each call's path, followed by its API function."""
    parts = pl.DataFrame({"path": path, "api": api.cast(pl.String)})
    text = pl.concat_str(
        "path",
        "api",
        separator=" > ",
        ignore_nulls=True,
    )
    return parts.select(text).to_series()


def _overlapping(spans: pl.DataFrame, segments: pl.DataFrame) -> pl.Series:
    """Return the sorted rows of the spans that overlap a segment.

    Segments are disjoint and sorted by start.
    """
    n_ended = segments["end_ns"].search_sorted(spans["start_ns"], side="right")
    next_segment = n_ended.cast(pl.Int64)
    is_after_all = next_segment >= segments.height
    existing = next_segment.set(is_after_all, None)
    begins = segments["start_ns"].gather(existing)
    overlaps = (begins < spans["end_ns"]).fill_null(value=False)
    return spans["row"].filter(overlaps).sort()


def _cut(
    segments: pl.DataFrame,
    axis: ThreadAxis,
    spans: pl.DataFrame,
    paths: CallPaths,
) -> pl.DataFrame:
    """Cut segments where the path changes; add the path (`what`) and its last span (`span_id`).

    Both are None outside of any path.
    """
    owners = _owners(axis.spans, paths)
    numbered = segments.drop("at").with_row_index("segment")
    whole = numbered.with_columns(whole_ns=_LENGTH)
    cut = cut_rows(whole, owners)
    place_of_row = owners["place"].gather(cut["at"])
    placed = cut.drop("at").with_columns(place=place_of_row)
    places = paths.frame.select("place").drop_nulls().unique()
    text_of_place = paths.texts(spans, places["place"])
    texts = places.with_columns(what=text_of_place)
    merged = _without_small(placed, texts, paths)
    segment = pl.col("segment")
    what = pl.col("what")
    is_new_segment = segment.ne_missing(segment.shift(1))
    is_new_place = what.ne_missing(what.shift(1))
    number = (is_new_segment | is_new_place).cum_sum()
    by_number = merged.with_columns(number=number).group_by("number", maintain_order=True)
    longest = _LENGTH.arg_max()
    return by_number.agg(
        pl.col("start_ns", "cause", "what").first(),
        pl.col("end_ns").last(),
        span_id=pl.col("place").get(longest),
        at=pl.lit(None, pl.Int64),
    )


def _without_small(placed: pl.DataFrame, texts: pl.DataFrame, paths: CallPaths) -> pl.DataFrame:
    """Replace each path that takes a small share of its segment, and add paths as text (`what`).

    A replaced path loses its innermost span. A small part without a path gets the path of a
    neighbouring part of its segment.
    """
    length_of_text = _LENGTH.sum().over("segment", "what")
    is_small = length_of_text < _LEAST * pl.col("whole_ns")
    for _ in range(_MOST_ROUNDS):
        named = placed.join(
            texts,
            on="place",
            how="left",
            maintain_order="left",
        )
        around = paths.enclosing(placed["place"])
        moves = named.select(is_small).to_series() & around.is_not_null()
        if not moves.any():
            break
        new_place = around.zip_with(moves, placed["place"])
        placed = placed.with_columns(place=new_place)
    place = pl.col("place")
    is_gap = place.is_null() & is_small
    place_before = place.forward_fill().over("segment")
    place_after = place.backward_fill().over("segment")
    neighbour = pl.coalesce(place_before, place_after)
    filled = pl.when(is_gap).then(neighbour).otherwise(place)
    without_gaps = named.with_columns(place=filled).drop("what")
    return without_gaps.join(
        texts,
        on="place",
        how="left",
        maintain_order="left",
    )


def _owners(spans: pl.DataFrame, paths: CallPaths) -> pl.DataFrame:
    """Divide a thread's time among the spans of call paths: disjoint intervals, sorted by start.

    Columns: start_ns, end_ns and place, the row number of the span.
    """
    rows = spans["row"].cast(pl.Int64)
    is_place = (paths.places(rows) == rows).fill_null(value=False)
    places = spans.filter(is_place).select(
        "start_ns",
        "end_ns",
        place=rows.filter(is_place),
    )
    has_length = pl.col("end_ns") > pl.col("start_ns")
    charged = places.filter(has_length)
    around = paths.enclosing(charged["place"])
    depth = paths.depths(charged["place"])
    begins = charged.select(
        ns="start_ns",
        place="place",
        is_begin=1,
        order=depth,
    )
    ends = charged.select(
        ns="end_ns",
        place=around,
        is_begin=0,
        order=-depth,
    )
    edges = pl.concat([ends, begins], how="vertical_relaxed")
    in_order = edges.sort(
        "ns",
        "is_begin",
        "order",
        maintain_order=True,
    )
    next_ns = pl.col("ns").shift(-1)
    tiles = in_order.select(
        start_ns="ns",
        end_ns=next_ns,
        place="place",
    )
    return tiles.drop_nulls().filter(has_length)
