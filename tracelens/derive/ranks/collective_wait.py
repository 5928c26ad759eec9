"""Measure the time that ranks wait in collectives until the last rank begins."""

from __future__ import annotations

import polars as pl
from msgspec import Struct

from tracelens.derive.columns.intervals import END, union
from tracelens.derive.ranks.collectives import match_collectives
from tracelens.derive.ranks.host_collectives import process_computing
from tracelens.schemas.results.ranks import WAITING_FOR
from tracelens.trace import Trace

WAITS = {
    "rank": pl.Int32,
    "step": pl.Int64,
    "wait_ns": pl.Int64,
    "hidden_ns": pl.Int64,
    "exposed_ns": pl.Int64,
}


class Waits(Struct, frozen=True):
    """Holds the intervals in which ranks wait in collectives, and in which they compute.

    Rows are sorted by rank and start. before_ns is the total length of the rank's earlier
    intervals.
    """

    # One row per wait, on the rank's clock: rank, group_key, call, awaited_rank, start_ns, end_ns,
    # before_ns, hidden_ns (the part in which the rank computes). A rank's waits do not overlap.
    intervals: pl.DataFrame
    # Disjoint intervals with a kernel that does not communicate: rank, start_ns, end_ns, before_ns.
    computing: pl.DataFrame


def waits_of(trace: Trace) -> Waits:
    """Return every rank's waits in matched collectives, computed once for a trace."""
    return trace.derived(_waits_of)


def _waits_of(trace: Trace) -> Waits:
    calls = match_collectives(trace).calls
    start_ns = pl.col("start_ns")
    wait_ns = pl.col("last_start_ns") - start_ns
    waits = calls.select(
        "rank",
        "group_key",
        "call",
        "awaited_rank",
        start_ns="own_start_ns",
        end_ns=pl.col("own_start_ns") + wait_ns,
    )
    lasting = waits.filter(pl.col("end_ns") > start_ns)
    intervals = _with_earlier_length(_disjoint(lasting))
    computing = _computing(trace, intervals["rank"].unique())
    hidden_ns = _overlap(computing, intervals)
    return Waits(intervals.with_columns(hidden_ns=hidden_ns), computing)


def waits_by_step(trace: Trace, steps: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return waiting per rank and step, and one row (step None) per rank for all its time: WAITS.

    - wait_ns: time in which the rank waits in at least one collective
    - hidden_ns: the part in which the rank computes
    - exposed_ns: the rest

    Only ranks with matched collectives have rows. `steps`, with start_ns and duration_ns, replaces
    the trace's own steps.
    """
    waits = waits_of(trace)
    ranks = match_collectives(trace).calls.select("rank").unique()
    all_steps = trace.frame("steps") if steps is None else steps
    matched_steps = all_steps.join(ranks, on="rank", how="semi")
    columns = ("rank", "step", "wait_ns", "hidden_ns")
    in_all = _waits_in_all(waits, ranks).select(columns)
    in_steps = _waits_in_steps(waits, matched_steps).select(columns)
    both = pl.concat([in_all, in_steps])
    in_order = both.sort("rank", "step", nulls_last=False)
    exposed_ns = pl.col("wait_ns") - pl.col("hidden_ns")
    by_step = in_order.with_columns(exposed_ns=exposed_ns)
    return by_step.select(pl.col(name).cast(dtype) for name, dtype in WAITS.items())


def _waits_in_all(waits: Waits, ranks: pl.DataFrame) -> pl.DataFrame:
    """Return each rank's waiting over the whole trace, as rows with step None."""
    length = pl.col("end_ns") - pl.col("start_ns")
    sums = waits.intervals.group_by("rank").agg(
        wait_ns=length.sum(),
        hidden_ns=pl.col("hidden_ns").sum(),
    )
    of_ranks = ranks.join(sums, on="rank", how="left")
    no_step = pl.lit(None, pl.Int64)
    return of_ranks.with_columns(
        pl.col("wait_ns", "hidden_ns").fill_null(0),
        step=no_step,
    )


def _waits_in_steps(waits: Waits, steps: pl.DataFrame) -> pl.DataFrame:
    """Return each rank's waiting in each step: rank, step, wait_ns, hidden_ns.

    That is the waiting before the step's end minus the waiting before the step's start.
    """
    end_ns = pl.col("start_ns") + pl.col("duration_ns")
    windows = steps.select("rank", "step", "start_ns", end_ns=end_ns)
    until_start = _until(waits, windows, "start_ns")
    until_end = _until(waits, windows, "end_ns")
    return windows.select(
        "rank",
        "step",
        wait_ns=until_end["wait_ns"] - until_start["wait_ns"],
        hidden_ns=until_end["hidden_ns"] - until_start["hidden_ns"],
    )


def waits_by_window(trace: Trace, windows: pl.DataFrame) -> pl.DataFrame:
    """Return each rank's exposed waiting in each window; empty without matched collectives.

    `windows` have rank, step, phase, start_ns and end_ns. Columns: rank, device_id (where the rank
    communicates most), step, phase, collective_wait_ns.
    """
    calls = match_collectives(trace).calls
    most_used = pl.col("device_id").mode().min()
    devices = calls.group_by("rank").agg(most_used)
    row = pl.int_range(pl.len())
    numbered = windows.with_columns(row=row)
    length = pl.col("end_ns") - pl.col("start_ns")
    windows_as_steps = numbered.select(
        "rank",
        "start_ns",
        step="row",
        duration_ns=length,
    )
    waits = waits_by_step(trace, windows_as_steps)
    by_row = waits.rename({"step": "row"})
    in_windows = by_row.join(numbered, on=["rank", "row"], how="left")
    on_devices = in_windows.join(devices, on="rank")
    return on_devices.select(
        "rank",
        "device_id",
        "step",
        "phase",
        collective_wait_ns="exposed_ns",
    )


def waiting_pairs(trace: Trace) -> pl.DataFrame:
    """Return one row per pair of a waiting and an awaited rank, with columns WAITING_FOR.

    Rows are sorted by the waiting rank, then by the awaited rank.
    """
    pair = ["rank", "awaited_rank"]
    start_ns = pl.col("start_ns")
    wait_ns = pl.col("last_start_ns") - start_ns
    calls = match_collectives(trace).calls
    sums = (
        calls.filter(wait_ns > 0)
        .group_by(pair)
        .agg(
            n_collectives=pl.len(),
            wait_ns=wait_ns.sum(),
        )
    )
    exposed_ns = pl.col("end_ns") - start_ns - pl.col("hidden_ns")
    intervals = waits_of(trace).intervals
    exposed = intervals.group_by(pair).agg(exposed_ns=exposed_ns.sum())
    pairs = sums.join(exposed, on=pair, how="left")
    filled = pairs.with_columns(pl.col("exposed_ns").fill_null(0))
    return WAITING_FOR.conform(filled.sort(pair))


def exposed_transfers(trace: Trace) -> pl.DataFrame:
    """Return each rank's exposed transfer in each matched call: rank, group_key, call, transfer_ns.

    A transfer lasts from the last rank's start to this rank's end. It is exposed while this rank
    does not compute.
    """
    calls = match_collectives(trace).calls
    start_ns = pl.col("start_ns")
    to_own_clock = pl.col("own_start_ns") - start_ns
    last_ns = pl.max_horizontal("last_start_ns", "end_ns")
    transfers = calls.select(
        "rank",
        "group_key",
        "call",
        start_ns=pl.col("last_start_ns") + to_own_clock,
        end_ns=last_ns + to_own_clock,
    )
    computing = _computing(trace, transfers["rank"].unique())
    hidden_ns = _overlap(computing, transfers)
    length = pl.col("end_ns") - start_ns
    return transfers.select(
        "rank",
        "group_key",
        "call",
        transfer_ns=length - hidden_ns,
    )


def computing_ns(trace: Trace, ranks: pl.Series) -> int:
    """Return the time in ns in which ranks run kernels that do not communicate, over all ranks."""
    computing = _computing(trace, ranks)
    lengths = computing["end_ns"] - computing["start_ns"]
    return int(lengths.sum())


def waits_in(trace: Trace, windows: pl.DataFrame) -> pl.DataFrame:
    """Return the exposed waiting for each awaited rank: awaited_rank, exposed_ns.

    Only waits that begin in one of the windows count. `windows` are disjoint, with rank, start_ns
    and end_ns.
    """
    start_ns = pl.col("start_ns")
    exposed_ns = pl.col("end_ns") - start_ns - pl.col("hidden_ns")
    waits = waits_of(trace).intervals.select(
        "rank",
        "awaited_rank",
        "start_ns",
        exposed_ns=exposed_ns,
    )
    bounds = windows.select("rank", begin_ns="start_ns", until_ns="end_ns")
    with_window = waits.sort("start_ns").join_asof(
        bounds.sort("begin_ns"),
        left_on="start_ns",
        right_on="begin_ns",
        by="rank",
        check_sortedness=False,
    )
    inside = with_window.filter(start_ns < pl.col("until_ns"))
    return inside.group_by("awaited_rank").agg(pl.col("exposed_ns").sum())


def _until(waits: Waits, windows: pl.DataFrame, edge: str) -> pl.DataFrame:
    """Return the rank's waiting before the start or end of each window: wait_ns, hidden_ns.

    `edge` is the column start_ns or end_ns.
    """
    hidden_ns = pl.col("hidden_ns")
    earlier_ns = hidden_ns.cum_sum().over("rank") - hidden_ns
    intervals = waits.intervals.with_columns(hidden_before_ns=earlier_ns)
    last = _last_begun(intervals, windows, edge)
    cut = last.with_columns(end_ns=pl.min_horizontal("end_ns", "moment"))
    hidden_in_last = _overlap(waits.computing, cut)
    hidden_before = cut["hidden_before_ns"]
    return pl.DataFrame(
        {
            "wait_ns": _covered(waits.intervals, windows, edge),
            "hidden_ns": (hidden_before + hidden_in_last).fill_null(0),
        }
    )


def _overlap(intervals: pl.DataFrame, windows: pl.DataFrame) -> pl.Series:
    """Return the time in each window that its rank's disjoint intervals cover."""
    until_end = _covered(intervals, windows, "end_ns")
    until_start = _covered(intervals, windows, "start_ns")
    return until_end - until_start


def _covered(intervals: pl.DataFrame, moments: pl.DataFrame, column: str) -> pl.Series:
    """Return the total length of the rank's disjoint intervals before each moment.

    `column` has the moments. The length is 0 for a moment that is None.
    """
    last = _last_begun(intervals, moments, column)
    end_ns = pl.min_horizontal("end_ns", "moment")
    in_last_ns = end_ns - pl.col("start_ns")
    covered_ns = (pl.col("before_ns") + in_last_ns).fill_null(0)
    return last.select(covered_ns).to_series()


def _last_begun(intervals: pl.DataFrame, moments: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return, for each moment, its rank's last interval that begins no later."""
    wanted = moments.select("rank", moment=column).with_row_index("_row")
    rows = wanted.select("_row")
    last = (
        wanted.drop_nulls("moment")
        .sort("rank", "moment")
        .join_asof(
            intervals.with_columns(begun=pl.col("start_ns")),
            left_on="moment",
            right_on="begun",
            by="rank",
            strategy="backward",
            check_sortedness=False,
        )
    )
    return rows.join(last, on="_row", how="left", maintain_order="left")


def _disjoint(waits: pl.DataFrame) -> pl.DataFrame:
    """Shorten waits of a rank that overlap: each begins when the earlier ones have ended."""
    ordered = waits.sort("rank", "start_ns", "end_ns")
    end_ns = pl.col("end_ns")
    start_ns = pl.col("start_ns")
    ended_ns = end_ns.cum_max().shift().over("rank")
    cut = ordered.with_columns(start_ns=pl.max_horizontal(start_ns, ended_ns))
    return cut.filter(end_ns > start_ns)


def _computing(trace: Trace, ranks: pl.Series) -> pl.DataFrame:
    """Return the intervals in which each rank runs kernels that do not communicate, with before_ns.

    For a rank without kernels, these are the intervals in which its process computes.
    """
    kernels = trace.select("kernels", "rank", "start_ns", "duration_ns", "is_communication")
    is_of_ranks = pl.col("rank").is_in(ranks.implode())
    communicates = pl.col("is_communication").fill_null(value=False)
    computing = kernels.filter(~communicates, is_of_ranks)
    of_devices = union(
        computing.select("rank", "start_ns", end_ns=END),
        by="rank",
    )
    if ranks.is_empty():
        return _with_earlier_length(of_devices)
    of_processes = trace.derived(process_computing).filter(is_of_ranks)
    both = pl.concat([of_devices, of_processes])
    return _with_earlier_length(both.sort("rank", "start_ns"))


def _with_earlier_length(intervals: pl.DataFrame) -> pl.DataFrame:
    """Add `before_ns` to disjoint intervals: the total length of the rank's earlier intervals."""
    length = pl.col("end_ns") - pl.col("start_ns")
    until_end_ns = length.cum_sum().over("rank")
    return intervals.with_columns(before_ns=until_end_ns - length)
