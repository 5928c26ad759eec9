"""Kernels by call stack in Brendan Gregg's folded format.

flamegraph.pl, inferno and speedscope read it. It has one line per stack: its frames from the
outermost on between semicolons, a space, and nanoseconds of kernels.
"""

from typing import BinaryIO

import polars as pl

from tracelens.errors import printable
from tracelens.exports.export import Export, Selection
from tracelens.exports.stacks import kernel_stacks


def write(selection: Selection, stream: BinaryIO) -> str:
    """Write the kernels' time by stack, rank by rank; returns how many stacks.

    Raises MissingTableError without any.

    Weights sum to the kernels' total time. A semicolon in a name becomes a colon.
    """
    selection.trace.require("export --to folded", "kernels")
    n_stacks = total = 0
    for rank in selection.ranks:
        stacks = kernel_stacks(selection, rank)
        sums = stacks.rows.group_by("path", "name", maintain_order=True).agg(
            pl.col("duration_ns").sum()
        )
        for path, name, weight in sums.iter_rows():
            frames = [f"rank {rank}", *stacks.frames(path), printable(name)]
            stream.write(
                f"{';'.join(frame.replace(';', ':') for frame in frames)} {weight}\n".encode()
            )
        n_stacks, total = n_stacks + sums.height, total + int(sums["duration_ns"].sum())
    return f"{n_stacks:,} stacks, {total:,} ns of kernels"


EXPORT = Export("folded", ".folded", "flamegraph.pl, inferno or https://www.speedscope.app", write)
