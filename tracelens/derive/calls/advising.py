"""Advise library calls for the model graph of one rank of a trace."""

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from tracelens.derive.calls.call_graph import Calls, Node, read_calls
from tracelens.derive.calls.call_tensors import places_of
from tracelens.derive.calls.constraints import LAYOUTS, NHWC, Z3Solver, enumerate_layouts, has_z3
from tracelens.derive.calls.costs import Costs
from tracelens.derive.calls.op_catalog import OTHER, VIEWS, Function
from tracelens.derive.calls.search import TRANSFORMS, Call, Have, Part, Search
from tracelens.derive.calls.sequence import Advised, advise_calls
from tracelens.derive.time.model import time_model
from tracelens.derive.time.time_parts import rank_times
from tracelens.trace import Trace

GREEDY = "greedy"
"""The solver's name in a plan that was built greedily, without a search."""


class Advice(Struct, frozen=True):
    """Holds the calls advised for a rank, and the search that chose them."""

    calls: Calls  # the recorded calls
    parts: list[Advised]  # sub-graphs with their advised calls, in the order of the graph
    search: Search
    solver: str  # z3, enumeration or greedy
    seconds: float  # time of the search
    launch_ns: float = 0.0  # host time that a call takes at least, 0 unless launch-bound

    def total(self, bound: str = "ns") -> float:
        """Return the advised sequence's kernel time per step in nanoseconds.

        `bound` is ns (the likely time), low or high. Parts that were not judged have their recorded
        time.
        """
        judged: float = sum(getattr(call.cost, bound) for part in self.parts for call in part.calls)
        return judged + self.calls.unjudged_ns

    @property
    def now(self) -> float:
        """Return the kernel time of a step as recorded, in nanoseconds."""
        return self.calls.total_ns

    @property
    def host_now(self) -> float:
        """Return the host time in ns that all recorded calls of a step take together at least.

        The time is 0 unless the rank is launch-bound.
        """
        nodes = (node for part in self.parts for node in part.part.nodes)
        return self.launch_ns * sum(bool(node.device_ns) for node in nodes)

    @property
    def host_then(self) -> float:
        """Return the host time in ns that all advised calls of a step take together at least.

        The time is 0 unless the rank is launch-bound.
        """
        return _host_ns(self.parts, self.launch_ns)


def judgeable_ranks(trace: Trace) -> list[int]:
    """Return the ranks that ran inference only and recorded input shapes, sorted."""
    phases = trace.select("spans", "rank", "phase").lazy().unique().collect()
    trained = phases.filter(pl.col("phase").cast(pl.String).is_in(["backward", "optimizer"]))[
        "rank"
    ]
    inferred = {*phases["rank"]} - {*trained}
    if not inferred:
        return []
    shaped = trace.select("spans", "rank", where=pl.col("input_shapes").is_not_null())
    return sorted(inferred.intersection(shaped["rank"].unique()))


def advise_rank(
    trace: Trace,
    rank: int,
    others: Sequence[Trace] = (),
    *,
    z3: bool | None = None,
) -> Advice:
    """Return the cheapest legal calls for the graph that a rank ran.

    - `others`: further traces with times of the same calls
    - `z3`: use the Z3 solver to find legal layouts, else try each layout; None: use it if installed
    """
    calls, costs = _calls_and_costs(trace, rank, others)
    uses_z3 = has_z3() if z3 is None else z3
    search = Search(costs, Z3Solver() if uses_z3 else enumerate_layouts)
    began = time.perf_counter()
    parts = advise_calls(calls, search)
    call_ns = launch_ns(trace, rank)
    if (longest := _longest_ns(parts, call_ns)) > sum(
        call.cost.ns for part in parts for call in part.calls
    ):
        # A sequence takes the larger of its total launch time and its total kernel time. The search
        # minimises sums over calls, so its result is a bound: no sequence takes less than half of
        # the least sum of launch and kernel time, nor less than the least kernel time.
        other = advise_calls(
            calls,
            replace(search, launch_ns=call_ns, _results={}),
        )
        search.statistics.is_bound = True
        parts = other if _longest_ns(other, call_ns) < longest else parts
    seconds = time.perf_counter() - began
    return Advice(
        calls,
        parts,
        search,
        "z3" if uses_z3 else "enumeration",
        seconds,
        call_ns,
    )


def advise_greedily(
    trace: Trace,
    rank: int,
    others: Sequence[Trace] = (),
) -> Advice:
    """Return the calls that `Greedy` chooses, as one would by hand.

    Their cost minus the cost of the calls from `advise_rank` is the gain of the search.
    """
    calls, costs = _calls_and_costs(trace, rank, others)
    greedy = Greedy(costs)
    began = time.perf_counter()
    parts = advise_calls(calls, greedy)
    seconds = time.perf_counter() - began
    return Advice(
        calls,
        parts,
        greedy,
        GREEDY,
        seconds,
        launch_ns(trace, rank),
    )


def _calls_and_costs(trace: Trace, rank: int, others: Sequence[Trace]) -> tuple[Calls, Costs]:
    """Return the rank's calls, and the known costs of calls from all traces."""
    calls = read_calls(trace, rank)
    bench = [other.frame("call_costs") for other in (trace, *others) if other.has("call_costs")]
    measured = [
        read_calls(other, min(other.manifest.ranks)) for other in others if other.has("kernels")
    ]
    return calls, Costs(calls, measured, pl.concat(bench) if bench else None)


def launch_ns(trace: Trace, rank: int) -> float:
    """Return the median time in ns from a launch's start to its kernel's start.

    Only launches to an idle device are used. The result is 0 unless the rank is launch-bound.
    """
    if not any(
        judged.rank == rank and judged.bound == "launch" for judged in rank_times(time_model(trace))
    ):
        return 0.0
    begin = pl.col("start_ns")
    key = ["rank", "api_call_id"]
    calls = trace.select("api_calls", *key, "start_ns", rank=rank).rename({"start_ns": "called_ns"})
    kernels = trace.select("kernels", *key, "start_ns", "duration_ns", rank=rank).sort("start_ns")
    ended = (begin + pl.col("duration_ns")).cum_max().shift(1, fill_value=0)
    # A host that launches kernels one after another needs at least this time per call.
    called_ns = pl.col("called_ns")
    both = (
        kernels.with_columns(ended=ended).join(calls, on=key).filter(called_ns >= pl.col("ended"))
    )
    return float(both.select((begin - called_ns).median().fill_null(0)).item())


def _host_ns(parts: Sequence[Advised], call_ns: float) -> float:
    return call_ns * sum(call.cost.ns > 0 for part in parts for call in part.calls)


def _longest_ns(parts: Sequence[Advised], call_ns: float) -> float:
    """Return the larger of the calls' total launch time and their total kernel time."""
    return max(
        _host_ns(parts, call_ns),
        sum(call.cost.ns for part in parts for call in part.calls),
    )


def candidates_of(advice: Advice) -> list[dict[str, str]]:
    """Return the distinct calls that `tracelens collect calls` is to measure.

    They are the legal calls of unknown time, and all conversions of a sub-graph's inputs to another
    layout.
    """
    candidates: dict[str, dict[str, str]] = {}
    for part in advice.parts:
        for function, nodes, read, layout in _calls_to_measure(advice.search, part):
            row = advice.search.costs.candidate(function, nodes, layout)
            if row is None or repr(row) in candidates:
                continue
            places = places_of(nodes, read, (layout,) * len(read))
            # Only legal calls are measured: a layout of the result has to exist.
            if enumerate_layouts(function.constraints, places | {"view": places["in0"]}):
                candidates[repr(row)] = row
    for part in advice.parts:
        candidates |= {repr(row): row for row in _conversions(part.part)}
    return list(candidates.values())


def _calls_to_measure(
    search: Search, part: Advised
) -> Iterator[tuple[Function, Sequence[Node], Sequence[Node], str]]:
    """Yield each call that computes: function, covered nodes, inputs, and a layout."""
    if not part.is_judged:
        return
    nodes = {node.name: node for node in (*part.part.given, *part.part.nodes)}
    for match in search.matches(part.part):
        read = [nodes[name] for name in match.inputs]
        if match.function is OTHER or match.nodes[0].op in VIEWS or not read:
            continue
        for layout in LAYOUTS if len(read[0].shape) == 4 else LAYOUTS[:1]:
            yield match.function, match.nodes, read, layout


def _conversions(part: Part) -> Iterator[dict[str, str]]:
    """Yield the conversions of a sub-graph's inputs to each layout."""
    for node in part.given:
        if len(node.shape) != 4:
            continue
        for layout in LAYOUTS:
            yield {
                "function": f"to_{layout.lower()}",
                "call": json.dumps(["contiguous", [list(node.shape)], []]),
                "dtype": node.dtype,
                "layout": layout,
            }


def plan_of(advice: Advice, about: dict[str, Any]) -> dict[str, Any]:
    """Return the advice as a call plan for `tl.apply_calls` and `tracelens collect calls`.

    `about` is stored in the plan as `made_from`.
    """
    calls = advice.calls
    statistics = advice.search.statistics
    return {
        "format": "tracelens call plan",
        "plan_version": 1,
        "graph_key": calls.key,
        "source": calls.source,
        "solver": advice.solver,
        "inputs": [
            {
                "name": n.name,
                "shape": list(n.shape),
                "dtype": n.dtype,
            }
            for n in calls.given.values()
            if n.op == "input"
        ],
        "calls": [
            {
                "function": call.function,
                "realisation": call.realisation,
                "nodes": list(call.nodes),
                "inputs": list(call.inputs),
                "layouts": list(call.layouts),
                "layout": call.layout,
                "predicted_ns": round(call.cost.ns),
                "evidence": call.cost.evidence,
            }
            for part in advice.parts
            for call in part.calls
        ],
        "candidates": candidates_of(advice),
        "predicted": {
            "now_ns": round(advice.now),
            "then_ns": round(advice.total()),
            "low_ns": round(advice.total("low")),
            "high_ns": round(advice.total("high")),
            "host_now_ns": round(advice.host_now),
            "host_then_ns": round(advice.host_then),
        },
        "search": {
            "seconds": round(advice.seconds, 3),
            "states": statistics.n_states,
            "checks": statistics.n_checks,
            "is_bound": statistics.is_bound,
        },
        "made_from": about,
    }


class Greedy(Search):
    """Takes the largest match first, in NHWC wherever that is legal, instead of searching."""

    def best(self, part: Part, given: Have, wanted: str) -> tuple[float, list[Call]] | None:
        """Return the total cost and the calls, None if a node cannot be covered."""
        nodes = {node.name: node for node in (*part.given, *part.nodes)}
        matches = self.matches(part)
        covered: frozenset[str] = frozenset()
        have = given
        calls = list[Call]()
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


def _size(call_and_result: tuple[Call, Have]) -> tuple[int, int, bool]:
    """Return the key by which `Greedy` finds the largest call.

    The key is the number of covered nodes, the number of inputs in NHWC, and whether the result is
    in NHWC.
    """
    call, _ = call_and_result
    return len(call.nodes), call.layouts.count(NHWC), call.layout == NHWC


def _has(
    have: Have,
    name: str,
    layout: str,
    nodes: dict[str, Node],
) -> bool:
    layouts = {of for tensor, of in have if tensor == name}
    return layout in layouts or (len(nodes[name].shape) != 4 and bool(layouts))
