"""Find a job's ranks whose traces are missing, and whether other ranks seem to wait for them."""

from __future__ import annotations

import json

import polars as pl
from msgspec import Struct

from tracelens.derive.rank_ranges import list_ranks
from tracelens.derive.ranks.transfers import SAME_CALL, SLOW, each_transfer
from tracelens.trace import Trace

MOST_RANKS = 1 << 20
"""A source that states more ranks than this is taken to be wrong."""
_FASTEST = 0.1
"""This quantile of a group's transfer times counts as the time without waiting."""


class MissingStraggler(Struct, frozen=True):
    """Holds missing ranks that other ranks seem to wait for."""

    ranks: tuple[int, ...]
    excess_ns: float  # extra time of all their group's transfers
    mean_ns: float  # mean time of these transfers
    usual_ns: float  # mean time without waiting

    @property
    def text(self) -> str:
        """The ranks as a phrase."""
        return list_ranks(self.ranks) if self.ranks else "a rank"


def missing_ranks(trace: Trace) -> list[int]:
    """Return the job's ranks without a trace; empty if the job's size is not known."""
    sizes = {*trace.ranks["world_size"].drop_nulls()}
    if len(sizes) != 1:
        return []
    size = sizes.pop()
    if size > MOST_RANKS:
        return []
    given = {*trace.manifest.ranks}
    return sorted({*range(size)} - given)


def describe_missing(trace: Trace) -> str | None:
    """Say which ranks have no trace; None if all ranks have one."""
    missing = missing_ranks(trace)
    if not missing:
        return None
    n_ranks = len(missing) + len(trace.manifest.ranks)
    were, them = ("was", "it") if len(missing) == 1 else ("were", "them")
    which = f"{list_ranks(missing)} of {n_ranks:,}"
    return f"{which} {were} not given: waiting for {them} is not known"


def find_missing_straggler(trace: Trace) -> MissingStraggler | None:
    """Return the missing ranks that others seem to wait for; None without a sign of waiting."""
    if not missing_ranks(trace):
        return None
    # In a group with a missing rank, the least duration of a call includes waiting for this rank.
    lacking = _with_usual_time(each_transfer(trace))
    transfer_ns = pl.col("transfer_ns")
    usual_ns = pl.col("usual_ns")
    excess_ns = (transfer_ns - usual_ns).clip(0)
    knows_whole = pl.col("whole_ns").is_not_null().any()
    # Some of a group's own transfers take longer for other reasons, but not half of them.
    known_ns = pl.when(knows_whole).then(transfer_ns.mean()).otherwise(transfer_ns.median())
    groups = lacking.group_by("group_key").agg(
        pl.col("n_ranks", "group_size").first(),
        excess_ns=excess_ns.sum(),
        mean_ns=transfer_ns.mean(),
        usual_ns=usual_ns.mean(),
        known_ns=known_ns,
    )
    slow = groups.filter(pl.col("known_ns") >= SLOW * usual_ns)
    if slow.is_empty():
        return None
    by_excess = slow.sort("excess_ns", "group_key", descending=[True, False])
    row = by_excess.row(0, named=True)
    ranks = _missing_of(trace, str(row["group_key"]))
    return MissingStraggler(
        ranks,
        row["excess_ns"],
        row["mean_ns"],
        row["usual_ns"],
    )


def _with_usual_time(calls: pl.DataFrame) -> pl.DataFrame:
    """Return the calls of groups that lack a rank, with whole_ns and usual_ns.

    - whole_ns: median time of the same transfer in complete groups, None if none is complete
    - usual_ns: whole_ns, else the time of the group's fastest calls
    """
    lacks = (pl.col("group_size") > pl.col("n_ranks")).fill_null(value=False)
    alike = [*SAME_CALL, "group_size"]
    transfer_ns = pl.col("transfer_ns")
    complete = calls.filter(~lacks)
    whole = complete.group_by(alike).agg(whole_ns=transfer_ns.median())
    lacking = calls.filter(lacks).join(whole, on=alike, how="left", nulls_equal=True)
    fastest_ns = transfer_ns.quantile(_FASTEST, "lower").over("group_key", *SAME_CALL)
    return lacking.with_columns(usual_ns=pl.coalesce("whole_ns", fastest_ns))


def _missing_of(trace: Trace, group_key: str) -> tuple[int, ...]:
    """Return the missing ranks of a group, or of the job if the group's ranks are unknown."""
    begin = group_key.find("[")
    end = group_key.find("]") + 1
    members = json.loads(group_key[begin:end]) if begin >= 0 else []
    missing = missing_ranks(trace)
    missing_members = sorted({*missing} & {*members})
    return tuple(missing_members or missing)
