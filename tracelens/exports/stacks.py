"""Build call stacks of kernels, of the host's self time, and of a debugger's stops.

Frames are listed outermost first. A kernel's stack has the spans around its launch call, then the
kernel.
"""

from collections.abc import Callable, Iterator, Sequence

import polars as pl
from msgspec import Struct

from tracelens.derive.events.call_tree import CallPaths
from tracelens.derive.events.span_trees import spans_by_id
from tracelens.derive.time.self_time import with_own_time
from tracelens.errors import printable
from tracelens.exports.export import Selection

PRE_WINDOW = "(launched before the trace began)"
UNLINKED = "(its call is unknown)"
"""Name of the frame around kernels without a recorded launch call."""


class Stacks(Struct, frozen=True):
    """Holds call stacks of one rank, each with a time.

    A path is a sequence of frames, each called by the one before. Paths are numbered:
    `names[number]` is the last frame of a path, and `parents[number]` is the number of the path
    without this frame. That number is -1 if the path has only one frame.
    """

    # Reads the stacks in order of start, some at a time: start_ns, duration_ns, `name` of the
    # innermost frame, `path` (number of the path of the frames around it), and `thread`. Stacks of
    # different threads are never merged.
    parts: Callable[[], Iterator[pl.DataFrame]]
    parents: list[int]
    names: list[str]

    def frames(self, path: int) -> list[str]:
        """Return the names of a path's frames, outermost first."""
        names = []
        while path >= 0:
            names.append(self.names[path])
            path = self.parents[path]
        return names[::-1]


def kernel_stacks(selection: Selection, rank: int) -> Stacks:
    """Return the stacks of a rank's kernels, with printable names.

    Spans with the same name and parent share a frame.
    """
    path, parents, names = _paths(selection, rank)
    for word in (PRE_WINDOW, UNLINKED):
        parents.append(-1)
        names.append(word)
    unlinked = len(names) - 1
    earlier = unlinked - 1
    is_earlier = pl.col("link") == "pre_window"
    outside = pl.when(is_earlier).then(earlier).otherwise(unlinked)
    path_or_outside = pl.col("path").fill_null(outside)
    no_thread = pl.lit(None, pl.String)

    def parts() -> Iterator[pl.DataFrame]:
        for window in selection.windows_of_rows(rank, "kernels"):
            kernels = selection.rows("kernels", rank, *_OF_KERNELS, where=window)
            by_start = kernels.sort("start_ns", maintain_order=True)
            path_of_call = _gathered(path, by_start["span_id"])
            with_path = by_start.with_columns(path_of_call.alias("path"))
            yield with_path.select(
                "start_ns",
                "duration_ns",
                "name",
                path=path_or_outside,
                thread=no_thread,
            )

    return Stacks(parts, parents, names)


_OF_KERNELS = ("name", "start_ns", "duration_ns", "span_id", "link")
_THREAD = ("process_id", "thread_id")
_OF_CALLS = ("span_id", *_THREAD, "start_ns", "duration_ns", "step", "api")
_OF_SPANS = ("name", "start_ns", "self_ns", "step", "thread_id")
_STACK = ("thread_id", "name", "path")
_STOPS = {
    "start_ns": pl.Int64,
    "duration_ns": pl.Int64,
    "thread": pl.String,
    "name": pl.String,
    "path": pl.Int64,
}
"""Columns of a debugger's stops."""


def host_stacks(selection: Selection, rank: int) -> Stacks:
    """Return the distinct stacks of a rank's spans and API calls, with their self time."""
    path, parents, names = _paths(selection, rank)
    in_calls = pl.repeat(
        0,
        len(path),
        dtype=pl.Int64,
        eager=True,
    )
    sums = []
    for calls in _calls_with_own_time(selection, rank):
        around = _gathered(path, calls["span_id"])
        calls_with_path = calls.with_columns(path=around)
        sums.append(_by_stack(calls_with_path, selection.steps))
        is_in_span = around.is_not_null()
        calls_in_spans = calls.filter(is_in_span)
        in_calls = _added(in_calls, calls_in_spans)
    parent_paths = pl.Series(parents, dtype=path.dtype)
    first = 0
    for spans in spans_by_id(selection.trace.uncached(), rank, *_OF_SPANS):
        n_spans = spans.height
        in_calls_of_part = in_calls.slice(first, n_spans)
        path_of_part = path.slice(first, n_spans)
        first += n_spans
        own_ns = spans["self_ns"] - in_calls_of_part
        path_above = parent_paths.gather(path_of_part)
        spans_with_path = spans.with_columns(own_ns=own_ns.clip(0), path=path_above)
        sums.append(_by_stack(spans_with_path, selection.steps))
    # A million rows have a few thousand stacks; only for these are names and threads written out.
    every_sum = pl.concat(sums)
    stacks = _summed(every_sum.lazy(), "duration_ns")
    ordered = stacks.sort("start_ns", maintain_order=True)
    thread = pl.format("thread {}", "thread_id")
    rows = ordered.select("start_ns", "duration_ns", "path", "name", thread=thread)
    return _of_one_part(rows, parents, names)


def _calls_with_own_time(selection: Selection, rank: int) -> Iterator[pl.DataFrame]:
    """Yield a rank's API calls in order of start, in parts, with own_ns from `with_own_time`."""
    end = pl.col("start_ns") + pl.col("duration_ns")
    trace = selection.trace.uncached()
    last_to_return = None
    for window in selection.windows_of_rows(rank, "api_calls"):
        calls = trace.select("api_calls", *_OF_CALLS, where=window, rank=rank)
        named = calls.rename({"api": "name"})
        # A part's calls may lie in an earlier call: each thread's call with the latest end.
        with_earlier = [named] if last_to_return is None else [last_to_return, named]
        timed = with_own_time(pl.concat(with_earlier))
        by_end = timed.sort(end)
        last_of_threads = by_end.unique(_THREAD, keep="last")
        last_to_return = last_of_threads.select(named.columns)
        yield timed.filter(window)


def _added(sums: pl.Series, calls: pl.DataFrame) -> pl.Series:
    """Add each call's own time to the sum of the span around it, and return the sums."""
    own_ns = pl.col("own_ns").sum()
    by_span = calls.group_by("span_id").agg(own_ns)
    span = by_span["span_id"]
    new_sums = sums.gather(span) + by_span["own_ns"]
    return sums.scatter(span, new_sums)


def _by_stack(rows: pl.DataFrame, steps: Sequence[int] | None) -> pl.DataFrame:
    """Return the self time by stack in the steps: thread_id, name, path, start_ns, duration_ns."""
    has_own_time = pl.col("own_ns") > 0
    chosen = rows.lazy().filter(has_own_time)
    if steps is not None:
        in_steps = pl.col("step").is_in(steps)
        chosen = chosen.filter(in_steps)
    path = pl.col("path").fill_null(-1)
    with_path = chosen.with_columns(path)
    return _summed(with_path, "own_ns")


def _summed(rows: pl.LazyFrame, time: str) -> pl.DataFrame:
    """Return one row per stack, in the order in which stacks first occur in `rows`.

    duration_ns is the sum of the stack's column `time`. start_ns is the stack's earliest start.
    """
    by_stack = rows.group_by(_STACK, maintain_order=True)
    earliest = pl.col("start_ns").min()
    total = pl.col(time).sum()
    sums = by_stack.agg(earliest, duration_ns=total)
    return sums.collect()


def stop_stacks(selection: Selection, rank: int) -> Stacks:
    """Return the stacks of a rank at a debugger's stops, one per stop. Each has duration_ns 1."""
    frames = selection.trace.frame("frames").filter(rank=rank)
    known: dict[tuple[int, str], int] = {}
    parents = list[int]()
    names = list[str]()
    rows = list[tuple[int, int, None, str, int]]()
    for _, stack in frames.group_by("stack_id", maintain_order=True):
        outermost_first = stack.sort("level", descending=True)
        *outer_functions, innermost = outermost_first["function"].to_list()
        path = -1
        for function in outer_functions:
            key = (path, function)
            if key not in known:
                known[key] = len(names)
                parents.append(path)
                names.append(printable(function))
            path = known[key]
        rows.append((len(rows), 1, None, innermost, path))
    stops = pl.DataFrame(
        rows,
        schema=_STOPS,
        orient="row",
    )
    return _of_one_part(stops, parents, names)


def _of_one_part(
    rows: pl.DataFrame,
    parents: list[int],
    names: list[str],
) -> Stacks:
    """Return stacks of which `rows` is the only part."""

    def parts() -> Iterator[pl.DataFrame]:
        yield rows

    return Stacks(parts, parents, names)


def _gathered(path: pl.Series, span: pl.Series) -> pl.Series:
    """Return the paths of the spans with these row numbers, None if there is no such span."""
    is_unknown = (span < 0) | (span >= len(path))
    known_span = span.set(is_unknown, None)
    if path.is_empty():
        return known_span.cast(path.dtype)
    return path.gather(known_span)


def _paths(selection: Selection, rank: int) -> tuple[pl.Series, list[int], list[str]]:
    """Return the path number of each of a rank's spans, and `parents` and `names` for `Stacks`."""
    paths = CallPaths("name")
    trace = selection.trace.uncached()
    for spans in spans_by_id(trace, rank, "parent_id", "name"):
        paths.add(spans)
    if paths.of_rows.is_empty():
        return paths.of_rows, [], []
    every_path = paths.chains
    parents = every_path["parent_id"].fill_null(-1)
    names = every_path["name"].cast(pl.String)
    printable_names = [printable(name) for name in names]
    return paths.of_rows, parents.to_list(), printable_names
