"""Compute the time that a job would gain without some ranks' delays, by replaying collectives.

Between two collectives, each rank takes some time of its own, known from the trace. No rank leaves
a collective before the last rank has entered it. To remove a rank's delay, the replay gives this
rank the times of its peers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from statistics import median

import polars as pl
from msgspec import Struct

from tracelens.derive.ranks.collective_wait import exposed_transfers, waits_of
from tracelens.derive.ranks.pipeline import find_pipeline
from tracelens.derive.time.host_pace import host_paces
from tracelens.derive.time.time_parts import TimeModel
from tracelens.trace import Trace

_MOST_ROWS = 1_000_000
"""The most rows (one per rank and call) to replay, from the start of the trace."""
_CALL = ["group_key", "call"]


class Removal(Struct, frozen=True):
    """Holds a delay to remove."""

    ranks: frozenset[int]
    steps: frozenset[int] | None
    """The steps in which the delay is removed, None for all."""
    excess_frac: float
    """The delay as a share of the ranks' own time."""
    of_device: bool = False
    """True if device work is delayed."""


class Replay(Struct, frozen=True):
    """Holds a job's collective calls in the order in which their last rank enters."""

    rows: pl.DataFrame
    """One row per rank and call.

    - `rank`, `step`, `role` (the pipeline stage, -1 if unknown)
    - `since_step`: step of the rank's previous call
    - `n_calls`, `position`: number of the rank's calls in the step, and the index of this call
    - `own_ns`: the rank's own time since its previous call
    - `transfer_ns`: the part of own_ns in which the previous call still transfers and the rank does
      not compute
    - `hidden_ns`: waiting time that the rank's computing hides
    """
    bounds: list[int]
    """First row of each call, then the number of rows."""
    begins: Mapping[int, int]
    """Each rank's start on the job's clock."""
    tails: Mapping[int, int]
    """Each rank's own time after its last call."""
    last_transfers: Mapping[int, int]
    """The part of `tails` in which the last call transfers."""
    paces: pl.DataFrame
    """The result of `host_paces`."""

    def connected_ranks(self, ranks: Collection[int]) -> frozenset[int]:
        """Return these ranks and all ranks that wait for them, directly or through other ranks."""
        of_rows = self.rows["rank"].to_list()
        groups = {frozenset(of_rows[first:end]) for first, end in pairwise(self.bounds)}
        connected = frozenset(ranks)
        while reached := {group for group in groups if group & connected}:
            connected = connected.union(*reached)
            groups -= reached
        return connected

    def duration_ns(
        self,
        removals: Collection[Removal] = (),
        network: float = 1.0,
        of: Collection[int] | None = None,
        *,
        hosts_limit: bool = True,
    ) -> float:
        """Return the job's duration in ns without the removed delays.

        It is the median over all ranks, or over the ranks in `of`. Times of transfers are divided
        by `network`. With removals, the job takes at least as long as its hosts work, unless
        `hosts_limit` is False.
        """
        own_times = self._own_times(removals)
        less = 1 - 1 / network
        if less:
            transfers = self.rows["transfer_ns"].to_list()
            own_times = [
                own_ns - less * transfer
                for own_ns, transfer in zip(own_times, transfers, strict=True)
            ]
        ranks = self.rows["rank"].to_list()
        hidden = self.rows["hidden_ns"].to_list()
        clock: dict[int, float] = {**self.begins}
        for first, end in pairwise(self.bounds):
            starts = [clock[ranks[row]] + own_times[row] for row in range(first, end)]
            last = max(starts)
            for row, start in zip(range(first, end), starts, strict=True):
                exposed = last - start - hidden[row]
                clock[ranks[row]] = start + exposed if exposed > 0 else start
        replayed_ns = median(
            clock[rank] + self.tails[rank] - less * self.last_transfers[rank] - begin
            for rank, begin in self.begins.items()
            if of is None or rank in of
        )
        # While a rank waits, its host runs ahead, so the replay cannot see the host's work.
        return max(
            replayed_ns,
            self._hosts_ns(removals, of) if hosts_limit else 0.0,
        )

    def _hosts_ns(
        self,
        removals: Collection[Removal],
        of: Collection[int] | None,
    ) -> float:
        """Return the working time in ns of the slowest host in all steps, 0 without removals."""
        if not removals or self.paces.is_empty():
            return 0
        is_of_devices = all(removal.of_device for removal in removals)
        # A profiler slows hosts but not devices. So if only delays of device work are removed, a
        # host's working time is its launching time.
        pace = "launching_ns" if is_of_devices else "pace_ns"
        recorded = self.paces.select(
            "rank",
            "step",
            since_step="step",
            pace_ns=pace,
        )
        paces = _with_removals(recorded, removals)
        is_away = pl.col("is_away")
        pace_ns = pl.col("pace_ns")
        # Without its delay, a host takes no longer than the median host of the ranks that keep
        # theirs.
        usual_ns = pace_ns.filter(~is_away).quantile(0.5, "lower").over("step")
        shortened_ns = pace_ns * pl.col("kept")
        without_delay = pl.coalesce(usual_ns, shortened_ns)
        shorter_ns = pl.min_horizontal(pace_ns, without_delay)
        replayed_ns = pl.when(is_away).then(shorter_ns).otherwise(pace_ns)
        replayed = paces.with_columns(pace_ns=replayed_ns)
        sums = replayed.group_by("rank").agg(pace_ns.sum())
        if of is not None:
            sums = sums.filter(pl.col("rank").is_in([*of]))
        return max(sums["pace_ns"], default=0)

    def _own_times(self, removals: Collection[Removal]) -> list[float]:
        """Return the own time of each row in ns, without the removed delays."""
        if not removals:
            return self.rows["own_ns"].to_list()
        same_call = ["step", "role", "n_calls", "position"]
        rows = _with_removals(self.rows, removals)
        is_away = pl.col("is_away")
        own_ns = pl.col("own_ns")
        # A rank without its delay takes the time of its peers at the same call: other ranks of its
        # role with as many calls in the step.
        peers = rows.filter(~is_away).group_by(same_call)
        usual = peers.agg(usual_ns=own_ns.quantile(0.5, "lower"))
        compared = rows.join(
            usual,
            on=same_call,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        # The own times of a rank without peers are shortened evenly.
        shortened_ns = own_ns * pl.col("kept")
        shorter = pl.when(own_ns > 0).then(shortened_ns).otherwise(own_ns)
        without_delay = pl.coalesce("usual_ns", shorter)
        times = compared.select(pl.when(is_away).then(without_delay).otherwise(own_ns))
        return times.to_series().to_list()


def _with_removals(rows: pl.DataFrame, removals: Collection[Removal]) -> pl.DataFrame:
    """Add is_away (a removal applies to the row) and `kept` (the share of time that remains)."""
    is_away = pl.lit(value=False)
    kept = pl.lit(1.0)
    for removal in removals:
        is_removed = _is_removed(removal)
        is_away |= is_removed
        lowered = kept.clip(upper_bound=1 - removal.excess_frac)
        kept = pl.when(is_removed).then(lowered).otherwise(kept)
    return rows.with_columns(
        is_away=is_away.fill_null(value=False),
        kept=kept,
    )


def _is_removed(removal: Removal) -> pl.Expr:
    """Return the condition that a removal applies to a row.

    The row is of one of the removal's ranks, and begins or ends in one of the removal's steps.
    """
    is_of_ranks = pl.col("rank").is_in([*removal.ranks])
    if removal.steps is None:
        return is_of_ranks
    steps = [*removal.steps]
    ends_in_steps = pl.col("step").is_in(steps)
    # The time before a step's first call begins in the step before.
    begins_in_steps = pl.col("since_step").is_in(steps)
    return is_of_ranks & (ends_in_steps | begins_in_steps)


def prepare_replay(model: TimeModel, ranks: Iterable[int]) -> Replay | None:
    """Return the replay of a job's matched collectives, None without matched collectives."""
    is_of_ranks = pl.col("rank").is_in([*ranks])
    calls = model.collectives.calls.filter(is_of_ranks)
    if calls.is_empty():
        return None
    timed = _with_times(model.trace, calls)
    edges = _edges(model, timed)
    rows = _between_calls(timed, edges, model.trace)
    last_calls = rows.group_by("rank").agg(last_left_ns=pl.col("left_ns").max())
    tail_ns = pl.col("end_ns") - pl.col("last_left_ns")
    # Times are relative to the job's begin: a float holds times since 1970 only to 256 ns.
    since_first = pl.col("begin_ns") - pl.col("begin_ns").min()
    of_ranks = edges.join(last_calls, on="rank").select("rank", tail_ns=tail_ns)
    is_first_of_call = rows.select(pl.struct(_CALL).rle_id()).to_series().is_first_distinct()
    return Replay(
        rows.select(
            "rank",
            "step",
            "since_step",
            "role",
            "n_calls",
            "position",
            "own_ns",
            "transfer_ns",
            "hidden_ns",
        ),
        [*is_first_of_call.arg_true().to_list(), rows.height],
        dict(edges.select("rank", since_first).iter_rows()),
        dict(of_ranks.iter_rows()),
        dict(rows.select("rank", "last_transfer_ns").iter_rows()),
        host_paces(model),
    )


def _between_calls(timed: pl.DataFrame, edges: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Return the calls with the columns of `Replay.rows`, left_ns and last_transfer_ns.

    - `left_ns`: when the rank left the call
    - `last_transfer_ns`: transfer time of the rank's last call
    """
    start_ns = pl.col("start_ns")
    begin_ns = pl.col("begin_ns")
    exposed_ns = pl.col("exposed_ns")
    transfer_ns = pl.col("transfer_ns")
    begins = edges.select("rank", "begin_ns")
    # Work launched before the first step belongs to no step.
    is_in_steps = pl.col("last_start_ns") >= begin_ns
    with_begins = timed.join(begins, on="rank", maintain_order="left")
    in_steps = with_begins.with_columns(
        transfer_ns=transfer_ns * is_in_steps,
        left_ns=start_ns + exposed_ns,
    )
    since_ns = pl.col("left_ns").shift().over("rank").fill_null(begin_ns)
    wait_ns = pl.col("last_start_ns") - start_ns
    step = ["rank", "step"]
    pipeline = trace.derived(find_pipeline)
    stages = pipeline.stages if pipeline else {}
    return in_steps.with_columns(
        own_ns=start_ns - since_ns,
        since_step=pl.col("step").shift().over("rank"),
        transfer_ns=transfer_ns.shift().over("rank").fill_null(0),
        last_transfer_ns=transfer_ns.last().over("rank"),
        hidden_ns=wait_ns - exposed_ns,
        n_calls=pl.len().over(step),
        position=pl.int_range(pl.len()).over(step),
        role=pl.col("rank").replace_strict(
            stages,
            default=-1,
            return_dtype=pl.Int64,
        ),
    )


def _with_times(trace: Trace, calls: pl.DataFrame) -> pl.DataFrame:
    """Add exposed_ns and transfer_ns to the first calls, sorted by when their last rank enters.

    At most _MOST_ROWS rows are returned.
    """
    key = ["rank", *_CALL]
    exposed_ns = pl.col("end_ns") - pl.col("start_ns") - pl.col("hidden_ns")
    waits = waits_of(trace).intervals.group_by(key).agg(exposed_ns=exposed_ns.sum())
    with_waits = calls.join(waits, on=key, how="left")
    filled = with_waits.with_columns(pl.col("exposed_ns").fill_null(0))
    timed = filled.join(exposed_transfers(trace), on=key, how="left")
    in_order = timed.sort("last_start_ns", *_CALL, "rank")
    return in_order.head(_MOST_ROWS)


def _edges(model: TimeModel, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the begin and end of each rank's steps, on the job's clock.

    A rank without steps has the begin of its first kernel and the end of its last.
    """
    start_ns = pl.col("start_ns")
    end_ns = start_ns + pl.col("duration_ns")
    extent = {
        "begin_ns": start_ns.min(),
        "end_ns": end_ns.max(),
    }
    steps = model.steps.group_by("rank").agg(**extent)
    kernels = model.trace.select("kernels", "rank", "start_ns", "duration_ns")
    kernels_of_unmarked = kernels.join(steps, on="rank", how="anti")
    unmarked = kernels_of_unmarked.group_by("rank").agg(**extent)
    edges = pl.concat([steps.select(unmarked.columns), unmarked])
    # A clock drifts less within a trace than the accuracy of a replay.
    shift_ns = (start_ns - pl.col("own_start_ns")).first()
    shifts = rows.group_by("rank", maintain_order=True).agg(shift_ns=shift_ns)
    shifted = edges.join(shifts, on="rank")
    return shifted.select(
        "rank",
        begin_ns=pl.col("begin_ns") + pl.col("shift_ns"),
        end_ns=pl.col("end_ns") + pl.col("shift_ns"),
    )
