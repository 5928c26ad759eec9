"""Sum the device work that is launched while each range is open."""

from collections.abc import Sequence

import polars as pl

from tracelens.derive.columns.intervals import END
from tracelens.derive.columns.lookup import numbered
from tracelens.derive.time.ranges import THREAD, Ranges


def sums_of_ranges(ranges: Ranges) -> pl.DataFrame:
    """Sum, for each range, the work of its thread and of the process's other threads.

    Columns: n_launches, device_ns and kernel_ns; projected_ns, the time from the work's first start
    to its last end; others_ns, the device time of work that other threads of the process launched
    while the range was open.
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
    """Sort the launched work by key and segment, and find the rows of each range.

    The rows of a range are consecutive. Return the sorted work, the first row of each range, and
    the row after its last.
    """
    # One number stands for a group and a segment; segments begin at -1.
    n_segments = len(ranges.edges) + 1
    group, groups = numbered(ranges.launched.select(key), key)
    first_place_of_group = group.cast(pl.Int64) * n_segments
    place = first_place_of_group + pl.col("segment") + 1
    work = ranges.launched.with_columns(place=place).sort("place")
    first_place = _group_of_ranges(ranges, groups, key) * n_segments + 1

    def first_row(moments: pl.Series) -> pl.Series:
        segment = ranges.edges.search_sorted(moments).cast(pl.Int64)
        rows = work["place"].search_sorted(first_place + segment)
        return rows.cast(pl.Int64)

    starts = ranges.tree["start_ns"]
    ends = ranges.tree.select(END).to_series()
    return work, first_row(starts), first_row(ends)


def _group_of_ranges(ranges: Ranges, groups: pl.DataFrame, key: Sequence[str]) -> pl.Series:
    """Return the number of each range's group, or `groups.height` if the group launched no work."""
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

    The time is 0 for an empty run. The algorithm is a sparse table: least and greatest are computed
    for blocks of 1, 2, 4, 8 … rows, and two such blocks cover any run.
    """
    no_extent = pl.repeat(
        0,
        len(begin),
        dtype=pl.Int64,
        eager=True,
    )
    extent = no_extent.alias("projected_ns")
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
