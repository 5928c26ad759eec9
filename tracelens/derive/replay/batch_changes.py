"""Predict another batch size: each op's device time is extrapolated from two recorded sizes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens.derive.replay.moment_graph import COPY, FILL, KERNEL, Ints, picked
from tracelens.derive.replay.replay import Replay
from tracelens.derive.replay.subject import Change, Subject
from tracelens.errors import UsageError

_USAGE = "say both batch sizes and the wanted one, as batch=16,32:64 --with OTHER"
_UNMATCHED = 0.05
"""At most this share of the device's time may be in ops that only one of the two traces has.

These ops keep their time in the replayed trace.
"""
_LEAST = 0.1
"""The least factor by which an op's device time is multiplied."""


def batch(subject: Subject, value: str | None) -> Change:
    """Predict another batch size: extrapolate the device time of each op from two recorded sizes.

    `value` is `FIRST,SECOND:WANTED`: the sizes in the replayed trace, in the other trace, and the
    size to predict. Host time stays.
    """
    first, second, wanted = _batch_sizes(value)
    if subject.other is None:
        raise UsageError(f"batch: the trace of the second batch size is not given; {_USAGE}")
    names = work_names(subject.replay)
    names_of_other = work_names(subject.other)
    times = _step_times(subject.replay, names)
    times_of_other = _step_times(subject.other, names_of_other)
    both = times.join(times_of_other, on="name", how="full", coalesce=True, suffix="_other")
    _refuse_other_work(both)
    distance = (wanted - first) / (second - first)
    growth = pl.col("ns_other") / pl.col("ns") - 1
    factor = (1 + distance * growth).clip(lower_bound=_LEAST)
    factors_by_name = both.drop_nulls().select("name", factor=factor)
    factors = _factors_of_edges(subject.replay, names, factors_by_name)

    def change(weights: Ints) -> Ints:
        return (weights * factors).astype(np.int64)

    return change


def _batch_sizes(value: str | None) -> tuple[int, int, int]:
    """Parse `FIRST,SECOND:WANTED`. Raises UsageError for other text, and for two equal sizes."""
    numbers = re.fullmatch(r"([0-9]{1,9}),([0-9]{1,9}):([0-9]{1,9})", value or "")
    if not numbers or numbers[1] == numbers[2] or not all(map(int, numbers.groups())):
        raise UsageError(f"batch: one batch size says nothing of another; {_USAGE}")
    first, second, wanted = map(int, numbers.groups())
    return first, second, wanted


def _refuse_other_work(both: pl.DataFrame) -> None:
    """Raise UsageError if too much of the time is in work that only one of the traces has."""
    is_alone = pl.col("ns").is_null() | pl.col("ns_other").is_null()
    alone = both.filter(is_alone)
    total_ns = pl.sum_horizontal("ns", "ns_other").sum()
    alone_ns = alone.select(total_ns).item()
    if alone_ns <= _UNMATCHED * both.select(total_ns).item():
        return
    longest_first = alone.sort(pl.max_horizontal("ns", "ns_other"), descending=True)
    name = longest_first["name"][0]
    raise UsageError(
        f"batch: the two traces do different work: only one has {name[:60]!r}; record the"
        " same program with both batch sizes"
    )


def _factors_of_edges(
    replay: Replay, names: Sequence[str], factors_by_name: pl.DataFrame
) -> NDArray[np.float64]:
    """Return the factor by which to multiply each graph edge's time: 1 except for device work."""
    table = replay.table
    work = pl.DataFrame({"name": names})
    work = work.join(factors_by_name, on="name", how="left", maintain_order="left")
    factors_of_work = work["factor"].fill_null(1.0).to_numpy()
    no_work = len(names)
    is_work = np.isin(table.kinds, (KERNEL, COPY, FILL))
    is_work &= picked(np.ones(no_work, bool), table.items)
    row = np.where(is_work, table.items, no_work)
    return np.append(factors_of_work, 1.0)[row]


def work_names(replay: Replay) -> list[str]:
    """Return the name of each device work's launching op, or the work's own name without an op."""
    ops = replay.excerpt.ops["name"].cast(pl.String)
    names = replay.excerpt.work["name"].fill_null("").to_list()
    calls = replay.work.calls
    rows = np.where(calls >= 0, np.append(replay.call_ops, -1)[calls], -1)
    return [
        f"{ops[row]}" if row >= 0 else name for row, name in zip(rows.tolist(), names, strict=True)
    ]


def _step_times(replay: Replay, names: list[str]) -> pl.DataFrame:
    """Return the device time per step of each name: name, ns.

    Work that was launched before the excerpt is left out.
    """
    work = replay.work
    frame = pl.DataFrame(
        {
            "name": pl.Series(names, dtype=pl.String),
            "ns": work.ends - work.starts,
        }
    ).filter(pl.Series(replay.work_steps >= 0))
    n_steps = len(replay.marks) - 1
    sums = frame.group_by("name").agg(pl.col("ns").sum() / n_steps)
    return sums.filter(pl.col("ns") > 0)
