"""Cutting disjoint intervals at the edges of others, by whole columns."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from tracelens.derive.columns.lookup import last_before


@dataclass(frozen=True, slots=True)
class Cut:
    """Intervals cut into pieces: `ends_ns` and `at` of each interval's first piece, and all later pieces in `more`.

    `at` is the row of the segment that a piece lies in, null outside of any; `more` has row (of the interval),
    start_ns, end_ns and at.
    """

    ends_ns: pl.Series
    at: pl.Series
    more: pl.DataFrame


def cut(starts: pl.Series, ends: pl.Series, segments: pl.DataFrame) -> Cut:
    """The pieces into which segments (start_ns, end_ns) cut intervals; both by start and disjoint.

    The segments' edges are looked up among the intervals, not the other way round, as there are mostly few edges.
    """
    edges = pl.concat([segments["start_ns"], segments["end_ns"]]).unique().sort()
    row = starts.search_sorted(edges, side="left").cast(pl.Int64) - 1
    inside = (edges < ends.gather(row.set(row < 0, None))).fill_null(value=False)
    edges, row = edges.filter(inside), row.filter(inside)
    following = edges.shift(-1).set((row != row.shift(-1)).fill_null(value=True), None)
    last = ends.gather(row)
    more = pl.DataFrame({"row": row, "start_ns": edges, "end_ns": following.zip_with(following.is_not_null(), last)})
    is_first = (row != row.shift(1)).fill_null(value=True)
    firsts = ends.scatter(row.filter(is_first), edges.filter(is_first)) if len(edges) else ends
    return Cut(firsts.alias("end_ns"), _segment_of(starts, segments), more.with_columns(_segment_of(edges, segments)))


def cut_rows(frame: pl.DataFrame, segments: pl.DataFrame) -> pl.DataFrame:
    """A frame of disjoint intervals (start_ns, end_ns; by start) cut by `cut`, with column `at`, sorted by start."""
    found = cut(frame["start_ns"], frame["end_ns"], segments)
    more = frame[found.more["row"]].with_columns(found.more.select("start_ns", "end_ns", "at"))
    return pl.concat([frame.with_columns(found.ends_ns, found.at), more]).sort("start_ns")


def overlay(layers: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Disjoint segments of time, each taken from the first of the layers that covers it.

    Each layer has disjoint start_ns, end_ns and further columns, by start. Returns the same columns, by start; an
    interval may come back in several pieces. `layer` and `at` are the layer's number and the row in it.
    """
    edges = pl.concat([part[edge] for part in layers for edge in ("start_ns", "end_ns")]).unique().sort()
    begins = edges.head(max(len(edges) - 1, 0)).alias("start_ns")
    chosen = pl.repeat(None, len(begins), dtype=pl.Int64, eager=True)
    offset, number = 0, []
    for layer, part in enumerate(layers):
        at = last_before(part["start_ns"], begins)
        is_in = (begins < part["end_ns"].gather(at)).fill_null(value=False)
        chosen = chosen.zip_with(chosen.is_not_null() | ~is_in, at + offset)
        number.append(pl.DataFrame({"layer": pl.repeat(layer, part.height, dtype=pl.Int8, eager=True)}))
        offset += part.height
    intervals = pl.concat([*layers]).drop("start_ns", "end_ns").with_columns(pl.concat(number)["layer"])
    found = pl.DataFrame({"start_ns": begins, "end_ns": edges.slice(1), "at": chosen}).drop_nulls("at")
    return found.hstack(intervals[found["at"]])


def _segment_of(moments: pl.Series, segments: pl.DataFrame) -> pl.Series:
    """The row of the segment that each of the sorted moments lies in; null outside of any."""
    first, after = (
        moments.search_sorted(segments[edge], side="left").cast(pl.Int64) for edge in ("start_ns", "end_ns")
    )
    n = segments.height
    turns = pl.concat(
        [
            pl.DataFrame({"segment": pl.repeat(None, n, dtype=pl.Int64, eager=True), "at": after}),
            pl.DataFrame({"segment": pl.int_range(n, dtype=pl.Int64, eager=True), "at": first}).filter(after > first),
        ]
    )
    # Where one segment ends and the next begins, the latter stands last.
    turns = turns.filter(pl.col("at") < len(moments)).sort("at", maintain_order=True)
    turns = turns.unique("at", keep="last", maintain_order=True)
    before = turns["at"][0] if turns.height else len(moments)
    nothing = pl.DataFrame({"segment": [None], "n": [before]}, schema={"segment": pl.Int64, "n": pl.Int64})
    counted = turns.select("segment", n=pl.col("at").shift(-1, fill_value=len(moments)) - pl.col("at"))
    repeated = pl.concat([nothing, counted]).filter(pl.col("n") > 0)
    return repeated.select(pl.col("segment").repeat_by("n").explode().alias("at")).to_series()
