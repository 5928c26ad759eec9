"""Estimate the kernel time of a call by function, shapes and layout, and name the evidence."""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

import polars as pl
from msgspec import Struct

from tracelens.derive.calls.call_graph import Calls, Node
from tracelens.derive.calls.constraints import NCHW, NHWC
from tracelens.derive.calls.libraries.attention import attention_call
from tracelens.derive.calls.op_catalog import ATTENTION, CONV, NORM, OTHER, VIEWS, Function
from tracelens.errors import SourceError

_LONGEST_NS = 2**53
MEASURED, OTHER_TRACE, BENCH, BOUND = "measured", "other trace", "bench", "bound"
EVIDENCE = (BENCH, OTHER_TRACE, MEASURED, BOUND)
"""Kinds of evidence for a call's time, sorted from strongest to weakest.

They are a benchmark of the call alone, another trace, this trace, and an estimate from bandwidth.
"""
_BYTES = {"float32": 4, "float64": 8, "float16": 2, "bfloat16": 2}
_ALIGNED_CHANNELS = 4


class Cost(Struct, frozen=True):
    """Holds the kernel time of one call: most likely `ns`, between `low` and `high`.

    `transform_ns` is the part of `ns` for transposes and copies.
    """

    ns: float
    low: float
    high: float
    evidence: str
    transform_ns: float = 0.0


class Costs:
    """Holds costs by function, call, dtype and layout.

    A cost comes from the first of these that has it: this trace, another trace, a benchmark of the
    call alone.
    """

    def __init__(
        self,
        calls: Calls,
        others: Sequence[Calls] = (),
        bench: pl.DataFrame | None = None,
    ) -> None:
        self._known: dict[tuple[str, str, str, str], Cost] = {}
        self._keys: dict[object, tuple[str, str]] = {}
        self._derived: set[tuple[str, str, str, str]] = set()
        self._bytes_per_ns = _bandwidth(calls.nodes)
        for which, evidence in ((calls, MEASURED), *((other, OTHER_TRACE) for other in others)):
            self._take(which.nodes, evidence)
        if bench is not None:
            self._take_bench(bench)
        for node in calls.nodes:
            self._derive_nhwc(node)

    def of(self, function: Function, nodes: Sequence[Node], layout: str) -> Cost | None:
        """Return the cost of a call that covers the nodes, None if it is unknown."""
        first = nodes[0]
        if function is OTHER or first.op in VIEWS:
            ns = first.device_ns
            return None if ns is None else Cost(ns, ns, ns, MEASURED)
        asked = (function.name, *(node.call for node in nodes), first.weight)
        if asked not in self._keys:
            self._keys[asked] = (_key(function, first), bench_call(function, nodes))
        return self._known.get((*self._keys[asked], first.dtype, layout))

    def transform(self, node: Node, layout: str) -> Cost:
        """Return the cost of converting a tensor to another layout.

        It is estimated if it was not benchmarked.
        """
        call = json.dumps(["contiguous", [list(node.shape)], []])
        known = self._known.get((f"to_{layout.lower()}", call, node.dtype, layout))
        if known is not None:
            return known
        # The least time reads and writes the tensor at the observed bandwidth.
        least = 2 * math.prod(node.shape) * _BYTES.get(node.dtype, 4) / self._bytes_per_ns
        return Cost(
            2 * least,
            least,
            4 * least,
            BOUND,
            2 * least,
        )

    def _take(self, nodes: Iterable[Node], evidence: str) -> None:
        by_call = defaultdict(list)
        for node in nodes:
            if node.device_ns is not None:
                by_call[_function_of(node), node.call, node.dtype, node.layout].append(node)
        for key, alike in by_call.items():
            times = [node.device_ns or 0.0 for node in alike]
            moved, mean = (
                sum(ns) / len(alike) for ns in ((node.transform_ns for node in alike), times)
            )
            low, high = (mean, mean) if evidence == MEASURED else (min(times), max(times))
            self._known.setdefault(key, Cost(mean, low, high, evidence, moved))

    def _take_bench(self, bench: pl.DataFrame) -> None:
        timed = bench.filter(pl.col("median_ns").is_not_null())
        is_true = pl.all_horizontal(
            pl.col("median_ns", "q1_ns", "q3_ns").is_between(0, _LONGEST_NS)
        )
        if (n_wrong := timed.height - timed.filter(is_true).height) > 0:
            raise SourceError(
                f"{n_wrong:,} rows of call_costs have times that no call takes: time the calls"
                " again"
            )
        columns = ("function", "call", "dtype", "layout", "median_ns", "q1_ns", "q3_ns")
        for *key, median, low, high in timed.select(columns).iter_rows():
            moved = float(median) if key[0].startswith("to_") else 0.0
            self._known.setdefault(
                tuple(key),
                Cost(median, low, high, BENCH, moved),
            )

    def _derive_nhwc(self, node: Node) -> None:
        """Derive a call's cost in NHWC from its measured cost in NCHW, and store it."""
        if node.device_ns is None or node.layout != NCHW or len(node.shape) != 4:
            return
        known = self._known[_function_of(node), node.call, node.dtype, NCHW]
        key = (_function_of(node), node.call, node.dtype, NHWC)
        if key in self._known:
            return
        self._derived.add(key)
        if node.op != CONV:  # the call moves the same bytes in either layout
            self._known[key] = known
            return
        # A convolution needs no transposes in NHWC. But cuDNN pads channels to a multiple of 4 (16
        # bytes of float32), which takes such kernels, too.
        bare = known.ns - known.transform_ns
        is_padded = any(n % _ALIGNED_CHANNELS for n in node.weight[:2]) and node.weight[1:2] != (1,)
        stays = known.transform_ns if is_padded else 0.0
        self._known[key] = Cost(
            bare + stays,
            bare,
            known.ns if is_padded else bare,
            MEASURED,
            stays,
        )

    def candidate(
        self, function: Function, nodes: Sequence[Node], layout: str
    ) -> dict[str, str] | None:
        """Return the call as a row for `tracelens collect calls`, None if its time is known."""
        key = (
            _key(function, nodes[0]),
            bench_call(function, nodes),
            nodes[0].dtype,
            layout,
        )
        if key in self._known and key not in self._derived:
            return None
        return dict(
            zip(
                ("function", "call", "dtype", "layout"),
                key,
                strict=True,
            )
        )


def bench_call(function: Function, nodes: Sequence[Node]) -> str:
    """Return, as JSON, the call that a benchmark of the function times.

    `nodes` are the nodes that the function covers.
    """
    # A later node, such as a batch normalisation, may become the bias of a convolution.
    call = nodes[0].call
    if function.key == ATTENTION:
        return attention_call(nodes)
    if nodes[0].op == CONV and nodes[0].weight and function.key != "conv":
        op, shapes, arguments = json.loads(call)
        shapes[2] = [nodes[0].weight[0]]
        return json.dumps([op, shapes, arguments])
    return call


def least_sure(evidence: Iterable[str]) -> str:
    """Return the weakest evidence among the calls of a sequence."""
    return max(evidence, key=EVIDENCE.index, default=MEASURED)


def _key(function: Function, first: Node) -> str:
    return _function_of(first) if function.key == "conv" else function.key


def _function_of(node: Node) -> str:
    if node.op == CONV:
        has_bias = bool(json.loads(node.call)[1][2])
        return "conv_bias" if has_bias else "conv"
    return node.op


def _bandwidth(nodes: Iterable[Node]) -> float:
    """Return the highest bandwidth of ReLUs and batch normalisations in bytes per ns.

    Return 1,000 if no such call was measured.
    """
    seen = [
        2 * math.prod(node.shape) * _BYTES.get(node.dtype, 4) / node.device_ns
        for node in nodes
        if node.op in ("relu", NORM) and node.device_ns and node.shape
    ]
    return max(seen, default=1000.0)
