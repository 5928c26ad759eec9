"""Results of analyses of dispatch depth, copies and attribution."""

import polars as pl

from tracelens.schemas.device import LIBRARIES, MEMORY_KINDS, PRIMITIVES
from tracelens.schemas.results.common import DURATIONS, PHASE, RANK, SIDE_WORDS, STEP
from tracelens.schemas.stacks import ROLES
from tracelens.storage.table import Column, Table

DIRECTIONS = ("h2d", "d2h", "d2d", "p2p", "h2h", "unknown")


def _spread(name: str, doc: str, unit: str) -> tuple[Column, Column]:
    """Return columns for median and maximum of a depth."""
    return (
        Column(f"{name}_median", pl.Float64, f"Median of {doc}", unit, nullable=True),
        Column(f"{name}_max", pl.Int64, f"Largest of {doc}", unit, nullable=True),
    )


DISPATCH_DEPTH = Table(
    "dispatch_depth",
    "A call site that started GPU work (if source is span), or the frames of one role in the stacks"
    " at a symbol (if source is stack).",
    (
        RANK,
        Column(
            "source",
            pl.String,
            "Profiler spans or native stacks.",
            values=("span", "stack"),
        ),
        Column(
            "op",
            pl.String,
            "Outermost op above the launch; for stacks the symbol. Null if no op encloses"
            " the launch.",
            nullable=True,
        ),
        Column("layer", pl.String, "Module; for stacks the implementation.", nullable=True),
        PHASE,
        Column(
            "role",
            pl.String,
            "Role of the frames counted, for stacks; null: all frames.",
            nullable=True,
            values=ROLES,
        ),
        Column(
            "n_launches", pl.Int64, "Launches and copies started; for stacks, the number of stacks."
        ),
        *_spread(
            "op_depth",
            "the op spans from the outermost to the innermost above the launch.",
            "spans",
        ),
        *_spread("python_depth", "the Python and module calls above the launch.", "spans"),
        *_spread("total_depth", "op_depth plus python_depth; for stacks the frames.", "frames"),
        Column(
            "host_median_ns",
            pl.Float64,
            "Median time from the outermost op's start to the launch's end.",
            nullable=True,
        ),
        Column(
            "host_total_ns",
            pl.Int64,
            "Sum of the time from each outermost op's start to its last launch's end.",
            nullable=True,
        ),
    ),
)

COPY_COST = Table(
    "copy_cost",
    "Copies of one direction between two kinds of memory in one step of one rank. If step is"
    " null, the copies are those of the whole trace.",
    (
        RANK,
        Column(
            "direction",
            pl.String,
            "Direction, between host (h) and device (d), or peers (p2p).",
            values=DIRECTIONS,
        ),
        Column("source_memory", pl.String, "Memory copied from.", values=MEMORY_KINDS),
        Column("destination_memory", pl.String, "Memory copied to.", values=MEMORY_KINDS),
        STEP,
        *DURATIONS,
        Column("size_bytes", pl.Int64, "Bytes copied."),
        Column(
            "n_unsized",
            pl.Int64,
            "Copies of unknown size (stored as 0), which count in no bandwidth.",
        ),
        Column(
            "bandwidth_bytes_per_s",
            pl.Float64,
            "size_bytes divided by the duration of the copies whose size is known.",
            nullable=True,
        ),
        Column("exposed_ns", pl.Int64, "Copy time during which no kernel ran on the device."),
        Column(
            "pinned_ns",
            pl.Int64,
            "Time that the same bytes would take at the bandwidth of pinned copies in this"
            " trace or the base. Copies below 64 KiB, which bandwidth does not limit, count"
            " with their own time. Null for copies not from or to pageable host memory, or if"
            " no pinned copy was recorded.",
            nullable=True,
        ),
        Column(
            "wasteful_dtype",
            pl.String,
            "Element type of the copied bytes, if the casts that follow write fewer bytes"
            " per element than they read. It is the type that the op around them recorded,"
            " else one that fits; the most frequent one.",
            nullable=True,
        ),
        Column("wasted_bytes", pl.Int64, "Bytes that the following cast discards."),
    ),
)

COMPARE_COPIES = Table(
    "compare_copies",
    "Copies of one direction in two traces.",
    (
        RANK,
        Column(
            "direction",
            pl.String,
            "Direction, between host (h) and device (d), or peers (p2p).",
            values=DIRECTIONS,
        ),
        *(
            column
            for which in ("base", "other")
            for column in (
                Column(
                    f"memory_{which}",
                    pl.String,
                    f"Kinds of memory, in {SIDE_WORDS[which]}.",
                    nullable=True,
                ),
                Column(f"n_calls_{which}", pl.Int64, f"Copies in {SIDE_WORDS[which]}."),
                Column(
                    f"n_unsized_{which}",
                    pl.Int64,
                    f"Copies of unknown size in {SIDE_WORDS[which]}, which count in no bandwidth.",
                ),
                Column(f"size_{which}_bytes", pl.Int64, f"Bytes copied in {SIDE_WORDS[which]}."),
                Column(
                    f"duration_{which}_ns",
                    pl.Int64,
                    f"Sum of the durations in {SIDE_WORDS[which]}.",
                ),
                Column(
                    f"bandwidth_{which}_bytes_per_s",
                    pl.Float64,
                    f"Bandwidth in {SIDE_WORDS[which]} of the copies whose size is known.",
                    nullable=True,
                ),
            )
        ),
        Column(
            "size_ratio",
            pl.Float64,
            "Bytes per copy (of known size) in base divided by bytes per copy in new.",
            "1",
            nullable=True,
        ),
        Column(
            "speedup",
            pl.Float64,
            "Duration in base divided by duration in new; above 1, new is faster. Null"
            " if the runs copied different numbers of times in different numbers of steps.",
            "1",
            nullable=True,
        ),
    ),
)

LAYER_HOST_TIME = Table(
    "layer_host_time",
    "Time of one layer's ops on the host in one phase of one rank; rows in "
    "brackets are time that belongs to no layer.",
    (
        RANK,
        Column("layer", pl.String, "Path of the innermost module, or a row in brackets."),
        Column(
            "class_name",
            pl.String,
            "Class of the module; null for rows in brackets.",
            nullable=True,
        ),
        PHASE,
        Column("n_ops", pl.Int64, "Ops called, nested ones included."),
        Column(
            "op_self_ns",
            pl.Int64,
            "Sum of the ops' self times, without nested ops, so that nothing counts twice. "
            "Threads that an op uses within itself count as the op's time, once.",
        ),
        Column("share_frac", pl.Float64, "op_self_ns divided by the rank's sum."),
        Column(
            "evidence",
            pl.String,
            "Evidence for the layer: module span or backward sequence; for rows in brackets, why"
            " they have no layer.",
        ),
    ),
)

LAYER_ATTRIBUTION = Table(
    "layer_attribution",
    "GPU time of one layer's kernels in one phase of one rank; rows in brackets are time that"
    " belongs to no layer.",
    (
        RANK,
        Column("layer", pl.String, "Path of the innermost module, or a row in brackets."),
        Column(
            "class_name",
            pl.String,
            "Class of the module; null for rows in brackets.",
            nullable=True,
        ),
        PHASE,
        Column("n_kernels", pl.Int64, "Kernels run."),
        Column(
            "duration_total_ns",
            pl.Int64,
            "Sum of the kernels' durations; all rows sum to the kernel total exactly.",
        ),
        Column("share_frac", pl.Float64, "duration_total_ns divided by the rank's kernel total."),
        Column(
            "root_only_ns",
            pl.Int64,
            "The part of duration_total_ns that ran directly in the model's root module or a"
            " wrapper around it, and in no layer.",
        ),
        Column(
            "layout_frac",
            pl.Float64,
            "Share of the row's time in kernels that only move or rearrange data.",
        ),
        Column(
            "evidence",
            pl.String,
            "Evidence for the layer; if it differs, the evidence with most time. In a layer:"
            " module span, backward sequence, graph node (the place where a replayed CUDA"
            " graph's node was made), graph capture (a launch recorded while the graph was"
            " captured), base capture (a run without graphs), compile provenance with the"
            " rule that found the module; in brackets: why there is no layer, or that another"
            " thread launched it while a range named backward was open, as autograd's threads"
            " do.",
        ),
        Column(
            "low_ns", pl.Int64, "Least time that the layer can have, if fused kernels were split."
        ),
        Column("estimate_ns", pl.Int64, "Best estimate; duration_total_ns if nothing was split."),
        Column("high_ns", pl.Int64, "Most time the layer can have."),
        *(
            Column(f"library_{library}_ns", pl.Int64, f"Time in kernels of library {library}.")
            for library in LIBRARIES
        ),
        *(
            Column(f"primitive_{one}_ns", pl.Int64, f"Time in kernels that compute {one}.")
            for one in PRIMITIVES
        ),
    ),
)

LAYER_ATTRIBUTION_BY_STEP = Table(
    "layer_attribution",
    "GPU time of one layer's kernels in one phase and step of one rank.",
    (
        RANK,
        Column("step", pl.Int64, "Step; None for work outside of steps.", nullable=True),
        *(column for column in LAYER_ATTRIBUTION if column.name != "rank"),
    ),
)
