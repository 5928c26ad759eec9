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
