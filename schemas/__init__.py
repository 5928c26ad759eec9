"""Declare every table of a trace and every analysis's result, column by column."""

from tracelens.schemas import capture, device, host, layers, ranks, stacks
from tracelens.storage.table import Table

SCHEMA_VERSION = 1

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        device.DEVICES,
        ranks.RANKS,
        host.SPANS,
        host.API_CALLS,
        device.KERNELS,
        device.MEMCPYS,
        device.MEMSETS,
        device.SYNCHRONIZATIONS,
        ranks.COLLECTIVES,
        device.ALLOCATIONS,
        capture.COUNTERS,
        host.SITES,
        host.STEPS,
        host.ACTIVITIES,
        capture.DIAGNOSTICS,
        stacks.STACKS,
        stacks.FRAMES,
        layers.LAYERS,
        layers.PROVENANCE,
        layers.GRAPH,
        layers.CALL_COSTS,
        layers.TIMINGS,
    )
}
"""Tables of a trace on disk, by name."""

EVENT_TABLES = (
    "spans",
    "api_calls",
    "kernels",
    "memcpys",
    "memsets",
    "synchronizations",
    "collectives",
    "allocations",
    "sites",
    "steps",
    "activities",
)
"""Tables in which all rows of a rank come from the same profiler.

Rows of other tables, such as stacks and counters, are combined from all sources.
"""

DEVICE_WORK = ("kernels", "memcpys", "memsets")
"""Tables of work on a device."""

ROW_IDS = {
    "spans": "span_id",
    "api_calls": "api_call_id",
    "kernels": "kernel_id",
    "memcpys": "memcpy_id",
    "memsets": "memset_id",
    "synchronizations": "synchronization_id",
    "sites": "site_id",
    "stacks": "stack_id",
}
"""The column with a row's id, by table. Ids are unique within a rank.

A column of another table that points to a row has the same name.
"""

SPAN_POINTERS = ("parent_id", "op_span_id", "node_span_id")
"""Columns that point to a span, but are not named `span_id`."""

__all__ = ["DEVICE_WORK", "EVENT_TABLES", "ROW_IDS", "SCHEMA_VERSION", "SPAN_POINTERS", "TABLES"]
