"""Waiting of ranks for each other: the time in a collective until the last rank has begun it."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import polars as pl

from tracelens.derive.columns.lookup import by_value, last_before
from tracelens.derive.ranks.matching import match_collectives
from tracelens.schemas.results.ranks import WAITING_FOR
from tracelens.trace import Trace

WAITS = {
    "rank": pl.Int32, "step": pl.Int64, "wait_ns": pl.Int64, "hidden_ns": pl.Int64, "exposed_ns": pl.Int64,
}  # fmt: skip
_PIECES = {
    "rank": pl.Int32, "group_key": pl.String, "call": pl.Int64, "awaited_rank": pl.Int32, "start_ns": pl.Int64,
    "end_ns": pl.Int64, "hidden_ns": pl.Int64,
}  # fmt: skip
_made: WeakKeyDictionary[Trace, Waits] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Waits:
    """The waiting of all ranks: `pieces` that do not overlap within a rank, and `computing`, what hides them.

    A row of `pieces`: rank, group_key, call, awaited_rank, start_ns and end_ns on the rank's own clock, and hidden_ns,
    the time in it during which the rank computed. Where two collectives wait at once, the time is that of the one
    begun first. `computing` has for each rank its time with a kernel that does not communicate, as disjoint intervals.
    """

    pieces: pl.DataFrame
    computing: dict[int, pl.DataFrame]


def waits_of(trace: Trace) -> Waits:
    """The waiting of every rank in matched collectives; cached."""
    if trace not in _made:
        calls = match_collectives(trace).calls
        wait = pl.col("last_start_ns") - pl.col("start_ns")
        waits = calls.select(
            "rank", "group_key", "call", "awaited_rank", start_ns="own_start_ns", end_ns=pl.col("own_start_ns") + wait
        )
        pieces = _disjoint(waits.filter(pl.col("end_ns") > pl.col("start_ns")))
        computing = dict(_computing(trace, pieces["rank"].unique().to_list()))
        parts = [
            own.with_columns(hidden_ns=time_in(computing.get(rank), own["start_ns"], own["end_ns"]))
            for rank, own in by_value(pieces, "rank")
        ]
        _made[trace] = Waits(pl.concat([pl.DataFrame(schema=_PIECES), *parts]), computing)
    return _made[trace]


def waits_by_step(trace: Trace, steps: pl.DataFrame | None = None) -> pl.DataFrame:
    """A row a rank and step, and one (step null) a rank for all its time, with the columns of WAITS.

    For ranks with matched collectives. `wait_ns` is time in which at least one collective waits for a rank to begin it,
    hidden_ns the part of it in which the rank computes, exposed_ns the rest. Time counts in the step in which it
    passes. Steps are the trace's own unless some are given, with start_ns and duration_ns.
    """
    steps = trace.frame("steps") if steps is None else steps
    found = waits_of(trace)
    own_steps = dict(by_value(steps, "rank"))
    own_pieces = dict(by_value(found.pieces, "rank"))
    made = []
    for rank in match_collectives(trace).calls["rank"].unique().sort():
        pieces = own_pieces.get(rank, found.pieces.clear())
        windows = own_steps.get(rank, steps.clear()).select(
            "step", "start_ns", end_ns=pl.col("start_ns") + pl.col("duration_ns")
        )
        wait = pieces["end_ns"] - pieces["start_ns"]
        whole = pl.DataFrame(
            {"step": [None], "wait_ns": [wait.sum()], "hidden_ns": [pieces["hidden_ns"].sum()]},
            schema_overrides={"step": pl.Int64},
        )
        before = [_before(pieces, found.computing.get(rank), windows[edge]) for edge in ("start_ns", "end_ns")]
        each = windows.select("step", **{name: before[1][name] - before[0][name] for name in ("wait_ns", "hidden_ns")})
        made.append(
            pl.concat([whole, each]).select(
                pl.lit(rank, pl.Int32).alias("rank"), pl.all(), exposed_ns=pl.col("wait_ns") - pl.col("hidden_ns")
            )
        )
    return pl.concat([pl.DataFrame(schema=WAITS), *made])


def waiting_pairs(trace: Trace) -> pl.DataFrame:
    """A row a rank and one that it waited for, with the columns of WAITING_FOR; sorted by these."""
    pair = ["rank", "awaited_rank"]
    late = pl.col("last_start_ns") - pl.col("start_ns")
    sums = (
        match_collectives(trace).calls.filter(late > 0).group_by(pair).agg(n_collectives=pl.len(), wait_ns=late.sum())
    )
    exposed = pl.col("end_ns") - pl.col("start_ns") - pl.col("hidden_ns")
    found = sums.join(waits_of(trace).pieces.group_by(pair).agg(exposed_ns=exposed.sum()), on=pair, how="left")
    return WAITING_FOR.conform(found.with_columns(pl.col("exposed_ns").fill_null(0)).sort(pair))


def time_in(intervals: pl.DataFrame | None, starts: pl.Series, ends: pl.Series) -> pl.Series:
    """For each time from start to end the part of it in the disjoint intervals, which are sorted."""
    if intervals is None:
        return pl.zeros(len(starts), pl.Int64, eager=True)
    return _covered(intervals, ends) - _covered(intervals, starts)


def _covered(intervals: pl.DataFrame, moments: pl.Series) -> pl.Series:
    """The length of the disjoint intervals before each moment."""
    at = last_before(intervals["start_ns"], moments)
    length = intervals["end_ns"] - intervals["start_ns"]
    inside = pl.DataFrame({"moment": moments, "end": intervals["end_ns"].gather(at)}).min_horizontal()
    found = (length.cum_sum() - length).gather(at) + inside - intervals["start_ns"].gather(at)
    return found.fill_null(0)


def _before(pieces: pl.DataFrame, computing: pl.DataFrame | None, moments: pl.Series) -> pl.DataFrame:
    """The waiting before each moment, and the hidden part of it."""
    at = last_before(pieces["start_ns"], moments)
    start = pieces["start_ns"].gather(at)
    end = pl.DataFrame({"moment": moments, "end": pieces["end_ns"].gather(at)}).min_horizontal()
    hidden = (pieces["hidden_ns"].cum_sum() - pieces["hidden_ns"]).gather(at) + time_in(computing, start, end)
    return pl.DataFrame({"wait_ns": _covered(pieces, moments), "hidden_ns": hidden.fill_null(0)})


def _disjoint(waits: pl.DataFrame) -> pl.DataFrame:
    """The waits of each rank without the time that one begun before has already."""
    ordered = waits.sort("rank", "start_ns", "end_ns")
    ended = pl.col("end_ns").cum_max().shift().over("rank")
    cut = ordered.with_columns(start_ns=pl.max_horizontal("start_ns", ended))
    return cut.filter(pl.col("end_ns") > pl.col("start_ns"))


def _computing(trace: Trace, ranks: list[int]) -> list[tuple[int, pl.DataFrame]]:
    """The times of each rank with at least one kernel running that does not communicate."""
    kernels = trace.select("kernels", "rank", "start_ns", "duration_ns", "is_communication")
    kernels = kernels.filter(~pl.col("is_communication").fill_null(value=False), pl.col("rank").is_in(ranks))
    return [(rank, _union(own)) for rank, own in by_value(kernels, "rank")]


def _union(work: pl.DataFrame) -> pl.DataFrame:
    """The union of the work's intervals, sorted: start_ns, end_ns."""
    ordered = work.lazy().select("start_ns", end_ns=pl.col("start_ns") + pl.col("duration_ns")).sort("start_ns")
    ended = pl.col("end_ns").cum_max().shift()
    runs = ordered.with_columns(run=(pl.col("start_ns") > ended).fill_null(value=True).cum_sum())
    # Sorted runs are told apart by where they begin, without grouping.
    return (
        runs.group_by("run", maintain_order=True)
        .agg(pl.col("start_ns").first(), pl.col("end_ns").max())
        .drop("run")
        .collect()
    )
