"""Results of analyses of kernels, ops, ranges, launches, threads, data quality and advice."""

import polars as pl

from tracelens.schemas.common import PROCESS, THREAD
from tracelens.schemas.device import LIBRARIES, PRIMITIVES
from tracelens.schemas.results.common import DURATIONS, RANK
from tracelens.storage.table import Column, Table

TOP_KERNELS = Table(
    "top_kernels",
    "A kernel by name, in one rank.",
    (
        RANK,
        Column("name", pl.String, "Demangled name."),
        Column(
            "library", pl.String, "Library that the kernel's code comes from.", values=LIBRARIES
        ),
        Column(
            "primitive",
            pl.String,
            "Kind of computation; if a kernel serves several kinds, the one with most time.",
            values=PRIMITIVES,
        ),
        *DURATIONS,
        Column(
            "share_frac", pl.Float64, "duration_total_ns over the rank's sum of kernel durations."
        ),
        *(
            Column(
                name,
                pl.String,
                f"{words}: the three with the largest shares of the kernel's time, and their"
                " shares. For replays, they come from the capture of the graph.",
                nullable=True,
            )
            for name, words in (
                ("ops", "Innermost ops that launched it"),
                ("layers", "Layers that launched it (numbers in paths left out)"),
                ("places", "Python lines that launched it"),
                ("phases", "Phases of a training or a server's step that launched it"),
            )
        ),
    ),
)

TOP_OPS = Table(
    "top_ops",
    "An op by name, in one rank.",
    (
        RANK,
        Column("name", pl.String, "Op."),
        *DURATIONS,
        Column(
            "cpu_self_ns",
            pl.Int64,
            "Host time in the op itself and in Python that it calls, but not in ops or"
            " annotations within it, nor in CUDA or HIP calls (the profiler's CPU self).",
        ),
        Column(
            "cuda_self_ns", pl.Int64, "Device time of work launched directly by the op (CUDA self)."
        ),
        Column(
            "cuda_total_ns",
            pl.Int64,
            "Device time of work launched by the op or an op within it (CUDA total).",
        ),
    ),
)

TIME_BY_RANGE = Table(
    "time_by_range",
    "Annotations and NVTX ranges of one path, on one thread and in one domain of one rank. A"
    " row in brackets is work that a thread launched outside of any range.",
    (
        RANK,
        PROCESS,
        THREAD,
        Column(
            "domain",
            pl.String,
            "NVTX domain; null for the default one, and for annotations.",
            nullable=True,
        ),
        Column(
            "path",
            pl.String,
            "Names of the ranges around it and its own, outermost first. Paths of ranges in"
            " a step leave out the step's number (step * > forward), so that a range in every"
            " step is one row.",
        ),
        Column("name", pl.String, "Name of the range; null outside of ranges.", nullable=True),
        Column("depth", pl.Int64, "Ranges of the thread and domain around it."),
        Column("n_calls", pl.Int64, "Times it was opened."),
        Column("host_total_ns", pl.Int64, "Sum of the ranges' durations on the host."),
        Column("host_own_ns", pl.Int64, "Host time not covered by ranges within."),
        Column(
            "n_launches",
            pl.Int64,
            "Calls on its thread that started device work while it was open.",
        ),
        Column(
            "device_total_ns",
            pl.Int64,
            "Sum of the durations of the kernels, copies and fills that these calls started.",
        ),
        Column(
            "device_own_ns",
            pl.Int64,
            "The part of device_total_ns of calls for which it was the innermost range.",
        ),
        Column("kernel_total_ns", pl.Int64, "The part of device_total_ns that is kernels."),
        Column(
            "projected_ns",
            pl.Int64,
            "Time from the start of the first piece of its device work to the end of the"
            " last one, summed over the ranges (nsys's projection).",
        ),
        Column(
            "other_threads_ns",
            pl.Int64,
            "Device time of work that other threads of the process launched while it was open.",
        ),
        Column(
            "idle_ns",
            pl.Int64,
            "The part of its time in which no device of the rank worked; null without device work.",
            nullable=True,
        ),
    ),
)

LAUNCH_DELAY = Table(
    "launch_delay",
    "An API function and the kind of work it started, in one rank.",
    (
        RANK,
        Column("api", pl.String, "API function."),
        Column(
            "work",
            pl.String,
            "Kind of work it started.",
            values=("kernel", "memcpy", "memset"),
        ),
        Column("n_calls", pl.Int64, "Pieces of device work; a graph launch starts many."),
        Column("api_total_ns", pl.Int64, "Host time in the calls, each call counted once."),
        Column("api_median_ns", pl.Float64, "Median duration of a call."),
        Column(
            "delay_median_ns",
            pl.Float64,
            "Median of work start minus call end; negative where work started before the call"
            " returned.",
        ),
        Column("delay_mean_ns", pl.Float64, "Mean of the same."),
        Column("delay_max_ns", pl.Int64, "Largest of the same."),
        Column("duration_total_ns", pl.Int64, "Device time of the work."),
        Column(
            "short_frac",
            pl.Float64,
            "Share of the work whose call took longer than all work that the call started.",
        ),
    ),
)

THREADS = Table(
    "threads",
    "A host thread's time, over the program: all steps or, on a rank without marked steps, the"
    " phase program of time_breakdown. wait_ns, op_ns, api_ns, python_ns and unrecorded_ns"
    " add up to window_ns.",
    (
        RANK,
        Column("process_id", pl.Int64, "Process."),
        Column("thread_id", pl.Int64, "Thread; 0 where the profiler records none."),
        Column("n_ops", pl.Int64, "Ops called in the whole trace, nested ones included."),
        Column("window_ns", pl.Int64, "The time that is broken down."),
        Column(
            "wait_ns",
            pl.Int64,
            "Time in API calls that wait for a device, and in recorded Python calls that wait for "
            "a lock, queue, pipe, thread or time.",
        ),
        Column(
            "op_ns",
            pl.Int64,
            "Time in the framework's ops and all that they call, outside of waits.",
        ),
        Column("api_ns", pl.Int64, "Time in CUDA or HIP calls outside of ops and waits."),
        Column("python_ns", pl.Int64, "Time in other recorded Python and module calls."),
        Column(
            "unrecorded_ns",
            pl.Int64,
            "Time without any record: the thread sleeps, or runs code that is not profiled.",
        ),
        Column("wait_frac", pl.Float64, "wait_ns over window_ns.", nullable=True),
        Column("op_frac", pl.Float64, "op_ns over window_ns.", nullable=True),
        Column("api_frac", pl.Float64, "api_ns over window_ns.", nullable=True),
        Column("python_frac", pl.Float64, "python_ns over window_ns.", nullable=True),
        Column("unrecorded_frac", pl.Float64, "unrecorded_ns over window_ns.", nullable=True),
    ),
)

DATA_QUALITY = Table(
    "data_quality",
    "A check of how far the trace can be trusted.",
    (
        RANK,
        Column("check", pl.String, "Name of the check."),
        Column(
            "status",
            pl.String,
            "Outcome.",
            values=("ok", "info", "warning", "loss", "error", "unknown"),
        ),
        Column(
            "value",
            pl.Float64,
            "The number that was checked, for example a count; null if the check has none.",
            nullable=True,
        ),
        Column("unit", pl.String, "Unit of the value.", nullable=True),
        Column("text", pl.String, "Meaning for the reader."),
    ),
)

ADVISE = Table(
    "advise",
    "A part of the model's graph in one step where other calls may save time, as it ran and with "
    "the calls that are advised; the first row of a rank is the whole model.",
    (
        RANK,
        Column(
            "sub_graph",
            pl.Int64,
            "Number of the part, in order; null for the whole model.",
            nullable=True,
        ),
        Column("layers", pl.String, "First and last layer of the part."),
        Column("calls_now", pl.String, "Operators that ran, with how many of each."),
        Column(
            "calls_advised",
            pl.String,
            "Functions that are advised, with their layout; empty if none is.",
        ),
        Column("device_ns", pl.Int64, "Kernel time of a step as it ran.", "ns"),
        Column(
            "host_now_ns",
            pl.Int64,
            "Least time that the host needs for the calls of a step: the launch delay times"
            " the calls. Only for the whole model, and if `verdict` finds launches to be the"
            " bound. A sequence takes as long as this or as its kernels, whichever is longer.",
            "ns",
            nullable=True,
        ),
        Column("host_then_ns", pl.Int64, "host_now_ns of the advised calls.", "ns", nullable=True),
        Column(
            "transform_now_ns",
            pl.Int64,
            "Time of kernels that only change a layout.",
            "ns",
        ),
        Column("transform_then_ns", pl.Int64, "transform_now_ns of the advised calls.", "ns"),
        Column(
            "n_transforming",
            pl.Float64,
            "Kernels per step that only change a layout, for the whole model.",
            nullable=True,
        ),
        Column("saving_low_ns", pl.Int64, "Least time that the advised calls save.", "ns"),
        Column(
            "saving_ns",
            pl.Int64,
            "Time that the calls are expected to save; null if only bounds of a cost are known.",
            "ns",
            nullable=True,
        ),
        Column("saving_high_ns", pl.Int64, "Most time that the advised calls save.", "ns"),
        Column(
            "evidence",
            pl.String,
            "Source of the least certain cost among the advised calls: measured (this"
            " trace), other trace, bench (the call alone), bound (bytes over bandwidth).",
            values=("measured", "other trace", "bench", "bound", "none", "unknown"),
        ),
        Column("change", pl.String, "What to change in torch."),
        Column(
            "n_unmatched",
            pl.Int64,
            "Operators of the graph without a measured call; nothing is advised for them.",
        ),
        Column(
            "unjudged_ns",
            pl.Int64,
            "Kernel time a step that belongs to no call of the graph.",
            "ns",
        ),
        Column(
            "source",
            pl.String,
            "How the graph was found: export, observer, or guessed from the order of calls"
            " (adjacency).",
        ),
    ),
)
