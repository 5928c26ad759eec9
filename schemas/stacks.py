"""Tables of call stacks taken at a breakpoint."""

import polars as pl

from tracelens.schemas.common import RANK
from tracelens.storage.table import Column, Table

ROLES = (
    "library",
    "runtime",
    "python",
    "torchscript",
    "binding",
    "libtorch_nn",
    "autograd",
    "vendor_glue",
    "dispatcher",
    "aten_native",
    "stdlib",
    "user",
    "unknown",
)

STACKS = Table(
    "stacks",
    "One stop of a program at a breakpoint.",
    (
        RANK,
        Column("stack_id", pl.Int64, "Unique within the rank."),
        Column("symbol", pl.String, "Function the program stopped in."),
        Column(
            "hit",
            pl.Int64,
            "Number of the stop, from 1, in the order taken; in a live capture, the number"
            " of the call of the symbol.",
        ),
        Column("process_id", pl.Int64, "Process, where known.", nullable=True),
        Column("thread_id", pl.Int64, "Thread, where known.", nullable=True),
        Column(
            "implementation",
            pl.String,
            "Label of the program, such as the file's stem.",
            nullable=True,
        ),
        Column(
            "depth",
            pl.Int32,
            "Number of frames, merged Python frames included, even if the list was cut.",
            "frames",
        ),
        Column("truncated", pl.Boolean, "Whether frames are missing from the list."),
        Column(
            "python_frames",
            pl.String,
            "Whether Python's own frames are in the list: merged, unavailable, or none (no"
            " interpreter in the stack).",
            values=("merged", "unavailable", "none", "unknown"),
        ),
        Column(
            "build_kind",
            pl.String,
            "Whether the libraries between entry and symbol have debug information.",
            values=("debug", "release", "mixed", "unknown"),
        ),
    ),
    ("stack_id",),
)

FRAMES = Table(
    "frames",
    "One frame of a stack.",
    (
        RANK,
        Column("stack_id", pl.Int64, "The stack."),
        Column("level", pl.Int32, "0 is innermost."),
        Column(
            "kind",
            pl.String,
            "Kind of frame.",
            values=("native", "inline", "python", "unknown"),
        ),
        Column(
            "function",
            pl.String,
            "Name without template arguments, parameters and return type; ?? where unknown.",
        ),
        Column("raw_function", pl.String, "Name as the debugger printed it."),
        Column("library", pl.String, "Shared library, file name only.", nullable=True),
        Column("file", pl.String, "Source file, file name only.", nullable=True),
        Column("line", pl.Int32, "Source line.", nullable=True),
        Column("role", pl.String, "Part of the software to which the frame belongs.", values=ROLES),
        Column(
            "has_debug_info",
            pl.Boolean,
            "Whether the frame's library has debug information; in logs, whether file and line are"
            " known.",
        ),
    ),
    ("stack_id", "level"),
)
