"""Build the graph of a model's calls with the kernel time of each.

It is the recorded graph, or one guessed from the order of the calls.
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
"""At most this many kernels in a step; above it, no advice is given.

No model launches more in one step, so steps with more kernels are not marked correctly.
"""
MOST_STEPS = 50
"""Only the first steps, up to this number, are read."""


class Node(Struct, frozen=True):
    """A call of a graph: its function, and the nodes whose results it reads.

    `device_ns` is the call's kernel time in one step, None if it was not measured. `call` holds
    operator, shapes and arguments, which are equal for all calls of one kind. `transform_ns` is the
    part of `device_ns` for transposes and copies.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    call: str
    shape: tuple[int, ...]
    weight: tuple[int, ...] = ()
    dtype: str = "float32"
    module_path: str = ""
    layout: str = NCHW
    is_output: bool = False
    alias_of: str = ""
    device_ns: float | None = None
    transform_ns: float = 0.0


class Calls(Struct, frozen=True):
    """The calls of a graph in order, the tensors given to it, and the source of the graph.

    Times and numbers are of one step. `total_ns` is the time of the step's kernels, `unjudged_ns`
    the part that belongs to no node. `transform_ns` and `n_transforming` are the time and number of
    the kernels that move data.
    """

    nodes: tuple[Node, ...]
    given: dict[str, Node]
    source: str
    key: str = ""
    total_ns: float = 0.0
    transform_ns: float = 0.0
    n_transforming: float = 0.0
    n_steps: int = 1
    unjudged_ns: float = 0.0


def _decoded(row: dict[str, Any], column: str, kind: Any) -> Any:
    """Decode the JSON in a cell of the graph; None for None.

    Raises SourceError for a value of another kind.
    """
    try:
        return None if row[column] is None else msgspec.json.decode(row[column], type=kind)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise SourceError(
            f"graph.{column} of {row['node']}: {first_line(error)}; collect it again"
        ) from error


def read_calls(trace: Trace, rank: int) -> Calls:
    """Return the calls of the rank's model, from its recorded graph or guessed by their order."""
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
    """Return the calls as chains: each call reads the one before it, if their shapes agree."""
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
    # A row's shape is that of its input; its result is the input of the next row.
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
    """Return whether a call may read the result of the one before.

    It may if both belong to the same or adjoining modules, and their channels agree.
    """
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
    """Estimate the shape of a call's result that no other call reads.

    For a convolution, the channels are known; any other result is assumed to have the input's
    shape.
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
    """Return the graph's nodes in order, each with the measured call of its module and operator.

    An observed graph knows no modules: its nodes get the calls of the same operator, shapes and
    arguments, in order.
    """
    is_observed = graph["source"][0] == OBSERVER
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
    """Return the node of a row of the graph; `known` has the shapes of earlier nodes by name."""
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
    """The measured calls that no node has got yet, by operator and module.

    For an observed graph they are by operator and call.
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
        """Return the node with the times of the first waiting call that fits; that call is used."""
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
        """Return the waiting calls that may be the node's."""
        calls = self.waiting.get((node.op, node.call if self.is_observed else node.module_path))
        if not calls and not node.module_path:
            calls = self.waiting.get((node.op, self.root))
        if calls or node.op != "clone":
            return calls or []
        # A reshape that copied is a clone and a view in the graph.
        reshapes = self.waiting.get(("reshape", node.module_path), [])
        copying = [call for call in reshapes if call["device_ns"]][:1]
        for call in copying:
            reshapes.remove(call)
        return copying
