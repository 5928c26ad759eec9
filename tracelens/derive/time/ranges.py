"""Build trees of annotations and NVTX ranges by thread and domain, with the device work in them.

Device work belongs to the ranges that are open on the launching thread when the launch begins.
"""

from collections.abc import Iterator, Sequence

import polars as pl
from msgspec import Struct

from tracelens.derive.columns.intervals import END
from tracelens.derive.columns.lookup import is_each_once, numbered, rows_of
from tracelens.derive.columns.per_unique import each_once
from tracelens.derive.events.call_tree import below, joined_paths
from tracelens.derive.events.nesting import as_rows, nest
from tracelens.derive.events.steps import FAMILIES, STEP_NAME
from tracelens.derive.time.self_time import attribute
from tracelens.schemas import DEVICE_WORK
from tracelens.trace import Trace

THREAD = ["rank", "process_id", "thread_id"]
BETWEEN = " > "
_LATEST = 2**62
"""The last moment that shifted times may reach, so that no end of work exceeds 64 bits."""
_MOST_ROWS = 1_000_000
"""The most rows of ranges, calls and work of several ranks to process as one rank.

The shifted copies of more rows would take gigabytes.
"""


class Ranges(Struct, frozen=True):
    """Holds the ranges of one or several ranks, and the work launched on each thread.

    The ranks' times are shifted, so that no two ranks overlap and all can be processed as one.
    """

    tree: pl.DataFrame
    """One row per range.

    Columns: rank, process_id, thread_id, domain, name, path, depth, start_ns, duration_ns, self_ns.
    """
    launched: pl.DataFrame
    """Work by thread and segment (time between two `edges`), as `_launched` returns it.

    The column `within` is True for work within any range.
    """
    own_ns: pl.Series
    """Device time of each range, without the work in its inner ranges of the same domain."""
    edges: pl.Series
    """Moments at which any range starts or ends."""


def read_ranges(trace: Trace) -> pl.DataFrame:
    """List every range: rank, process_id, thread_id, domain, name, start_ns and duration_ns.

    `domain` is None for the default domain. Marks, which have no duration, are left out. A range
    that was open when the recording ended ends at that moment.
    """
    columns = [*THREAD, "name", "start_ns", "duration_ns"]
    kind = pl.col("kind")
    is_range = kind.is_in(["annotation", "nvtx"])
    spans = trace.select(
        "spans",
        *columns,
        "kind",
        "category",
        where=is_range,
    )
    category_text = pl.col("category").cast(pl.String)
    category = pl.when(kind == "nvtx").then(category_text).fill_null("")
    is_mark = category.str.contains(r"^mark( |$)")
    # For a domain other than the default one, the kind of range is followed by its name: push_pop
    # NCCL.
    domain = category.str.extract(r"^\S+ (.+)$")
    ranges = spans.filter(~is_mark).with_columns(domain=domain)
    cut = open_at_end(ranges)
    duration_ns = ranges["duration_ns"].scatter(cut["row"], cut["duration_ns"])
    ended = ranges.with_columns(duration_ns=duration_ns)
    return ended.select(*columns, "domain").cast({"name": pl.String})


def open_at_end(ranges: pl.DataFrame) -> pl.DataFrame:
    """List the annotations that were open when torch's profiler stopped: row and duration_ns.

    The profiler stops when a thread's last step ends. duration_ns is the time until then.
    """
    is_annotation = pl.col("kind") == "annotation"
    annotations = ranges.with_row_index("row").filter(is_annotation)
    is_step = pl.col("name").cast(pl.String).str.contains(FAMILIES["profiler"])
    steps = annotations.filter(is_step).sort("start_ns")
    last_steps = steps.group_by(THREAD).agg(
        step_start=pl.col("start_ns").last(),
        step_end=END.last(),
    )
    start = pl.col("start_ns")
    step_end = pl.col("step_end")
    with_step = annotations.join(last_steps, on=THREAD, nulls_equal=True)
    # The profiler records a later end, up to seconds later, because it first processes its events.
    # A thread's annotations are nested, so one that begins in the last step and ends after it was
    # open.
    begins_in_step = (start > pl.col("step_start")) & (start < step_end)
    ends_after_step = step_end < END
    is_open = with_step.filter(begins_in_step & ends_after_step)
    return is_open.select("row", duration_ns=step_end - start)


def read_calls(trace: Trace) -> pl.DataFrame:
    """Return rank, api_call_id, start_ns, process_id and thread_id of calls."""
    return trace.select("api_calls", *THREAD, "api_call_id", "start_ns")


def read_work(trace: Trace) -> list[pl.DataFrame]:
    """Return kernels, copies and fills, one frame each.

    Columns: rank, start_ns, duration_ns, api_call_id and is_kernel.
    """
    columns = ("rank", "start_ns", "duration_ns", "api_call_id")
    return [
        trace.select(name, *columns).with_columns(is_kernel=pl.lit(name == "kernels"))
        for name in DEVICE_WORK
    ]


def by_start(first: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of all frames in one frame, sorted by start."""
    start = first["start_ns"]
    # The first frame may have millions of rows, so it is not sorted again if it is in order.
    in_order = first if start.is_sorted() else first.sort("start_ns", maintain_order=True)
    if not others:
        return in_order
    return in_order.merge_sorted(
        pl.concat(others).sort("start_ns"),
        key="start_ns",
    )


def one_after_another(*frames: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, ...]]:
    """Shift the ranks' times so that no two ranks overlap, and yield the frames group by group.

    A group of ranks can then be processed as one rank. Frames have rank, start_ns and perhaps
    duration_ns. Ranks that the first frame lacks are left out.
    """
    extents = _extents_of_ranks(frames)
    if extents.height < 2:
        yield frames
        return
    # The size of a group is limited, so that memory is bounded and times fit into 64 bits.
    for shifts in _shifts_by_group(extents.join(frames[0], on="rank", how="semi")):
        by_rank = pl.DataFrame(
            {
                "rank": shifts.keys(),
                "shift": shifts.values(),
            },
            schema={"rank": pl.Int32, "shift": pl.Int64},
        )
        yield tuple(_shifted(frame, by_rank) for frame in frames)


def _shifts_by_group(extents: pl.DataFrame) -> list[dict[int, int]]:
    """Divide ranks into groups, each with the number of ns to add to each rank's times."""
    shifts: list[dict[int, int]] = [{}]
    until = None
    n_rows = 0
    for rank, first, last, n in extents.iter_rows():
        shift = 0 if until is None else until + 1 - first
        n_rows += n
        if last + shift > _LATEST or n_rows > _MOST_ROWS:
            shifts.append({})
            shift = 0
            n_rows = n
        shifts[-1][rank] = shift
        until = last + shift
    return shifts


def _shifted(frame: pl.DataFrame, shifts: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the ranks in `shifts`, with shifted starts."""
    with_shift = frame.join(shifts, on="rank", maintain_order="left")
    start_ns = pl.col("start_ns") + pl.col("shift")
    return with_shift.with_columns(start_ns=start_ns).drop("shift")


def _extents_of_ranks(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return one row per rank: its first start, its last end, and its number of rows."""
    start = pl.col("start_ns")
    times = [
        frame.select(
            "rank",
            start,
            end_ns=END if "duration_ns" in frame.columns else start,
        )
        for frame in frames
    ]
    by_rank = pl.concat(times).lazy().group_by("rank")
    return by_rank.agg(start.min(), pl.col("end_ns").max(), n=pl.len()).sort("rank").collect()


def place_work(
    ranges: pl.DataFrame,
    calls: pl.DataFrame,
    work: pl.DataFrame,
) -> Ranges:
    """Build the trees of ranges, and place the work of calls in them.

    All ranks are processed as one, so their times must not overlap, see `one_after_another`. Calls
    must be sorted by start.
    """
    ends = ranges.select(END).to_series()
    every_edge = pl.concat([ranges["start_ns"], ends])
    edges = every_edge.unique().sort()
    # No range opens or closes within a segment, the time between two edges. Work is summed by
    # segment first, so that further cost grows only with the number of ranges.
    launched = _launched(calls, work, edges)
    thread_and_domain = [*THREAD, "domain"]
    number = pl.int_range(pl.len(), dtype=pl.Int64)
    threads = ranges.select(thread_and_domain).unique(maintain_order=True)
    numbered_threads = threads.with_columns(thread_number=number)
    with_threads = ranges.join(
        numbered_threads,
        on=thread_and_domain,
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    # A thread's work counts once in each of its domains. Before the first moment nothing is open.
    within_edges = launched.with_row_index("row").filter(pl.col("segment") >= 0)
    asked = within_edges.join(
        numbered_threads,
        on=THREAD,
        maintain_order="left",
    )
    moments = asked.select(
        "process_id",
        thread_id="thread_number",
        start_ns=edges.gather(asked["segment"]),
        duration_ns=1,
    )
    tree_by_thread = with_threads.with_columns(thread_id="thread_number")
    nesting = nest(tree_by_thread, moments.cast(pl.Int64))
    around = as_rows(nesting.call_span)
    tree = with_threads.with_columns(
        path=_paths(with_threads["name"], as_rows(nesting.parent)),
        depth=pl.Series(nesting.depth, dtype=pl.Int64),
        self_ns=pl.Series(nesting.self_ns, dtype=pl.Int64),
    )
    in_no_range = pl.repeat(
        False,
        launched.height,
        dtype=pl.Boolean,
        eager=True,
    )
    rows_in_ranges = asked["row"].filter(around.is_not_null())
    within = in_no_range.scatter(rows_in_ranges, True)
    own_ns = attribute(around, asked["device_ns"], tree.height)
    return Ranges(
        tree,
        launched.with_columns(within=within),
        own_ns,
        edges,
    )


def _launched(
    calls: pl.DataFrame,
    work: pl.DataFrame,
    edges: pl.Series,
) -> pl.DataFrame:
    """Sum device work by the launching thread and the segment of time in which the launch began.

    A segment is the time from one of `edges` to the next. Columns:

    - THREAD
    - `segment`: index of the edge that begins the segment, -1 for time before all edges
    - `n_launches`, `device_ns`, `kernel_ns`
    - `first`, `last`: first start and last end of the work

    The rows are sorted by segment.
    """
    ids_of_calls = work.select("rank", "api_call_id")
    row = rows_of(calls["rank"], calls["api_call_id"], ids_of_calls)
    if row.null_count():
        work = work.filter(row.is_not_null())
        row = row.drop_nulls()
    first_calls = calls["start_ns"].search_sorted(edges)
    n_begun = first_calls.search_sorted(row.cast(first_calls.dtype), side="right")
    segment = n_begun.cast(pl.Int64) - 1
    thread_columns = calls.select(THREAD).get_columns()
    threads = calls.select(column.gather(row) for column in thread_columns)
    thread_number, distinct_threads = numbered(threads, THREAD)
    # Threads and segments are numbered together, because grouping by one column is faster.
    n_threads = max(distinct_threads.height, 1)
    key = segment if n_threads == 1 else segment * n_threads + thread_number.cast(pl.Int64)
    # A call that starts several kernels, copies or fills counts once, with the first. Most calls
    # start only one, which is checked first because it is faster.
    is_first = [] if is_each_once(row) else [row.is_first_distinct().alias("is_first")]
    n_launches = pl.col("is_first").sum() if is_first else pl.len()
    ns = pl.col("duration_ns")
    start_ns = pl.col("start_ns")
    end = pl.col("end")
    by_kind = (
        work.select(
            "start_ns",
            "duration_ns",
            "is_kernel",
            end=END,
        )
        .with_columns(key.alias("key"), *is_first)
        .group_by("key", "is_kernel")
        .agg(
            n_launches.cast(pl.Int64).alias("n_launches"),
            ns.sum(),
            start_ns.min(),
            end.max(),
        )
    )
    sums = by_kind.group_by("key").agg(
        pl.col("n_launches").sum(),
        device_ns=ns.sum(),
        kernel_ns=ns.filter("is_kernel").sum(),
        first=start_ns.min(),
        last=end.max(),
    )
    sums = sums.sort("key").with_columns(
        segment=pl.col("key") // n_threads,
        thread_number=pl.col("key") % n_threads,
    )
    ids_of_threads = distinct_threads[sums["thread_number"]]
    return sums.hstack(ids_of_threads.cast(dict.fromkeys(THREAD[1:], pl.Int64))).drop(
        "key", "thread_number"
    )


def _paths(names: pl.Series, parent: pl.Series) -> pl.Series:
    """Return the path to each range: the names of the ranges around it, and its own name last."""
    # Without the number in a step's mark, a range that every step opens has one path.
    without_steps = each_once(names, without_step)
    above = joined_paths(without_steps, parent, BETWEEN).gather(parent)
    words = names.cast(pl.Categorical)
    return below(above, words, BETWEEN).cast(pl.String)


def without_step(name: pl.Expr) -> pl.Expr:
    """Return the names with `*` in place of the number in a step's mark."""
    names_step = name.str.contains(STEP_NAME)
    with_star = name.str.replace(r"\d+$", "*")
    return pl.when(names_step).then(with_star).otherwise(name)
