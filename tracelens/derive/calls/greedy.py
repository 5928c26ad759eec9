"""A greedy order, beside which the search stands: the largest match first, in NHWC.

It needs no search, and no solver: it is what one would write by hand.
"""

from tracelens.derive.calls.constraints import NHWC
from tracelens.derive.calls.graphs import Node
from tracelens.derive.calls.search import Call, Have, Part, Search

TRANSFORMS = ("to_nhwc", "to_nchw")


class Greedy(Search):
    """Covers a sub-graph by the largest match first, in NHWC wherever that is legal."""

    def best(self, part: Part, given: Have, wanted: str) -> tuple[float, list[Call]] | None:
        """Return the calls and their cost; None where no call fits and something is missing."""
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


def _size(pair: tuple[Call, Have]) -> tuple[int, int, bool]:
    """Return how much a call covers, then how much of it is in NHWC."""
    call, _ = pair
    return len(call.nodes), call.layouts.count(NHWC), call.layout == NHWC


def _has(have: Have, name: str, layout: str, nodes: dict[str, Node]) -> bool:
    layouts = {of for tensor, of in have if tensor == name}
    return layout in layouts or (len(nodes[name].shape) != 4 and bool(layouts))
