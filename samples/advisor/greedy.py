"""A greedy order, beside which the search stands: the largest match first, in NHWC.

It needs no search, and no solver: it is what one would write by hand.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

import tracelens as tl
from tracelens.derive.calls.advising import Advice
from tracelens.derive.calls.constraints import NHWC, enumerate_layouts
from tracelens.derive.calls.costs import Costs
from tracelens.derive.calls.graphs import read_calls
from tracelens.derive.calls.search import Call, Have, Part, Search
from tracelens.derive.calls.sequence import advise_calls

TRANSFORMS = ("to_nhwc", "to_nchw")


class Greedy(Search):
    """Covers a sub-graph by the largest match first, in NHWC wherever that is legal."""

    def best(self, part: Part, given: Have, wanted: str) -> tuple[float, list[Call]] | None:
        """Return the calls and their cost; None where the greedy order comes to no end."""
        nodes = {node.name: node for node in (*part.given, *part.nodes)}
        matches = self.matches(part)
        covered: frozenset[str] = frozenset()
        have, calls = given, list[Call]()
        everything = frozenset(node.name for node in part.nodes)
        while True:
            following = list(self._next(part, nodes, matches, covered, have))
            turned = [pair for pair in following if pair[0].function in TRANSFORMS]
            computing = [pair for pair in following if pair[0].function not in TRANSFORMS]
            if covered == everything:
                lacking = [n for n in part.wanted if not _has(have, n, wanted, nodes)]
                if not lacking:
                    return sum(call.cost.ns for call in calls), calls
                computing = [
                    p for p in turned if p[0].nodes[0] in lacking and p[0].layout == wanted
                ]
            if not computing:
                return None
            call, new = max(computing, key=_size)
            first = [p for p in turned if p[0].layout == NHWC and p[0].nodes[0] in call.inputs]
            if first and call.function not in TRANSFORMS and NHWC not in call.layouts:
                call, new = first[0]
            calls.append(call)
            if call.function not in TRANSFORMS:
                covered |= frozenset(call.nodes)
            have |= new


def advise_greedily(eager: tl.Trace, others: Sequence[tl.Trace]) -> Advice:
    """Return the greedy order for the first rank, with what it costs by the times in the traces."""
    calls = read_calls(eager, 0)
    bench = [other.frame("call_costs") for other in (eager, *others) if other.has("call_costs")]
    measured = [
        read_calls(other, min(other.manifest.ranks)) for other in others if other.has("kernels")
    ]
    greedy = Greedy(Costs(calls, measured, pl.concat(bench)), enumerate_layouts)
    return Advice(calls, advise_calls(calls, greedy), greedy, "greedy", 0.0)


def _size(pair: tuple[Call, Have]) -> tuple[int, int, bool]:
    """How much a call covers, then how much of it is in NHWC."""
    call, _ = pair
    return len(call.nodes), call.layouts.count(NHWC), call.layout == NHWC


def _has(have: Have, name: str, layout: str, nodes: dict) -> bool:  # type: ignore[type-arg]
    own = {of for tensor, of in have if tensor == name}
    return layout in own or (len(nodes[name].shape) != 4 and bool(own))
