"""Find, for each rank, the first moment at which another rank waits long for this rank."""

from collections.abc import Mapping

import polars as pl

from tracelens.derive.ranks.collectives import match_collectives
from tracelens.derive.time.start_up import LONG_NS
from tracelens.trace import Trace


def awaited_from(trace: Trace) -> dict[int, int]:
    """Return, by rank, the first moment at which another rank waits long for this rank.

    Moments are on the clock of the awaited rank. A trace with only one rank of a job gets the
    moments of the whole job from `give_awaited`.
    """
    return trace.derived(_awaited_from)


def give_awaited(trace: Trace, awaited: Mapping[int, int]) -> None:
    """Store the result of `awaited_from` for the whole job in a trace of only one of its ranks."""
    trace.set_derived(_awaited_from, dict(awaited))


def _awaited_from(trace: Trace) -> dict[int, int]:
    is_awaited = pl.col("rank") == pl.col("awaited_rank")
    calls = match_collectives(trace).calls.filter(is_awaited)
    wait = pl.col("last_start_ns") - pl.col("first_start_ns")
    long = calls.filter(wait >= LONG_NS)
    earliest = (pl.col("own_start_ns") - wait).min()
    return dict(long.group_by("rank").agg(earliest).iter_rows())
