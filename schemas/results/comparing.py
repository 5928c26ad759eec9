"""Results about two runs: whether they are comparable; how time, kernels and memory differ."""

import polars as pl

from tracelens.schemas.results.common import OUTCOME, PHASE, RANK, REASON
from tracelens.storage.table import Column, Table

F64, I64, STR = pl.Float64, pl.Int64, pl.String

SETUP = (
    "program",
    "gpu",
    "driver",
    "software",
    "ranks",
    "steps",
    "calls",
    "shapes",
    "dtypes",
    "compiled",
    "graphs",
    "profiler",
    "options",
)
COMPARE_SETUP = Table(
    "compare_setup",
    "A property of two runs that has to be the same for a comparison to be fair.",
    (
        Column(
            "what",
            STR,
            "program: share of the kernel time (without kernels, of the ops' time) and of the"
            " layers that both have; calls: kernels a step, or in all; shapes, dtypes: of the"
            " inputs of ops that both ran; options: what was recorded.",
            values=SETUP,
        ),
        Column(
            "base",
            STR,
            "Its value in base; for shapes and dtypes, those of an op that only base has."
            " Null if the trace does not say.",
            nullable=True,
        ),
        Column(
            "other",
            STR,
            "Its value in new; for shapes and dtypes, those of an op that only new has.",
            nullable=True,
        ),
        Column(
            "status",
            STR,
            "Whether they are the same.",
            values=("same", "differs", "unknown"),
        ),
        Column("invalidates", STR, "What cannot be compared if they differ.", nullable=True),
    ),
)


def _both(name: str, doc: str, unit: str | None = None) -> tuple[Column, Column]:
    """Return the columns of a number for the two runs, base and other."""
    return (
        Column(f"base_{name}", F64, f"{doc}, in base.", unit, nullable=True),
        Column(f"other_{name}", F64, f"{doc}, in new.", unit, nullable=True),
    )


_CHANGE = Column(
    "change",
    STR,
    "Whether both have it, only new (added) or only base (removed).",
    values=("both", "added", "removed"),
)
_DEVICE = Column(
    "device",
    I64,
    "Device of the rank, counted from 0; null for the host.",
    nullable=True,
)
_TIMES = (
    *_both("n_calls", "Calls a step (median); in all, where one of the runs marks no steps"),
    *_both("ns", "Time a step (median), or in all", "ns"),
    *_both("call_ns", "Mean time of a call", "ns"),
    Column(
        "speedup",
        F64,
        "Time in base over that in new: above 1, new is faster. Null if no steps are"
        " marked and one run made more calls.",
        "1",
        nullable=True,
    ),
    Column(
        "speedup_per_call",
        F64,
        "Mean time of a call in base over that in new.",
        "1",
        nullable=True,
    ),
    Column(
        "speedup_low",
        F64,
        "The low end of the speedup's range: of a step, or without steps of a call. The ranges of"
        " all rows hold together in 95 % of cases.",
        "1",
        nullable=True,
    ),
    Column("speedup_high", F64, "The high end of that range.", "1", nullable=True),
    OUTCOME,
    REASON,
)

COMPARE_TIME = Table(
    "compare_time",
    "A part of a step's time on a device of a rank in two runs, see time_breakdown; "
    "`window` is the whole time. The idle_* parts are the causes of `idle`; they are not judged.",
    (
        RANK,
        _DEVICE,
        Column("part", STR, "What the device did, or why it was idle."),
        *_both(
            "ns",
            "Time per step (median), without what the profiler is known to add; without"
            " marked steps, time of the whole capture",
            "ns",
        ),
        Column("more_ns", F64, "Time in new minus time in base.", "ns", nullable=True),
        Column(
            "more_low_ns",
            F64,
            "The low end of the difference's range. The ranges of all rows hold together in 95 %"
            " of cases.",
            "ns",
            nullable=True,
        ),
        Column("more_high_ns", F64, "The high end of that range.", "ns", nullable=True),
        Column(
            "of_step_frac",
            F64,
            "more_ns divided by the duration of base's step: the effect that is judged.",
            "1",
            nullable=True,
        ),
        Column("speedup", F64, "Time in base over that in new.", "1", nullable=True),
        OUTCOME,
        REASON,
    ),
)

COMPARE_KERNELS = Table(
    "compare_kernels",
    "A kernel by name in two runs.",
    (RANK, Column("name", STR, "Demangled name."), _CHANGE, *_TIMES),
)

COMPARE_OPS = Table(
    "compare_ops",
    "An op by name in two runs. Its time is that of the kernels that it launches itself; if"
    " a run has no kernels, its own time on the host.",
    (RANK, Column("name", STR, "Op."), _CHANGE, *_TIMES),
)

COMPARE_BLOCKS = Table(
    "compare_blocks",
    "Layers of two runs whose paths differ only in numbers: one row for all of them, then"
    " one row for each.",
    (
        RANK,
        Column("pattern", STR, "The path with * for numbers."),
        Column("layer", STR, "One of the layers; null for all of them together.", nullable=True),
        PHASE,
        Column(
            "n_layers",
            I64,
            "Number of layers of the pattern in either run; 1 in a layer's own row.",
        ),
        _CHANGE,
        *_both("ns", "GPU time of kernels a step (median), or in all", "ns"),
        *(
            column
            for column in _TIMES
            if column.name.startswith("speedup") and column.name != "speedup_per_call"
        ),
        OUTCOME,
        REASON,
    ),
)

COMPARE_MEMORY = Table(
    "compare_memory",
    "A measure of the allocator's memory per step in two runs; without marked steps, of the"
    " whole capture.",
    (
        RANK,
        _DEVICE,
        Column(
            "measure",
            STR,
            "allocated_peak, reserved_peak: the most at one time; allocated_in_all: the sum"
            " of all requests.",
            values=("allocated_peak", "reserved_peak", "allocated_in_all"),
        ),
        *_both("bytes", "Median over the steps", "bytes"),
        Column("more_bytes", F64, "Bytes in new minus bytes in base.", "bytes", nullable=True),
        Column(
            "more_low_bytes",
            F64,
            "The low end of the difference's range. The ranges of all rows hold together in 95 %"
            " of cases.",
            "bytes",
            nullable=True,
        ),
        Column("more_high_bytes", F64, "The high end of that range.", "bytes", nullable=True),
        Column(
            "outcome",
            STR,
            "less or more in new, judged as times are; else unclear. Null for what only one has.",
            nullable=True,
            values=("less", "more", "unclear"),
        ),
        REASON,
    ),
)
