"""Tables of the host: spans, API calls, their call sites, steps, and activities."""

import polars as pl

from tracelens.schemas.common import (
    CORRELATION,
    DURATION,
    I32,
    I64,
    PROCESS,
    RANK,
    SITE,
    START,
    STEP,
    STR,
    THREAD,
)
from tracelens.schemas.device import _SHAPE
from tracelens.storage.table import Column, Table

PHASES = ("forward", "backward", "optimizer", "other", "unknown")

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
            "Innermost span of the same thread that contains this one; its span_id is smaller.",
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
            "Inputs that are not tensors, as JSON: numbers, booleans and lists of them. Any"
            " other input is null; so is text, because it may be a secret.",
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
            "source_api",
            STR,
            "Interface that was called.",
            values=("runtime", "driver", "unknown"),
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
            "Kernel that the call launches, if its arguments name it (ROCm).",
            nullable=True,
        ),
        *_SHAPE,
    ),
    ("start_ns",),
)

SITES = Table(
    "sites",
    "A site at which calls are made: the op, module and phase around them, and their depth."
    " Derived from the spans, so that analyses of calls and kernels need not read these.",
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
            "The module_path of the innermost span around the calls.",
            nullable=True,
        ),
        Column(
            "phase",
            STR,
            "The phase of the innermost span around the calls.",
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
    "A step of the program. It ends as soon as the host has begun the next step and the device"
    " has finished the work launched before, so no time lies between steps. The first step of"
    " a window begins with its mark, or with the end of earlier work if that is later, even of"
    " work launched before the trace began. The last step ends with its mark, or with the end"
    " of the last device work launched in it. If the end of the trace cut work off, the step"
    " ends there at the latest.",
    (
        RANK,
        Column(
            "step",
            I64,
            "Number in the mark's name; counted from 0 if marks have no number, or the same"
            " one twice.",
        ),
        Column("name", STR, "The mark's name."),
        START,
        DURATION,
        Column(
            "host_ns",
            I64,
            "From the step's mark on the host to the next mark; for a window's last step,"
            " the length of its mark.",
        ),
        Column(
            "mark_ns",
            I64,
            "Length of the mark itself, as a viewer of the trace shows it; null in a trace of an"
            " older version.",
            nullable=True,
        ),
        Column("n_kernels", I64, "Kernels that started in the step, whichever step launched them."),
        Column(
            "window",
            I64,
            "Run of consecutive steps, counted from 0; steps between windows were not captured.",
        ),
        Column(
            "phase",
            STR,
            "What an inference server did in the step, by the mark's name: prefill, decode, or both"
            " in a batch; null if the name does not give requests.",
            nullable=True,
            values=("prefill", "decode", "mixed", "unknown"),
        ),
        Column("n_requests", I64, "Requests in a server's batch.", nullable=True),
        Column("n_tokens", I64, "Input tokens of a server's batch.", nullable=True),
        Column(
            "n_context_tokens",
            I64,
            "Tokens whose keys and values a server's requests read, summed over requests."
            " Multiplied by the bytes of a token, this is the size of the cache that was read.",
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
    "What a host thread that launches device work did in an interval. Idle time of the device"
    " is explained by it. Intervals of a thread do not overlap; between them nothing is"
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
            "Innermost span around the call; if it is not a call, the innermost span that"
            " covers at least half of it.",
            nullable=True,
        ),
        Column("api_call_id", I64, "The API call, if the activity is one.", nullable=True),
        Column(
            "op_ns",
            I64,
            "Only for a process that launches no device work, on its main thread: the time"
            " during which any thread of the process runs an op; 0 for causes other than"
            " launch and host. The rest of launch is the framework's own Python between ops.",
            nullable=True,
        ),
    ),
    ("start_ns",),
)
