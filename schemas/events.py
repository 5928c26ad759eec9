"""Tables of events that a profiler recorded on host and device."""

import polars as pl

from tracelens.storage.table import Column, Table

I64, I32, STR, F64 = pl.Int64, pl.Int32, pl.String, pl.Float64

RANK = Column(
    "rank", I32, "Rank of the process that was traced; on disk it is in the folder's name."
)
START = Column(
    "start_ns", I64, "Start; since the Unix epoch if the manifest's time_base is unix_epoch."
)
DURATION = Column("duration_ns", I64, "End minus start.")
PROCESS = Column("process_id", I64, "Operating-system id of the process.")
THREAD = Column("thread_id", I64, "Thread the call ran on, as the source numbers it.")
STEP = Column(
    "step", I64, "Step of the call that launched the work; null outside any step.", nullable=True
)
DEVICE = Column("device_id", I32, "Ordinal of the device in its process.")
STREAM = Column("stream_id", I64, "CUDA or HIP stream.", nullable=True)
CONTEXT = Column("context_id", I64, "CUDA context.", nullable=True)
CORRELATION = Column(
    "correlation_id",
    I64,
    "The driver's id that links device work to the call that started it.",
    nullable=True,
)
API_CALL = Column("api_call_id", I64, "The API call that started the work.", nullable=True)
SPAN = Column("span_id", I64, "Innermost span that encloses the API call.", nullable=True)
SITE = Column(
    "site_id",
    I64,
    "The site the call was made at; null outside of spans, and in a trace without sites.",
    nullable=True,
)
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
PHASES = ("forward", "backward", "optimizer", "other", "unknown")

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

SPANS = Table(
    "spans",
    "A host-side interval: an op, module call, annotation, Python call, NVTX range or profiler"
    " overhead.",
    (
        RANK,
        Column("span_id", I64, "Unique within the rank."),
        Column(
            "parent_id",
            I64,
            "Innermost span of the same thread that contains this one.",
            nullable=True,
        ),
        Column("depth", I32, "Number of enclosing spans on the thread; 0 is outermost."),
        Column(
            "kind",
            STR,
            "Kind of span.",
            values=("op", "module", "annotation", "python", "nvtx", "overhead", "other", "unknown"),
        ),
        Column("category", STR, "The source's own word for the kind of event.", nullable=True),
        Column("name", STR, "Name as recorded."),
        START,
        DURATION,
        Column("self_ns", I64, "Duration not covered by direct child spans."),
        PROCESS,
        THREAD,
        Column(
            "external_id",
            I64,
            "torch's id of the op: External id, or op_id under emit_nvtx.",
            nullable=True,
        ),
        Column(
            "sequence_number",
            I64,
            "Autograd sequence number, shared by an op and its backward.",
            nullable=True,
        ),
        Column(
            "forward_thread_id",
            I64,
            "Thread of the forward op; set on backward ops.",
            nullable=True,
        ),
        Column(
            "module_path",
            STR,
            "Innermost module: its own path where the capture recorded it, else the chain of module"
            " instances as the profiler numbers them (ResNet_0.Sequential_0.Bottleneck_0.Conv2d_1),"
            " or a TensorRT layer's name. On a backward op, its forward op's.",
            nullable=True,
        ),
        STEP,
        Column(
            "phase",
            STR,
            "Part of the training step, where markers show it.",
            nullable=True,
            values=PHASES,
        ),
        Column("input_shapes", STR, "Input shapes as JSON.", nullable=True),
        Column("input_dtypes", STR, "Input dtypes as JSON.", nullable=True),
        Column("input_strides", STR, "Input strides, in elements, as JSON.", nullable=True),
        Column(
            "concrete_inputs",
            STR,
            "Inputs that are no tensors, as JSON: numbers, booleans and lists of them. Any "
            "other input is null, text too, which may be a secret.",
            nullable=True,
        ),
    ),
    ("start_ns",),
)

API_CALLS = Table(
    "api_calls",
    "A call into the CUDA or HIP runtime or driver.",
    (
        RANK,
        Column("api_call_id", I64, "Unique within the rank."),
        Column(
            "kind",
            STR,
            "Kind of call.",
            values=(
                "kernel_launch",
                "graph_launch",
                "memcpy",
                "memset",
                "sync",
                "memory",
                "other",
                "unknown",
            ),
        ),
        Column(
            "source_api", STR, "Interface that was called.", values=("runtime", "driver", "unknown")
        ),
        Column("api", STR, "Function name without its version suffix."),
        Column("raw_api", STR, "Function name as recorded."),
        START,
        DURATION,
        PROCESS,
        THREAD,
        CORRELATION,
        Column("span_id", I64, "Innermost span that encloses the call.", nullable=True),
        STEP,
        SITE,
        Column(
            "op_span_id", I64, "Outermost op around the call, in a trace with sites.", nullable=True
        ),
        Column("op_offset_ns", I64, "Start of the call after that op's start.", nullable=True),
        Column(
            "kernel",
            STR,
            "Kernel that the call launches, where its arguments tell (ROCm).",
            nullable=True,
        ),
        *_SHAPE,
    ),
    ("start_ns",),
)

SITES = Table(
    "sites",
    "A site that calls are made at: the op, module and phase around them, and how deep. Derived "
    "from the spans, so that analyses of calls and kernels need not read them.",
    (
        RANK,
        Column("site_id", I64, "Unique within the rank."),
        Column(
            "op",
            STR,
            "Name of the outermost op around the calls; null outside of ops.",
            nullable=True,
        ),
        Column("op_depth", I32, "Ops around the calls."),
        Column("python_depth", I32, "Python calls and module calls around the calls."),
        Column(
            "module_path",
            STR,
            "Like that of the innermost span around the calls, see spans.",
            nullable=True,
        ),
        Column(
            "phase",
            STR,
            "Like that of the innermost span around the calls, see spans.",
            nullable=True,
            values=PHASES,
        ),
        Column(
            "accumulates",
            pl.Boolean,
            "Whether an autograd node that adds up gradients (AccumulateGrad) is around.",
        ),
        Column(
            "is_root",
            pl.Boolean,
            "Whether module_path is a whole model, which has layers of its own; where it is "
            "null, whether a wrapper of a model, such as Dynamo's, is around the calls.",
        ),
    ),
    ("site_id",),
)

STEPS = Table(
    "steps",
    "A step of the program. It ends when the host has begun the next one and the device has"
    " finished what was launched before, whichever is later; so steps tile the time that they"
    " cover. The first of a window begins with its mark, or when earlier work ends, recorded or not"
    " (work that was launched before the trace began); the last ends with its mark, or with the"
    " last device work launched in it, and none goes on where the end of the trace cut work off.",
    (
        RANK,
        Column(
            "step",
            I64,
            "Number in the mark's name; counted from 0 where marks have none, or one twice.",
        ),
        Column("name", STR, "The mark's name."),
        START,
        DURATION,
        Column(
            "host_ns",
            I64,
            "From the step's mark on the host to the next one's; of a window's last, its own"
            " length.",
        ),
        Column(
            "mark_ns",
            I64,
            "Length of the mark itself, as a viewer of the trace shows it; null in a trace of an"
            " older version.",
            nullable=True,
        ),
        Column("n_kernels", I64, "Kernels that started in it, whichever step launched them."),
        Column(
            "window",
            I64,
            "Run of consecutive steps, counted from 0; steps between windows were not captured.",
        ),
        Column(
            "phase",
            STR,
            "What an inference server did in it, by the mark's name: prefill, decode, or both in a"
            " batch; null where the name tells no requests.",
            nullable=True,
            values=("prefill", "decode", "mixed", "unknown"),
        ),
        Column("n_requests", I64, "Requests in a server's batch.", nullable=True),
        Column("n_tokens", I64, "Tokens that a server's batch put in.", nullable=True),
        Column(
            "n_context_tokens",
            I64,
            "Keys and values that a server's requests met, summed over them: with what each takes,"
            " the size of the cache that was read.",
            nullable=True,
        ),
    ),
    ("start_ns",),
)

CAUSES = (
    "input",
    "allocation",
    "sync",
    "loading",
    "launch",
    "host",
    "dependency",
    "unknown",
    "communication",
)
ACTIVITIES = Table(
    "activities",
    "A stretch of time of a host thread that launches device work, with what it did: the cause of a"
    " device's idle time meanwhile. Stretches of a thread do not overlap; between them nothing is"
    " recorded. Derived from spans and calls, which analyses of idle time then need not read.",
    (
        RANK,
        PROCESS,
        THREAD,
        START,
        DURATION,
        Column(
            "cause",
            STR,
            "input (a loader's or dataset's span), allocation, sync (a call that waits for the"
            " device), loading (modules, libraries, compilation), launch (launch calls and the"
            " framework's ops, pauses of under 0.1 ms between them included), communication"
            " (with other processes, on the host: gloo, mpi), host (anything else).",
            values=CAUSES,
        ),
        Column(
            "what",
            STR,
            "The place, from the outside in: Python function and line, annotation, op, API call;"
            " null for launch.",
            nullable=True,
        ),
        Column(
            "span_id",
            I64,
            "Innermost span around it; unless it is a call, one that covers at least half of it.",
            nullable=True,
        ),
        Column("api_call_id", I64, "The API call, where it is one.", nullable=True),
        Column(
            "op_ns",
            I64,
            "Where nothing launches device work, on a process's main thread: the time during which"
            " any thread of the process runs an op; 0 for causes other than launch and host. The"
            " rest of launch is the framework's own Python between ops.",
            nullable=True,
        ),
    ),
    ("start_ns",),
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
    "linear algebra": ("gemm", "conv", "attention"),
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
            "Demangled name. A replay of a CUDA graph that the profiler recorded whole is one"
            " kernel, CUDA graph N.",
        ),
        Column("library", STR, "Library that the kernel's code comes from.", values=LIBRARIES),
        Column("primitive", STR, "Kind of computation.", values=PRIMITIVES),
        *_DEVICE_WORK,
        *_SHAPE,
        Column("registers_per_thread", I32, "Registers a thread uses.", nullable=True),
        Column(
            "static_shared_bytes",
            I64,
            "Shared memory fixed at compile time, a block.",
            nullable=True,
        ),
        Column(
            "dynamic_shared_bytes",
            I64,
            "Shared memory asked for at launch, a block.",
            nullable=True,
        ),
        Column("shared_bytes", I64, "Static plus dynamic shared memory a block.", nullable=True),
        Column(
            "grid_blocks_per_sm",
            F64,
            "Blocks of the grid over SMs (Kineto's blocks per SM).",
            nullable=True,
        ),
        Column(
            "grid_warps_per_sm",
            F64,
            "Warps of the grid over SMs (Kineto's warps per SM).",
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
    "A copy that a copy engine or the driver did.",
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
            "Stream whose work was waited for, where recorded.",
            nullable=True,
        ),
        Column(
            "waited_correlation_id",
            I64,
            "Correlation of the call that recorded the event waited for.",
            nullable=True,
        ),
    ),
    ("start_ns",),
)
COLLECTIVES = Table(
    "collectives",
    "A communication kernel, as its library described it.",
    (
        RANK,
        Column("kernel_id", I64, "The kernel."),
        Column("name", STR, "Collective, as recorded."),
        Column("group", STR, "Process group: its description, else its name.", nullable=True),
        Column(
            "group_id", STR, "Process group's name, as the library numbers groups.", nullable=True
        ),
        Column("group_size", I32, "Ranks in the group.", nullable=True),
        Column(
            "group_ranks",
            STR,
            "Its ranks as JSON, where the source tells all of them.",
            nullable=True,
        ),
        Column(
            "sequence",
            I64,
            "Number that the group gave the call, the same on every rank of it.",
            nullable=True,
        ),
        Column("dtype", STR, "Element type.", nullable=True),
        Column("size_in_bytes", I64, "Bytes given by this rank.", nullable=True),
        Column("size_out_bytes", I64, "Bytes received by this rank.", nullable=True),
        Column(
            "in_split",
            STR,
            "Elements given to each rank as JSON, of an uneven all-to-all.",
            nullable=True,
        ),
        Column(
            "out_split", STR, "Elements received from each rank as JSON, likewise.", nullable=True
        ),
        Column("peer", I32, "Rank sent to or received from, of a send or receive.", nullable=True),
    ),
    ("kernel_id",),
)
PARALLEL = {"tp": "tensor", "pp": "pipeline", "dp": "data", "ep": "expert", "cp": "context"}
"""Kinds of parallelism in which a rank has a place, by short name, in words."""
RANKS = Table(
    "ranks",
    "A rank of the job: where it runs, and its place in the job's parallelism.",
    (
        RANK,
        Column("world_size", I32, "Ranks of the job, captured or not.", nullable=True),
        Column(
            "node",
            I32,
            "Host, numbered from 0; null where nothing tells hosts apart.",
            nullable=True,
        ),
        Column("device_id", I32, "The device that most of its work ran on.", nullable=True),
        *(
            Column(axis, I32, f"Place in {words} parallelism, from 0.", nullable=True)
            for axis, words in PARALLEL.items()
        ),
        Column(
            "clock_offset_ns",
            I64,
            "Its clock minus the job's, which is the lowest rank's, when the first matched "
            "collective ended; null where it is unknown, and where all share a clock.",
            nullable=True,
        ),
        Column("clock_drift_ppm", F64, "How much the offset grows.", "ppm", nullable=True),
        Column(
            "clock_uncertainty_ns",
            I64,
            "How far the offset may be off, from the first matched collective to the last.",
            nullable=True,
        ),
    ),
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
            "Address of the block; a pseudonym that only identifies it.",
            nullable=True,
        ),
        Column("size_bytes", I64, "Bytes allocated; negative when freed."),
        Column("allocated_bytes", I64, "Total allocated after it.", nullable=True),
        Column("reserved_bytes", I64, "Total reserved after it.", nullable=True),
        Column("device_id", I32, "Device; null for host memory.", nullable=True),
        Column("span_id", I64, "Innermost span around it on its thread.", nullable=True),
    ),
    ("time_ns",),
)
COUNTERS = Table(
    "counters",
    "A value that was sampled, or counted while a kernel ran.",
    (
        RANK,
        Column("name", STR, "Sampled or counted quantity."),
        Column("unit", STR, "Unit of the value.", nullable=True),
        Column("time_ns", I64, "When."),
        Column("value", F64, "The value."),
        Column("device_id", I32, "Device, where it belongs to one.", nullable=True),
        Column("kernel", STR, "Kernel that it was counted over; null for a sample.", nullable=True),
        Column(
            "duration_ns", I64, "Time that it was counted over; null for a sample.", nullable=True
        ),
    ),
    ("time_ns",),
)
DIAGNOSTICS = Table(
    "diagnostics",
    "Something lost, odd or worth knowing about the source or its conversion.",
    (
        RANK,
        Column(
            "severity",
            STR,
            "info: nothing lost; warning: read with care; loss: data dropped; error: the source"
            " reports a failure.",
            values=("info", "warning", "loss", "error", "unknown"),
        ),
        Column("code", STR, "Stable short name."),
        Column("count", I64, "Number of occurrences."),
        Column("text", STR, "Meaning, in words."),
    ),
)
