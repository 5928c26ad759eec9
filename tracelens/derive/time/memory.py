"""Find the step of each event of the allocator, and pair allocations with the freeing events."""

import polars as pl

from tracelens.derive.time.step_table import steps_of
from tracelens.trace import Trace

DEVICE = ("rank", "device_id")
_BLOCK = (*DEVICE, "address")


def allocator_events(trace: Trace, *more: str) -> pl.DataFrame:
    """List the allocator's events in order of time, with their step (None outside of steps).

    `more` names further columns of the table allocations.
    """
    columns = dict.fromkeys(
        (*DEVICE, "time_ns", "size_bytes", "allocated_bytes", "reserved_bytes", *more)
    )
    all_rows = trace.select("allocations", *columns)
    rows = all_rows.sort("time_ns", maintain_order=True)
    end = pl.col("start_ns") + pl.col("duration_ns")
    steps = steps_of(trace).select(
        "rank",
        "step",
        "start_ns",
        end_ns=end,
    )
    if not steps.height:
        return rows.with_columns(step=pl.lit(None, pl.Int64))
    placed = rows.join_asof(
        steps.sort("start_ns"),
        left_on="time_ns",
        right_on="start_ns",
        by="rank",
        check_sortedness=False,
    )
    is_in = pl.col("time_ns") < pl.col("end_ns")
    step_if_inside = pl.when(is_in).then("step")
    return placed.with_columns(step=step_if_inside).drop("start_ns", "end_ns")


def matched(events: pl.DataFrame) -> pl.DataFrame:
    """Pair each allocation with the event that frees it.

    `events` are in order of time. These columns are added:

    - `position`: the event's row number
    - `previous`, `following`: positions of the events before and after it at the same address
    - `partner`: position of the pair's other event, None for an event without a pair
    """
    position = pl.col("position")
    numbered = events.with_row_index("position").with_columns(position.cast(pl.Int64))
    has_address = pl.col("address").is_not_null()
    event_before = position.shift(1).over(_BLOCK)
    event_after = position.shift(-1).over(_BLOCK)
    neighbours = numbered.with_columns(
        previous=pl.when(has_address).then(event_before),
        following=pl.when(has_address).then(event_after),
    )
    sizes = neighbours["size_bytes"]
    sized = neighbours.with_columns(
        previous_bytes=sizes.gather(neighbours["previous"]),
        following_bytes=sizes.gather(neighbours["following"]),
    )
    size = pl.col("size_bytes")
    # An allocation and its following event are partners if that event frees as many bytes.
    is_freed = (size > 0) & (pl.col("following_bytes") == -size)
    frees = (size < 0) & (pl.col("previous_bytes") == -size)
    partner = pl.when(is_freed).then("following").when(frees).then("previous")
    return sized.with_columns(partner=partner).drop("previous_bytes", "following_bytes")
