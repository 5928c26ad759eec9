"""Estimate the clocks of a job's ranks from its collectives: offset and drift, with bounds.

1. Ranks of one host have one clock.
2. A collective that needs the data of every rank cannot end on any rank before the last rank starts
   it. A receive cannot end before its send starts.
3. So each such start and end bounds the difference of two clocks.
4. The offset is assumed to be a straight line over time. The fitted line lies within the bounds. It
   makes the ranks' end times of each collective as equal as possible.
"""

from collections.abc import Mapping
from math import ceil, floor
from typing import TypeAlias

import polars as pl

from tracelens.derive.ranks.clock_fit import ClockFit, fit_clock
from tracelens.derive.ranks.job_clock import on_job_clock
from tracelens.trace import Trace

MEETS = r"(?i)all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|barrier"
"""Collectives that need data of every rank.

A broadcast is not among them, because its root may leave before the other ranks come.
"""
JITTER_NS = 100_000
"""On one host, a collective may seem to end this long before its last start.

The conversion of device times to the host's clock may be wrong by this much.
"""
_BINS = 64
"""Number of equal intervals of the capture's time; the tightest bounds of each are kept."""
CLOCKS = {
    "rank": pl.Int32,
    "node": pl.Int32,
    "clock": pl.Int32,
    "basis": pl.String,
    "origin_ns": pl.Int64,
    "offset_ns": pl.Int64,
    "drift_ppm": pl.Float64,
    "low_ns": pl.Int64,
    "high_ns": pl.Int64,
    "uncertainty_ns": pl.Int64,
    "residual_ns": pl.Int64,
}
"""Columns of clocks, one row per rank.

- clock: number of the rank's clock, 0 for the job's clock; ranks of one host share a clock
- basis: "one host"; "assumed" (nothing shows that clocks differ); "estimated" (from collectives);
  "unknown" (too few collectives in common, numbers are None)
- origin_ns: time on the job's clock for which offset_ns is given
- offset_ns: time on the rank's clock minus time on the job's clock
- drift_ppm: growth of the offset
- low_ns, high_ns: bounds of offset_ns
- uncertainty_ns: possible error of the offset between the first and the last collective
- residual_ns: distance by which the bounds contradict each other
"""
_IDENTITY = {
    "offset_ns": 0,
    "drift_ppm": 0.0,
    "low_ns": 0,
    "high_ns": 0,
    "uncertainty_ns": 0,
    "residual_ns": 0,
}
_CALL = ("group_key", "call")
_Points: TypeAlias = list[tuple[float, float]]


def clocks_of(trace: Trace, calls: pl.DataFrame) -> pl.DataFrame:
    """Estimate the clocks of a trace's ranks from its matched collectives; columns are CLOCKS."""
    ranks = trace.manifest.ranks
    nodes: dict[int, int | None] = dict.fromkeys(ranks)
    # Otherwise times count from each capture's own begin, even on one host.
    if trace.manifest.time_base == "unix_epoch":
        for rank, node in trace.ranks.select("rank", "node").iter_rows():
            if rank in nodes:
                nodes[rank] = node
    return estimate_clocks(calls, nodes)


def estimate_clocks(calls: pl.DataFrame, nodes: Mapping[int, int | None]) -> pl.DataFrame:
    """Estimate the clocks of ranks: CLOCKS. `nodes` has each rank's node, None if unknown.

    `calls` are matched collectives, one row per rank and call:

    - rank, group_key, call, issued (its name), start_ns and end_ns (as recorded)
    - in_split, out_split: JSON lists of the number of elements per rank, or None
    """
    bounds = _bounds(calls)
    clock_of, basis = _shared(bounds, nodes)
    ranks_of_job_clock = [rank for rank, clock in clock_of.items() if clock == 0]
    of_job = bounds.filter(pl.col("rank").is_in(ranks_of_job_clock))
    first_end_ns = pl.col("end_ns").min().fill_null(0)
    origin_ns = int(of_job.select(first_end_ns).item())
    lines: dict[int, dict[str, float]] = {0: _IDENTITY}
    if len({*clock_of.values()}) > 1:
        lines |= _estimated(bounds, clock_of, origin_ns)
    rows = []
    for rank, node in sorted(nodes.items()):
        clock = clock_of[rank]
        row = {
            "rank": rank,
            "node": node,
            "clock": clock,
            "origin_ns": origin_ns,
            "basis": basis if clock in lines else "unknown",
        }
        rows.append(row | lines.get(clock, {}))
    return pl.DataFrame(rows, schema=CLOCKS)


def _bounds(calls: pl.DataFrame) -> pl.DataFrame:
    """Return the calls that bound clocks: sends, receives, and calls that need data of all ranks.

    end_ns is None for a send. start_ns is None for a receive.
    """
    name = pl.col("issued")
    is_send = name == "send"
    is_receive = name == "recv"
    splits = pl.col("in_split", "out_split")
    has_zero = pl.any_horizontal(splits.str.contains(r"\b0\b"))
    needs_all = name.str.contains(MEETS) & ~has_zero.fill_null(value=False)
    bounding = calls.filter(needs_all | is_send | is_receive)
    return bounding.select(
        "rank",
        *_CALL,
        start_ns=pl.when(needs_all | is_send).then("start_ns"),
        end_ns=pl.when(needs_all | is_receive).then("end_ns"),
        is_shared=needs_all,
    )


def _shared(bounds: pl.DataFrame, nodes: Mapping[int, int | None]) -> tuple[dict[int, int], str]:
    """Return each rank's clock number, 0 for the job's clock, and the `basis` word of CLOCKS."""
    known = {node for node in nodes.values() if node is not None}
    all_are_known = None not in nodes.values()
    if len(nodes) == 1 or (len(known) == 1 and all_are_known):
        return dict.fromkeys(nodes, 0), "one host"
    if len(known) <= 1 and not _shows_several_clocks(bounds):
        return dict.fromkeys(nodes, 0), "assumed"
    communicating = {*bounds["rank"].unique()}
    return _clock_of_each(nodes, communicating), "estimated"


def _clock_of_each(
    nodes: Mapping[int, int | None],
    communicating: set[int],
) -> dict[int, int]:
    """Return each rank's clock number: one clock per node, or per rank if its node is unknown."""

    # The job's clock is that of the lowest rank with a collective, because without one it could not
    # be compared with others.
    def order(rank: int) -> tuple[bool, int]:
        return rank not in communicating, rank

    numbers: dict[tuple[str, int], int] = {}
    clock_of = {}
    for rank in sorted(nodes, key=order):
        node = nodes[rank]
        host = ("rank", rank) if node is None else ("node", node)
        if host not in numbers:
            numbers[host] = len(numbers)
        clock_of[rank] = numbers[host]
    return clock_of


def _shows_several_clocks(bounds: pl.DataFrame) -> bool:
    """Return whether any collective seems to end more than JITTER_NS before its last start."""
    last_start_ns = pl.col("start_ns").max()
    first_end_ns = pl.col("end_ns").min()
    calls = bounds.group_by(_CALL)
    gaps = calls.agg(gap_ns=last_start_ns - first_end_ns)
    exceeds_jitter = gaps["gap_ns"] > JITTER_NS
    return bool(exceeds_jitter.any())


def _estimated(
    bounds: pl.DataFrame,
    clock: Mapping[int, int],
    origin_ns: int,
) -> dict[int, dict[str, float]]:
    """Fit each clock to the job's clock; return columns of CLOCKS by clock number."""
    start_ns = pl.col("start_ns")
    end_ns = pl.col("end_ns")
    number = pl.col("rank").replace_strict(clock, default=None, return_dtype=pl.Int32)
    with_clock = bounds.with_columns(clock=number).drop_nulls("clock")
    by_clock = with_clock.group_by("clock", *_CALL).agg(
        start_ns.max(),
        end_ns.min(),
        pl.col("is_shared").all(),
    )
    is_job_clock = pl.col("clock") == 0
    left = by_clock.filter(~is_job_clock)
    exact = pl.lit(0, pl.Int64)
    placed = by_clock.filter(is_job_clock).with_columns(uncertainty_ns=exact)
    last_end_ns = int(placed.select(end_ns.max().fill_null(origin_ns)).item())
    seconds = (last_end_ns - origin_ns) / 1e9
    fits: dict[int, dict[str, float]] = {}
    # First the clocks with collectives in common with the job's clock, then clocks in common with
    # these.
    while left.height:
        shared_calls = left.join(_call_bounds(placed), on=_CALL)
        new_fits = _lines(shared_calls, origin_ns, seconds)
        if not new_fits:
            break
        fits |= new_fits
        is_new = pl.col("clock").is_in([*new_fits])
        moved = _moved_to_job_clock(left.filter(is_new), new_fits, origin_ns)
        placed = pl.concat([placed, moved.select(placed.columns)])
        left = left.filter(~is_new)
    return fits


def _call_bounds(placed: pl.DataFrame) -> pl.DataFrame:
    """Return bounds from the ranks with fitted clocks, one row per call.

    - last_start_ns: lower bound of the time at which the last rank starts the call
    - first_end_ns: upper bound of the time at which the first rank ends the call
    - near_ns: median of the ranks' end times
    """
    end_ns = pl.col("end_ns")
    uncertainty_ns = pl.col("uncertainty_ns")
    first_end_ns = end_ns.min()
    # Medians are floats, which hold times since 1970 to 256 ns only.
    median_after_first_ns = (end_ns - first_end_ns).median().cast(pl.Int64)
    return placed.group_by(_CALL).agg(
        last_start_ns=(pl.col("start_ns") - uncertainty_ns).max(),
        first_end_ns=(end_ns + uncertainty_ns).min(),
        near_ns=first_end_ns + median_after_first_ns,
    )


def _moved_to_job_clock(
    calls: pl.DataFrame,
    fits: Mapping[int, Mapping[str, float]],
    origin_ns: int,
) -> pl.DataFrame:
    """Convert the calls of newly fitted clocks to the job's clock, and add uncertainty_ns."""
    rows = []
    for clock, fit in fits.items():
        row = {"rank": clock, "origin_ns": origin_ns}
        rows.append(row | {**fit})
    facts = pl.DataFrame(rows).with_columns(pl.col("rank").cast(pl.Int32))
    moved = on_job_clock(calls.with_columns(rank="clock"), facts)
    uncertainty = facts.select("rank", "uncertainty_ns")
    return moved.join(uncertainty, on="rank")


def _lines(calls: pl.DataFrame, origin_ns: int, until: float) -> dict[int, dict[str, float]]:
    """Fit clocks to the job's clock; return columns of CLOCKS by clock number.

    `calls` are on the clocks to fit, and have the columns of `_call_bounds`. A clock is left out
    unless it has lower bounds and upper bounds.
    """
    bounds = _binned(_offset_bounds(calls, origin_ns), until)
    facts_of_clocks = {}
    groups = bounds.group_by("clock", "base", maintain_order=True)
    for (clock, base_ns), points in groups:
        lows = _points(points, "low")
        highs = _points(points, "high")
        nears = _points(points, "near")
        line = fit_clock(lows, highs, nears, until)
        if line is not None:
            facts_of_clocks[int(clock)] = _facts(line, int(base_ns))
    return facts_of_clocks


def _points(bounds: pl.DataFrame, name: str) -> _Points:
    """Return the times in s and the offsets in ns of one kind of bound: low, high or near."""
    known = bounds.drop_nulls(name)
    return known.select(f"{name}_t", name).rows()


def _offset_bounds(calls: pl.DataFrame, origin_ns: int) -> pl.DataFrame:
    """Add the bounds of each clock's offset (low, high), its likely value (near), and times in s.

    low, high and near are differences from the new column `base`, the approximate offset.
    """
    start_ns = pl.col("start_ns")
    end_ns = pl.col("end_ns")
    after_near = end_ns - pl.col("near_ns")
    bounds = calls.with_columns(
        low=start_ns - pl.col("first_end_ns"),
        high=end_ns - pl.col("last_start_ns"),
        near=pl.when("is_shared").then(after_near),
    )
    base = pl.coalesce(
        pl.col("near").median(),
        pl.col("low").max(),
        pl.col("high").min(),
    )
    based = bounds.with_columns(base=base.cast(pl.Int64).over("clock"))
    # Differences are small, so that floats hold them exactly.
    base_ns = pl.col("base")
    return based.with_columns(
        pl.col("low", "high", "near") - base_ns,
        low_t=(start_ns - base_ns - origin_ns) / 1e9,
        high_t=(end_ns - base_ns - origin_ns) / 1e9,
    )


def _binned(bounds: pl.DataFrame, until: float) -> pl.DataFrame:
    """Keep the tightest bounds, and the median of `near`, in each of _BINS intervals of time."""
    low = pl.col("low")
    high = pl.col("high")
    near = pl.col("near")
    low_t = pl.col("low_t")
    high_t = pl.col("high_t")
    time = pl.coalesce("high_t", "low_t")
    bin_number = (time / max(until, 1e-9) * _BINS).floor()
    return bounds.group_by("clock", "base", bin_number=bin_number).agg(
        low.max(),
        low_t.filter(low == low.max()).first(),
        high.min(),
        high_t.filter(high == high.min()).first(),
        near.median(),
        near_t=high_t.filter(near.is_not_null()).median(),
    )


def _facts(line: ClockFit, base_ns: int) -> dict[str, float]:
    """Return a fit as columns of CLOCKS, with times on the job's clock.

    In the fit, times are on the rank's clock, and `base_ns` is subtracted from them.
    """
    drift = line.drift * 1e-9
    to_job_time = 1 - drift
    offset = line.offset / to_job_time
    low = line.low / to_job_time
    high = line.high / to_job_time
    return {
        "offset_ns": base_ns + round(offset),
        "drift_ppm": drift * 1e6,
        "low_ns": base_ns + floor(low),
        "high_ns": base_ns + ceil(high),
        "uncertainty_ns": ceil(line.uncertainty) + 1,
        "residual_ns": round(line.residual),
    }
