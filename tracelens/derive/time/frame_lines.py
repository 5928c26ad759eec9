"""Find out what the line number in a Python frame's name means.

torch's profiler records two kinds (torch 2.13, torch/csrc/autograd/profiler_python.cpp). A frame
that was entered before recording began has the line that ran at that moment. Any other frame has
the line where its function begins, or where a resumed generator was left.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import polars as pl

from tracelens.derive.columns.intervals import END
from tracelens.derive.time.call_path import shortened
from tracelens.trace import Trace

FRAME = re.compile(r"([^\s()>]+\.py)(?:\((defined at )?(\d+)\))?: (.+?)(?= > |$)")
"""Pattern of a Python frame in a path: file, kind of line, line and function.

The kind says whether the line is that of the definition.
"""
DEFINED = ".py(defined at "
_AT_ONCE_NS = 1_000_000
"""At the start of recording, the stacks of all threads are written within this time."""
_THREAD = ["process_id", "thread_id"]
_IS_PYTHON = pl.col("kind") == "python"


def read_entered_earlier(trace: Trace, rank: int) -> frozenset[str]:
    """Return `frames_entered_earlier` of a rank by reading only the few spans that it needs."""
    starts = trace.select("spans", "start_ns", where=_IS_PYTHON, rank=rank)
    first_ns = starts["start_ns"].min()
    assert isinstance(first_ns, int)
    is_first = pl.col("start_ns") < first_ns + _AT_ONCE_NS
    columns = (*_THREAD, "kind", "name", "start_ns", "duration_ns")
    return frames_entered_earlier(
        trace.select("spans", *columns, where=_IS_PYTHON & is_first, rank=rank)
    )


def frames_entered_earlier(spans: pl.DataFrame) -> frozenset[str]:
    """Return the names, as in call paths, of Python frames entered before recording began.

    These are a thread's outermost frames when recording begins: each lies inside the one before,
    and no other Python call of the thread has ended yet.
    """
    python = spans.filter(_IS_PYTHON)
    start_ns = pl.col("start_ns")
    name = pl.col("name")
    first = python.filter(start_ns < start_ns.min() + _AT_ONCE_NS)
    times = first.select(*_THREAD, "name", "start_ns", end_ns=END)
    first = times.sort("start_ns", "end_ns")
    earliest_end = pl.col("end_ns").cum_min().shift()
    ended = earliest_end.over(_THREAD)
    open_frames = first.filter(ended.is_null() | (ended > start_ns))
    names = open_frames.select(name.cast(pl.String).unique())
    short_names = names.select(shortened(name))
    return frozenset(short_names["name"].to_list())


def mark_lines(places: pl.Series, earlier: Collection[str]) -> pl.Series:
    """Write into call paths what each line number means.

    Lines of definitions become `a.py(defined at 3): f`. A frame entered before recording loses its
    number: `a.py: g`.
    """

    def marked(match: re.Match[str]) -> str:
        if match[0] in earlier or match[3] is None:
            return f"{match[1]}: {match[4]}"
        return f"{match[1].removesuffix('.py')}{DEFINED}{match[3]}): {match[4]}"

    texts = places.drop_nulls().unique().cast(pl.String)
    names = {text: FRAME.sub(marked, text) for text in texts}
    if all(text == name for text, name in names.items()):
        return places
    return places.cast(pl.String).replace_strict(names, default=None).cast(places.dtype)
