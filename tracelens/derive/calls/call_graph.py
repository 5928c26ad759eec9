"""Build the graph of a model's calls with the kernel time of each.

It is the recorded graph, or one guessed from the order of the calls.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from tracelens.derive.calls.constraints import NCHW, layout_of
from tracelens.derive.calls.op_catalog import ATTENTION, VIEWS
from tracelens.errors import SourceError, first_line
from tracelens.trace import Trace

EXPORT, OBSERVER, ADJACENCY = "export", "observer", "adjacency"
GIVEN = ("input", "parameter")
NAMES = {
    "_native_batch_norm_legit_no_training": "batch_norm",
    "cudnn_batch_norm": "batch_norm",
    "hardtanh": "relu6",
}
MOST_KERNELS = 10_000
"""At most this many kernels in a step; above it, no advice is given.

No model launches more in one step, so steps with more kernels are not marked correctly.
"""
MOST_STEPS = 50
"""Only the first steps, up to this number, are read."""
_TENSORS = {
    "conv2d": 3,
    "linear": 3,
    "add": 2,
    "mul": 2,
    "cat": 99,
    "div": 2,
    "matmul": 2,
    ATTENTION: 4,
}
_ARGUED = {
    "softmax": slice(0, 1),
    "gelu": slice(0, 1),
    "layer_norm": slice(0, 1),
    "rms_norm": slice(0, 1),
    "conv2d": slice(0, 4),
    "max_pool2d": slice(0, 3),
    "avg_pool2d": slice(0, 3),
}
_SHAPES = list[list[int | list[int]]]
_DTYPES = {
    "float": "float32",
    "c10::Half": "float16",
    "c10::BFloat16": "bfloat16",
    "double": "float64",
}


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


def call_key(
    op: str, shapes: Sequence[Sequence[int] | None], arguments: Sequence[Any] | None
) -> str:
    """Return the properties that decide a call's time, as JSON.

    They are the operator, the shapes of its first tensors ([] for an absent one), and the first
    arguments of the operators in _ARGUED.
    """
    n = _TENSORS.get(op, 1)
    kept = [list(shape or []) for shape in shapes[:n]]
    kept += [[]] * (n - len(kept)) if n < 9 else []
    argued = list(arguments or [])[_ARGUED[op]] if op in _ARGUED else []
    return json.dumps([op, kept, argued])


def plain_op(name: str) -> str:
    """Return the operator's name without namespace and without the in-place suffix.

    Variants of an operator have one name (NAMES).
    """
    bare = name.removeprefix("aten::")
    bare = bare if bare.startswith("_") else bare.removesuffix("_")
    return NAMES.get(bare, bare)


def measured_calls(trace: Trace, rank: int, kernels: pl.DataFrame, chosen: pl.Expr) -> pl.DataFrame:
    """Return the outermost ops of the rank's chosen steps in order.

    There is one row per op that launched kernels or was recorded with shapes. Columns are those of
    spans, device_ns (the time of its kernels) and transform_ns (the part of it that moves data).
    Raises SourceError if a parent does not come before its child.
    """
    columns = (
        "span_id",
        "parent_id",
        "name",
        "module_path",
        "step",
        "start_ns",
        "input_shapes",
        "input_dtypes",
        "input_strides",
        "concrete_inputs",
    )
    ops = trace.select("spans", *columns, where=chosen & (pl.col("kind") == "op"), rank=rank)
    parents = ops.select("span_id", "parent_id").join(
        ops.select(parent_id="span_id"), on="parent_id", how="semi"
    )
    span_id = pl.col("span_id")
    is_wrong = (pl.col("parent_id") >= span_id) | span_id.is_duplicated()
    if n_wrong := parents.filter(is_wrong).height:
        raise SourceError(
            f"{trace.name}: the parent_id of {n_wrong:,} ops is not an earlier span; collect"
            " it again"
        )
    ns = pl.col("duration_ns")
    moves = pl.col("primitive") == "layout"
    launched = _to_outermost(kernels.drop_nulls("span_id"), parents).group_by("span_id")
    times = launched.agg(device_ns=ns.sum(), transform_ns=ns.filter(moves).sum())
    outermost = ops.join(parents.select("span_id"), on="span_id", how="anti")
    is_told = pl.col("device_ns").is_not_null() | pl.col("input_shapes").is_not_null()
    measured = outermost.join(times, on="span_id", how="left").filter(is_told)
    return measured.sort("start_ns").with_columns(pl.col("device_ns", "transform_ns").fill_null(0))


def _to_outermost(rows: pl.DataFrame, parents: pl.DataFrame) -> pl.DataFrame:
    """Return the rows, with the outermost op around each as its span_id.

    `parents` maps each op inside another to its parent. A parent comes before its children, so the
    loop ends.
    """
    while True:
        above = rows.join(parents, on="span_id", how="left", maintain_order="left")
        if above["parent_id"].null_count() == rows.height:
            return rows
        rows = rows.with_columns(span_id=pl.coalesce(above["parent_id"], rows["span_id"]))


def _described(row: dict[str, Any]) -> dict[str, Any]:
    """Describe a measured op: operator, call key, first shape, weight, dtype and layout."""
    op = plain_op(row["name"])
    shapes = _recorded(row["input_shapes"], _SHAPES)
    strides = _recorded(row["input_strides"], _SHAPES)
    if op == "cat" and shapes and shapes[0] and isinstance(shapes[0][0], list):
        shapes = shapes[0]
        strides = strides[0] if strides else []
    concrete = [
        value for value in _recorded(row["concrete_inputs"], list[Any]) if value is not None
    ]
    dtypes = _recorded(row["input_dtypes"], list[str]) or [""]
    first = shapes[0] if shapes and all(isinstance(n, int) for n in shapes[0]) else []
    known = layout_of(first, strides[0]) if strides and len(first) == 4 else None
    return {
        "op": op,
        "call": call_key(op, shapes, concrete),
        "shape": tuple(first),
        "layout": known or NCHW,
        "weight": tuple(shapes[1]) if op in ("conv2d", "linear") and len(shapes) > 1 else (),
        "dtype": _DTYPES.get(str(dtypes[0]), str(dtypes[0])),
        "module_path": row["module_path"] or "",
        "device_ns": float(row["device_ns"]),
        "transform_ns": float(row["transform_ns"]),
    }


def _recorded(text: str | None, kind: Any) -> Any:
    """Return a cell's JSON, decoded as `kind`; an empty list if it holds nothing of that kind."""
    try:
        return msgspec.json.decode(text or "[]", type=kind)
    except (msgspec.DecodeError, UnicodeError):
        return []


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


def _one_step(ops: pl.DataFrame, n_steps: int) -> list[dict[str, Any]]:
    """Return the calls of one step, with times.

    If all steps made the same calls, times are means over the steps. Otherwise the calls of the
    last step but one are returned; of two steps, those of the last one.
    """
    if (
        ops["step"].n_unique() == 1 and n_steps > 1 and ops.height % n_steps == 0
    ):  # there are no marked steps
        ops = ops.with_columns(step=pl.int_range(pl.len()) // (ops.height // n_steps))
    same = pl.struct("name", "input_shapes", "module_path").hash()
    steps = ops.group_by("step", maintain_order=True).agg(same.implode().alias("calls"))
    if steps.is_empty():
        return []
    chosen = steps["step"][0]
    if steps["calls"].n_unique() > 1:
        chosen = steps["step"][-2 if steps.height > 2 else -1]
        ops = ops.filter(pl.col("step").eq_missing(chosen))
    place = pl.int_range(pl.len()).over("step").alias("place")
    means = ops.group_by(place).agg(pl.col("device_ns", "transform_ns").mean()).sort("place")
    step = ops.filter(pl.col("step").eq_missing(chosen)).with_columns(
        means["device_ns"], means["transform_ns"]
    )
    return [_described(row) for row in step.iter_rows(named=True)]


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
    n_steps = max(len(steps), _n_active(trace) if kernels["step"].null_count() else 1)
    is_marked = kernels.height <= MOST_KERNELS * n_steps
    rows = _one_step(measured_calls(trace, rank, kernels, chosen), n_steps) if is_marked else []
    moves = kernels.filter(pl.col("primitive") == "layout")
    graph = trace.frame("graph").filter(
        pl.col("rank") == rank, pl.col("source").is_in([EXPORT, OBSERVER])
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
    return next((int(n) for n in recorded if isinstance(n, int) and n > 0), 1)


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
        replace(n, shape=shapes.get(n.name, _result_shape(n)), is_output=n.name not in read)
        for n in nodes
    ]
    return Calls(tuple(nodes), given, ADJACENCY)


def _reads(node: Node, before: dict[str, Any], row: dict[str, Any]) -> bool:
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
        return (node.shape[0], node.weight[0], *node.shape[2:])
    return node.shape


def _of_graph(graph: pl.DataFrame, rows: Sequence[dict[str, Any]]) -> Calls:
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
    return Calls(tuple(nodes), given, str(graph["source"][0]), str(graph["graph_key"][0]))


def _node_of(row: dict[str, Any], known: Mapping[str, tuple[int, ...]]) -> Node:
    """Return the node of a row of the graph; `known` has the shapes of earlier nodes by name."""
    shape = tuple(_decoded(row, "shape", list[int]) or ())
    inputs: list[str | None] = _decoded(row, "inputs", list[str | None])
    shapes = [known.get(name, ()) if name else () for name in inputs]
    return Node(
        name=row["node"],
        op=row["op"],
        inputs=tuple(name for name in inputs if name),
        shape=shape,
        call=call_key(row["op"], shapes, _decoded(row, "arguments", list[Any])),
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

    def __init__(self, rows: Sequence[dict[str, Any]], *, is_observed: bool) -> None:
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
            return replace(node, **times, module_path=node.module_path or first["module_path"])
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
