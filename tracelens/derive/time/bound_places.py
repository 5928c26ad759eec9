"""Find where each part of a rank's time comes from: a kernel, kind of copy, op or call path."""

import re

import polars as pl

from tracelens.derive.columns.per_unique import matching
from tracelens.derive.processes.cpu_work import ARITHMETIC, COPY
from tracelens.derive.time.cpu_only import busiest_places, optimizer_place
from tracelens.derive.time.process_facts import longest_communication
from tracelens.derive.time.time_parts import TimeModel
from tracelens.trace import Trace

Places = dict[tuple[int, str], str]
"""The kernel, kind of copy, op or call path that takes most of a part of time, by rank and part."""

CASTS = "casts between element types"
CAST = r"(?:float16|float8\w*)_copy_kernel|direct_copy_kernel.*LoadWithCast"
"""Pattern of ATen's kernels that only convert element types, bfloat16 included."""
_LONGEST_NAME = 60
_WAYS = {
    "h2d": "from the host to the device",
    "d2h": "from the device to the host",
    "d2d": "within the device",
    "p2p": "from device to device",
    "h2h": "within the host",
    "unknown": "of an unknown direction",
}
"""Directions of copies in words, for copies without recorded kinds of memory."""


def bound_places(model: TimeModel) -> Places:
    """Return what takes most of each part of the time, by rank and part.

    This is a kernel, a kind of copy, an op or a call path.
    """
    busy = _kernels(model) | _copies(model)
    if model.processes:
        busy |= _ops_of_processes(model.trace)
    places = busy | _idle_places(model)
    for rank in _communicating_devices(model):
        key = (rank, "communication")
        if key in busy:
            places[key] = busy[key]
    return places


def _idle_places(model: TimeModel) -> Places:
    """Return, by rank and cause, the call path with most idle time."""
    named = model.idle.drop_nulls("what")
    longest = named.unique(
        ["rank", "cause"],
        keep="first",
        maintain_order=True,
    )
    names = longest.select("rank", "cause", "what")
    return {(rank, cause): what for rank, cause, what in names.iter_rows()}


def short_kernel(name: str) -> str:
    """Shorten a kernel's name: drop template arguments and parameters, and cut it if it is long."""
    bare = re.sub(r"^void ", "", name).replace("(anonymous namespace)::", "")
    bare = re.sub(r"[<(].*", "", bare) or name
    return bare if len(bare) <= _LONGEST_NAME else bare[: _LONGEST_NAME - 1] + "…"


def count_casts(model: TimeModel, rank: int) -> tuple[int, int, float]:
    """Return a rank's number of casts, its number of computing kernels, and the casts' time share.

    Casts are kernels that only convert element types. The share is of the time of all computing
    kernels, 0 to 1. Only kernels that begin within `model.extents` count.
    """
    kernels = _in_program(model, "kernels", "name", "is_communication")
    computing = kernels.filter(~pl.col("is_communication"), rank=rank)
    (is_cast,) = matching(computing["name"], CAST)
    casts = computing.filter(is_cast)
    cast_ns = int(casts["duration_ns"].sum())
    computing_ns = int(computing["duration_ns"].sum())
    return casts.height, computing.height, cast_ns / max(computing_ns, 1)


def _kernels(model: TimeModel) -> Places:
    """Name, per rank, the longest computing and the longest communicating kernel, by total time."""
    kernels = _in_program(model, "kernels", "name", "is_communication")
    by_name = kernels.lazy().group_by("rank", "name", "is_communication")
    sums = by_name.agg(pl.col("duration_ns").sum()).collect()
    ordered = sums.sort("duration_ns", "name", descending=[True, False])
    longest = ordered.unique(
        ["rank", "is_communication"],
        keep="first",
        maintain_order=True,
    )
    places = {}
    for rank, name, is_communication, _ in longest.iter_rows():
        place = CASTS if re.search(CAST, name) else short_kernel(name)
        if is_communication:
            places[rank, "communication"] = place
            places[rank, "waiting"] = place
        else:
            places[rank, "compute"] = place
    return places


def _copies(model: TimeModel) -> Places:
    """Describe, per rank, the kind of copy that takes most time. Memsets are one kind."""
    memories = ["source_memory", "destination_memory"]
    copies = _in_program(model, "memcpys", "direction", *memories)
    is_unknown = pl.any_horizontal(pl.col(memories) == "unknown")
    direction = pl.col("direction").cast(pl.String)
    by_direction = pl.format("copies {}", direction.replace(_WAYS))
    by_memory = pl.format("{} copies from {} to {} memory", "direction", *memories)
    words = pl.when(is_unknown).then(by_direction).otherwise(by_memory)
    sets = _in_program(model, "memsets")
    work = pl.concat(
        [
            copies.select("rank", "duration_ns", what=words),
            sets.select("rank", "duration_ns", what=pl.lit("memsets")),
        ]
    )
    sums = work.group_by("rank", "what").agg(pl.col("duration_ns").sum())
    least_first = sums.sort("duration_ns", "what")
    return {(rank, "copy"): what for rank, what, _ in least_first.iter_rows()}


def _in_program(model: TimeModel, table: str, *columns: str) -> pl.DataFrame:
    """Return a table's rows that begin within `model.extents`: rank, `columns`, duration_ns."""
    work = model.trace.select(table, "rank", "start_ns", *columns, "duration_ns")
    is_inside = pl.col("start_ns").is_between("begin", "end")
    return work.join(
        model.extents,
        on="rank",
        maintain_order="left",
    ).filter(is_inside)


def _ops_of_processes(trace: Trace) -> Places:
    """Name, per rank without a device, the op that communicates, computes or copies longest."""
    places = {}
    for rank, op in longest_communication(trace).items():
        places[rank, "communication"] = op
    for rank, busiest in busiest_places(trace, COPY).items():
        if busiest:
            places[rank, "copy"] = busiest[0][0]
    for rank, busiest in busiest_places(trace, ARITHMETIC).items():
        if busiest:
            places[rank, "compute"] = optimizer_place(trace, rank) or busiest[0][0]
    return places


def _communicating_devices(model: TimeModel) -> list[int]:
    """List the ranks on which devices communicate more than twice as long as the host."""
    on_host = model.idle.filter(pl.col("cause") == "communication")
    idle_ns = pl.col("idle_ns")
    of_hosts = on_host.group_by("rank").agg(idle_ns.sum())
    both = model.by("rank").join(of_hosts, on="rank")
    more = both.filter(pl.col("communication_ns") > 2 * idle_ns)
    return more["rank"].to_list()
