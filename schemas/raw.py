"""Declare the columns that a collector passes to `tracelens.derive.assemble.assemble`, by table.

Columns that `assemble` derives are left out, and a few columns that only `assemble` reads are
added. A column that may be None may also be missing.
"""

from __future__ import annotations

from msgspec.structs import replace

from tracelens.schemas import TABLES
from tracelens.schemas.common import I64, PROCESS, STR, THREAD
from tracelens.storage.table import Column, Table

_LINKED = ("api_call_id", "span_id", "link", "step")
_DERIVED = {
    "spans": ("span_id", "parent_id", "depth", "self_ns", "step", "phase"),
    "api_calls": (
        *("api_call_id", "kind", "api", "span_id", "step", "site_id"),
        *("op_span_id", "op_offset_ns"),
    ),
    "kernels": (
        *("kernel_id", "library", "primitive", "is_communication", "node_span_id", "site_id"),
        *_LINKED,
    ),
    "memcpys": ("memcpy_id", *_LINKED),
    "memsets": ("memset_id", *_LINKED),
    "synchronizations": ("synchronization_id", "api_call_id"),
    "collectives": (),
    "allocations": ("span_id",),
    "counters": (),
    "devices": (),
}
"""Columns that `assemble` adds."""

_OPTIONAL = ("process_id",)
"""Columns of device work that `assemble` copies from the launch call if they are missing."""

_ONLY_RAW = {
    "spans": (
        Column(
            "parent_hint",
            I64,
            "Row of the span that the source recorded as the caller; rows count from 0.",
            nullable=True,
        ),
        Column(
            "backend",
            STR,
            "The compiler whose launch the span is, such as triton; helps to classify kernels.",
            nullable=True,
        ),
        Column(
            "exact_path",
            STR,
            "A module call's own path in the model, if the source recorded it.",
            nullable=True,
        ),
    ),
    "allocations": (PROCESS, THREAD),
}

_GRAPH_NODES = Table(
    "graph_nodes",
    "A node of a CUDA graph, and when and by which thread it was made.",
    (
        PROCESS,
        Column("graph_node_id", I64, "The node."),
        Column("original_id", I64, "The node of which it is a copy.", nullable=True),
        Column("thread_id", I64, "Thread that made it."),
        Column("start_ns", I64, "When it was made."),
    ),
)


def _raw(name: str) -> Table:
    """Return the raw form of a table.

    It lacks derived columns, and has the columns that only `assemble` reads.
    """
    is_work = name in {"kernels", "memcpys", "memsets", "synchronizations"}
    own_columns = [
        replace(
            column,
            nullable=column.nullable or (is_work and column.name in _OPTIONAL),
        )
        for column in TABLES[name].without("rank")
        if column.name not in _DERIVED[name]
    ]
    return replace(
        TABLES[name],
        columns=(*own_columns, *_ONLY_RAW.get(name, ())),
        sort_by=(),
    )


RAW_TABLES = {name: _raw(name) for name in _DERIVED} | {_GRAPH_NODES.name: _GRAPH_NODES}
"""Raw tables by name."""
