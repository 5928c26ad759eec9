"""A call plan: a file with the library calls that compute a model's graph."""

from __future__ import annotations

import os
from typing import Any

from msgspec import Struct, field

from tracelens.advisor.plan import read_plan


class PlannedCall(Struct, frozen=True):
    """One library call of the plan."""

    function: str
    realisation: str
    # The graph's nodes that the call covers
    nodes: tuple[str, ...]
    # The tensors that the call reads, each in its layout
    inputs: tuple[str, ...]
    layouts: tuple[str, ...]
    # Layout of the result
    layout: str
    predicted_ns: int = 0
    evidence: str = ""


class CallPlan(Struct, frozen=True):
    """Holds the planned calls in order, and calls worth timing alone (`candidates`).

    `source` and `inputs` are the origin and the input shapes of the graph that was planned.
    """

    source: str
    calls: tuple[PlannedCall, ...]
    inputs: tuple[dict[str, Any], ...] = ()
    candidates: tuple[dict[str, str], ...] = ()
    predicted: dict[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> CallPlan:
        """Return the plan in a file.

        Raises SourceError if it is not a plan, SchemaError if a newer version wrote it.
        """
        return read_plan(
            path, cls, "tracelens call plan", "make one with tracelens advise TRACE --out plan.json"
        )
