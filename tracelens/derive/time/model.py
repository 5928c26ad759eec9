"""The time model of a trace: what hosts and devices did when, and why devices were idle.

It is computed once. Analyses of time reduce it: they take the model, and read only names from the
trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from tracelens.derive.ranks.collective_wait import waiting_pairs, waits_by_window
from tracelens.derive.time.breakdown import Breakdown, break_down, idle_intervals
from tracelens.derive.time.program_phases import phases
from tracelens.derive.time.step_table import activities_of, steps_of
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
_USED = 0.1
"""A device that works less than this share of the time of the rank's busiest one is left out."""
_PLACES = ["rank", "device_id", "idle_ns", "cause", "what"]


@dataclass(frozen=True, slots=True)
class TimeModel:
    """Where the time of each rank and device went.

    `steps` is the table of steps, `host` that of activities: what each host thread did, with cause
    and call path. `phases` has the windows of time that everything is summed in. `device` has one
    row per rank, device, step and phase with the columns of TIME_BREAKDOWN, shares left out;
    device_id is None for a process without a device. `idle` has the program's idle time by rank,
    device, cause and call path (what), most first: idle_ns, n_gaps, longest_ns (the most that one
    gap has of it) and example_ns (the start of that gap). `waits` has the time that one rank waited
    for another in collectives, one row per pair.
    """

    trace: Trace
    steps: pl.DataFrame
    host: pl.DataFrame
    phases: pl.DataFrame
    waits: pl.DataFrame
    device: pl.DataFrame
    idle: pl.DataFrame

    def by(self, *keys: str) -> pl.DataFrame:
        """Sum the program's time by part: one row per combination of keys, sorted.

        Keys are rank, device_id and step. Columns are window_ns, `PART_ns` for each of PARTS,
        profiler_ns (the part of host_ns that the profiler recorded as its own), n_windows (the
        windows added up, on each device), and n_devices. Devices that a rank hardly uses are left
        out, unless device_id is a key.
        """
        parts = {f"{part}_ns": _PART_OF_WINDOW[part] for part in PARTS}
        windows = self.device.filter(pl.col("phase") == PROGRAM).select(
            "rank", "device_id", "step", "window_ns", "profiler_ns", **parts
        )
        if "device_id" not in keys:
            windows = windows.join(
                _used_devices(windows), on=["rank", "device_id"], how="semi", nulls_equal=True
            )
        sums = windows.group_by(keys).agg(
            pl.col("window_ns", *parts, "profiler_ns").sum(),
            n_windows=pl.len().cast(pl.Int64),
            n_devices=pl.col("device_id").n_unique().cast(pl.Int64),
        )
        return sums.sort(keys)

    @property
    def breakdown(self) -> Breakdown:
        """The rank's own part of the model, from which the model of all ranks is merged."""
        return Breakdown(self.device, self.idle)

    def idle_intervals(self) -> pl.DataFrame:
        """List the program's idle time on each device by start, stretch by stretch.

        Columns are rank, device_id, start_ns, end_ns, cause and what. Lengths sum to the idle time
        of `device` in the phase program. Not kept, as there may be millions.
        """
        return idle_intervals(self.trace, self.host, self.phases)


def _used_devices(windows: pl.DataFrame) -> pl.DataFrame:
    """Name the devices that work at least a share of the time of their rank's busiest one."""
    works = pl.sum_horizontal("compute_ns", "communication_ns", "copy_ns").sum()
    devices = windows.group_by("rank", "device_id").agg(works=works)
    return devices.filter(pl.col("works") >= _USED * pl.col("works").max().over("rank"))


def time_model(trace: Trace) -> TimeModel:
    """Compute the model of a trace, once."""
    return trace.derived(_model_of)


def merge_breakdowns(trace: Trace, parts: Sequence[Breakdown]) -> None:
    """Make the trace's model from breakdowns computed rank by rank, in the order of ranks.

    Waiting for other ranks is computed here, as it needs all ranks at once.
    """
    trace.set_derived(_model_of, _assemble(trace, parts))


def _model_of(trace: Trace) -> TimeModel:
    return _assemble(
        trace, [break_down(trace, steps_of(trace), activities_of(trace), phases(trace))]
    )


def _assemble(trace: Trace, parts: Sequence[Breakdown]) -> TimeModel:
    """Put together the breakdowns of all ranks and the waiting between them."""
    windows = phases(trace)
    waits = waits_by_window(trace, windows)
    key = ["rank", "device_id", "step", "phase"]
    device = pl.concat([part.windows for part in parts]).drop("collective_wait_ns")
    device = device.join(waits, on=key, how="left", nulls_equal=True, maintain_order="left")
    idle = pl.concat([part.idle for part in parts])
    return TimeModel(
        trace=trace,
        steps=steps_of(trace),
        host=activities_of(trace),
        phases=windows,
        waits=waiting_pairs(trace),
        device=TIME_BREAKDOWN.conform(device),
        idle=idle.sort(_PLACES, descending=[False, False, True, False, False]),
    )
