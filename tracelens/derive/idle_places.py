"""Where in the program idle time comes from: the pieces of idle time by cause and place."""

from __future__ import annotations

import polars as pl

from tracelens.derive.breakdown import Breakdown
from tracelens.derive.completing import activities_of
from tracelens.derive.lookup import rows_of
from tracelens.schemas.events import CAUSES
from tracelens.trace import Trace


def judged_pieces(made: Breakdown) -> pl.DataFrame:
    """The idle pieces that count: those in steps; of a rank that marks none, all of them."""
    marked = made.frame.drop_nulls("step")["rank"].unique()
    return made.pieces.filter(pl.col("step").is_not_null() | ~pl.col("rank").is_in(marked.implode()))


def idle_places(trace: Trace, pieces: pl.DataFrame) -> pl.DataFrame:
    """A row a rank, device, cause and place (what): idle_ns, n_gaps, longest_ns, example_ns; most idle time first.

    The place of time that activities tell of is theirs; of launching, the outermost op around the call that launched
    the next work, or the API function where no op is around it. `longest_ns` is what one gap has of it at most,
    `example_ns` when that begins.
    """
    key = ["rank", "device_id", "cause", "what"]
    length = pl.col("end_ns") - pl.col("start_ns")
    placed = pieces.select("rank", "device_id", "gap", "cause", "start_ns", _words(trace, pieces), ns=length)
    # Pieces of a gap stand together, and mostly there is one.
    is_new = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift(1)) for name in ("gap", *key))
    runs = placed.select(is_new.fill_null(value=True)).to_series()
    if not runs.all():
        placed = placed.with_columns(run=runs.cum_sum()).group_by("run", maintain_order=True).agg(
            pl.col("rank", "device_id", "gap", "cause", "what", "start_ns").first(), pl.col("ns").sum()
        )
    found = placed.group_by(key).agg(
        idle_ns=pl.col("ns").sum(),
        n_gaps=pl.len().cast(pl.Int64),
        longest_ns=pl.col("ns").max(),
        example_ns=pl.col("start_ns").get(pl.col("ns").arg_max()),
    )
    found = found.with_columns(pl.col("cause", "what").cast(pl.String))
    return found.sort("rank", "device_id", "idle_ns", "cause", "what", descending=[False, False, True, False, False])


def _words(trace: Trace, pieces: pl.DataFrame) -> pl.Series:
    """The place of each piece, as Categorical."""
    what = activities_of(trace)["what"].cast(pl.Categorical).gather(pieces["activity"]).alias("what")
    rows = (pieces["activity"].is_null() | (what.is_null() & (pieces["cause"] == "launch"))) & pieces["next_call"].is_not_null()
    at = rows.arg_true()
    return what.scatter(at, _ops(trace, pieces.select("rank", "next_call")[at])) if len(at) else what


def _ops(trace: Trace, launches: pl.DataFrame) -> pl.Series:
    """The outermost op around each API call (rank, api_call_id), else the call's own function, as Categorical."""
    calls = trace.select("api_calls", "rank", "api_call_id", "site_id")
    call = rows_of(calls["rank"], calls["api_call_id"], launches)
    sites = trace.frame("sites")
    site = rows_of(sites["rank"], sites["site_id"], pl.DataFrame([launches["rank"], calls["site_id"].gather(call)]))
    op = sites["op"].cast(pl.Categorical).gather(site)
    missing = op.is_null().arg_true()
    if len(missing):
        names, words = trace.coded("api_calls", "api")
        own = words["api"].cast(pl.Categorical).gather(names["api"].gather(call.gather(missing)))
        op = op.scatter(missing, own)
    return op


def judged_time(made: Breakdown) -> pl.DataFrame:
    """A row a rank and device: the parts of its judged time in ns, which add up to judged_ns, and n_steps.

    Parts are compute, communication and copy (the exposed ones), waiting (exposed communication beyond what the fastest
    rank needs) and the causes of idle time. Judged are the steps; of a rank that marks none, all that was recorded.
    """
    in_steps = pl.col("step").is_not_null()
    frame = made.frame
    has_steps = frame.filter(in_steps)["rank"].unique().implode()
    rows = frame.filter(in_steps | ~pl.col("rank").is_in(has_steps))
    waiting = pl.min_horizontal("collective_wait_ns", "exposed_communication_ns").fill_null(0)
    rows = rows.with_columns(waiting_ns=waiting, communication_ns=pl.col("exposed_communication_ns") - waiting)
    key = ["rank", "device_id"]
    busy = rows.group_by(key).agg(
        pl.col("compute_ns", "communication_ns", "waiting_ns").sum(),
        copy_ns=pl.col("exposed_copy_ns").sum(),
        n_steps=pl.col("step").count().cast(pl.Int64),
    )
    length = pl.col("end_ns") - pl.col("start_ns")
    idle = judged_pieces(made).group_by(*key, "cause").agg(length.sum())
    causes = [
        idle.filter(pl.col("cause") == cause).select(*key, pl.col("end_ns").alias(f"{cause}_ns")) for cause in CAUSES
    ]
    for part in causes:
        busy = busy.join(part, on=key, how="left")
    parts = [f"{name}_ns" for name in ("compute", "communication", "waiting", "copy", *CAUSES)]
    busy = busy.with_columns(pl.col(parts).fill_null(0)).with_columns(judged_ns=pl.sum_horizontal(parts))
    return busy.sort(key)
