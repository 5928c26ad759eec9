"""Tables of ranks and of the collectives between them."""

from tracelens.schemas.common import F64, I32, I64, RANK, STR
from tracelens.storage.table import Column, Table

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
            "The group's ranks as JSON, if the source lists all of them.",
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
            "Elements sent to each rank in an uneven all-to-all, as JSON.",
            nullable=True,
        ),
        Column(
            "out_split",
            STR,
            "Elements received from each rank in an uneven all-to-all, as JSON.",
            nullable=True,
        ),
        Column(
            "peer",
            I32,
            "For a send or receive: the rank to which data went or from which it came.",
            nullable=True,
        ),
    ),
    ("kernel_id",),
)

PARALLEL = {"tp": "tensor", "pp": "pipeline", "dp": "data", "ep": "expert", "cp": "context"}
"""Kinds of parallelism in which a rank has a position: short name and description."""

RANKS = Table(
    "ranks",
    "A rank of the job: where it runs, and its place in the job's parallelism.",
    (
        RANK,
        Column("world_size", I32, "Ranks of the job, captured or not.", nullable=True),
        Column(
            "node",
            I32,
            "Host, numbered from 0; null if nothing distinguishes hosts.",
            nullable=True,
        ),
        Column("device_id", I32, "The device on which most of its work ran.", nullable=True),
        *(
            Column(axis, I32, f"Place in {words} parallelism, from 0.", nullable=True)
            for axis, words in PARALLEL.items()
        ),
        Column(
            "clock_offset_ns",
            I64,
            "Difference between the rank's clock and the job's (the lowest rank's) when the"
            " first matched collective ended; null if it is unknown, or if all ranks share a"
            " clock.",
            nullable=True,
        ),
        Column("clock_drift_ppm", F64, "How much the offset grows.", "ppm", nullable=True),
        Column(
            "clock_uncertainty_ns",
            I64,
            "Largest possible error of the offset between the first and the last matched"
            " collective.",
            nullable=True,
        ),
    ),
)
