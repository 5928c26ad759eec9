"""Result of the roofline: operations, bytes and time of ops, compared with the device's peaks."""

import polars as pl

from tracelens.schemas.common import DEVICE
from tracelens.schemas.results.common import RANK, STEP
from tracelens.storage.table import Column, Table

F64, I64, STR = pl.Float64, pl.Int64, pl.String

ROOFLINE = Table(
    "roofline",
    "Calls of an op on inputs of the same shapes and element types, with their kernels. The "
    "row `(not modelled)` has all other kernels of a device. A row `(step)` has all kernels of one "
    "step, and the work of those that are modelled.",
    (
        RANK,
        DEVICE,
        STEP,
        Column("op", STR, "Innermost op whose work is known, or a row in brackets."),
        Column("shapes", STR, "Sizes of its tensors.", nullable=True),
        Column("dtypes", STR, "Their element types.", nullable=True),
        Column(
            "precision",
            STR,
            "Number format whose peak counts: tf32 if a float32 op ran a kernel named after"
            " it; fp32 for ops other than products, which compute in float32.",
            nullable=True,
        ),
        Column("n_calls", I64, "Calls that ran kernels.", nullable=True),
        Column("n_kernels", I64, "Kernels that they ran."),
        Column(
            "flops",
            F64,
            "Floating-point operations as torch.utils.flop_counter counts them: of products,"
            " convolutions and attention, two for each multiplication; 0 of other ops.",
            "FLOP",
            nullable=True,
        ),
        Column(
            "needed_flops",
            F64,
            "Floating-point operations that are needed: half of causal attention, and"
            " gradients of grouped convolutions without what torch counts too often, four"
            " real products for one of complex numbers; for other ops, each addition,"
            " multiplication or function. Rates and shares use these.",
            "FLOP",
            nullable=True,
        ),
        Column(
            "least_bytes",
            F64,
            "Bytes that have to move: each input read once, broadcast sizes once, each output"
            " written once.",
            nullable=True,
        ),
        Column(
            "most_flops",
            F64,
            "The most FLOPs of attention to contexts whose lengths are not recorded, by the sizes"
            " of cache and block table; flops are then the least. Null for others, and if unknown.",
            "FLOP",
            nullable=True,
        ),
        Column(
            "most_bytes",
            F64,
            "The most bytes that such attention moves, each token of the cache once.",
            nullable=True,
        ),
        Column("duration_total_ns", I64, "Sum of the kernels' durations."),
        Column(
            "share_frac",
            F64,
            "duration_total_ns divided by the kernel total of the device. For a step, the time of"
            " modelled kernels divided by the time of all kernels.",
        ),
        Column("flops_per_s", F64, "needed_flops over the kernels' time.", "FLOP/s", nullable=True),
        Column("bandwidth_bytes_per_s", F64, "least_bytes over the kernels' time.", nullable=True),
        Column("flops_per_byte", F64, "needed_flops over least_bytes.", "FLOP/byte", nullable=True),
        Column(
            "roof",
            STR,
            "The roof that limits the op on this device: compute where flops_per_byte is at least"
            " peak_flops_per_s over peak_bytes_per_s (the ridge), else memory.",
            nullable=True,
            values=("compute", "memory"),
        ),
        Column(
            "peak_frac",
            F64,
            "Share of the peak that limits it: flops_per_s or bandwidth_bytes_per_s divided"
            " by the device's peak.",
            nullable=True,
        ),
        Column(
            "gain_ns",
            F64,
            "Time that the op would save at its roof: duration_total_ns times (1 - peak_frac).",
            nullable=True,
        ),
        Column(
            "mfu_frac",
            F64,
            "For a step, model FLOP utilization: the time that its needed_flops take at the"
            " peak of each op's precision, divided by the step's duration.",
            nullable=True,
        ),
        Column("peak_flops_per_s", F64, "Most operations a second.", "FLOP/s", nullable=True),
        Column("peak_bytes_per_s", F64, "Most bytes a second to and from memory.", nullable=True),
        Column(
            "evidence",
            STR,
            "Source of the peaks, or why there are none; for what is not modelled, why it is not.",
            nullable=True,
        ),
    ),
)
