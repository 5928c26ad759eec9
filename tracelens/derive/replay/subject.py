"""Define what a change is applied to: a rank's replay, with a label for each edge of its graph.

An edge is a host or device interval, or a wait between two of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from msgspec import Struct

from tracelens.derive.replay.critical import Labels, labels_of
from tracelens.derive.replay.moment_graph import CALL, OP, PYTHON, Flags, Ints
from tracelens.derive.replay.replay import Replay
from tracelens.errors import UsageError
from tracelens.trace import Trace

NEVER = -(10**15)
"""The weight in ns of an edge whose wait is removed, so low that the edge decides no time."""


class Subject(Struct, dict=True):
    """Holds the rank's replay to which a change is applied."""

    trace: Trace
    replay: Replay
    other: Replay | None = None  # replay of the same program with another batch size

    @cached_property
    def labels(self) -> Labels:
        """The op, layer, name and cause of each edge of the graph."""
        return labels_of(self.replay, np.arange(len(self.replay.table.kinds)))

    def in_layer(self, layer: str) -> Flags:
        """Flag the graph's edges that belong to a module or to its submodules."""
        return np.array(
            [path is not None and f"{path}.".startswith(f"{layer}.") for path in self.labels.layers]
        )

    @property
    def is_host(self) -> Flags:
        """True for each edge of the graph in which the host works: ops, Python and API calls.

        What other threads do between their calls is not known. They mostly sleep, so it is no work.
        """
        table = self.replay.table
        is_pause = (table.kinds == PYTHON) & (table.is_helper == 1)
        is_host: Flags = np.isin(table.kinds, (OP, PYTHON, CALL)) & ~is_pause
        return is_host

    def of_cause(self, cause: str) -> Flags:
        """Flag the graph edges of host time with this cause, such as `input`."""
        return np.array([label == cause for label in self.labels.causes]) & self.is_host


Change = Callable[[Ints], Ints]
"""A function that takes the times of all edges in ns, and returns the changed times."""


class Spread(Struct, frozen=True):
    """Holds a change in three strengths: the usual one, and the limits of its effect.

    A step is shortest with `least`, and longest with `most`.
    """

    usual: Change
    least: Change
    most: Change


def require(chosen: Flags, why: str) -> None:
    """Raise UsageError with the text `why` if no flag is set."""
    if not chosen.any():
        raise UsageError(why)
