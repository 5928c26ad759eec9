"""Tables of devices and of their work: kernels, copies, fills, waits, and allocations."""

import polars as pl

from tracelens.schemas.common import (
    API_CALL,
    CONTEXT,
    CORRELATION,
    DEVICE,
    DURATION,
    F64,
    I32,
    I64,
    PROCESS,
    RANK,
    SITE,
    SPAN,
    START,
    STEP,
    STR,
    STREAM,
)
from tracelens.storage.table import Column, Table

LINKS = ("launched", "graph", "pre_window", "unlinked", "unknown")

LINK = Column(
    "link",
    STR,
    "How the work was linked to a call: launched; graph (a replay); pre_window (the call came "
    "before the capture); unlinked (its call is missing).",
    values=LINKS,
)

GRAPH_NODE = Column(
    "graph_node_id", I64, "Node of the CUDA graph that was replayed.", nullable=True
)

_SHAPE = tuple(
    Column(f"{what}_{axis}", I32, f"{what.capitalize()} size along {axis}.", nullable=True)
    for what in ("grid", "block")
    for axis in "xyz"
)

DEVICES = Table(
    "devices",
    "A device in the trace.",
    (
        RANK,
        DEVICE,
        Column("name", STR, "Marketing name."),
        Column("sm_count", I32, "Streaming multiprocessors (compute units on AMD).", nullable=True),
        Column(
            "compute_capability",
            STR,
            "CUDA compute capability, as 9.0; null on AMD.",
            nullable=True,
        ),
        Column("warp_size", I32, "Threads in a warp.", nullable=True),
        Column("max_threads_per_sm", I32, "Resident threads an SM can hold.", nullable=True),
        Column("max_warps_per_sm", I32, "Resident warps an SM can hold.", nullable=True),
        Column("max_blocks_per_sm", I32, "Resident blocks an SM can hold.", nullable=True),
        Column("registers_per_sm", I32, "32-bit registers of an SM.", nullable=True),
        Column("shared_memory_per_sm_bytes", I64, "Shared memory of an SM.", nullable=True),
        Column("memory_bytes", I64, "Device memory.", nullable=True),
    ),
    ("device_id",),
)

LIBRARIES = (
    "cudnn",
    "cublas",
    "cutlass",
    "triton",
    "aten",
    "nccl",
    "cub",
    "flash_attention",
    "miopen",
    "hipblaslt",
    "composable_kernel",
    "rccl",
    "other",
    "unknown",
)

PRIMITIVES = (
    "gemm",
    "conv",
    "attention",
    "recurrence",
    "normalization",
    "softmax",
    "pooling",
    "elementwise",
    "reduction",
    "layout",
    "indexing",
    "loss",
    "optimizer",
    "rng",
    "communication",
    "memory",
    "fused",
    "unknown",
)

FAMILIES = {
    "linear algebra": ("gemm", "conv", "attention", "recurrence"),
    "elementwise": ("elementwise",),
    "reduction": ("normalization", "softmax", "pooling", "loss", "reduction"),
    "movement": ("layout", "indexing", "memory"),
    "fused": ("fused",),
    "other": ("optimizer", "rng", "communication", "unknown"),
}
"""The primitives of each family of operations."""

_DEVICE_WORK = (
    START,
    DURATION,
    PROCESS,
    DEVICE,
    CONTEXT,
    STREAM,
    CORRELATION,
    API_CALL,
    SPAN,
    LINK,
    GRAPH_NODE,
    STEP,
)

KERNELS = Table(
    "kernels",
    "An execution of a kernel on a device.",
    (
        RANK,
        Column("kernel_id", I64, "Unique within the rank."),
        Column(
            "name",
            STR,
            "Demangled name. If the profiler recorded the replay of a CUDA graph as a whole,"
            " it is one kernel, CUDA graph N.",
        ),
        Column("library", STR, "Library that the kernel's code comes from.", values=LIBRARIES),
        Column("primitive", STR, "Kind of computation.", values=PRIMITIVES),
        *_DEVICE_WORK,
        *_SHAPE,
        Column("registers_per_thread", I32, "Registers a thread uses.", nullable=True),
        Column(
            "static_shared_bytes",
            I64,
            "Shared memory per block that is fixed at compile time.",
            nullable=True,
        ),
        Column(
            "dynamic_shared_bytes",
            I64,
            "Shared memory per block that is requested at launch.",
            nullable=True,
        ),
        Column("shared_bytes", I64, "Static plus dynamic shared memory a block.", nullable=True),
        Column(
            "grid_blocks_per_sm",
            F64,
            "Blocks of the grid divided by the number of SMs (Kineto's blocks per SM).",
            nullable=True,
        ),
        Column(
            "grid_warps_per_sm",
            F64,
            "Warps of the grid divided by the number of SMs (Kineto's warps per SM).",
            nullable=True,
        ),
        Column(
            "estimated_occupancy_frac",
            F64,
            "The profiler's own estimate of achieved occupancy.",
            nullable=True,
        ),
        Column(
            "is_communication",
            pl.Boolean,
            "Whether it is a collective or point-to-point transfer kernel.",
        ),
        Column(
            "node_span_id",
            I64,
            "For a replayed CUDA graph's node, the innermost span around the call that made the "
            "node, where the source records it; span_id is that of the replay.",
            nullable=True,
        ),
        Column(
            "is_cluster_launch",
            pl.Boolean,
            "Thread-block cluster launch, where the source records it.",
            nullable=True,
        ),
        SITE,
    ),
    ("start_ns",),
)

MEMORY_KINDS = ("pageable", "pinned", "device", "managed", "array", "unknown")

MEMCPYS = Table(
    "memcpys",
    "A copy, made by a copy engine or the driver.",
    (
        RANK,
        Column("memcpy_id", I64, "Unique within the rank."),
        Column(
            "direction",
            STR,
            "Direction, between host (h) and device (d), or peers (p2p).",
            values=("h2d", "d2h", "d2d", "p2p", "h2h", "unknown"),
        ),
        Column("source_memory", STR, "Memory copied from.", values=MEMORY_KINDS),
        Column("destination_memory", STR, "Memory copied to.", values=MEMORY_KINDS),
        Column("size_bytes", I64, "Bytes copied."),
        *_DEVICE_WORK,
    ),
    ("start_ns",),
)

MEMSETS = Table(
    "memsets",
    "A fill of device memory.",
    (
        RANK,
        Column("memset_id", I64, "Unique within the rank."),
        Column("size_bytes", I64, "Bytes filled."),
        Column("value", I64, "Value written.", nullable=True),
        Column("memory", STR, "Memory filled.", nullable=True, values=MEMORY_KINDS),
        *_DEVICE_WORK,
    ),
    ("start_ns",),
)

SYNCHRONIZATIONS = Table(
    "synchronizations",
    "A wait that the driver recorded.",
    (
        RANK,
        Column("synchronization_id", I64, "Unique within the rank."),
        Column(
            "kind",
            STR,
            "Kind of wait.",
            values=("event", "stream_wait", "stream", "context", "unknown"),
        ),
        START,
        DURATION,
        PROCESS,
        Column("device_id", I32, "Device, where recorded.", nullable=True),
        STREAM,
        CORRELATION,
        API_CALL,
        Column(
            "waited_stream_id",
            I64,
            "Stream for whose work it waited, if recorded.",
            nullable=True,
        ),
        Column(
            "waited_correlation_id",
            I64,
            "Correlation of the call that recorded the event for which it waited.",
            nullable=True,
        ),
    ),
    ("start_ns",),
)

ALLOCATIONS = Table(
    "allocations",
    "A change of the allocator's state.",
    (
        RANK,
        Column("time_ns", I64, "When."),
        Column(
            "address",
            I64,
            "A number in place of the block's address, which only identifies it.",
            nullable=True,
        ),
        Column("size_bytes", I64, "Bytes allocated; negative when freed."),
        Column("allocated_bytes", I64, "Total allocated after the change.", nullable=True),
        Column("reserved_bytes", I64, "Total reserved after the change.", nullable=True),
        Column("device_id", I32, "Device; null for host memory.", nullable=True),
        Column("span_id", I64, "Innermost span around the change on its thread.", nullable=True),
    ),
    ("time_ns",),
)
