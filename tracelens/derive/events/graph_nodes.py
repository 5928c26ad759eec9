"""The span in which each node of a CUDA graph was made, for sources that record when nodes are created."""

import polars as pl

from tracelens.derive.events.nesting import nest
from tracelens.derive.events.nesting_walk import as_rows

_NODE = ["process_id", "graph_node_id"]
_CLONES = 8
"""How many times in a row a node may have been copied: capturing makes it, instantiating the graph copies it first."""


def spans_of_nodes(nodes: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """process_id, graph_node_id and node_span_id of each node that was made within a span, a row a node.

    `nodes` has process_id, thread_id, start_ns, graph_node_id and original_id: the node that it is a copy of, or null.
    A copy counts as made where its original was. `spans` are in order, with span_id as row number.
    """
    made = nodes.select(*_NODE, "original_id", "thread_id", "start_ns").cast(pl.Int64)
    made = made.sort("start_ns", maintain_order=True).unique(_NODE, keep="first", maintain_order=True)
    originals = made.rename({"graph_node_id": "above"})
    for _ in range(_CLONES):
        if not made["original_id"].count():
            break
        found = made.select(*_NODE, above="original_id").join(
            originals, on=["process_id", "above"], how="left", maintain_order="left"
        )
        is_known = found["start_ns"].is_not_null()
        made = made.with_columns(
            found["original_id"], *(found[name].zip_with(is_known, made[name]) for name in ("thread_id", "start_ns"))
        )
    calls = made.with_columns(duration_ns=pl.lit(0, pl.Int64))
    span = as_rows(nest(spans, calls).call_span).cast(pl.Int64)
    return made.select(*_NODE).with_columns(node_span_id=span).drop_nulls()


def mark_nodes(work: pl.DataFrame, made: pl.DataFrame) -> pl.DataFrame:
    """The work with node_span_id, null where its node is not in `made`."""
    keys = work.select(pl.col(_NODE).cast(pl.Int64))
    return work.with_columns(keys.join(made, on=_NODE, how="left", maintain_order="left")["node_span_id"])
