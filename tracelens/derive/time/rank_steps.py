"""Compute each rank's times by step, its average step, and a heat map of ranks and steps."""

from collections.abc import Sequence

import polars as pl
from msgspec import Struct

from tracelens.derive.ranks.collective_wait import waits_in
from tracelens.derive.time.time_parts import TimeModel
from tracelens.schemas.results.time import IDLE_PARTS, PARTS, PROGRAM

_MOST_ROWS, _MOST_COLUMNS = 128, 500  # 128 rows of 5 pixels need no scrolling


def rank_steps(model: TimeModel) -> pl.DataFrame:
    """Return one row per rank and step with step_ns and `PART_ns` for each of PARTS.

    A rank without steps has one row, with step None. Only one device of each rank counts: the
    device with the most computing time.
    """
    device = ["rank", "device_id"]
    steps = model.by(*device, "step")
    computing = steps.group_by(device).agg(pl.col("compute_ns").sum())
    least_first = computing.sort("compute_ns", "device_id")
    busiest = least_first.group_by("rank", maintain_order=True).last()
    of_device = steps.join(
        busiest.select(device),
        on=device,
        how="semi",
        nulls_equal=True,
    )
    parts = [f"{part}_ns" for part in PARTS]
    parts_of_steps = of_device.select(
        "rank",
        "step",
        *parts,
        step_ns="window_ns",
    )
    return parts_of_steps.sort("rank", "step")


def rank_averages(model: TimeModel) -> pl.DataFrame:
    """Return the mean of each rank's `rank_steps`, and delays_ns: one row per rank.

    delays_ns is the time per step that all other ranks together lose by waiting for this rank. A
    wait counts if it begins in the program.
    """
    steps = rank_steps(model)
    means = steps.group_by("rank").agg(pl.exclude("step").mean(), n=pl.len())
    in_program = model.phases.filter(pl.col("phase") == PROGRAM)
    waits = waits_in(model.trace, in_program)
    delays = waits.rename({"awaited_rank": "rank", "exposed_ns": "delays_ns"})
    with_delays = means.join(delays, on="rank", how="left")
    all_delays_ns = pl.col("delays_ns").fill_null(0)
    per_step = with_delays.with_columns(delays_ns=all_delays_ns / pl.col("n"))
    return per_step.drop("n").sort("rank")


def ranks_to_draw(model: TimeModel) -> list[int]:
    """Return the rank that loses most by waiting, the rank it waits for, and the median rank.

    The list is empty if no rank waits for another.
    """
    pairs = model.waits.sort(
        "exposed_ns",
        "rank",
        "awaited_rank",
        descending=[True, False, False],
    )
    by_rank = pairs.group_by("rank").agg(
        pl.col("exposed_ns").sum(),
        pl.col("awaited_rank").first(),
    )
    if by_rank.is_empty():
        return []
    losses = by_rank.sort("exposed_ns", "rank", descending=[True, False])
    worst = losses["rank"][0]
    awaited = losses["awaited_rank"][0]
    median = losses["rank"][losses.height // 2]
    return [*dict.fromkeys((worst, awaited, median))]


class HeatMap(Struct, frozen=True):
    """Holds the times of ranks (rows) and steps (columns)."""

    ranks: list[str]
    """Labels of rows."""
    steps: list[str]
    """Labels of columns."""
    cells: pl.DataFrame
    """Columns: row, column, step_ns, waiting_ns, compute_ns, idle_ns, and cause.

    `cause` is the cause of most idle time, or None. If a cell covers several ranks or steps, each
    time in the cell is the maximum over these ranks and steps.
    """


def heat_map(
    model: TimeModel, most_rows: int = _MOST_ROWS, most_columns: int = _MOST_COLUMNS
) -> HeatMap | None:
    """Return the times of all ranks and steps, None with only one rank or without steps."""
    if len(model.trace.manifest.ranks) < 2:
        return None
    steps = rank_steps(model).drop_nulls("step")
    if steps.is_empty():
        return None
    awaited = ranks_to_draw(model)[1:2]
    # The rank that the others wait for waits least. In a row with other ranks, it would be hidden.
    rows = _groups(steps["rank"], most_rows, alone=awaited)
    columns = _groups(steps["step"], most_columns)
    causes = [f"{cause}_ns" for cause in IDLE_PARTS]
    longest = pl.col("step_ns", "waiting_ns", "compute_ns", "idle_ns").max()
    cells = (
        steps.with_columns(idle_ns=pl.sum_horizontal(causes))
        .group_by(
            row=_number_of("rank", rows),
            column=_number_of("step", columns),
        )
        .agg(longest, pl.col(causes).sum())
    )
    longest_cause = pl.concat_list(causes).list.arg_max()
    cause = longest_cause.replace_strict(
        dict(enumerate(IDLE_PARTS)),
        return_dtype=pl.String,
    )
    is_idle = pl.sum_horizontal(causes) > 0
    with_cause = cells.with_columns(cause=pl.when(is_idle).then(cause)).drop(causes)
    return HeatMap(
        [_label(group) for group in rows],
        [_label(group) for group in columns],
        with_cause.sort("row", "column"),
    )


def _groups(
    values: pl.Series,
    most: int,
    alone: Sequence[int] = (),
) -> list[list[int]]:
    """Split the sorted distinct values into groups of equal size; values in `alone` stay alone.

    There are at most `most` groups, plus two for each value in `alone`.
    """
    distinct = values.unique().sort().to_list()
    size = -(-len(distinct) // most)
    groups: list[list[int]] = []
    for value in distinct:
        is_full = not groups or len(groups[-1]) == size
        if is_full or value in alone or groups[-1][0] in alone:
            groups.append([])
        groups[-1].append(value)
    return groups


def _number_of(column: str, groups: Sequence[Sequence[int]]) -> pl.Expr:
    """Return the number of the group that contains the column's value."""
    numbers = {value: number for number, group in enumerate(groups) for value in group}
    return pl.col(column).replace_strict(numbers, return_dtype=pl.Int64)


def _label(group: Sequence[int]) -> str:
    return f"{group[0]} to {group[-1]}" if len(group) > 1 else str(group[0])
