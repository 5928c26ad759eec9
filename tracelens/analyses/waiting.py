"""Measure waiting in collectives: each rank's time until the last rank has begun."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Chart, Parallel, Scope, SplitBars
from tracelens.derive.columns.time_text import duration
from tracelens.derive.ranks.collective_wait import waits_by_step
from tracelens.derive.ranks.collectives import require_matched
from tracelens.derive.ranks.job_clock import doubt_of
from tracelens.derive.time.bounds import PART_WORDS
from tracelens.derive.time.model import time_model
from tracelens.derive.time.time_parts import rank_times
from tracelens.schemas.results.ranks import WAITING
from tracelens.trace import Trace


def waiting(trace: Trace) -> pl.DataFrame:
    """Sum each rank's waiting for other ranks in collectives: one row per rank.

    Rows are sorted by exposed waiting, longest first. Exposed waiting is waiting that the rank's
    own computing does not hide. A rank has no row if none of its collectives match those of other
    ranks. Raises MissingTableError with one rank, or if no collectives match.
    """
    calls = require_matched(trace, "waiting").calls
    counts = calls.group_by("rank").agg(
        n_collectives=pl.len(),
        wait_ns=(pl.col("last_start_ns") - pl.col("start_ns")).sum(),
        n_last=(
            (pl.col("awaited_rank") == pl.col("rank"))
            & (pl.col("first_start_ns") < pl.col("last_start_ns"))
        ).sum(),
    )
    model = time_model(trace)
    whole = waits_by_step(trace).filter(pl.col("step").is_null()).drop("wait_ns")
    order = ["rank", "exposed_ns", "wait_ns", "awaited_rank"]
    longest_first = model.waits.sort(order, descending=[False, True, True, False])
    most_awaited = longest_first.unique("rank", keep="first").select(
        "rank", "awaited_rank", awaited_ns="exposed_ns"
    )
    shares = {rank.rank: rank.shares["waiting"] for rank in rank_times(model)}
    schema = {"rank": pl.Int32, "exposed_frac": pl.Float64}
    judged = pl.DataFrame([*shares.items()], schema, orient="row")
    rows = (
        counts.join(whole, on="rank")
        .join(most_awaited, on="rank", how="left")
        .join(judged, on="rank", how="left")
    )
    return WAITING.conform(rows.sort("exposed_ns", "rank", descending=[True, False]))


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:
    """Name the rank that costs the others most time, and the rank that begins last most often."""
    by_rank = time_model(trace).waits.group_by("awaited_rank")
    pairs = by_rank.agg(pl.col("exposed_ns").sum(), n=pl.len())
    pairs = pairs.sort("exposed_ns", "awaited_rank", descending=[True, False])
    if pairs.is_empty() or not pairs["exposed_ns"][0]:
        return ["No rank loses time by waiting for another."]
    doubt = doubt_of(require_matched(trace, "waiting").calls)
    if doubt is not None:
        return [f"Inconclusive: {doubt}."]
    awaited, lost, n_ranks = pairs.row(0)
    total = int(frame["exposed_ns"].sum())
    together = f"All ranks together wait {duration(total)} in the whole trace"
    of_it = f"{n_ranks:,} {'rank waits' if n_ranks == 1 else 'ranks wait'} {duration(lost)}"
    sentences = [f"{together}; {of_it} of it for rank {awaited}."]
    last = frame.sort("n_last", "rank", descending=[True, False]).row(0, named=True)
    if last["rank"] != awaited:
        sentences.append(
            f"Most collectives, {last['n_last']:,}, are begun last by rank {last['rank']}, but the"
            " others compute meanwhile and lose little."
        )
    return sentences


def _charts(frame: pl.DataFrame) -> list[Chart]:
    parts = {"exposed_ns": PART_WORDS["waiting"], "hidden_ns": "hidden by computing"}
    return [SplitBars("Waiting for other ranks", frame, ["rank"], parts)]


ANALYSIS = Analysis(
    "How long does each rank wait for others?",
    WAITING,
    waiting,
    notes=notes,
    shown=(
        "rank",
        "exposed_ns",
        "exposed_frac",
        "awaited_rank",
        "awaited_ns",
        "wait_ns",
        "hidden_ns",
        "n_last",
        "n_collectives",
    ),
    charts=_charts,
    scope=Scope.RANKS,
    parallel=Parallel.OF_TIME,
)
