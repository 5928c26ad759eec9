"""What a profiler adds to the host's time, and a replay without it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracelens.derive.replay.device import LEAST_LATENCY_NS
from tracelens.derive.replay.edges import CALL, LAUNCH, OP, PYTHON
from tracelens.derive.replay.graph import Ints
from tracelens.derive.replay.replay import Replay

_LEAST_LEFT = 0.05
"""Of a stretch of the host's time at least this share is the program's own."""
_HOST = (OP, PYTHON, CALL, LAUNCH)


@dataclass(frozen=True, slots=True)
class Costs:
    """The host time that a profiler adds to each op, Python call and API call that it records."""

    op_ns: float
    python_ns: float
    call_ns: float

    def times(self, factor: float) -> Costs:
        """These costs, all by the same factor."""
        return Costs(self.op_ns * factor, self.python_ns * factor, self.call_ns * factor)


NO_COSTS = Costs(0, 0, 0)
TORCH_LOW, TORCH_USUAL, TORCH_HIGH = (
    Costs(1_500, 700, 1_000),
    Costs(4_000, 2_000, 3_000),
    Costs(6_000, 3_000, 8_000),
)
"""Costs of torch.profiler, for a trace of which nothing else is known.

From 70 captures of samples/planted and samples/cross_layer (torch 2.11, the host of an H200), whose
steps were timed without the profiler too: the usual ones bring the median error of a step's time
from 10 to 7 %. They were chosen on these captures among about five triples, and judged on no others."""
HOST_VARIES = 0.12
"""A host's time varies by so much from one run of a program to the next: chosen, not measured."""
RUNS_VARY = 0.03
"""And so does any run as a whole, by the device's clock: chosen, not measured."""


def weights_without(replay: Replay, costs: Costs, host_factor: float = 1) -> Ints:
    """The graph's weights without the profiler: host time less what it adds, and no stretch below a rest.

    The host's time is multiplied by the factor, for a faster or a slower host.
    """
    table = replay.table
    recorded = table.graph.weights
    added = (table.n_ops * costs.op_ns + table.n_python * costs.python_ns) / 2
    added += table.n_calls * costs.call_ns
    is_launch = table.kinds == LAUNCH
    least = np.where(is_launch, np.minimum(recorded, LEAST_LATENCY_NS), _LEAST_LEFT * recorded)
    bare = np.maximum(recorded - added, least)
    bare = np.where(is_launch, bare, bare * host_factor).astype(np.int64)
    return np.where(np.isin(table.kinds, _HOST), bare, recorded)
