"""Declare the keys that are read from an event, and the columns that they fill.

`events` and `columns` read a trace in Python as declared here. `reading` passes the same
declarations to the parser in C.
"""

import functools
from array import array
from collections.abc import Mapping

from msgspec import Struct

# How a key's value is read. WHOLE: an integer. NUMERAL: an integer, or a string of digits. TRACK:
# the same, or a string in which a number is found later. TIME: microseconds as exact nanoseconds.
# JSON: the value's own text.
SKIPPED, WHOLE, NUMERAL, TRACK, TIME, TEXT, JSON, REAL, TRIPLE, ARGS = range(10)

# How a column is filled. TAKE: by the first field that is present. WORD: by the first text that is
# not empty. NAME: as WORD, but empty if there is no text. SHAPE: by the JSON text. UNLESS_ZERO: by
# the first field, unless the second is 0.
TAKE, WORD, NAME, SHAPE, UNLESS_ZERO = range(5)
STRINGS = {WORD, NAME, SHAPE}
"""Ways to fill a column whose values are strings."""

EVENT_KEYS = {
    "ph": TEXT,
    "cat": TEXT,
    "name": TEXT,
    "pid": TRACK,
    "tid": TRACK,
    "ts": TIME,
    "dur": TIME,
    "args": ARGS,
}
ARG_KEYS = {
    "External id": NUMERAL,
    "external id": NUMERAL,
    "Sequence number": NUMERAL,
    "Fwd thread id": NUMERAL,
    "Input Dims": JSON,
    "Input dims": JSON,
    "Input type": JSON,
    "Input Strides": JSON,
    "Concrete Inputs": JSON,
    "Python id": NUMERAL,
    "Python parent id": NUMERAL,
    "kernel_backend": TEXT,
    "correlation": NUMERAL,
    "device": NUMERAL,
    "context": NUMERAL,
    "stream": NUMERAL,
    "grid": TRIPLE,
    "block": TRIPLE,
    "registers per thread": NUMERAL,
    "shared memory": NUMERAL,
    "blocks per SM": REAL,
    "warps per SM": REAL,
    "est. achieved occupancy %": REAL,
    "graph node id": NUMERAL,
    "bytes": NUMERAL,
    "cuda_sync_kind": TEXT,
    "Addr": NUMERAL,
    "Device Type": WHOLE,
    "Device Id": NUMERAL,
    "Bytes": NUMERAL,
    "Total Allocated": NUMERAL,
    "Total Reserved": NUMERAL,
    "Collective name": TEXT,
    "Process Group Name": TEXT,
    "Process Group Description": TEXT,
    "Group size": NUMERAL,
    "dtype": TEXT,
    "In msg nelems": NUMERAL,
    "Out msg nelems": NUMERAL,
    "Process Group Ranks": TEXT,
    "In split size": TEXT,
    "Out split size": TEXT,
    "Src Rank": NUMERAL,
    "Dst Rank": NUMERAL,
    "Seq": NUMERAL,
    "value": REAL,
    "kernel": TEXT,
    "wait_on_stream": NUMERAL,
    "wait_on_cuda_event_record_corr_id": NUMERAL,
}
"""Keys of an event's args that are read."""
KEYS = EVENT_KEYS | ARG_KEYS

PROFILER_RANGE = "cuda_profiler_range"
CATEGORIES = {
    # Kineto's words since 2022-05, then the older ones.
    "cpu_op": "spans",
    "Operator": "spans",
    "user_annotation": "spans",
    "python_function": "spans",
    "overhead": "spans",
    "cuda_runtime": "api_calls",
    "cuda_driver": "api_calls",
    "Runtime": "api_calls",
    "kernel": "kernels",
    "Kernel": "kernels",
    "gpu_memcpy": "memcpys",
    "Memcpy": "memcpys",
    "gpu_memset": "memsets",
    "Memset": "memsets",
    "cuda_sync": "synchronizations",
    # Host calls of other makers' devices. Kernels and copies of these devices mostly have the names
    # above. MTIA has device events of its own.
    "mtia_runtime": "api_calls",
    "xpu_runtime": "api_calls",
    "xpu_driver": "api_calls",
    "hpu_op": "api_calls",
    "glow_runtime": "api_calls",
    "privateuse1_runtime": "api_calls",
    "privateuse1_driver": "api_calls",
    "mtia_ccp_events": "kernels",
    # The args of a range of CUPTI's range profiler are the kernel's counters.
    PROFILER_RANGE: "counters",
}
"""The table of a complete event (phase X), by the event's category."""


class Column(Struct, frozen=True):
    """Declares a column: its name, how it is filled, and the key of its value.

    `second` is the key to use in events without `key`. `axis` selects one value of a TRIPLE.
    """

    name: str
    how: int
    key: str
    second: str = ""
    axis: int = 0


_TIMES = (Column("start_ns", TAKE, "ts"), Column("duration_ns", TAKE, "dur"))
_THREAD = (Column("process_id", TAKE, "pid"), Column("thread_id", TAKE, "tid"))
_WORK = (
    Column("name", NAME, "name"),
    Column("device_id", TAKE, "device", "pid"),
    Column("stream_id", TAKE, "stream", "tid"),
    Column("context_id", TAKE, "context"),
    Column("correlation_id", TAKE, "correlation"),
    Column("graph_node_id", TAKE, "graph node id"),
)
_SHAPE = tuple(
    Column(f"{key}_{'xyz'[axis]}", TAKE, key, axis=axis)
    for key in ("grid", "block")
    for axis in range(3)
)
_SIZED = (*_WORK, Column("size_bytes", TAKE, "bytes"), *_TIMES)
OF_CALLS = (
    Column("collective", WORD, "Collective name"),
    Column("group_id", WORD, "Process Group Name"),
    Column("group_ranks", WORD, "Process Group Ranks"),
    Column("peer", TAKE, "Dst Rank", "Src Rank"),
    Column("dtype", WORD, "dtype"),
    Column("in_elements", TAKE, "In msg nelems"),
)
"""Columns that describe a call of a communication library.

The call's span and its kernel have these columns. A kernel that serves several calls lacks them.
"""

TABLES: dict[str, tuple[Column, ...]] = {
    "spans": (
        Column("name", NAME, "name"),
        *_THREAD,
        Column("category", WORD, "cat"),
        Column("external_id", TAKE, "External id", "external id"),
        Column("sequence_number", TAKE, "Sequence number"),
        Column("forward_thread_id", TAKE, "Fwd thread id"),
        Column("python_id", TAKE, "Python id"),
        Column("python_parent_id", TAKE, "Python parent id"),
        Column("backend", WORD, "kernel_backend"),
        Column("input_shapes", SHAPE, "Input Dims", "Input dims"),
        Column("input_dtypes", SHAPE, "Input type"),
        Column("input_strides", SHAPE, "Input Strides"),
        Column("concrete_inputs", SHAPE, "Concrete Inputs"),
        *OF_CALLS,
        *_TIMES,
    ),
    "api_calls": (
        Column("raw_api", NAME, "name"),
        *_THREAD,
        Column("category", WORD, "cat"),
        Column("correlation_id", TAKE, "correlation"),
        Column("kernel", WORD, "kernel"),
        *_SHAPE,
        *_TIMES,
    ),
    "kernels": (
        *_WORK,
        *_SHAPE,
        Column("registers_per_thread", TAKE, "registers per thread"),
        Column("shared_bytes", TAKE, "shared memory"),
        Column("grid_blocks_per_sm", TAKE, "blocks per SM"),
        Column("grid_warps_per_sm", TAKE, "warps per SM"),
        Column("occupancy_percent", TAKE, "est. achieved occupancy %"),
        *OF_CALLS,
        Column("group", WORD, "Process Group Description", "Process Group Name"),
        Column("group_size", TAKE, "Group size"),
        Column("sequence", TAKE, "Seq"),
        Column("in_split", WORD, "In split size"),
        Column("out_split", WORD, "Out split size"),
        Column("out_elements", TAKE, "Out msg nelems"),
        *_TIMES,
    ),
    "memcpys": _SIZED,
    "memsets": _SIZED,
    "synchronizations": (
        *_WORK,
        Column("what", WORD, "cuda_sync_kind", "name"),
        Column("waited_stream_id", TAKE, "wait_on_stream"),
        Column("waited_correlation_id", TAKE, "wait_on_cuda_event_record_corr_id"),
        *_TIMES,
    ),
    "allocations": (
        *_THREAD,
        Column("address", TAKE, "Addr"),
        Column("size_bytes", TAKE, "Bytes"),
        Column("allocated_bytes", TAKE, "Total Allocated"),
        Column("reserved_bytes", TAKE, "Total Reserved"),
        Column("device_id", UNLESS_ZERO, "Device Id", "Device Type"),
        Column("start_ns", TAKE, "ts"),
    ),
    "counters": (
        Column("name", NAME, "name"),
        Column("value", TAKE, "value"),
        Column("kernel", WORD, "kernel"),
        Column("device_id", TAKE, "device"),
        *_TIMES,
    ),
    # Events that belong to no table are counted.
    "unplaced": (Column("phase", WORD, "ph"), Column("category", WORD, "cat")),
}
NAMES = tuple(TABLES)
ALLOCATIONS, COUNTERS, UNPLACED = (
    NAMES.index(name) for name in ("allocations", "counters", "unplaced")
)

# Keys that an event must have for the C parser to assign it to a table. Python handles and counts
# events that lack one.
REQUIRED = {
    "spans": ("ts", "dur"),
    "api_calls": ("ts", "dur"),
    "kernels": ("ts", "dur"),
    "memcpys": ("ts", "dur", "bytes"),
    "memsets": ("ts", "dur", "bytes"),
    "synchronizations": ("ts", "dur"),
    "allocations": ("ts", "Bytes"),
    "counters": ("ts", "value"),
    "unplaced": (),
}
FLOATS = {"grid_blocks_per_sm", "grid_warps_per_sm", "occupancy_percent", "value"}


_SPELLINGS = {"external id": "External id", "Input dims": "Input Dims"}
"""Spellings of keys in 2021, each with the later spelling. Both spellings fill one field."""
# The parser in C has room for 62 fields. It leaves an event with both spellings to Python.


def fields() -> dict[str, int]:
    """Return the index of the field that each key fills.

    A key of the kind TRIPLE fills three fields, and gets the index of the first.
    """
    indices: dict[str, int] = {}
    index = 0
    for key, kind in KEYS.items():
        if key not in _SPELLINGS:
            indices[key] = index
            index += 3 if kind == TRIPLE else 1
    return indices | {key: indices[same] for key, same in _SPELLINGS.items()}


_NO_FIELD = 1 << 62
"""The bit of a field that no event has. If a table requires it, Python reads the table's events."""
TRACK_BASE = 1 << 61
"""A process or thread named by a string gets this number plus the string's number (native.h)."""


@functools.cache
def plan() -> tuple[bytes, bytes, bytes, bytes]:
    """Return keys, tables and columns in the form that the parser in C takes.

    The four results are the text of all keys, then arrays of 64-bit words:

    - key: position and length of the key in the text, level, kind, field. The level is 0 in an
      event, 1 in args and 2 for a category. A category has the number of a table as its kind.
    - table: bits of the required fields, bits of the fields that its columns use, number of its
      first column, number after its last column
    - column: how it is filled, first field, second field (-1 if there is none)
    """
    places = fields()
    text, keys, tables, columns = b"", array("q"), array("q"), array("q")
    known: tuple[Mapping[str, int | str], ...] = (EVENT_KEYS, ARG_KEYS, CATEGORIES)
    for level, entries in enumerate(known):
        for key, what in entries.items():
            number = NAMES.index(what) if isinstance(what, str) else what
            keys.extend(
                (
                    len(text),
                    len(key),
                    level,
                    number,
                    places.get(key, 0),
                )
            )
            text += key.encode()
    for name, table in TABLES.items():
        first, matters = len(columns) // 3, 0
        for column in table:
            first_field = places[column.key] + column.axis
            other = places[column.second] if column.second else -1
            matters |= 1 << first_field | (1 << other if other >= 0 else 0)
            columns.extend((column.how, first_field, other))
        if name == "unplaced":
            matters |= 1 << places["name"]  # the word may spell [memory]
        required = sum(1 << places[key] for key in REQUIRED[name])
        if name == "counters":
            # Each number among a counter's args is a series, under any key. Only Python reads such
            # keys.
            required |= _NO_FIELD
        tables.extend((required, matters, first, len(columns) // 3))
    return text, keys.tobytes(), tables.tobytes(), columns.tobytes()


def table_of(phase: object, category: object, name: object) -> str:
    """Return the name of an event's table, empty if it belongs to no table."""
    if phase == "X":
        return CATEGORIES.get(category, "") if isinstance(category, str) else ""
    if phase == "i" and name == "[memory]":
        return "allocations"
    return "counters" if phase == "C" else ""
