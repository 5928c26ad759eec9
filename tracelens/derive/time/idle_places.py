"""Where in the program idle time comes from: the pieces of idle time by cause and place."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from weakref import WeakKeyDictionary

import polars as pl

from tracelens.derive.columns.lookup import rows_of
from tracelens.derive.time.breakdown import break_down
from tracelens.derive.time.completing import activities_of
from tracelens.derive.time.idle import DeviceIdle
from tracelens.derive.time.process_time import heaviest_ops
from tracelens.schemas.events import CAUSES
from tracelens.trace import Trace

_LONGEST = 60
_WORKERS = 2
"""Threads that add up a device's idle time."""


_made: WeakKeyDictionary[Trace, pl.DataFrame] = WeakKeyDictionary()


def idle_places(trace: Trace) -> pl.DataFrame:
    """A row a rank, device, cause and place (what): idle_ns, n_gaps, longest_ns, example_ns; most idle time first.

    Of steps; of a rank that marks none, of all time that is known. The place of time that activities tell of is theirs;
    of launching, the outermost op around the call that launched the next work, or the API function where no op is
    around it. `longest_ns` is what one gap has of it at most, `example_ns` when that begins. Several analyses ask for
    it, so it is kept with the trace.
    """
    if trace not in _made:
        made = break_down(trace)
        marked = set(made.frame.drop_nulls("step")["rank"])
        found = [_of_device(trace, device, in_steps=device.rank in marked) for device in made.devices]
        order = ["rank", "device_id", "idle_ns", "cause", "what"]
        _made[trace] = pl.concat(found).sort(order, descending=[False, False, True, False, False])
    return _made[trace]


def _of_device(trace: Trace, device: DeviceIdle, *, in_steps: bool) -> pl.DataFrame:
    """The places of one device's idle time, in any order."""
    pieces = device.pieces
    if in_steps and pieces["step"].null_count():
        pieces = pieces.drop_nulls("step")
    trace.select("api_calls", "rank", "site_id")  # read before threads ask for it
    slices = [part.filter("is_alone") for part in pieces.iter_slices(pieces.height // _WORKERS + 1)]
    with ThreadPoolExecutor(_WORKERS) as pool:
        found = list(pool.map(_summed, [trace] * len(slices), slices))
    found.append(_summed(trace, pieces.filter(~pl.col("is_alone")), of_gaps=True))
    return (
        pl.concat(found)
        .sort("example_ns")  # of gaps of one length the first is the example
        .group_by("cause", "what")
        .agg(
            pl.col("idle_ns", "n_gaps").sum(),
            pl.col("longest_ns").max(),
            example_ns=pl.col("example_ns").get(pl.col("longest_ns").arg_max()),
        )
        .with_columns(rank=pl.lit(device.rank, pl.Int32), device_id=pl.lit(device.device_id, pl.Int32))
    )


def _summed(trace: Trace, pieces: pl.DataFrame, *, of_gaps: bool = False) -> pl.DataFrame:
    """Idle time of pieces by cause and place; with `of_gaps`, those of one gap and place count as one."""
    key = ["cause", "activity", "site_id", "api"]
    places = _calls(trace, pieces)
    length = pl.col("end_ns") - pl.col("start_ns")
    placed = pieces.select("gap", "start_ns", "activity", pl.col("cause").to_physical(), *places, ns=length)
    if of_gaps:
        # As of two calls of one function.
        place = activities_of(trace)["what"].cast(pl.Categorical).to_physical().gather(placed["activity"])
        same = placed.with_columns(place.alias("place")).sort("gap", "start_ns")
        same_gap = same.group_by("gap", "cause", "place", "site_id", "api", maintain_order=True)
        placed = same_gap.agg(pl.col("activity", "start_ns").first(), pl.col("ns").sum())
    ns = pl.col("ns")
    measures = [ns.sum().alias("idle_ns"), pl.len().cast(pl.Int64).alias("n_gaps"), ns.max().alias("longest_ns")]
    measures.append(pl.col("start_ns").get(ns.arg_max()).alias("example_ns"))
    found = placed.group_by(key).agg(measures)
    words = [pl.Series("cause", CAUSES).gather(found["cause"]), _words(trace, found)]
    return found.with_columns(words).select("cause", "what", "idle_ns", "n_gaps", "longest_ns", "example_ns")


def _calls(trace: Trace, pieces: pl.DataFrame) -> list[pl.Series]:
    """The row of the site of the call that launched what came next, of pieces that no activity tells the place of.

    Where it has no op, its function, which comes second.
    """
    call = pieces["call"]
    has_place = activities_of(trace)["what"].is_not_null().gather(pieces["activity"])
    if has_place.any():
        call = call.set(has_place.fill_null(value=False), None)
    calls = trace.select("api_calls", "rank", "site_id")
    sites = trace.select("sites", "rank", "site_id")
    # Of one rank ids are rows already, and calls are many.
    are_rows = sites["rank"].n_unique() == 1 and sites["site_id"].eq(pl.int_range(sites.height, eager=True)).all()
    site = calls["site_id"] if are_rows else rows_of(sites["rank"], sites["site_id"], calls)
    site = site.gather(call).alias("site_id")
    has_op = trace.select("sites", "op")["op"].is_not_null().gather(site).fill_null(value=False)
    if (~has_op & call.is_not_null()).any():
        return [site, trace.select("api_calls", "api")["api"].gather(call.set(has_op, None))]
    return [site, pl.repeat(None, len(site), dtype=pl.Categorical(), eager=True).alias("api")]


def _words(trace: Trace, places: pl.DataFrame) -> pl.Series:
    """The place of each row (activity, site_id, api), null where nothing tells."""
    op = trace.select("sites", "op")["op"].gather(places["site_id"]).cast(pl.String)
    what = activities_of(trace)["what"].gather(places["activity"])
    told = pl.DataFrame({"what": what, "op": op, "api": places["api"].cast(pl.String)})
    return told.select(pl.coalesce("what", "op", "api").alias("what")).to_series()


def busy_places(trace: Trace) -> dict[tuple[int, str], str]:
    """By rank and part (compute, communication, waiting, copy) the kernel, sort of copy or op that takes most of it."""
    kernels = trace.select("kernels", "rank", "name", "is_communication", "duration_ns")
    sums = kernels.lazy().group_by("rank", "name", "is_communication").agg(pl.col("duration_ns").sum()).collect()
    most = sums.sort("duration_ns", "name", descending=[True, False]).unique(
        ["rank", "is_communication"], keep="first", maintain_order=True
    )
    found: dict[tuple[int, str], str] = {}
    for rank, name, is_communication, _ in most.iter_rows():
        parts = ("communication", "waiting") if is_communication else ("compute",)
        found |= dict.fromkeys(((rank, part) for part in parts), _short_kernel(name))
    copies = trace.select("memcpys", "rank", "direction", "source_memory", "destination_memory", "duration_ns")
    by_sort = copies.group_by(pl.exclude("duration_ns")).agg(pl.col("duration_ns").sum())
    for rank, direction, source, destination, _ in by_sort.sort("duration_ns", "direction").iter_rows():
        found[rank, "copy"] = f"{direction} copies from {source} to {destination} memory"
    return found | {(rank, "compute"): op for rank, op in heaviest_ops(trace).items()}


def _short_kernel(name: str) -> str:
    """A kernel's name without its template arguments and parameters, cut where it is long."""
    bare = re.sub(r"^void ", "", name).replace("(anonymous namespace)::", "")
    bare = re.sub(r"[<(].*", "", bare) or name
    return bare if len(bare) <= _LONGEST else bare[: _LONGEST - 1] + "…"
