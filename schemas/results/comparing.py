"""Results about two runs: whether they are comparable, and how their time, kernels, ops and memory differ."""

import polars as pl

from tracelens.storage.table import Column, Table

F64, I64, STR = pl.Float64, pl.Int64, pl.String

SETUP = (
    "program", "gpu", "driver", "software", "ranks", "steps", "calls", "shapes", "dtypes", "compiled", "graphs",
    "profiler", "options",
)  # fmt: skip
COMPARE_SETUP = Table(
    "compare_setup",
    "A property of two runs that has to be the same for a comparison to be fair.",
    (
        Column(
            "what",
            STR,
            "program: how much of the kernel time (of ops without kernels) and of the layers both have; calls: kernels "
            "a step, or in all; shapes, dtypes: of the inputs of ops that both ran; options: what was recorded.",
            values=SETUP,
        ),
        Column(
            "base", STR, "In base; of shapes and dtypes an op's that only base has. Null if not told.", nullable=True
        ),
        Column("other", STR, "In other, likewise.", nullable=True),
        Column("status", STR, "Whether they are the same.", values=("same", "differs", "unknown")),
        Column("invalidates", STR, "What cannot be compared where they differ.", nullable=True),
    ),
)
