"""Write time by call stack in Brendan Gregg's folded format, for flamegraph.pl or speedscope.

A line holds one stack and its time, separated by a space. Semicolons separate the stack's frames,
of which the outermost comes first.
"""

from collections.abc import Callable
from typing import BinaryIO

import polars as pl

from tracelens.derive.columns.time_text import duration
from tracelens.errors import printable
from tracelens.exports.export import Export, Selection
from tracelens.exports.stacks import Stacks, host_stacks, kernel_stacks, stop_stacks

_VIEWERS = "flamegraph.pl, inferno or https://www.speedscope.app"


def write(selection: Selection, stream: BinaryIO) -> str:
    """Write kernel time by stack, rank by rank; return a text with the number of stacks.

    Without kernels, the host's self time is written by stack. For a debugger's log, the number of
    stops is written by stack. Raises MissingTableError if the trace has none of these.
    """
    trace = selection.trace
    if trace.has("kernels"):
        return _write(selection, stream, kernel_stacks, "of kernels")
    if trace.has("spans") or trace.has("api_calls"):
        return write_host(selection, stream)
    if not trace.has("frames"):
        trace.require("export --to folded", "kernels")
    return _write(selection, stream, stop_stacks)


def write_host(selection: Selection, stream: BinaryIO) -> str:
    """Write the self time of each thread by stack; return a text with the number of stacks.

    Raises MissingTableError if there are no spans and API calls.
    """
    if not selection.trace.has("api_calls"):
        selection.trace.require("export --to folded_host", "spans")
    return _write(selection, stream, host_stacks, "of the host")


def _write(
    selection: Selection,
    stream: BinaryIO,
    stacks_of: Callable[[Selection, int], Stacks],
    of_what: str = "",
) -> str:
    """Write the stacks of `stacks_of`; return a text with the number of stacks and the total time.

    `of_what` names the time in this text. It is empty for a debugger's stops.
    """
    n_stacks = 0
    total = 0
    for rank in selection.ranks:
        stacks = stacks_of(selection, rank)
        sums_of_parts = [_summed(part) for part in stacks.parts()]
        sums = _summed(pl.concat(sums_of_parts))
        for thread, path, name, weight in sums.iter_rows():
            frames = [*stacks.frames(path), printable(name)]
            if thread is not None:
                frames.insert(0, thread)
            frames.insert(0, f"rank {rank}")
            # A semicolon separates frames.
            without_separator = [frame.replace(";", ":") for frame in frames]
            line = ";".join(without_separator)
            stream.write(f"{line} {weight}\n".encode())
        n_stacks += sums.height
        total += int(sums["duration_ns"].sum())
    stops = "1 stop" if total == 1 else f"{total:,} stops"
    amount = f"{duration(total)} {of_what}" if of_what else stops
    noun = "stack" if n_stacks == 1 else "stacks"
    return f"{n_stacks:,} {noun}, {amount}"


def _summed(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row per stack with its total time, in the order in which stacks first occur."""
    by_stack = rows.group_by("thread", "path", "name", maintain_order=True)
    return by_stack.agg(pl.col("duration_ns").sum())


EXPORT = Export("folded", ".folded", _VIEWERS, write)
HOST = Export("folded_host", ".host.folded", f"{_VIEWERS} (the host's own time)", write_host)
