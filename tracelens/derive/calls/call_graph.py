"""Build the graph of a model's calls with their kernel times.

The graph is recorded, or guessed from the order of the calls.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from tracelens.derive.calls.constraints import NCHW, layout_of
from tracelens.derive.calls.measured_calls import call_key, measured_calls, one_step
from tracelens.derive.calls.op_catalog import VIEWS
from tracelens.errors import SourceError, first_line
from tracelens.trace import Trace

EXPORT, OBSERVER, ADJACENCY = "export", "observer", "adjacency"
GIVEN = ("input", "parameter")
MOST_KERNELS = 10_000
"""No model launches more kernels than this in one step.

If a trace has more kernels per step, its steps are marked wrongly, so it gets no advice.
"""
MOST_STEPS = 50
"""At most this many steps are read, from the first one on."""


class Node(Struct, frozen=True):
    """Holds one call of the graph, and the names of the nodes whose results it reads."""

    name: str
    op: str
    inputs: tuple[str, ...]
    call: str  # operator with shapes and arguments as JSON, see `call_key`
    shape: tuple[int, ...]  # of the result
    weight: tuple[int, ...] = ()
    dtype: str = "float32"
    module_path: str = ""
    layout: str = NCHW
    is_output: bool = False
    alias_of: str = ""
    device_ns: float | None = None  # kernel time per step, None if not measured
    transform_ns: float = 0.0  # part of device_ns for transposes and copies


class Calls(Struct, frozen=True):
    """Holds the calls of a graph in order. Times and numbers are per step."""

    nodes: tuple[Node, ...]
    given: dict[str, Node]  # inputs and parameters
    source: str
    key: str = ""
    total_ns: float = 0.0  # time of all kernels
    transform_ns: float = 0.0  # time of kernels that transpose or copy
    n_transforming: float = 0.0  # number of kernels that transpose or copy
    n_steps: int = 1
    unjudged_ns: float = 0.0  # time of kernels of no node


def _decoded(row: dict[str, Any], column: str, kind: Any) -> Any:
    """Decode the JSON in a cell of the graph as `kind`; None stays None.

    Raises SourceError if the JSON is malformed or of another type.
    """
    try:
        return None if row[column] is None else msgspec.json.decode(row[column], type=kind)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise SourceError(
            f"graph.{column} of {row['node']}: {first_line(error)}; collect it again"
        ) from error


def read_calls(trace: Trace, rank: int) -> Calls:
    """Return the rank's calls as a graph, recorded or guessed from the order of the calls."""
    kernels = trace.select(
        "kernels", "rank", "span_id", "primitive", "duration_ns", "step", rank=rank
    )
    steps = kernels["step"].unique().drop_nulls().sort()
    chosen = pl.lit(value=True)
    if len(steps) > MOST_STEPS:
        steps = steps.head(MOST_STEPS)
        chosen = pl.col("step").is_in(steps.implode())
        kernels = kernels.filter(chosen)
    n_steps = max(
        len(steps),
        _n_active(trace) if kernels["step"].null_count() else 1,
    )
    is_marked = kernels.height <= MOST_KERNELS * n_steps
    rows = one_step(measured_calls(trace, rank, kernels, chosen), n_steps) if is_marked else []
    moves = kernels.filter(pl.col("primitive") == "layout")
    graph = trace.frame("graph").filter(
        pl.col("rank") == rank,
        pl.col("source").is_in([EXPORT, OBSERVER]),
    )
    calls = _of_graph(graph, rows) if graph.height else _guessed(rows)
    judged = sum(node.device_ns or 0.0 for node in calls.nodes)
    total = int(kernels["duration_ns"].sum()) / n_steps
    return replace(
        calls,
        total_ns=total,
        transform_ns=int(moves["duration_ns"].sum()) / n_steps,
        n_steps=n_steps,
        n_transforming=moves.height / n_steps,
        unjudged_ns=total - judged,
    )


def _n_active(trace: Trace) -> int:
    recorded = [source.get("settings", {}).get("n_active") for source in trace.manifest.sources]
    return next(
        (int(n) for n in recorded if isinstance(n, int) and n > 0),
        1,
    )


def _guessed(rows: Sequence[dict[str, Any]]) -> Calls:
    """Return a graph guessed from the calls' order: a call reads the previous result if it fits."""
    nodes: list[Node] = []
    launched = [row for row in rows if row["device_ns"] > 0]
    for number, row in enumerate(launched):
        follows = nodes and _reads(nodes[-1], launched[number - 1], row)
        name = f"call{number}"
        inputs = (nodes[-1].name,) if follows else (f"given{number}",)
        nodes.append(Node(name=name, inputs=inputs, **row))
    given = {
        n.inputs[0]: replace(n, name=n.inputs[0], op="input")
        for n in nodes
        if n.inputs[0].startswith("given")
    }
    read = {n.inputs[0] for n in nodes}
    # The shape of a row is the shape of its input. Its result is the input of the next row.
    shapes = {n.inputs[0]: n.shape for n in nodes}
    nodes = [
        replace(
            n,
            shape=shapes.get(n.name, _result_shape(n)),
            is_output=n.name not in read,
        )
        for n in nodes
    ]
    return Calls(tuple(nodes), given, ADJACENCY)


def _reads(
    node: Node,
    before: dict[str, Any],
    row: dict[str, Any],
) -> bool:
    """Return whether the call in `row` may read the result of `node`, the previous call."""
    # The calls' modules have to be siblings, or parent and child, and their channels have to agree.
    above = [path.rpartition(".")[0] for path in (before["module_path"], row["module_path"])]
    is_near = (
        above[0] == above[1] or before["module_path"] == above[1] or above[0] == row["module_path"]
    )
    channels = before["weight"][:1] or before["shape"][1:2]
    return (
        is_near
        and channels == row["shape"][1:2]
        and len(before["shape"]) == len(row["shape"])
        and bool(node.shape)
    )


def _result_shape(node: Node) -> tuple[int, ...]:
    """Estimate the shape of a call's result from the shape of its input.

    Both shapes are the same, but if there is a weight, it determines the number of channels.
    """
    if node.weight and len(node.shape) > 1:
        return (
            node.shape[0],
            node.weight[0],
            *node.shape[2:],
        )
    return node.shape


def _of_graph(
    graph: pl.DataFrame,
    rows: Sequence[dict[str, Any]],
) -> Calls:
    """Return the calls of the recorded graph with times of the measured calls in `rows`."""
    is_observed = graph["source"][0] == OBSERVER
    # An observed graph has no modules, so calls are matched by operator, shapes and arguments.
    measured = _MeasuredCalls(rows, is_observed=is_observed)
    given: dict[str, Node] = {}
    nodes: list[Node] = []
    shapes: dict[str, tuple[int, ...]] = {}
    for row in graph.sort("call_order").iter_rows(named=True):
        node = _node_of(row, shapes)
        shapes[node.name] = node.shape
        if row["op"] in GIVEN:
            given[node.name] = node
        else:
            nodes.append(measured.timed(node))
    return Calls(
        tuple(nodes),
        given,
        str(graph["source"][0]),
        str(graph["graph_key"][0]),
    )


def _node_of(
    row: dict[str, Any],
    known: Mapping[str, tuple[int, ...]],
) -> Node:
    """Return the node for a row of the graph, given the shapes of earlier nodes by name."""
    shape = tuple(_decoded(row, "shape", list[int]) or ())
    inputs: list[str | None] = _decoded(row, "inputs", list[str | None])
    shapes = [known.get(name, ()) if name else () for name in inputs]
    return Node(
        name=row["node"],
        op=row["op"],
        inputs=tuple(name for name in inputs if name),
        shape=shape,
        call=call_key(
            row["op"],
            shapes,
            _decoded(row, "arguments", list[Any]),
        ),
        dtype=row["dtype"] or "",
        weight=shapes[1] if row["op"] in ("conv2d", "linear") else (),
        module_path=row["module_path"] or "",
        layout=layout_of(shape, _decoded(row, "strides", list[int])) or NCHW,
        is_output=row["is_output"],
        alias_of=row["alias_of"] or "",
    )


class _MeasuredCalls:
    """Holds the measured calls that no node has used yet.

    A node's call is found by operator and module. If the graph was observed while the model ran
    (`is_observed`), nodes have no modules. Then calls are found by operator and `call_key`.
    """

    def __init__(
        self,
        rows: Sequence[dict[str, Any]],
        *,
        is_observed: bool,
    ) -> None:
        self.is_observed = is_observed
        self.waiting: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            self.waiting[row["op"], row["call" if is_observed else "module_path"]].append(row)
        # In the trace the outermost module has its class's name, in the graph it has no name.
        roots = (row["module_path"] for row in rows if row["op"] in VIEWS)
        self.root = next((path for path in roots if "." not in path), "")

    def timed(self, node: Node) -> Node:
        """Return the node with the times of the first unused call that fits, and mark it used."""
        calls = self._fitting(node)
        if calls:
            first = calls.pop(0)
            times = {name: first[name] for name in ("device_ns", "transform_ns")}
            return replace(
                node,
                **times,
                module_path=node.module_path or first["module_path"],
            )
        return replace(node, device_ns=0.0) if node.op in VIEWS else node

    def _fitting(self, node: Node) -> list[dict[str, Any]]:
        """Return the unused calls that fit the node."""
        calls = self.waiting.get((node.op, node.call if self.is_observed else node.module_path))
        if not calls and not node.module_path:
            calls = self.waiting.get((node.op, self.root))
        if calls or node.op != "clone":
            return calls or []
        # In the graph, a reshape that copies is a clone and a view.
        reshapes = self.waiting.get(("reshape", node.module_path), [])
        copying = [call for call in reshapes if call["device_ns"]][:1]
        for call in copying:
            reshapes.remove(call)
        return copying
