"""Hold the profiler's costs in host time, and subtract them from a replay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from msgspec import Struct
from msgspec.structs import astuple

from tracelens.derive.replay.device import LEAST_LATENCY_NS
from tracelens.derive.replay.moment_graph import (
    CALL,
    COPY,
    KERNEL,
    LAUNCH,
    OP,
    PYTHON,
    Ints,
    picked,
)
from tracelens.derive.replay.replay import Replay, keep_workers_pace
from tracelens.trace import Trace

Floats = npt.NDArray[np.float64]
_LEAST_LEFT = 0.05
"""At least this share of each interval of host time is the program's own."""
_HOST = (OP, PYTHON, CALL, LAUNCH)


class Costs(Struct, frozen=True):
    """The host time that a profiler adds to each op, Python call and API call that it records.

    `generated_ns` is also added to each launch of a kernel that torch.compile generated, because
    Inductor's launcher describes the launch to a profiler.
    """

    op_ns: float
    python_ns: float
    call_ns: float
    generated_ns: float = 0

    def times(self, factor: float) -> Costs:
        """Multiply these costs by the factor."""
        return Costs(
            self.op_ns * factor,
            self.python_ns * factor,
            self.call_ns * factor,
            self.generated_ns * factor,
        )


class CostsOfHost(Costs, frozen=True):
    """Costs on a host whose speed is known only from the trace.

    `slowness` is the time of its recorded launches over the time on the hosts of `TORCH_COSTS`.
    """

    slowness: float = 1

    @property
    def usual_factor(self) -> float:
        """The factor from the host's time during the recording to its usual time; at most 1."""
        return min(1, SLOWEST_HOST / self.slowness)

    @property
    def fastest_factor(self) -> float:
        """The factor from the usual time to that of a host as fast as those of `TORCH_COSTS`."""
        return 1 / min(max(self.slowness, 1), SLOWEST_HOST)


class CallCost(Struct, frozen=True):
    """The time that a profiler adds to an API call, inside and beside its recorded duration.

    Half of `beside_ns` lies before the call, half after it.
    """

    inside_ns: float
    beside_ns: float

    def times(self, factor: float) -> CallCost:
        """Multiply this cost by the factor."""
        return CallCost(self.inside_ns * factor, self.beside_ns * factor)


class CostsBeside(Costs, frozen=True):
    """Costs of a profiler that works before and after an API call, by kind of call.

    Kinds are launches of kernels, other calls that start device work (copies, fills, graphs), and
    all others. `python_ns` is the cost of an NVTX range.
    """

    of_launch: CallCost = CallCost(0, 0)
    of_work: CallCost = CallCost(0, 0)
    of_other: CallCost = CallCost(0, 0)

    def times(self, factor: float) -> CostsBeside:
        """Multiply these costs by the factor."""
        return CostsBeside(
            self.op_ns * factor,
            self.python_ns * factor,
            self.call_ns * factor,
            self.generated_ns * factor,
            self.of_launch.times(factor),
            self.of_work.times(factor),
            self.of_other.times(factor),
        )

    def of_calls(self, kinds: pl.Series) -> tuple[Floats, Floats]:
        """Return the costs inside and beside each of these calls, given by kind.

        Both end with a 0, so that the index -1 gives the cost of no call.
        """
        is_launch = (kinds == "kernel_launch").to_numpy()
        is_work = kinds.is_in(_WORK_CALLS).to_numpy()
        inside, beside = (
            np.where(is_launch, launch, np.where(is_work, work, other))
            for launch, work, other in (
                (self.of_launch.inside_ns, self.of_work.inside_ns, self.of_other.inside_ns),
                (self.of_launch.beside_ns, self.of_work.beside_ns, self.of_other.beside_ns),
            )
        )
        return np.append(inside, 0.0), np.append(beside, 0.0)


_WORK_CALLS = ("memcpy", "memset", "graph_launch")
NO_COSTS = Costs(0, 0, 0)
TORCH_COSTS = {
    "plain": Costs(1_500, 0, 2_900, 12_000),
    "shapes": Costs(2_500, 0, 1_610, 24_750),
    "stacks": Costs(2_730, 730, 1_230, 60_000),
}
"""Costs of torch.profiler by the kinds of events recorded, used if nothing else is known.

They are fitted by samples/whatif/fit.py on half of its programs (torch 2.11, the host of an H200).
Of the costs of `plain` that fit about as well, these also suit samples/blind. The last number of
`stacks` is chosen by hand, because the fit gives no upper bound for it.
"""
NSYS_COSTS = CostsBeside(
    0,
    600,
    0,
    0,
    CallCost(3_000, 8_000),
    CallCost(1_000, 2_000),
    CallCost(200, 1_500),
)
"""Costs of nsys with CUDA and NVTX, with the operating system's calls or without.

Fitted by samples/nsys/costs/fit.py on half of the programs there, and judged on the other half:
docs/accuracy.md.
"""
_NSYS_LAUNCH_NS = 7_200
"""The median time of a recorded launch in the captures on which NSYS_COSTS were fitted."""
_LAUNCH_NS = 4_700
"""The mean time of a recorded launch in the captures on which TORCH_COSTS were fitted."""
_BARE_LAUNCH_NS = _LAUNCH_NS - TORCH_COSTS["plain"].call_ns
"""The mean time of such a launch without the profiler."""
_LONG_LAUNCH_NS, _FEW_LAUNCHES = 50_000, 10
"""Longest launch that does not wait for room in a queue; fewest launches that tell a speed."""
_LEAST_SLOWNESS, _MOST_SLOWNESS = 0.25, 4.0
_GRAPH_KERNEL_NS = 156
"""The device time that recording adds to each kernel of a replayed CUDA graph.

It is fitted on one program of samples/whatif, gpt_decode, and judged on two others.
"""
_MOST_NS = 1e9
"""A cost above one second per event is invalid."""
_SLOWER_HOST = 1.1
SLOWEST_HOST = 1.8
"""A host with a larger slowness counts as slow only while it records.

Hosts that were measured have two speeds, 1.8 times apart, and change between them within a second.
Just after torch.profiler was set up, they were up to five times as slow. For captures of 37
programs on hosts of H200s, the limit 1.8 gave the least errors; it was judged on 24 others.
"""
_LONG_PIECE_NS = 1_000_000
"""The host sleeps, reads or computes in longer pieces, of whose speed launches tell nothing."""
_COPY_VARIES = 3
"""Times of copies from and to pageable memory vary this many times as much as other host work.

Recorded copies took up to 1.5 times as long as those of the same program without a profiler, 1.2
times in the median of six programs of samples/whatif that copy in each step.
"""
RUN_SHARE, HOST_SHARE, ADDED_SHARE = 0.02, 0.5, 0.2
"""Shares that make up the expected error of a step without the profiler.

They are shares of the step itself, of the time that a slower host would add to it, and of the time
subtracted for the profiler. They are chosen by hand; STEP_WIDTH, in units of their sum, is not.
"""
STEP_WIDTH, CHANGE_WIDTH = 2.4, 2.2
"""The half-width of a range as a multiple of the expected error.

Such ranges held nine in ten true times of samples/whatif and of its changes, and of samples/blind.
"""
NSYS_STEP_WIDTH = 3.1
"""Half-width of a range of a step under nsys, as a multiple of the expected error.

Such ranges held the true time of nine in ten of the captures on which costs were fitted.
"""


def kind_of_profile(trace: Trace, rank: int) -> str:
    """Return which events torch.profiler recorded besides ops and kernels: stacks, shapes or plain.

    A profile with memory counts as one with shapes. A capture with the times of a light window
    counts as plain.
    """
    for source in trace.manifest.sources:
        settings = source.get("settings")
        if source.get("rank") == rank and isinstance(settings, dict):
            if settings.get("light_window"):
                return "plain"
            if settings.get("with_stack"):
                return "stacks"
            if settings.get("record_shapes") or settings.get("profile_memory"):
                return "shapes"
    return "plain"


MOST_TIMES = 7
"""Largest multiple of the usual costs that the profiler can cause.

Higher costs have another cause.
"""
SETTING = "profiler_costs"
"""Name of the source's setting with the costs that were measured on its own machine.

Its value lists the numbers of `Costs` by kind of profile.
"""


def costs_of(trace: Trace, replay: Replay) -> tuple[Costs, str]:
    """Return the profiler's costs for a rank's events, and the evidence: calibrated, or table.

    The table holds costs of one host. The profiler runs on the host that it records, so its costs
    are scaled to that host's speed, which the recorded launches show.
    """
    rank = replay.excerpt.rank
    kind = kind_of_profile(trace, rank)
    for source in trace.manifest.sources:
        settings = source.get("settings")
        if source.get("rank") == rank and isinstance(settings, dict):
            calibrated = costs_by_kind(settings.get(SETTING))
            if kind in calibrated:
                return calibrated[kind], "calibrated"
    if is_of(trace, rank, "nsys"):
        return NSYS_COSTS.times(slowness_under_nsys(replay)), "table"
    costs = TORCH_COSTS[kind].times(slowness(replay))
    launch_ns = _launch_ns(replay) or _LAUNCH_NS
    slow = CostsOfHost(
        costs.op_ns,
        costs.python_ns,
        costs.call_ns,
        costs.generated_ns,
        launch_ns / _LAUNCH_NS,
    )
    return slow, "table"


def is_of(trace: Trace, rank: int, kind: str) -> bool:
    """Return whether a rank's events are from a source of this kind, such as torch or nsys."""
    return any(
        source.get("rank") == rank and source.get("kind") == kind
        for source in trace.manifest.sources
    )


def slowness(replay: Replay) -> float:
    """Return the factor by which the profiler is slower here than where its costs were fitted.

    If launches take longer than on the slowest usual host, all of the host was slower while it
    recorded, so costs grow as launches do.
    """
    launch_ns = _launch_ns(replay)
    if launch_ns is None:
        return 1.0
    usual_ns = min(launch_ns, SLOWEST_HOST * _LAUNCH_NS)
    slower = (usual_ns - _BARE_LAUNCH_NS) / (_LAUNCH_NS - _BARE_LAUNCH_NS)
    return max(slower, _LEAST_SLOWNESS) * launch_ns / usual_ns


def slowness_under_nsys(replay: Replay) -> float:
    """Return the factor by which nsys is slower here than where its costs were fitted.

    It is the factor by which the median launch is slower: most of nsys' cost is outside of it.
    """
    took_ns = _launches_ns(replay)
    slower = np.median(took_ns) / _NSYS_LAUNCH_NS if len(took_ns) >= _FEW_LAUNCHES else 1.0
    return float(min(max(slower, _LEAST_SLOWNESS), _MOST_SLOWNESS))


def _launch_ns(replay: Replay) -> float | None:
    """Return the mean time of a launch, as costs add up; None if there are too few launches."""
    took_ns = _launches_ns(replay)
    return float(np.mean(took_ns)) if len(took_ns) >= _FEW_LAUNCHES else None


def _launches_ns(replay: Replay) -> Ints:
    """Return the time of each launch that does not wait for room in a queue."""
    calls = replay.excerpt.calls.filter(pl.col("api").str.contains("^cu.*LaunchKernel"))
    took_ns = (calls["end"] - calls["start"]).to_numpy()
    return took_ns[took_ns < _LONG_LAUNCH_NS]


def costs_by_kind(stored: object) -> dict[str, Costs]:
    """Read the costs of each kind of profile from a manifest or file; {} if they are malformed."""
    if not isinstance(stored, Mapping):
        return {}
    return {kind: Costs(*stored[kind]) for kind in TORCH_COSTS if _are_costs(stored.get(kind))}


def _are_costs(stored: Any) -> bool:
    """Return whether this is one finite number, at least 0, for each field of `Costs`."""
    return (
        isinstance(stored, list)
        and len(stored) == len(astuple(NO_COSTS))
        and all(type(ns) in {int, float} and 0 <= ns < _MOST_NS for ns in stored)
    )


def weights_without(replay: Replay, costs: Costs, host_factor: float = 1) -> Ints:
    """Return the weights without the profiler's time on the host and in graphs' kernels.

    A part of each interval always remains. The host's time is multiplied by the factor, for a
    faster or a slower host. Copies from and to pageable memory change more, see `_COPY_VARIES`,
    because the host moves their bytes. On a host whose speed is known only from the trace, waits
    for a loader's workers keep the step at the workers' pace.
    """
    table = replay.table
    recorded = table.graph.weights
    of_pieces = costs.usual_factor if isinstance(costs, CostsOfHost) else 1
    is_launch = table.kinds == LAUNCH
    waited = replay.waited
    own = recorded - waited
    least = np.where(is_launch, np.minimum(own, LEAST_LATENCY_NS), _LEAST_LEFT * own)
    bare = np.maximum(own - _profiler_ns(replay, costs), least)
    is_long = np.isin(table.kinds, (OP, PYTHON)) & (bare > _LONG_PIECE_NS)
    quicker = np.where(is_long, bare, bare * of_pieces)
    on_host = waited + np.where(is_launch, bare, quicker * host_factor).astype(np.int64)
    on_device = recorded
    if costs != NO_COSTS:
        of_graph = (table.kinds == KERNEL) & picked(replay.work.is_graph == 1, table.items)
        on_device = np.where(of_graph, np.maximum(recorded - _GRAPH_KERNEL_NS, 0), recorded)
    is_pageable = replay.excerpt.work["is_pageable"].fill_null(value=False).to_numpy()
    is_staged = (table.kinds == COPY) & picked(is_pageable, table.items)
    host_factor *= of_pieces
    copy_factor = max(
        1 + _COPY_VARIES * (host_factor - 1),
        min(host_factor, 1),
    )
    scaled = np.where(is_staged, on_device * copy_factor, on_device).astype(np.int64)
    without = np.where(np.isin(table.kinds, _HOST), on_host, scaled)
    is_paced = isinstance(costs, CostsOfHost) and waited.any()
    return keep_workers_pace(replay, without) if is_paced else without


def _profiler_ns(replay: Replay, costs: Costs) -> Floats:
    """Return how much longer the profiler makes each edge of the host, at these costs."""
    table = replay.table
    ops_ns = table.n_ops * costs.op_ns
    python_ns = table.n_python * costs.python_ns
    generated_ns = table.n_generated * costs.generated_ns
    calls_ns = table.n_calls * costs.call_ns
    beside_ns = _added_by_calls(replay, costs) if isinstance(costs, CostsBeside) else 0
    own_ns = 0 if costs == NO_COSTS else table.profiler_ns
    # Begins and ends of spans are counted, each with half of a span's cost.
    spans_ns: Floats = (ops_ns + python_ns + generated_ns) / 2
    return spans_ns + calls_ns + beside_ns + own_ns


def _added_by_calls(replay: Replay, costs: CostsBeside) -> Floats:
    """Return what API calls add to each edge: to the call, its launch, and the host beside it."""
    table = replay.table
    inside, beside = costs.of_calls(replay.excerpt.calls["kind"])
    is_call = table.kinds == CALL
    is_launch = table.kinds == LAUNCH
    launching = np.append(replay.work.calls, -1)[np.where(is_launch, table.items, -1)]
    calls = np.where(
        is_call,
        table.items,
        np.where(is_launch, launching, -1),
    )
    begun, ended = np.full((2, table.graph.n_moments), -1)
    begun[table.graph.sources[is_call]] = table.items[is_call]
    ended[table.targets[is_call]] = table.items[is_call]
    is_between = np.isin(table.kinds, (OP, PYTHON))
    around = beside[ended[table.graph.sources]] + beside[begun[table.targets]]
    return table.n_calls * inside[calls] + np.where(is_between, around / 2, 0)


def weights_of_scenarios(replay: Replay, costs: Costs) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the weights of four scenarios: usual host, slower host, as recorded, and fast host.

    All but the recorded ones are without the profiler. The fast host is as fast as the one on which
    the costs were measured, because the recorded host may have been slow only while it recorded.
    """
    return (
        weights_without(replay, costs),
        weights_without(replay, costs, _SLOWER_HOST),
        replay.table.graph.weights,
        weights_without(
            replay,
            costs,
            costs.fastest_factor if isinstance(costs, CostsOfHost) else 1,
        ),
    )


def uncertainty_ns(usual_ns: float, slower_ns: float, recorded_ns: float) -> float:
    """Return the expected error of a step, from its time in the three scenarios."""
    return (
        RUN_SHARE * usual_ns
        + HOST_SHARE * abs(slower_ns - usual_ns)
        + ADDED_SHARE * abs(recorded_ns - usual_ns)
    )
