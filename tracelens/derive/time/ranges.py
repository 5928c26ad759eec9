"""Annotations and NVTX ranges as trees by thread and domain, and the device work launched in each.

A piece of work belongs to the ranges that were open, on the thread of the call that started it, when the call began.
The moments at which ranges start or end cut time into segments within which no range opens or closes: work is summed by
segment first, and each range is then a run of segments, so that further cost grows with the number of ranges alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from tracelens.derive.columns.distinct import each_once
from tracelens.derive.columns.intervals import END
from tracelens.derive.columns.lookup import is_each_once, numbered, rows_of
from tracelens.derive.events.ancestry import below, joined_paths
from tracelens.derive.events.nesting import nest
from tracelens.derive.events.nesting_walk import as_rows
from tracelens.derive.events.steps import STEP_NAME
from tracelens.derive.time.charging import charge
from tracelens.schemas import DEVICE_WORK
from tracelens.trace import Trace

LANE = ["process_id", "thread_id"]
BETWEEN = " > "


@dataclass(frozen=True, slots=True)
class Ranges:
    """Ranges of one rank and the work launched on each thread.

    `tree` has a row a range: process_id, thread_id, domain, name, path, depth, start_ns, duration_ns, self_ns.
    `launched` has the work by thread and segment, from `_launched`, and whether it was `within` any range. `own_ns` is,
    for each range of the tree, the device time of the work whose innermost range of its domain it is; `edges` are the
    moments at which any range starts or ends.
    """

    tree: pl.DataFrame
    launched: pl.DataFrame
    own_ns: pl.Series
    edges: pl.Series


def read_ranges(trace: Trace) -> pl.DataFrame:
    """rank, process_id, thread_id, domain (null: the default one), name, start_ns and duration_ns of every range.

    Marks, which have no duration, are left out.
    """
    columns = ["rank", "name", "start_ns", "duration_ns", *LANE]
    found = trace.select("spans", *columns, "kind", "category", where=pl.col("kind").is_in(["annotation", "nvtx"]))
    category = pl.when(pl.col("kind") == "nvtx").then(pl.col("category").cast(pl.String)).fill_null("")
    # A domain other than the default one stands behind the kind of range: push_pop NCCL.
    domain = category.str.extract(r"^\S+ (.+)$").alias("domain")
    return found.filter(~category.str.contains(r"^mark( |$)")).select(*columns, domain).cast({"name": pl.String})


def read_calls(trace: Trace) -> pl.DataFrame:
    """rank, api_call_id, start_ns, process_id and thread_id of calls by start."""
    calls = trace.select("api_calls", "rank", "api_call_id", "start_ns", *LANE)
    return calls if calls["start_ns"].is_sorted() else calls.sort("start_ns", maintain_order=True)


def read_work(trace: Trace) -> pl.DataFrame:
    """rank, start_ns, duration_ns, api_call_id and is_kernel of kernels, copies and fills by start."""
    columns = ("rank", "start_ns", "duration_ns", "api_call_id")
    parts = [trace.select(name, *columns).with_columns(is_kernel=pl.lit(name == "kernels")) for name in DEVICE_WORK]
    kernels, *others = (part if part["start_ns"].is_sorted() else part.sort("start_ns") for part in parts)
    return kernels.merge_sorted(pl.concat(others).sort("start_ns"), key="start_ns")


def place_work(ranges: pl.DataFrame, calls: pl.DataFrame, work: pl.DataFrame) -> Ranges:
    """The ranges of one rank as trees, and its calls' work placed in them."""
    edges = pl.concat([ranges["start_ns"], ranges.select(END).to_series()]).unique().sort()
    launched = _launched(calls, work, edges)
    lanes = ranges.select(*LANE, "domain").unique(maintain_order=True)
    lanes = lanes.with_columns(lane=pl.int_range(pl.len(), dtype=pl.Int64))
    tree = ranges.join(lanes, on=[*LANE, "domain"], how="left", nulls_equal=True, maintain_order="left")
    # A thread's work is placed once in each of its domains; before the first moment nothing is open.
    asked = launched.with_row_index("row").filter(pl.col("segment") >= 0).join(lanes, on=LANE, maintain_order="left")
    moments = asked.select("process_id", thread_id="lane", start_ns=edges.gather(asked["segment"]), duration_ns=1)
    found = nest(tree.with_columns(thread_id="lane"), moments.cast(pl.Int64))
    parent, around = as_rows(found.parent), as_rows(found.call_span)
    tree = tree.with_columns(
        path=_paths(tree["name"], parent),
        depth=pl.Series(found.depth, dtype=pl.Int64),
        self_ns=pl.Series(found.self_ns, dtype=pl.Int64),
    )
    within = pl.repeat(False, launched.height, dtype=pl.Boolean, eager=True)
    within = within.scatter(asked["row"].filter(around.is_not_null()), True)
    own_ns = charge(around, asked["device_ns"], tree.height)
    return Ranges(tree, launched.with_columns(within=within), own_ns, edges)


def _launched(calls: pl.DataFrame, work: pl.DataFrame, edges: pl.Series) -> pl.DataFrame:
    """Work by thread and segment of its call, by segment: n_launches, device_ns, kernel_ns, first, last.

    A segment is the index of its first moment in `edges`, -1 for time before all of them.
    """
    row = rows_of(calls["rank"], calls["api_call_id"], work.select("rank", "api_call_id"))
    if row.null_count():
        work, row = work.filter(row.is_not_null()), row.drop_nulls()
    begins = calls["start_ns"].search_sorted(edges)  # the call that is the first of each segment
    segment = begins.search_sorted(row.cast(begins.dtype), side="right").cast(pl.Int64) - 1
    threads = calls.select(column.gather(row) for column in calls.select(LANE).get_columns())
    lane, lanes = numbered(threads, LANE)
    n_lanes = max(lanes.height, 1)
    key = segment if n_lanes == 1 else segment * n_lanes + lane.cast(pl.Int64)
    # One piece of a call's work stands for the call; mostly each call has one, which is checked sooner.
    stands = [] if is_each_once(row) else [row.is_first_distinct().alias("stands")]
    n_launches = pl.col("stands").sum() if stands else pl.len()
    ns = pl.col("duration_ns")
    sums = (
        work.select("start_ns", "duration_ns", "is_kernel", end=END)
        .with_columns(key.alias("key"), *stands)
        .group_by("key", "is_kernel")
        .agg(n_launches.cast(pl.Int64).alias("n_launches"), ns.sum(), pl.col("start_ns").min(), pl.col("end").max())
    )
    together = sums.group_by("key").agg(
        pl.col("n_launches").sum(),
        device_ns=ns.sum(),
        kernel_ns=ns.filter("is_kernel").sum(),
        first=pl.col("start_ns").min(),
        last=pl.col("end").max(),
    )
    together = together.sort("key").with_columns(segment=pl.col("key") // n_lanes, lane=pl.col("key") % n_lanes)
    return together.hstack(lanes[together["lane"]].cast(pl.Int64)).drop("key", "lane")


def sums_of_ranges(ranges: Ranges) -> pl.DataFrame:
    """For each range n_launches, device_ns and kernel_ns of its thread's work, projected_ns, and others_ns.

    projected_ns is the time from the first start to the last end of the work; others_ns is the device time of work that
    other threads of the process launched while the range was open.
    """
    begin, end = (ranges.edges.search_sorted(ranges.tree.select(edge).to_series()) for edge in ("start_ns", END))
    runs = ranges.tree.select(*LANE, begin=begin, end=end).with_row_index("row")
    found = []
    for (process,), part in runs.group_by("process_id", maintain_order=True):
        launched = ranges.launched.filter(pl.col("process_id") == process)
        together = launched.group_by("segment", maintain_order=True).agg(pl.col("device_ns").sum())
        everyone = part.with_columns(_run_sums(together, part, ["device_ns"]))
        for (thread,), own in everyone.group_by("thread_id", maintain_order=True):
            of_thread = launched.filter(pl.col("thread_id") == thread)
            sums = _run_sums(of_thread, own, ["n_launches", "device_ns", "kernel_ns"])
            others = (own["device_ns"] - sums["device_ns"]).alias("others_ns")
            found.append(sums.with_columns(own["row"], _run_extent(of_thread, own), others))
    return pl.concat(found).sort("row").drop("row")


def _run_sums(launched: pl.DataFrame, runs: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """The sums of columns over each run of segments, from `begin` up to `end`."""
    begin, end = _bounds(launched, runs)
    sums = []
    for column in columns:
        until = pl.concat([pl.Series(column, [0], pl.Int64), launched[column].cum_sum().cast(pl.Int64)])
        sums.append(until.gather(end) - until.gather(begin))
    return pl.DataFrame(sums)


def _run_extent(launched: pl.DataFrame, runs: pl.DataFrame) -> pl.Series:
    """The time from the least `first` to the greatest `last` in each run of segments, 0 for an empty run.

    Least and greatest are found for blocks of 2, 4, 8 … segments; two such blocks cover any run.
    """
    begin, end = _bounds(launched, runs)
    extent = pl.repeat(0, runs.height, dtype=pl.Int64, eager=True).alias("projected_ns")
    first, last = launched["first"], launched["last"]
    length, size = end - begin, 1
    longest = length.max()
    while isinstance(longest, int) and size <= longest:
        rows = ((length >= size) & (length < 2 * size)).arg_true()
        left, right = begin.gather(rows), end.gather(rows) - size
        begins = pl.DataFrame({"a": first.gather(left), "b": first.gather(right)}).min_horizontal()
        ends = pl.DataFrame({"a": last.gather(left), "b": last.gather(right)}).max_horizontal()
        extent = extent.scatter(rows, ends - begins)
        first = pl.DataFrame({"a": first, "b": first.shift(-size)}).min_horizontal()
        last = pl.DataFrame({"a": last, "b": last.shift(-size)}).max_horizontal()
        size *= 2
    return extent


def _bounds(launched: pl.DataFrame, runs: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """The rows of work (by segment) with which each run begins and before which it ends."""
    begin, end = (launched["segment"].search_sorted(runs[edge]).cast(pl.Int64) for edge in ("begin", "end"))
    return begin, end


def _paths(names: pl.Series, parent: pl.Series) -> pl.Series:
    """The names of the ranges around each and its own, outermost first.

    Marks of steps lose their number in the paths of others, so that a range in every step has one path.
    """
    above = joined_paths(each_once(names, _without_step), parent, BETWEEN).gather(parent)
    return below(above, names.cast(pl.Categorical), BETWEEN).cast(pl.String)


def _without_step(name: pl.Expr) -> pl.Expr:
    return pl.when(name.str.contains(STEP_NAME)).then(name.str.replace(r"\d+$", "*")).otherwise(name)
