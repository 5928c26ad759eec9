"""Find the meaning of line numbers in the names of Python frames.

torch's profiler records the running line of a frame that was entered before recording began. For
any other frame it records the line where the function begins, or where a resumed generator was left
(torch 2.13, torch/csrc/autograd/profiler_python.cpp).
"""

from __future__ import annotations

import re
from collections.abc import Collection

import polars as pl

from tracelens.derive.columns.intervals import END
from tracelens.derive.time.call_path import shortened
from tracelens.trace import Trace

FRAME = re.compile(r"([^\s()>]+\.py)(?:\((defined at )?(\d+)\))?: (.+?)(?= > |$)")
"""Pattern of a Python frame in a path: file, "defined at ", line and function.

"defined at " is there if the line is the begin of the function's definition.
"""
DEFINED = ".py(defined at "
_AT_ONCE_NS = 1_000_000
"""Time within which the stacks of all threads are written when recording starts."""
_THREAD = ["process_id", "thread_id"]
_IS_PYTHON = pl.col("kind") == "python"


def ranks_by_earlier_frames(
    trace: Trace, ranks: Collection[int]
) -> dict[frozenset[str], list[int]]:
    """Group ranks by the names of their frames that were entered before recording began.

    Every rank must have Python frames.
    """
    starts = trace.select(
        "spans",
        "rank",
        "start_ns",
        where=_IS_PYTHON,
        rank=ranks,
    )
    firsts = starts.group_by("rank").agg(pl.col("start_ns").min())
    latest_first_ns = firsts["start_ns"].max()
    assert isinstance(latest_first_ns, int)
    may_be_first = pl.col("start_ns") < latest_first_ns + _AT_ONCE_NS
    columns = ("rank", *_THREAD, "kind", "name", "start_ns", "duration_ns")
    spans = trace.select(
        "spans",
        *columns,
        where=_IS_PYTHON & may_be_first,
        rank=ranks,
    )
    frames = _earlier_frames(spans)
    names_by_rank = frames.group_by("rank").agg("name").sort("rank")
    grouped: dict[frozenset[str], list[int]] = {}
    for rank, names in names_by_rank.iter_rows():
        grouped.setdefault(frozenset(names), []).append(rank)
    return grouped


def frames_entered_earlier(spans: pl.DataFrame) -> frozenset[str]:
    """Return the shortened names of Python frames that were entered before recording began."""
    frames = _earlier_frames(spans.with_columns(rank=0))
    return frozenset(frames["name"])


def _earlier_frames(spans: pl.DataFrame) -> pl.DataFrame:
    """Return the rank and name of frames that were entered before the rank's recording began."""
    start_ns = pl.col("start_ns")
    first_ns = start_ns.min().over("rank")
    python = spans.filter(_IS_PYTHON)
    first = python.filter(start_ns < first_ns + _AT_ONCE_NS)
    times = first.select(
        "rank",
        *_THREAD,
        "name",
        "start_ns",
        end_ns=END,
    )
    in_order = times.sort("start_ns", "end_ns")
    earliest_end = pl.col("end_ns").cum_min().shift()
    ended_ns = earliest_end.over("rank", *_THREAD)
    # Such a frame lies inside all earlier frames of its thread, and begins before any of them ends.
    is_inside_all = ended_ns.is_null() | (ended_ns > start_ns)
    open_frames = in_order.filter(is_inside_all)
    name = pl.col("name")
    names = open_frames.select("rank", name.cast(pl.String)).unique()
    return names.select("rank", shortened(name))


def mark_lines(places: pl.Series, earlier: Collection[str]) -> pl.Series:
    """Write the meaning of each line number into call paths.

    A function's first line becomes `a.py(defined at 3): f`. A frame entered before recording loses
    its number: `a.py: g`.
    """

    def marked(match: re.Match[str]) -> str:
        file, _, line, function = match.groups()
        if match[0] in earlier or line is None:
            return f"{file}: {function}"
        return f"{file.removesuffix('.py')}{DEFINED}{line}): {function}"

    texts = places.drop_nulls().unique().cast(pl.String)
    names = {text: FRAME.sub(marked, text) for text in texts}
    if all(text == name for text, name in names.items()):
        return places
    marked_places = places.cast(pl.String).replace_strict(names, default=None)
    return marked_places.cast(places.dtype)
