"""Look up rows by rank, id or time, and number or gather groups."""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from tracelens.derive.columns.filling import repeated

AT_ONCE = 1 << 17
"""Number of ids that are compared with their row numbers at a time.

Comparing all at once would take longer, because allocating memory is slower than comparing.
"""
_FEW = 3
"""Up to this number of distinct values, filtering for each is faster than partitioning."""
_ROWS_AT_ONCE = 1 << 19
"""Small ranks are read together up to this number of rows."""


def by_value(frame: pl.DataFrame, column: str) -> Iterator[tuple[int, pl.DataFrame]]:
    """Yield each distinct value of the column with its rows, in ascending order.

    Rows that are already sorted by the column are not copied.
    """
    values = frame[column]
    if not values.is_sorted():
        distinct = values.unique()
        if len(distinct) <= _FEW:
            for value in distinct.sort():
                yield int(value), frame.filter(values == value)
            return
        parts = frame.partition_by(column, as_dict=True)
        for key in sorted(parts):
            (value,) = key
            yield int(value), parts[key]
        return
    first = 0
    if frame.height and values[0] == values[-1]:  # usually there is one value
        yield int(values[0]), frame
        return
    runs = values.rle().struct.unnest()
    for n, value in runs.iter_rows():
        yield int(value), frame.slice(first, n)
        first += n


def by_start(events: pl.DataFrame) -> pl.DataFrame:
    """Return the events sorted by start."""
    # Most tables are sorted already, and checking that takes a tenth of the time of sorting.
    starts = events["start_ns"]
    if starts.is_sorted():
        return events
    return events.sort("start_ns")


def small_ranks_together(heights: Mapping[int, int]) -> Iterator[list[int]]:
    """Yield groups of ranks that have at most _ROWS_AT_ONCE rows together.

    `heights` has the number of rows by rank. A rank with more rows is a group of its own.
    """
    # A query takes at least 0.1 ms, so reading a thousand small ranks one by one takes long.
    group, n_rows = list[int](), 0
    for rank, n in heights.items():
        if group and n_rows + n > _ROWS_AT_ONCE:
            yield group
            group, n_rows = [], 0
        group.append(rank)
        n_rows += n
    if group:
        yield group


def rows_of(
    rank: pl.Series,
    ids: pl.Series,
    wanted: pl.DataFrame,
) -> pl.Series:
    """Return the row number of each wanted (rank, id), None if the table has no such row.

    `rank` and `ids` are the table's columns.
    """
    name_of_rank, name_of_id = wanted.columns
    asked = wanted.rename({name_of_rank: "rank", name_of_id: "id"})
    # Ids of collected tables count each rank's rows from 0. Computing row numbers from them takes a
    # tenth of a join's time.
    runs = _runs_of_ranks(rank)
    if not _ids_are_rows(runs, ids):
        table = pl.DataFrame({"rank": rank, "id": ids})
        return _joined_rows(table, asked)
    if runs.height > 1:
        in_runs = asked.join(
            runs,
            on="rank",
            how="left",
            maintain_order="left",
        )
        return _row_in_run(in_runs)
    only_rank, n_rows, first = runs.row(0)
    ids_asked = asked["id"]
    is_of_rank = asked["rank"] == only_rank
    is_row = ids_asked.is_between(0, n_rows - 1)
    is_there = is_of_rank & is_row
    if is_there.all():
        return ids_asked.cast(pl.Int64).alias("row")
    is_rank = pl.col("rank") == only_rank
    n_rows_of_rank = pl.when(is_rank).then(n_rows)
    in_one_run = asked.with_columns(n=n_rows_of_rank, first=pl.lit(first))
    return _row_in_run(in_one_run)


def _joined_rows(table: pl.DataFrame, asked: pl.DataFrame) -> pl.Series:
    """Return the row number of each asked (rank, id) by a join, for a table with any ids."""
    lowest = asked["id"].min()
    highest = asked["id"].max()
    # Callers ask for parts of a large table, mostly in its order, so other ids are left out first.
    is_near = pl.col("id").is_between(lowest, highest)
    rows = table.with_row_index("row").filter(is_near)
    joined = asked.join(
        rows,
        on=["rank", "id"],
        how="left",
        maintain_order="left",
    )
    return joined["row"].cast(pl.Int64)


def _runs_of_ranks(rank: pl.Series) -> pl.DataFrame:
    """Return the runs of equal ranks: rank, n (number of rows), first (number of the first row)."""
    runs = rank.rle().struct.unnest()
    n_rows = pl.col("len").cast(pl.Int64)
    return runs.select(
        rank="value",
        n=n_rows,
        first=n_rows.cum_sum() - n_rows,
    )


def _ids_are_rows(runs: pl.DataFrame, ids: pl.Series) -> bool:
    """Return whether each rank's rows are contiguous, and their ids count from 0."""
    ranks = runs["rank"]
    if ranks.is_empty() or ranks.is_duplicated().any():
        return False
    bounds = runs.select("first", "n")
    parts = (ids.slice(*bound) for bound in bounds.iter_rows())
    return all(map(are_rows, parts))


def _row_in_run(wanted: pl.DataFrame) -> pl.Series:
    """Return the row number of each wanted id, None for an id that its rank does not have.

    `wanted` has id, n (the number of the rank's rows) and first (the rank's first row).
    """
    number = pl.col("id")
    n_rows = pl.col("n")
    is_there = (number >= 0) & (number < n_rows)
    row_of_rank = number + pl.col("first")
    row = pl.when(is_there).then(row_of_rank)
    return wanted.select(row=row).to_series()


def are_rows(ids: pl.Series) -> bool:
    """Return whether each id is the number of its row: 0, 1, 2 and so on."""
    for first in range(0, len(ids), AT_ONCE):
        part = ids.slice(first, AT_ONCE)
        after_last = first + len(part)
        numbers = pl.int_range(first, after_last, eager=True)
        is_row = part == numbers
        if not is_row.all():
            return False
    return True


def last_before(starts: pl.Series, moments: pl.Series) -> pl.Series:
    """Return, for each moment, the row of the last start at or before it.

    Starts are sorted. The result is None for a moment before the first start.
    """
    n_begun = starts.search_sorted(moments, side="right")
    rows = n_begun.cast(pl.Int64) - 1
    return rows.set(rows < 0, None)


def is_each_once(rows: pl.Series) -> bool:
    """Return whether all row numbers are different; None is not allowed."""
    highest = rows.max()
    if not isinstance(highest, int):
        return True
    # Marking a million rows in an array takes 5 ms, `n_unique` takes 30 ms.
    unmarked = repeated(0, highest + 1, pl.UInt8)
    n_different = unmarked.scatter(rows, 1).sum()
    return bool(n_different == len(rows))


def numbered(frame: pl.DataFrame, keys: Sequence[str]) -> tuple[pl.Series, pl.DataFrame]:
    """Return each row's group number, and a frame with the keys of each group.

    Rows with equal keys are a group. Groups are numbered in the order of their keys.
    """
    zeros = repeated(0, frame.height, pl.UInt32)
    keys_of_rows = frame.select(keys)
    if _are_all_equal(keys_of_rows):
        return zeros, keys_of_rows.head(1)
    with_rows = keys_of_rows.lazy().with_row_index("_row")
    by_key = with_rows.group_by(keys).agg("_row").sort(keys)
    groups = by_key.with_row_index("_number").collect()
    # Aggregating lists of rows takes a fifth of the time of joining rows with groups.
    members = groups.select("_number", "_row").explode("_row")
    numbers = zeros.scatter(members["_row"], members["_number"])
    keys_of_groups = groups.drop("_number", "_row")
    return numbers.alias("_number"), keys_of_groups


def _are_all_equal(frame: pl.DataFrame) -> bool:
    """Return whether all rows are equal."""
    columns = pl.all()
    equals_first = columns.eq_missing(columns.first())
    is_one_group = pl.all_horizontal(equals_first.all())
    return bool(frame.select(is_one_group).item())
