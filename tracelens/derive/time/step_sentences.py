"""Describe in words each rank's step time, and the time that percentages refer to."""

from typing import Any

import polars as pl

from tracelens.derive.columns.time_text import duration, span_text
from tracelens.derive.time.time_parts import (
    SAME,
    RankTime,
    TimeModel,
    differs,
    rank_times,
    step_times,
)

_ROUNDED = 0.005
"""Notes give both the mean and the median step if they differ by more than this share."""
_MANY_RANKS = 4


def step_sentences(model: TimeModel) -> list[str]:
    """Describe the time of a step and its variation, one sentence per rank.

    If there are many ranks, the result is one sentence about all ranks.
    """
    times = step_times(model)
    if times.height <= _MANY_RANKS:
        several = len(model.trace.manifest.ranks) > 1
        ranks = {rank.rank: rank for rank in rank_times(model)}
        return [
            _sentence(
                f"Rank {row['rank']}: a" if several else "A",
                row,
                ranks.get(row["rank"]),
            )
            for row in times.iter_rows(named=True)
        ]
    median_ns = pl.col("median_ns")
    low, middle, high, mark = times.select(
        low=median_ns.min(),
        middle=median_ns.median(),
        high=median_ns.max(),
        mark=pl.col("mark_ns").median(),
    ).row(0)
    spread = span_text(low, high)
    words = f"A step takes {duration(middle)} in the median of {times.height} ranks"
    return [f"{words} ({spread}){_beside_mark(middle, mark)}."]


def _spread(low_ns: int, high_ns: int) -> str:
    is_even = duration(low_ns) == duration(high_ns)
    return ", all alike" if is_even else f"; {span_text(low_ns, high_ns)}"


def _beside_mark(
    median: float,
    mark: float | None,
    *,
    is_process: bool = False,
) -> str:
    """Describe the length of the range that marks a step on the host, if the step's length differs.

    `median` is the step's length, and `mark` the range's length. The step lasts until its device
    work ends, or its last op if `is_process` is True.
    """
    if mark is None or not differs(median, mark):
        return ""
    until = "its last op is over" if is_process else "the device has done the step's work"
    return f", until {until}; the range that marks it on the host is {duration(mark)} long"


def _sentence(
    subject: str,
    row: dict[str, Any],
    rank: RankTime | None,
) -> str:
    """Describe a rank's step time, and the mean step if percentages refer to it.

    `row` is a row of `step_times`.
    """
    words = f"{subject} step takes {duration(row['median_ns'])}"
    is_process = rank is not None and rank.is_process
    beside = _beside_mark(
        row["median_ns"],
        row["mark_ns"],
        is_process=is_process,
    )
    if row["n_steps"] == 1:
        return f"{words}{beside}; there is only one, so it is unknown how much steps vary."
    spread = f"median of {row['n_steps']}{_spread(row['low_ns'], row['high_ns'])}"
    judged = None if rank is None else rank.judged_step_ns
    shares = ""
    if judged is not None and abs(judged - row["median_ns"]) > _ROUNDED * judged:
        added = round(row["mean_ns"]) - judged
        own = "" if added < SAME * judged else f", without {duration(added)} that the profiler adds"
        shares = f" Percentages are of the mean step, {duration(judged)}{own}."
    return f"{words} ({spread}){beside}.{shares}"
