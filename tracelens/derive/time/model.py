"""Model the time of a trace: activities of hosts, work of devices, and causes of idle time.

The model is computed once. Analyses of time sum or filter the model.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from tracelens.derive.ranks.collective_wait import waiting_pairs, waits_by_window
from tracelens.derive.ranks.collectives import match_collectives
from tracelens.derive.time.breakdown import (
    Breakdown,
    break_down_devices,
    idle_intervals,
    merge,
)
from tracelens.derive.time.cpu_only import break_down_processes
from tracelens.derive.time.device_work import works_of_devices
from tracelens.derive.time.host_time import host_times
from tracelens.derive.time.idle_sums import times_of_devices
from tracelens.derive.time.program_phases import phases, program_steps
from tracelens.derive.time.step_table import activities_of, process_ranks, steps_of
from tracelens.derive.time.time_parts import TimeModel
from tracelens.schemas.results.ranks import WAITING_FOR
from tracelens.schemas.results.time import TIME_BREAKDOWN
from tracelens.trace import Trace

_PLACES = ["rank", "device_id", "idle_ns", "cause", "what"]


def list_idle(trace: Trace) -> pl.DataFrame:
    """List the program's idle time, device by device: one row per interval, sorted by start.

    Columns: rank, device_id, start_ns, end_ns, cause and what (call path). The result is not
    cached, because it may have millions of rows.
    """
    devices = {}
    if trace.has("kernels"):
        # Finding phases and hosts reads more than is needed afterwards, so it does not fill the
        # cache.
        windows = phases(trace.uncached())
        hosts = host_times(trace.uncached(), activities_of(trace))
        devices = works_of_devices(trace, hosts, windows)
    return idle_intervals(trace, devices)


def time_model(trace: Trace) -> TimeModel:
    """Return the model of a trace, which is computed on the first call only.

    Simultaneous work of one kind counts once. Communication is exposed while nothing is computed.
    A copy is exposed while no kernel runs. Compute and idle are defined as in HTA's temporal
    breakdown.
    """
    return trace.derived(_model_of)


def model_for_times(trace: Trace) -> TimeModel:
    """Return a model with the times of `time_model`, but possibly without names of Python code."""
    # If a step was timed without the profiler, times depend on the names of code that only waits.
    if trace.manifest.unprofiled_steps_ns() or trace.has_derived(_model_of):
        return time_model(trace)
    # Naming the code that launches takes half of the model's time.
    return trace.derived(_model_for_times)


def merge_models(trace: Trace, parts: Sequence[Breakdown]) -> None:
    """Merge breakdowns of a trace's ranks, in the order of ranks, into the trace's model."""
    trace.set_derived(_model_of, _model_of(trace, merge(parts)))


def _model_for_times(trace: Trace) -> TimeModel:
    return _model_of(trace, names_launches=False)


def _model_of(
    trace: Trace,
    breakdown: Breakdown | None = None,
    *,
    names_launches: bool = True,
) -> TimeModel:
    """Compute the model from `breakdown`, or from the trace's events if `breakdown` is None.

    If `names_launches` is False, the time of a launch is named after the launching op only, and not
    after the code that calls the op.
    """
    steps = steps_of(trace)
    host = activities_of(trace)
    processes = process_ranks(trace)
    whole_steps = program_steps(trace)
    windows = phases(trace)
    if breakdown is None:
        parts = []
        if trace.has("kernels"):
            hosts = host_times(trace, host, names_launches=names_launches)
            devices = works_of_devices(trace, hosts, windows)
            times = times_of_devices(trace, devices)
            parts.append(break_down_devices(trace, devices, times, steps, windows))
            # Free the data of all events, which the matching of collectives does not need.
            del hosts, devices, times
        if processes:
            parts.append(Breakdown(*break_down_processes(trace)))
        breakdown = merge(parts)
    collectives = match_collectives(trace)
    device = breakdown.windows
    pairs = WAITING_FOR.empty()
    if collectives.calls.height:
        pairs = waiting_pairs(trace)
        device = device.drop("collective_wait_ns").join(
            waits_by_window(trace, windows),
            on=["rank", "device_id", "step", "phase"],
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
    return TimeModel(
        trace=trace,
        steps=steps,
        host=host,
        phases=windows,
        program_steps=whole_steps,
        processes=processes,
        collectives=collectives,
        waits=pairs,
        device=TIME_BREAKDOWN.conform(device),
        idle=breakdown.idle.sort(
            _PLACES,
            descending=[False, False, True, False, False],
        ),
    )
