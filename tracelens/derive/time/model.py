"""Model the time of a trace: what hosts and devices did when, and why devices were idle.

The model is computed once. Analyses of time reduce it: they take the model, and read only names
from the trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from tracelens.derive.ranks.collective_wait import waiting_pairs, waits_by_window
from tracelens.derive.ranks.collectives import Matched, match_collectives
from tracelens.derive.time.breakdown import (
    Breakdown,
    break_down_devices,
    idle_intervals,
    merge,
)
from tracelens.derive.time.cpu_only import break_down_processes
from tracelens.derive.time.device_work import works_of_devices
from tracelens.derive.time.host_time import host_times
from tracelens.derive.time.host_waits import is_wait
from tracelens.derive.time.idle_sums import times_of_devices
from tracelens.derive.time.program_phases import phases, program_steps
from tracelens.derive.time.step_table import activities_of, process_ranks, steps_of
from tracelens.schemas.results.time import IDLE_PARTS, PARTS, PROGRAM, TIME_BREAKDOWN
from tracelens.trace import Trace

_WAITING = pl.min_horizontal(pl.col("collective_wait_ns").fill_null(0), "exposed_communication_ns")
_PART_OF_WINDOW: dict[str, pl.Expr] = {
    "compute": pl.col("compute_ns"),
    # A wait between two kernels that communicate is no communication.
    "communication": pl.col("exposed_communication_ns")
    - _WAITING
    + pl.col("idle_communication_ns"),
    "waiting": _WAITING,
    "copy": pl.col("exposed_copy_ns"),
    **{cause: pl.col(f"idle_{cause}_ns") for cause in IDLE_PARTS},
}
"""The time of each of PARTS in a window of `TimeModel.device`; together they are the window."""
SLOWED = ("launch", "host")
"""The parts that a profiler makes longer, as it runs inside ops, API calls and Python calls."""
_USED = 0.1
"""A device is left out if it works less than this share of the time of its rank's busiest one."""
_PLACES = ["rank", "device_id", "idle_ns", "cause", "what"]


@dataclass(frozen=True, slots=True)
class TimeModel:
    """The time of each rank and device, by what it was spent on.

    `steps` is the table of steps. `host` is the table of activities: what each host thread did,
    with cause and call path. `phases` has the windows of time in which everything is summed.
    `program_steps` are the steps that medians are made of: the program's whole steps, or all if
    none is. `processes` are the ranks without a device, whose process's time is judged. `device`
    has one row per rank, device, step and phase with the columns of TIME_BREAKDOWN, shares left
    out; device_id is None for a process without a device. `idle` has the program's idle time by
    rank, device, cause and call path (what), most first: idle_ns, n_gaps, longest_ns (the most of
    it in one gap) and example_ns (the start of that gap). `collectives` says which kernels of
    different ranks are one call. `waits` has the time that one rank waited for another in
    collectives, one row per pair.
    """

    trace: Trace
    steps: pl.DataFrame
    host: pl.DataFrame
    phases: pl.DataFrame
    program_steps: pl.DataFrame
    processes: list[int]
    collectives: Matched
    waits: pl.DataFrame
    device: pl.DataFrame
    idle: pl.DataFrame

    def by(self, *keys: str) -> pl.DataFrame:
        """Sum the program's time by part: one row per combination of keys, sorted.

        Keys are rank, device_id and step. Columns are window_ns, `PART_ns` for each of PARTS,
        profiler_ns (the part of host_ns that the profiler recorded as its own), n_windows (the
        windows added up on each device), and n_devices. Devices that a rank hardly uses are left
        out, unless device_id is a key.
        """
        parts = {f"{part}_ns": _PART_OF_WINDOW[part] for part in PARTS}
        in_program = pl.col("phase") == PROGRAM
        windows = self.device.filter(in_program).select(
            "rank", "device_id", "step", "window_ns", "profiler_ns", **parts
        )
        if "device_id" not in keys:
            windows = windows.join(
                _used_devices(windows), on=["rank", "device_id"], how="semi", nulls_equal=True
            )
        n_different = pl.col("device_id").n_unique()
        sums = windows.group_by(keys).agg(
            pl.col("window_ns", *parts, "profiler_ns").sum(),
            n_windows=pl.len().cast(pl.Int64),
            n_devices=n_different.cast(pl.Int64),
        )
        return sums.sort(keys)

    def kept_shares(self) -> dict[int, float]:
        """Return, by rank, the share of launching and other host work that is the program's own.

        A recorded step is longer than one without the profiler, where that is known. The profiler's
        own recorded work explains a part of the difference. The rest is taken from launching and
        other host work, but not from time in which the host only waits.
        """
        kept = {}
        for row in self.by("rank").iter_rows(named=True):
            unprofiled = self.trace.manifest.unprofiled_step_ns(row["rank"])
            recorded = sum(row[f"{part}_ns"] for part in PARTS) - row["profiler_ns"]
            slowed = sum(row[f"{part}_ns"] for part in SLOWED) - row["profiler_ns"]
            if unprofiled is not None and slowed:
                added = max(recorded - unprofiled * row["n_windows"], 0)
                kept[row["rank"]] = max(1 - added / slowed, self._waiting_share(row, slowed))
        return kept

    def _waiting_share(self, row: Mapping[str, int], slowed_ns: int) -> float:
        """Return the least share of a rank's slowed time that is the program's own.

        That is the time in which its host sleeps or waits, which no profiler makes longer.
        """
        of_host = self.idle.filter(rank=row["rank"], cause="host").drop_nulls("what")
        places = of_host.select("what", "idle_ns").iter_rows()
        waits_ns = sum(int(ns) for what, ns in places if is_wait(str(what)))
        return min(waits_ns / slowed_ns, 1.0)

    @property
    def breakdown(self) -> Breakdown:
        """The ranks' own part of the model: models of several ranks are merged from these."""
        return Breakdown(self.device, self.idle)


def _used_devices(windows: pl.DataFrame) -> pl.DataFrame:
    """List the devices that work at least a share of the time of their rank's busiest device."""
    works = pl.sum_horizontal("compute_ns", "communication_ns", "copy_ns").sum()
    devices = windows.group_by("rank", "device_id").agg(works=works)
    most_work = pl.col("works").max().over("rank")
    return devices.filter(pl.col("works") >= _USED * most_work)


def list_idle(trace: Trace) -> pl.DataFrame:
    """List the program's idle time on each device, one row per stretch, sorted by start.

    Columns are rank, device_id, start_ns, end_ns, cause and what. Lengths sum to the idle time of
    the model's `device` in the phase program. The result is not cached, as it may have millions of
    rows.
    """
    devices = {}
    if trace.has("kernels"):
        # What phases are found by is more than what is needed after them.
        windows = phases(trace.uncached())
        hosts = host_times(trace, activities_of(trace))
        devices = works_of_devices(trace, hosts, windows)
    return idle_intervals(trace, devices)


def time_model(trace: Trace) -> TimeModel:
    """Compute the model of a trace, once."""
    return trace.derived(_model_of)


def break_down(trace: Trace) -> Breakdown:
    """Break down the time of each rank and device: one row per step and per phase.

    On a rank that marks steps, one more row (step and phase None) is from the device's first to its
    last work. Lengths are of interval unions, so overlapping work counts once; exposed time is what
    no other work hides. Work counts in the step during which it runs. Compute and idle are defined
    as in HTA's temporal breakdown. Ranks without device work are broken down by
    `break_down_processes`.
    """
    steps = steps_of(trace)
    host = activities_of(trace)
    processes = process_ranks(trace)
    windows = phases(trace)
    parts = []
    if trace.has("kernels"):
        devices = works_of_devices(trace, host_times(trace, host), windows)
        times = times_of_devices(trace, devices)
        parts.append(break_down_devices(trace, devices, times, steps, windows))
    if processes:
        parts.append(Breakdown(*break_down_processes(trace)))
    return merge(parts)


def merge_breakdowns(trace: Trace, parts: Sequence[Breakdown]) -> None:
    """Store the breakdowns that were computed rank by rank, in the order of ranks, in a trace."""
    trace.set_derived(break_down, merge(parts))


def _model_of(trace: Trace) -> TimeModel:
    breakdown = trace.derived(break_down)
    steps = steps_of(trace)
    windows = phases(trace)
    whole_steps = program_steps(steps, windows)
    collectives = match_collectives(trace)
    waits = waits_by_window(trace, windows)
    key = ["rank", "device_id", "step", "phase"]
    device = breakdown.windows.drop("collective_wait_ns")
    device = device.join(waits, on=key, how="left", nulls_equal=True, maintain_order="left")
    return TimeModel(
        trace=trace,
        steps=steps,
        host=activities_of(trace),
        phases=windows,
        program_steps=whole_steps,
        processes=process_ranks(trace),
        collectives=collectives,
        waits=waiting_pairs(trace),
        device=TIME_BREAKDOWN.conform(device),
        idle=breakdown.idle.sort(_PLACES, descending=[False, False, True, False, False]),
    )
