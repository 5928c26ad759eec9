"""Results of analyses of call stacks."""

import polars as pl

from tracelens.schemas.stacks import ROLES
from tracelens.storage.table import Column, Table

SEGMENTS = ("entry_to_via", "via_to_symbol", "entry_to_symbol")

STACK_ALIGNMENT = Table("stack_alignment",
    "One segment of two stacks side by side, in all (role null) and by the role of the frames in it.", (
    Column("symbol_base", pl.String, "Function the base program stopped in: frame 0 of its stack."),
    Column("symbol_other", pl.String, "Function the other program stopped in."),
    Column("segment", pl.String, "Part of the path from the entry to the symbol.", values=SEGMENTS),
    Column("role", pl.String, "Role of the frames counted; null: all roles.", nullable=True, values=ROLES),
    Column("start_base", pl.String, "Function the segment starts in; null: not in this stack.", nullable=True),
    Column("start_other", pl.String, "The same in the other stack.", nullable=True),
    Column("n_edges_base", pl.Int64,
        "Calls from start to end, the difference of their levels; for a role, those that its frames make.", "calls",
        nullable=True),
    Column("n_edges_other", pl.Int64, "The same in the other stack.", "calls", nullable=True),
    Column("n_frames_between_base", pl.Int64,
        "Frames strictly between start and end; in total one fewer than the calls.", "frames", nullable=True),
    Column("n_frames_between_other", pl.Int64, "The same in the other stack.", "frames", nullable=True),
    Column("n_common", pl.Int64, "Frames of the segment in the run from frame 0 over which both stacks name the same "
        "function at each level; user code and unnamed functions end the run. A frame where segments meet counts in "
        "the inner one.", "frames", nullable=True),
    Column("diverges_base", pl.String,
        "First function after the common run; null where the stacks diverge in another segment or not at all.",
        nullable=True),
    Column("diverges_other", pl.String, "The same in the other stack.", nullable=True),
))  # fmt: skip
