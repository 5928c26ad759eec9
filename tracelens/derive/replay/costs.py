"""Estimate the host time that a profiler adds, scaled to the speed of the recorded host."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from msgspec import Struct
from msgspec.structs import astuple, replace

from tracelens.derive.replay.moment_graph import Flags, Ints
from tracelens.derive.replay.replay import Replay
from tracelens.trace import Trace

Floats = npt.NDArray[np.float64]


class Costs(Struct, frozen=True):
    """Holds the host time in ns that a profiler adds to each op, Python call and API call."""

    op_ns: float
    python_ns: float
    call_ns: float
    generated_ns: float = 0  # added to each launch of a kernel that torch.compile generated

    @property
    def usual_factor(self) -> float:
        """The ratio of the host's usual time to its recorded time for the same work; at most 1."""
        return 1

    @property
    def fastest_factor(self) -> float:
        """The ratio of the host's time at its highest speed to its usual time; at most 1."""
        return 1

    def times(self, factor: float) -> Costs:
        """Multiply these costs by the factor."""
        return Costs(
            self.op_ns * factor,
            self.python_ns * factor,
            self.call_ns * factor,
            self.generated_ns * factor,
        )


class CostsOfHost(Costs, frozen=True):
    """Holds costs from a table, for a host that may be slower than the host of the table."""

    slowness: float = 1  # time of recorded launches divided by the time on the hosts of TORCH_COSTS

    @property
    def usual_factor(self) -> float:
        """The ratio of the host's usual time to its recorded time for the same work; at most 1."""
        return min(1, SLOWEST_HOST / self.slowness)

    @property
    def fastest_factor(self) -> float:
        """The ratio of the time on the fast hosts of `TORCH_COSTS` to the usual time; at most 1."""
        return 1 / min(max(self.slowness, 1), SLOWEST_HOST)


class CallCost(Struct, frozen=True):
    """Holds the time that a profiler adds to an API call, inside and outside of its recorded time.

    Half of `beside_ns` lies before the call, half after it.
    """

    inside_ns: float
    beside_ns: float

    def times(self, factor: float) -> CallCost:
        """Multiply this cost by the factor."""
        return CallCost(self.inside_ns * factor, self.beside_ns * factor)


class CostsBeside(Costs, frozen=True):
    """Holds costs of a profiler that also works before and after API calls, such as nsys.

    `python_ns` is the cost of an NVTX range.
    """

    of_launch: CallCost = CallCost(0, 0)
    of_work: CallCost = CallCost(0, 0)  # calls that start copies, fills and graphs
    of_other: CallCost = CallCost(0, 0)  # all other calls
    slowness: float = 1  # time of recorded launches divided by the time on a fast host

    @property
    def usual_factor(self) -> float:
        """The ratio of the host's usual time to its recorded time for the same work; at most 1."""
        # A trace does not show whether a slow host is always slow. So the usual speed is taken as
        # the geometric mean of the recorded speed and a fast host's speed.
        return 1 / math.sqrt(max(self.slowness, 1))

    @property
    def fastest_factor(self) -> float:
        """The ratio of the time on a fast host to the usual time; at most 1."""
        return self.usual_factor

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
            self.slowness,
        )

    def of_calls(self, kinds: pl.Series) -> tuple[Floats, Floats]:
        """Return the costs in ns inside and beside each call, given the calls' kinds.

        Each array ends with an extra 0, so that index -1 stands for no call.
        """
        is_launch = (kinds == "kernel_launch").to_numpy()
        is_work = kinds.is_in(_WORK_CALLS).to_numpy()
        inside, beside = (
            np.where(
                is_launch,
                launch,
                np.where(is_work, work, other),
            )
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

samples/whatif/fit.py fits them on half of the programs in samples/whatif (torch 2.11, the host of
an H200). For `plain`, several costs fit about as well. The costs given here also suit
samples/blind. `generated_ns` of `stacks` is chosen by hand, because the fit only bounds it from
below.
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
"""Costs of nsys when it traces CUDA and NVTX, whether or not it also traces the OS runtime.

samples/nsys/costs/fit.py fits them on half of the captured programs. docs/accuracy.md judges them
on the other half.
"""
_NSYS_LAUNCH_NS = 7_200
"""The median time of a recorded launch in the captures on which NSYS_COSTS were fitted."""
_FAST_LAUNCH_NS = 5_100
"""The median time of a launch that nsys records on a fast host.

Hosts of an H200 and of an H100 had two speeds and changed between them within a second. At the
higher speed, the median of the recorded launches was 5.0 to 5.4 µs in nine programs.
"""
_LAUNCH_NS = 4_700
"""The mean time of a recorded launch in the captures on which TORCH_COSTS were fitted."""
_BARE_LAUNCH_NS = _LAUNCH_NS - TORCH_COSTS["plain"].call_ns
"""The mean time of a launch without the profiler, on the host where TORCH_COSTS were fitted."""
_LONG_LAUNCH_NS, _FEW_LAUNCHES = 50_000, 10
"""Longest launch that does not wait for room in a queue; fewest launches that show a speed."""
_LEAST_SLOWNESS, _MOST_SLOWNESS = 0.25, 4.0
_MOST_NS = 1e9
"""A cost above one second per event is invalid."""
SLOWEST_HOST = 1.8
"""Greatest slowness that a host is assumed to have without the profiler.

Slowness is the time of launches divided by their time on a fast host.

- Measured hosts have two speeds, 1.8 times apart, and change between these within a second.
- Just after torch.profiler was set up, hosts were up to five times as slow as a fast host.
- This limit gave the least errors in captures of 37 programs on hosts of H200s. It was judged on 24
  other programs.
"""


def kind_of_profile(trace: Trace, rank: int) -> str:
    """Return the kind of events that torch.profiler recorded for a rank: stacks, shapes or plain.

    `plain` has only ops, API calls and kernels.
    """
    for source in trace.manifest.sources:
        settings = source.get("settings")
        if source.get("rank") == rank and isinstance(settings, dict):
            if settings.get("light_window"):  # this window records no stacks and no shapes
                return "plain"
            if settings.get("with_stack"):
                return "stacks"
            if settings.get("record_shapes") or settings.get("profile_memory"):
                return "shapes"
    return "plain"


MOST_TIMES = 7
"""Costs above this multiple of the usual costs have another cause than the profiler."""
SETTING = "profiler_costs"
"""Name of a source's setting with the costs that were measured on the recorded machine.

Its value lists the fields of `Costs` for each kind of profile.
"""


def costs_of(trace: Trace, replay: Replay) -> tuple[Costs, str]:
    """Return the profiler's costs for a rank's events, and their source: calibrated or table.

    Calibrated costs were measured on the recorded machine. Costs of the table are scaled to its
    speed.
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
        return nsys_costs(replay), "table"
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
    """Return whether a rank's events come from a source of this kind, such as torch or nsys."""
    return any(
        source.get("rank") == rank and source.get("kind") == kind
        for source in trace.manifest.sources
    )


def slowness(replay: Replay) -> float:
    """Return the ratio of the profiler's costs on the recorded host to the fitted costs.

    It is computed from the mean time of a recorded launch.
    """
    launch_ns = _launch_ns(replay)
    if launch_ns is None:
        return 1.0
    # A launch beyond this limit shows that the whole host was slow during the recording. From there
    # on, the ratio grows in proportion to the time of a launch.
    usual_ns = min(launch_ns, SLOWEST_HOST * _LAUNCH_NS)
    slower = (usual_ns - _BARE_LAUNCH_NS) / (_LAUNCH_NS - _BARE_LAUNCH_NS)
    return max(slower, _LEAST_SLOWNESS) * launch_ns / usual_ns


def nsys_costs(replay: Replay, costs: CostsBeside = NSYS_COSTS) -> CostsBeside:
    """Return the costs of nsys, multiplied by one factor for the host's speed during the recording.

    The factor is the median time of a launch, divided by the median in the fitted captures.
    """
    # Only the factor is taken from launches: most of the cost of nsys lies outside of a recorded
    # launch.
    took_ns = _launches_ns(replay)
    if len(took_ns) < _FEW_LAUNCHES:
        return costs
    launch_ns = float(np.median(took_ns))
    factor = min(max(launch_ns / _NSYS_LAUNCH_NS, _LEAST_SLOWNESS), _MOST_SLOWNESS)
    return replace(costs.times(factor), slowness=launch_ns / _FAST_LAUNCH_NS)


def _launch_ns(replay: Replay) -> float | None:
    """Return the mean time of a launch; None if there are fewer than _FEW_LAUNCHES."""
    took_ns = _launches_ns(replay)
    return float(np.mean(took_ns)) if len(took_ns) >= _FEW_LAUNCHES else None


def _launches_ns(replay: Replay) -> Ints:
    """Return the time of each launch that does not wait for room in a queue."""
    took_ns = replay.excerpt.launches["ns"].to_numpy()
    return took_ns[took_ns < _LONG_LAUNCH_NS]


def slowed_in(replay: Replay, is_step: Flags) -> float:
    """Return the mean time of launches in the flagged steps, divided by the mean in other steps.

    `is_step` has one flag per step of the excerpt. Return 1 if one of the groups has no launch.
    """
    launches = replay.excerpt.launches
    every_ns = launches["ns"].to_numpy()
    steps = np.searchsorted(replay.excerpt.marks, launches["start"].to_numpy(), "right") - 1
    inside = (steps >= 0) & (steps < len(is_step)) & (every_ns < _LONG_LAUNCH_NS)
    took_ns, chosen = every_ns[inside], is_step[steps[inside]]
    if chosen.all() or not chosen.any():
        return 1.0
    return float(took_ns[chosen].mean() / took_ns[~chosen].mean())


def costs_by_kind(stored: object) -> dict[str, Costs]:
    """Read costs by kind of profile from a manifest or file; malformed costs are left out."""
    if not isinstance(stored, Mapping):
        return {}
    return {kind: Costs(*stored[kind]) for kind in TORCH_COSTS if _are_costs(stored.get(kind))}


def _are_costs(stored: Any) -> bool:
    """Return whether `stored` is a list with a valid number for each field of `Costs`."""
    return (
        isinstance(stored, list)
        and len(stored) == len(astuple(NO_COSTS))
        and all(type(ns) in {int, float} and 0 <= ns < _MOST_NS for ns in stored)
    )
