"""Sum time and device work by the program's own annotations and NVTX ranges."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import polars as pl

from tracelens.analyses.analysis import Analysis, Bars, Chart, Parallel, named
from tracelens.derive.columns.intervals import END, covered_by, union
from tracelens.derive.columns.lookup import by_value, numbered
from tracelens.derive.columns.time_text import duration
from tracelens.derive.events.steps import STEP_NAME
from tracelens.derive.time.ranges import (
    THREAD,
    Ranges,
    by_start,
    one_after_another,
    open_at_end,
    place_work,
    read_calls,
    read_ranges,
    read_work,
)
from tracelens.errors import MissingTableError
from tracelens.schemas import DEVICE_WORK
from tracelens.schemas.results.calls import TIME_BY_RANGE
from tracelens.trace import Trace

_FIRST_NAMES = 3
OUTSIDE = "(outside of ranges)"
_KEY = [*THREAD, "domain", "path"]


def time_by_range(trace: Trace) -> pl.DataFrame:
    """Sum device work by ranges: one row per rank, thread, domain and path of ranges.

    Work belongs to the ranges that were open on the launching thread when the call began, as in
    nsys's nvtx_kern_sum and nvtx_gpu_proj_sum. Each thread has one more row for work launched
    outside of ranges. Rows are sorted by rank, then by device time, longest first. Ranges that mark
    a step come last. Raises MissingTableError without annotations and NVTX ranges.
    """
    trace.require("time_by_range", "spans")
    with ThreadPoolExecutor(1) as pool:  # both decode columns, each mostly on one core
        others = pool.submit(lambda: (read_calls(trace), read_work(trace)))
        ranges = read_ranges(trace)
        calls, work = others.result()
    if ranges.is_empty():
        raise MissingTableError(
            "time_by_range needs annotations or NVTX ranges, and this trace has none; mark parts of"
            " the program with torch.profiler.record_function (tracelens collect torch) or"
            " torch.cuda.nvtx.range (tracelens collect nsys)"
        )
    times = []
    for part_ranges, of_calls, *parts in one_after_another(ranges, calls, *work):
        part_work = by_start(*parts)
        placed = place_work(part_ranges, by_start(of_calls), part_work)
        times += [_rows_of_ranges(placed, part_work), _rows_outside(placed)]
    is_step = pl.col("name").str.contains(STEP_NAME).fill_null(value=False)
    order = {
        "rank": False,
        "is_step": False,
        "device_total_ns": True,
        "host_total_ns": True,
    } | dict.fromkeys(("path", "domain", *THREAD), False)
    frame = pl.concat(times, how="diagonal").with_columns(is_step=is_step)
    return TIME_BY_RANGE.conform(frame.sort(*order, descending=list(order.values())))


def _rows_of_ranges(ranges: Ranges, work: pl.DataFrame) -> pl.DataFrame:
    """Return one row per path: its ranges' time, the work launched in these, and idle_ns.

    idle_ns is the time in which no device of the rank works; None on a rank without device work.
    """
    working, open_ranges = (frame.select("start_ns", end_ns=END) for frame in (work, ranges.tree))
    idle = ranges.tree["duration_ns"] - covered_by(union(working), open_ranges)
    each = ranges.tree.hstack(_sums_of_ranges(ranges)).with_columns(
        own_ns=ranges.own_ns, idle_ns=idle
    )
    total = {
        "host_total_ns": "duration_ns",
        "host_own_ns": "self_ns",
        "n_launches": "n_launches",
        "device_total_ns": "device_ns",
        "device_own_ns": "own_ns",
        "kernel_total_ns": "kernel_ns",
        "projected_ns": "projected_ns",
        "other_threads_ns": "others_ns",
        "idle_ns": "idle_ns",
    }
    rows = each.group_by(_KEY).agg(
        pl.col("name", "depth").first(),
        pl.len().cast(pl.Int64).alias("n_calls"),
        **{name: pl.col(column).sum() for name, column in total.items()},
    )
    return rows.with_columns(
        idle_ns=pl.when(pl.col("rank").is_in(work["rank"].unique().implode())).then("idle_ns")
    )


def _sums_of_ranges(ranges: Ranges) -> pl.DataFrame:
    """Sum the work that was launched in each range.

    - n_launches, device_ns, kernel_ns: work of the range's thread
    - projected_ns: from the first start to the last end of this work
    - others_ns: device time of work that other threads of the process launched meanwhile
    """
    work, begin, end = _runs(ranges, THREAD)
    sums = _run_sums(
        work,
        begin,
        end,
        ["n_launches", "device_ns", "kernel_ns"],
    )
    runs = _runs(ranges, THREAD[:-1])
    together = _run_sums(*runs, ["device_ns"])
    others = (together["device_ns"] - sums["device_ns"]).alias("others_ns")
    return sums.with_columns(_run_extent(work, begin, end), others)


def _runs(ranges: Ranges, key: Sequence[str]) -> tuple[pl.DataFrame, pl.Series, pl.Series]:
    """Sort the launched work so that the rows of each range are consecutive.

    Return the sorted work, the first row of each range, and the row after its last.
    """
    # One number codes a group and a segment. Segments begin at -1.
    n_segments = len(ranges.edges) + 1
    group, groups = numbered(ranges.launched.select(key), key)
    first_number_of_group = group.cast(pl.Int64) * n_segments
    range_number = first_number_of_group + pl.col("segment") + 1
    work = ranges.launched.with_columns(range_number=range_number).sort("range_number")
    first_number = _group_of_ranges(ranges, groups, key) * n_segments + 1

    def first_row(moments: pl.Series) -> pl.Series:
        segment = ranges.edges.search_sorted(moments).cast(pl.Int64)
        rows = work["range_number"].search_sorted(first_number + segment)
        return rows.cast(pl.Int64)

    starts = ranges.tree["start_ns"]
    ends = ranges.tree.select(END).to_series()
    return work, first_row(starts), first_row(ends)


def _group_of_ranges(ranges: Ranges, groups: pl.DataFrame, key: Sequence[str]) -> pl.Series:
    """Return, for each range, the index of its group in `groups`.

    The index is `groups.height` if the range's group launched no work.
    """
    number = pl.int_range(pl.len(), dtype=pl.Int64)
    group_numbers = groups.with_columns(number=number)
    keys = ranges.tree.select(key)
    of_ranges = keys.join(
        group_numbers,
        on=key,
        how="left",
        maintain_order="left",
    )
    return of_ranges["number"].fill_null(groups.height)


def _run_sums(
    launched: pl.DataFrame,
    begin: pl.Series,
    end: pl.Series,
    columns: Sequence[str],
) -> pl.DataFrame:
    """Return the sums of columns over each run of rows, from `begin` up to but without `end`."""
    sums = []
    for column in columns:
        until = pl.concat(
            [
                pl.Series(column, [0], pl.Int64),
                launched[column].cum_sum().cast(pl.Int64),
            ]
        )
        sums.append(until.gather(end) - until.gather(begin))
    return pl.DataFrame(sums)


def _run_extent(
    launched: pl.DataFrame,
    begin: pl.Series,
    end: pl.Series,
) -> pl.Series:
    """Return the time from the least `first` to the greatest `last` in each run of rows.

    It is 0 for an empty run.
    """
    no_extent = pl.repeat(
        0,
        len(begin),
        dtype=pl.Int64,
        eager=True,
    )
    extent = no_extent.alias("projected_ns")
    # A sparse table: least and greatest of blocks of 1, 2, 4, 8 … rows. Two such blocks cover any
    # run.
    first = launched["first"]
    last = launched["last"]
    length = end - begin
    size = 1
    longest = length.max()
    while isinstance(longest, int) and size <= longest:
        is_of_size = (length >= size) & (length < 2 * size)
        runs = is_of_size.arg_true()
        left_block = begin.gather(runs)
        right_block = end.gather(runs) - size
        least = _lesser(first.gather(left_block), first.gather(right_block))
        greatest = _greater(last.gather(left_block), last.gather(right_block))
        extent = extent.scatter(runs, greatest - least)
        first = _lesser(first, first.shift(-size))
        last = _greater(last, last.shift(-size))
        size *= 2
    return extent


def _lesser(left: pl.Series, right: pl.Series) -> pl.Series:
    return pl.DataFrame({"left": left, "right": right}).min_horizontal()


def _greater(left: pl.Series, right: pl.Series) -> pl.Series:
    return pl.DataFrame({"left": left, "right": right}).max_horizontal()


def _rows_outside(ranges: Ranges) -> pl.DataFrame:
    """Return one row per thread that launched work outside of any range."""
    outside = ranges.launched.filter(~pl.col("within"))
    nothing = (
        "depth",
        "n_calls",
        "host_total_ns",
        "host_own_ns",
        "projected_ns",
        "other_threads_ns",
    )
    rows = outside.group_by(THREAD).agg(
        pl.lit(OUTSIDE).alias("path"),
        pl.col("n_launches").sum(),
        device_total_ns=pl.col("device_ns").sum(),
        device_own_ns=pl.col("device_ns").sum(),
        kernel_total_ns=pl.col("kernel_ns").sum(),
    )
    return rows.with_columns(pl.lit(0, pl.Int64).alias(column) for column in nothing)


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:
    """Say how much work was launched inside ranges, and name the range with most of the work.

    Also name ranges that were still open when the recording ended.
    """
    ns = pl.col("duration_ns")
    work = pl.concat(
        trace.select(name, "rank", "api_call_id", "duration_ns") for name in DEVICE_WORK
    )
    sums = work.group_by("rank").agg(
        ns.sum(),
        unlinked=ns.filter(pl.col("api_call_id").is_null()).sum(),
    )
    sentences, by_rank = _describe_open_ranges(trace), dict(by_value(frame, "rank"))
    for rank, total, unlinked in sums.filter(ns > 0).sort("rank").iter_rows():
        rank_rows = by_rank.get(rank, frame.clear())
        rows = rank_rows.filter(pl.col("path") != OUTSIDE)
        outside = rank_rows.filter(pl.col("path") == OUTSIDE)["device_total_ns"].sum()
        inside = total - unlinked - outside
        sentence = (
            f"Rank {rank}: {inside / total:.1%} of {duration(total)} of device work was"
            " launched inside ranges"
        )
        top = rows.sort("device_own_ns", descending=True, maintain_order=True).head(1)
        if inside:
            sentence += (
                f", most of it directly in {top['path'].item()}"
                f" ({top['device_own_ns'].item() / total:.1%})"
            )
        sentences.append(f"{sentence}.")
        if unlinked:
            sentences.append(
                f"{unlinked / total:.1%} of it has no launching call here, so no range can have it."
            )
        waited = rows.filter(pl.col("other_threads_ns") > pl.col("device_total_ns"))
        waited = waited.sort("other_threads_ns", descending=True, maintain_order=True)
        if waited.height:
            path, others = waited.select("path", "other_threads_ns").row(0)
            sentences.append(
                f"While {path} was open, other threads of its process launched"
                f" {duration(others)} of device work, more than its own thread did: autograd, for"
                " one, runs the backward pass on threads of its own."
            )
    return sentences


def _describe_open_ranges(trace: Trace) -> list[str]:
    """Name the ranges that were open when the recording ended."""
    columns = (*THREAD, "kind", "name", "start_ns", "duration_ns")
    annotations = trace.select(
        "spans",
        *columns,
        where=pl.col("kind") == "annotation",
    )
    names = annotations["name"].gather(open_at_end(annotations)["row"])
    if not len(names):
        return []
    distinct = names.cast(pl.String).unique(maintain_order=True).head(_FIRST_NAMES)
    return [
        f"{len(names):,} ranges were open when the recording ended, and count until then:"
        f" {', '.join(distinct)}."
        if len(names) > 1
        else f"{distinct[0]} was open when the recording ended, and counts until then."
    ]


def _charts(frame: pl.DataFrame) -> list[Chart]:
    names = named(frame, "domain", "path")
    if not frame["device_own_ns"].sum():
        return [Bars("Host time directly in each range", frame, names, "host_own_ns")]
    return [Bars("Device time launched directly in each range", frame, names, "device_own_ns")]


ANALYSIS = Analysis(
    "Where do the program's own annotations say the time goes?",
    TIME_BY_RANGE,
    time_by_range,
    notes=notes,
    shown=(
        "rank",
        "path",
        "domain",
        "n_calls",
        "host_total_ns",
        "device_total_ns",
        "device_own_ns",
        "projected_ns",
        "idle_ns",
        "other_threads_ns",
        "host_own_ns",
        "n_launches",
    ),
    charts=_charts,
    parallel=Parallel.BY_RANK,
)
