"""Validate a trace's ranks: find missing ranks and ranks of another run, and fit clocks."""

from collections.abc import Iterator
from typing import Any

import polars as pl
from msgspec.structs import replace

from tracelens.derive.columns.time_text import duration
from tracelens.derive.ranks.collectives import Matched, match_collectives
from tracelens.derive.ranks.missing import describe_missing
from tracelens.errors import SourceError
from tracelens.schemas import TABLES
from tracelens.trace import Trace
from tracelens.trace.same_run import FAR_NS, FORCED, HOW_TO_FORCE, NOT_TOGETHER

MISSING = "ranks_missing"
"""Code of the diagnostic about ranks of the job that were not given."""
_UNEVEN_NS = 1_000_000
"""Clocks whose bounds contradict each other by more than this suggest two runs of a program.

A clock that is set while a job runs has the same effect.
"""
_SECOND_NS = 10**9
_COLUMNS = ("offset_ns", "drift_ppm", "uncertainty_ns")
_Row = dict[str, Any]


def validate_ranks(trace: Trace, *, force_mix: bool = False) -> None:
    """Add the ranks' clocks to a trace of several ranks, and warnings of missing ranks.

    Clocks go into `ranks` and the manifest. Raises SourceError if the ranks are not of one program;
    with `force_mix`, this is only a warning.
    """
    if len(trace.manifest.ranks) < 2:
        return
    matched = match_collectives(trace)
    why = _foreign(trace, matched)
    if why and not force_mix:
        raise SourceError(f"these are not ranks of one program: {why}; {HOW_TO_FORCE}")
    ranks = trace.ranks
    if matched.clocks["clock"].n_unique() > 1:
        clocks = matched.clocks.select(
            "rank",
            *(pl.col(name).alias(f"clock_{name}") for name in _COLUMNS),
        )
        ranks = ranks.select(pl.exclude(clocks.columns[1:])).join(
            clocks, on="rank", how="left", maintain_order="left"
        )
    rows = [*_missing_ranks(trace, matched), *_clock_remarks(matched)]
    if why:
        rows.append(
            _row(
                trace.manifest.ranks[0],
                "warning",
                FORCED,
                f"put together nevertheless: {why}",
            )
        )
    old = trace.diagnostics
    if "unknown" not in matched.clocks["basis"] and matched.calls.height and not why:
        old = old.filter(pl.col("code") != NOT_TOGETHER)  # these ranks met in collectives
    diagnostics = pl.concat(
        [
            old,
            TABLES["diagnostics"].conform(pl.DataFrame(rows, schema=old.schema)),
        ]
    )
    manifest = replace(
        trace.manifest,
        clocks=_described(matched.clocks) if matched.calls.height else {},
    )
    diagnostics = diagnostics.sort("rank", maintain_order=True)
    trace.amend(
        manifest,
        ranks=TABLES["ranks"].conform(ranks),
        diagnostics=diagnostics,
    )


def _foreign(trace: Trace, matched: Matched) -> str | None:
    """Return why the ranks cannot be of one program; None if they can."""
    # A single mismatch may be the mistake that the user looks for. So a rank is only of another
    # program if none of its collectives matches, and no other rank has a collective of its kinds.
    if matched.stops.height:
        rows = trace.collectives
        kinds = rows.select(
            "rank",
            kind=pl.struct("name", "dtype", "size_in_bytes", "size_out_bytes"),
        ).unique()
        kinds = kinds.with_columns(n_ranks=pl.len().over("kind"))
        n_ranks = pl.col("n_ranks")
        alone = kinds.group_by("rank").agg(n_ranks.max()).filter(n_ranks == 1)["rank"]
        if not {*alone} <= {*matched.calls["rank"].unique()}:
            return str(matched.stops["text"][0])
    # A rank is also of another program if its collectives come hours earlier or later, and no clock
    # with a constant drift explains that.
    far = matched.clocks.filter(
        (pl.col("offset_ns").abs() >= FAR_NS) & (pl.col("residual_ns") > _UNEVEN_NS)
    )
    for rank, offset, residual in far.select("rank", "offset_ns", "residual_ns").iter_rows():
        hours = f"{abs(offset) / FAR_NS:.1f} hours {'later' if offset > 0 else 'earlier'}"
        return (
            f"rank {rank}'s collectives came {hours}, and no constant offset and drift of its clock"
            f" explains that (bounds contradict each other by {duration(residual)})"
        )
    return None


def _missing_ranks(trace: Trace, matched: Matched) -> Iterator[_Row]:
    """Warn of ranks that were not given, and of ranks without a matched collective."""
    given = trace.manifest.ranks
    missing = describe_missing(trace)
    if missing is not None:
        yield _row(given[0], "warning", MISSING, missing)
    with_calls = {*matched.calls["rank"].unique()}
    for rank in sorted({*given} - with_calls) if with_calls else ():
        text = (
            "no collective of this rank is matched with another rank's: it is not compared with"
            " them"
        )
        yield _row(rank, "warning", "no_collectives", text)


def _clock_remarks(matched: Matched) -> Iterator[_Row]:
    """Yield diagnostics on clocks that are uncertain, uneven, or far from the job's clock."""
    for row in matched.clocks.iter_rows(named=True) if matched.calls.height else ():
        rank_and_severity = (row["rank"], "warning")
        if row["basis"] == "assumed":
            text = (
                "nothing shows which ranks share a host: one clock is assumed, which no collective"
                " contradicts"
            )
            yield _row(row["rank"], "info", "clock_assumed", text)
            return
        if row["basis"] == "unknown":
            yield _row(
                *rank_and_severity,
                "clock_unknown",
                "too few collectives with other hosts' ranks to know how its clock differs",
            )
        elif row["residual_ns"] > _UNEVEN_NS:
            text = (
                f"its clock did not run evenly, by {duration(row['residual_ns'])}, unless it is"
                " of another run"
            )
            yield _row(*rank_and_severity, "clock_uneven", text)
        elif abs(row["offset_ns"]) >= _SECOND_NS:
            ahead = "ahead of" if row["offset_ns"] > 0 else "behind"
            text = (
                f"its clock is {abs(row['offset_ns']) / 1e9:,.1f} s {ahead} the job's: that is"
                " taken off in comparisons"
            )
            yield _row(*rank_and_severity, "clock_apart", text)


def _row(rank: int, severity: str, code: str, text: str) -> _Row:
    return {
        "rank": rank,
        "severity": severity,
        "code": code,
        "count": 1,
        "text": text,
    }


def _described(clocks: pl.DataFrame) -> dict[str, Any]:
    """Return the clocks in the form that the manifest holds."""
    if clocks["clock"].n_unique() == 1:
        bases = clocks["basis"].unique()
        return {"basis": str(bases[0])}
    shown = clocks.drop("rank", "node", "origin_ns").to_dicts()
    by_rank = {}
    for rank, row in zip(clocks["rank"], shown, strict=True):
        by_rank[str(rank)] = row
    return {
        "basis": "estimated",
        "origin_ns": clocks["origin_ns"][0],
        "ranks": by_rank,
    }
