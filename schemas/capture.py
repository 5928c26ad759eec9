"""Tables of sampled counters, and of events that a capture lost."""

from tracelens.schemas.common import F64, I32, I64, RANK, STR
from tracelens.storage.table import Column, Table

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
        Column(
            "kernel", STR, "Kernel during which it was counted; null for a sample.", nullable=True
        ),
        Column(
            "duration_ns",
            I64,
            "Time during which it was counted; null for a sample.",
            nullable=True,
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
