"""Where in the program idle time comes from: the pieces of idle time by cause and place."""

from __future__ import annotations

import re

import polars as pl

from tracelens.derive.activities import PROFILER
from tracelens.derive.breakdown import Breakdown
from tracelens.derive.completing import activities_of
from tracelens.derive.lookup import grouped, rows_of
from tracelens.derive.process_time import heaviest_ops
from tracelens.schemas.events import CAUSES
from tracelens.trace import Trace

_LONGEST = 60


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
        placed = (
            placed.with_columns(run=runs.cum_sum())
            .group_by("run", maintain_order=True)
            .agg(pl.col("rank", "device_id", "gap", "cause", "what", "start_ns").first(), pl.col("ns").sum())
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
    rows = (pieces["activity"].is_null() | (what.is_null() & (pieces["cause"] == "launch"))) & pieces[
        "next_call"
    ].is_not_null()
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


def busy_places(trace: Trace) -> dict[tuple[int, str], str]:
    """By rank and part (compute, communication, waiting, copy) the kernel, sort of copy or op that takes most of it."""
    kernels, words = trace.coded("kernels", "rank", "name", "is_communication", "duration_ns")
    sums = grouped(kernels, ["rank", "name", "is_communication"], [pl.col("duration_ns").sum()])
    most = sums.sort("duration_ns", "name", descending=[True, False]).unique(
        ["rank", "is_communication"], keep="first", maintain_order=True
    )
    found: dict[tuple[int, str], str] = {}
    for rank, name, is_communication, _ in most.iter_rows():
        parts = ("communication", "waiting") if is_communication else ("compute",)
        found |= dict.fromkeys(((rank, part) for part in parts), _short_kernel(words["name"][name]))
    copies = trace.select("memcpys", "rank", "direction", "source_memory", "destination_memory", "duration_ns")
    by_sort = copies.group_by(pl.exclude("duration_ns")).agg(pl.col("duration_ns").sum())
    for rank, direction, source, destination, _ in by_sort.sort("duration_ns", "direction").iter_rows():
        found[rank, "copy"] = f"{direction} copies from {source} to {destination} memory"
    return found | {(rank, "compute"): op for rank, op in heaviest_ops(trace).items()}


def _short_kernel(name: str) -> str:
    """A kernel's name without its template arguments and parameters, cut where it is long."""
    bare = re.sub(r"^void ", "", name).replace("(anonymous namespace)", "")
    bare = re.sub(r"[<(].*", "", bare) or name
    return bare if len(bare) <= _LONGEST else bare[: _LONGEST - 1] + "…"


def profiler_time(trace: Trace, made: Breakdown) -> dict[int, int]:
    """Idle ns of the judged time, by rank, that the profiler took for itself in threads; part of the cause host."""
    activities = activities_of(trace)
    rows = (activities["what"] == PROFILER).fill_null(value=False)
    if not rows.any():
        return {}
    pieces = judged_pieces(made)
    own = pieces.filter(rows.gather(pieces["activity"]).fill_null(value=False))
    return dict(own.group_by("rank").agg((pl.col("end_ns") - pl.col("start_ns")).sum()).iter_rows())


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
        busy = busy.join(part, on=key, how="left", nulls_equal=True)
    parts = [f"{name}_ns" for name in ("compute", "communication", "waiting", "copy", *CAUSES)]
    busy = busy.with_columns(pl.col(parts).fill_null(0)).with_columns(judged_ns=pl.sum_horizontal(parts))
    return busy.sort(key)
