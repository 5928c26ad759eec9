"""Arithmetic of time intervals in whole columns: unions, and how much of one set another covers.

The groups' times are shifted so that they lie one after another on one line; whole columns then do what an expression
for each group would do, in a tenth of the time (a million kernels in 2,000 steps).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from tracelens.derive.columns.lookup import last_before, numbered

END = pl.col("start_ns") + pl.col("duration_ns")
_ROOM = 1 << 62


def added_ns(chosen: pl.Expr | None = None) -> pl.Expr:
    """The time that each interval (start_ns, duration_ns) adds to the union of those before it; the frame is by start.

    Rows for which `chosen` is false add nothing. The sum is the length of the union.
    """
    own = END if chosen is None else pl.when(chosen).then(END).otherwise(-_ROOM)
    reached = own.cum_max().shift(1)
    added = (END - pl.max_horizontal("start_ns", reached)).clip(0)
    return added if chosen is None else pl.when(chosen).then(added).otherwise(0)


def busy_until(intervals: pl.DataFrame, moments: pl.Series) -> pl.Series:
    """The length of the union of the intervals (start_ns, duration_ns; by start) before each moment."""
    reached, busy = intervals.select(reached=END.cum_max(), busy=added_ns().cum_sum()).get_columns()
    at = last_before(intervals["start_ns"], moments)
    # What started before the moment and lasts beyond it is one piece without a gap.
    return (busy.gather(at) - (reached.gather(at) - moments).clip(0)).fill_null(0)


@dataclass(frozen=True, slots=True)
class Line:
    """Intervals of several groups on one line: `rows` by `group` (from 0) and start_ns, their place on the line.

    `groups` has a row for each group: its key, the `shift` that was added to its times, and its original first start
    and last end, `low` and `high`. No two groups touch.
    """

    rows: pl.DataFrame
    groups: pl.DataFrame


def on_one_line(frame: pl.DataFrame, by: Sequence[str]) -> Line | None:
    """The frame's intervals on one line; null where the groups' times are too far apart to fit."""
    number, _ = numbered(frame, by)
    ordered = frame.with_columns(number.cast(pl.Int64).alias("group"))
    if not number.is_sorted() or not frame["start_ns"].is_sorted():
        ordered = ordered.sort("group", "start_ns", maintain_order=True)
    ordered = ordered.with_columns(pl.col("group").set_sorted())
    groups = ordered.group_by("group", maintain_order=True).agg(
        *(pl.col(key).first() for key in by), low=pl.col("start_ns").min(), high=END.max()
    )
    room = (pl.col("high") - pl.col("low")).cast(pl.Float64) + 3
    if groups.height > 1 and groups.select(room.sum()).item() >= _ROOM:
        return None
    width = pl.col("high") - pl.col("low") + 3
    groups = groups.with_columns(shift=width.cum_sum() - width + 1 - pl.col("low"))
    shift = groups["shift"].gather(ordered["group"])
    return Line(ordered.with_columns(pl.col("start_ns") + shift), groups)


def covered_ns(frame: pl.DataFrame, cover: pl.DataFrame, by: list[str]) -> pl.Series:
    """For each row of `frame`, the time of its interval that the union of `cover`'s intervals of its group covers."""
    nothing = pl.repeat(0, frame.height, dtype=pl.Int64, eager=True).alias("covered_ns")
    if not frame.height or not cover.height:
        return nothing
    line = on_one_line(cover.select(*by, "start_ns", "duration_ns"), by)
    if line is None:
        for key, part in cover.partition_by(by, as_dict=True).items():
            mine = frame.select(pl.all_horizontal(pl.col(b).eq_missing(k) for b, k in zip(by, key, strict=True)))
            rows = mine.to_series().arg_true()
            nothing = nothing.scatter(rows, covered_ns(frame[rows], part, by))
        return nothing
    # The union's pieces on the line, and the length of all pieces before each.
    reached = END.cum_max()
    begins = (pl.col("start_ns") > reached.shift(1)).fill_null(value=True)
    pieces = line.rows.select("start_ns", reached=reached, begins=begins).with_row_index("row")
    firsts = pieces.filter("begins")
    starts, lasts = firsts["start_ns"], firsts["row"].shift(-1).fill_null(line.rows.height) - 1
    ends = pieces["reached"].gather(lasts)
    before = (ends - starts).cum_sum() - (ends - starts)
    places = frame.select(*by, "start_ns", end=END).join(
        line.groups.drop("group"), on=by, how="left", maintain_order="left", nulls_equal=True
    )

    def covered_until(moment: str) -> pl.Series:
        at = places.select(pl.col(moment).clip(pl.col("low") - 1, pl.col("high") + 1) + pl.col("shift")).to_series()
        found = last_before(starts, at.fill_null(0))
        within = pl.min_horizontal("at", "end") - pl.col("start")
        columns = {"at": at, "start": starts.gather(found), "end": ends.gather(found), "before": before.gather(found)}
        return pl.DataFrame(columns).select((pl.col("before") + within).fill_null(0)).to_series()

    return (covered_until("end") - covered_until("start_ns")).alias("covered_ns")


def durations() -> list[pl.Expr]:
    """The aggregates for results with durations, as declared in schemas/results/common.DURATIONS."""
    ns = pl.col("duration_ns")
    return [
        pl.len().cast(pl.Int64).alias("n_calls"),
        ns.sum().alias("duration_total_ns"),
        ns.mean().alias("duration_mean_ns"),
        ns.median().alias("duration_median_ns"),
        ns.min().alias("duration_min_ns"),
        ns.max().alias("duration_max_ns"),
    ]
