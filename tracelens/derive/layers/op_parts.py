"""Kernels by the framework op that they are the work of.

Generated ones as the ops that they were made of.
"""

import polars as pl

from tracelens.derive.columns.lookup import rows_of
from tracelens.derive.columns.per_unique import matching
from tracelens.derive.events.call_tree import above
from tracelens.derive.events.span_trees import with_trees
from tracelens.derive.kernels.inductor_names import VIEW_OP
from tracelens.derive.kernels.kernel_classes import op_primitives
from tracelens.derive.layers.attribution import in_launch_order
from tracelens.derive.layers.provenance import recorded_calls, shares_of, split_duration
from tracelens.trace import Trace

_COLUMNS = ("rank", "kernel_id", "library", "primitive", "duration_ns")
_OPERATOR = "::"
_NOT_IN_THERE = ("gemm", "conv", "attention")
"""Ops that a generated kernel lists but does not compute.

A library computes them, or a kernel of another name.
"""


def op_parts(trace: Trace) -> pl.DataFrame:
    """Split kernels among ops: one row per kernel, or per op that a fused kernel was made of.

    Columns: rank, op, op_id, library, primitive, duration_ns, low_ns and high_ns. op is the
    outermost operator around the launch (aten::conv2d, a node of autograd), or, where there is
    none, the outermost op (a compiled region), and op_id its span; both are None where no op is. A
    fused kernel of a compiled graph with recorded provenance has one row per op that it was made of
    instead, without op_id: its time is split as `layer_attribution` splits it among modules, by the
    bytes that the ops put out.
    """
    kernels = _with_ops(trace).with_columns(low_ns="duration_ns", high_ns="duration_ns")
    parts = _split(trace) if trace.has("provenance") else None
    if parts is None or not parts.height:
        return kernels
    key = ["rank", "kernel_id"]
    rest = kernels.join(parts.select(key).unique(), on=key, how="anti")
    return pl.concat([rest.cast({pl.Categorical: pl.String}), parts.select(rest.columns)])


def _with_ops(trace: Trace) -> pl.DataFrame:
    """Return every kernel with op and op_id.

    They come from the table of sites where its ops are all operators, else from the spans.
    """
    if trace.has("sites"):
        sites = trace.select("sites", "rank", "site_id", "op")
        if matching(sites["op"], _OPERATOR)[0].sum() == sites["op"].count():
            return _of_sites(trace, sites)
    kernels = trace.select("kernels", *_COLUMNS, "span_id")
    spans = trace.select("spans", "rank", "span_id", "parent_id", "kind", "name")
    parts = []
    for tree, part in with_trees(spans, kernels):
        top = _top_op(tree, part["span_id"])
        parts.append(part.select(*_COLUMNS, op=tree["name"].gather(top), op_id=top.cast(pl.Int64)))
    return pl.concat(parts)


def _of_sites(trace: Trace, sites: pl.DataFrame) -> pl.DataFrame:
    """Return every kernel with its site's op and the span of that."""
    kernels = trace.select("kernels", *_COLUMNS, "site_id", "api_call_id")
    calls = trace.select("api_calls", "rank", "api_call_id", "op_span_id")
    site = rows_of(sites["rank"], sites["site_id"], kernels.select("rank", "site_id"))
    call = rows_of(calls["rank"], calls["api_call_id"], kernels.select("rank", "api_call_id"))
    return kernels.select(
        *_COLUMNS, op=sites["op"].gather(site), op_id=calls["op_span_id"].gather(call)
    )


def _top_op(tree: pl.DataFrame, rows: pl.Series) -> pl.Series:
    """Return the outermost operator around the spans at `rows`, else the outermost op.

    The span itself may be it.
    """
    is_op = (tree["kind"] == "op").fill_null(value=False)
    (is_named,) = matching(tree["name"], _OPERATOR)
    operator, op = (
        above(tree["parent_id"], flags.cast(pl.UInt8), rows)["top"]
        for flags in (is_op & is_named, is_op)
    )
    return operator.zip_with(operator.is_not_null(), op)


def _split(trace: Trace) -> pl.DataFrame:
    """Return the fused kernels that a recorded call explains, one row per op.

    Columns are those of `_with_ops`, and the range.
    """
    calls = recorded_calls(in_launch_order(trace), trace.spans, trace.provenance)
    if not calls.height:
        return pl.DataFrame()
    call = ["graph_key", "call_order"]
    fused = calls.filter(pl.col("primitive") == "fused").select(
        "rank", "kernel_id", "library", "duration_ns", *call
    )
    shares = shares_of(_computing_nodes(trace.provenance), ["op", "primitive"])
    parts = split_duration(fused.join(shares, on=call, maintain_order="left_right"))
    return parts.with_columns(duration_ns="estimate_ns", op_id=pl.lit(None, pl.Int64))


def _computing_nodes(provenance: pl.DataFrame) -> pl.DataFrame:
    """Return the nodes whose work a generated kernel does, with op and primitive.

    An op reads `aten::add`. Views are none of them, nor is a library's work.
    """
    name = pl.col("aten_op").str.extract_groups(r"^(?<space>\w+)\.(?<word>\w+)")
    space, word = name.struct.field("space"), name.struct.field("word")
    nodes = provenance.filter(~pl.col("is_extern")).with_columns(
        word=word, op=pl.format("{}::{}", space, word)
    )
    nodes = nodes.filter(pl.col("op").is_not_null() & ~pl.col("word").str.contains(VIEW_OP))
    primitive = op_primitives(nodes["op"]).cast(pl.String).alias("primitive")
    return nodes.with_columns(primitive).filter(~pl.col("primitive").is_in(_NOT_IN_THERE))
