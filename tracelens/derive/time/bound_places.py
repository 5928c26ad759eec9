"""Find where each part of a rank's time comes from: a kernel, kind of copy, op or call path."""

import re

import polars as pl

from tracelens.derive.columns.per_unique import matching
from tracelens.derive.processes.cpu_work import ARITHMETIC, COPY
from tracelens.derive.time.cpu_only import busiest_places, longest_communication, optimizer_place
from tracelens.derive.time.time_parts import TimeModel
from tracelens.trace import Trace

Places = dict[tuple[int, str], str]
"""The place of each part of time, by rank and part."""

CASTS = "casts between element types"
CAST = r"(?:float16|float8\w*)_copy_kernel|direct_copy_kernel.*LoadWithCast"
"""Pattern of ATen's kernels that only convert element types; `float16` also matches `bfloat16`."""
_LONGEST_NAME = 60
_WAYS = {
    "h2d": "from the host to the device",
    "d2h": "from the device to the host",
    "d2d": "within the device",
    "p2p": "from device to device",
    "h2h": "within the host",
    "unknown": "of an unknown direction",
}
"""Directions of copies in words, for copies whose kinds of memory are not recorded."""


def bound_places(model: TimeModel) -> Places:
    """Return, by rank and part of the time, the place that takes most of it."""
    trace = model.trace
    busy = _kernels(model) | _copies(model)
    if model.processes:
        busy |= _ops_of_processes(trace)
    named = model.idle.drop_nulls("what")
    longest = named.unique(["rank", "cause"], keep="first", maintain_order=True)
    names = longest.select("rank", "cause", "what")
    idle = {(rank, cause): what for rank, cause, what in names.iter_rows()}
    on_devices = {(rank, "communication") for rank in _communicating_devices(model)}
    return busy | idle | {key: busy[key] for key in on_devices & busy.keys()}


def short_kernel(name: str) -> str:
    """Shorten a kernel's name: drop template arguments and parameters, and cut it if it is long."""
    bare = re.sub(r"^void ", "", name).replace("(anonymous namespace)::", "")
    bare = re.sub(r"[<(].*", "", bare) or name
    return bare if len(bare) <= _LONGEST_NAME else bare[: _LONGEST_NAME - 1] + "…"


def count_casts(model: TimeModel, rank: int) -> tuple[int, int, float]:
    """Count a rank's kernels that only convert types, and all its kernels, in the program.

    The third number is the casts' share of the time of all kernels that compute.
    """
    kernels = _in_program(model, "kernels", "name", "is_communication")
    computing = kernels.filter(~pl.col("is_communication"), rank=rank)
    casts = computing.filter(*matching(computing["name"], CAST))
    cast_ns, computing_ns = (int(part["duration_ns"].sum()) for part in (casts, computing))
    return casts.height, computing.height, cast_ns / max(computing_ns, 1)


def _kernels(model: TimeModel) -> Places:
    """Name, per rank, the kernel that computes longest and the one that communicates longest."""
    kernels = _in_program(model, "kernels", "name", "is_communication")
    by_name = kernels.lazy().group_by("rank", "name", "is_communication")
    sums = by_name.agg(pl.col("duration_ns").sum()).collect()
    ordered = sums.sort("duration_ns", "name", descending=[True, False])
    longest = ordered.unique(["rank", "is_communication"], keep="first", maintain_order=True)
    places = {}
    for rank, name, is_communication, _ in longest.iter_rows():
        for part in ("communication", "waiting") if is_communication else ("compute",):
            places[rank, part] = CASTS if re.search(CAST, name) else short_kernel(name)
    return places


def _copies(model: TimeModel) -> Places:
    """Describe, per rank, the kind of copy that takes most time; setting memory is one."""
    kind = ["direction", "source_memory", "destination_memory"]
    copies = _in_program(model, "memcpys", *kind)
    is_unknown = (pl.col(kind[1]) == "unknown") | (pl.col(kind[2]) == "unknown")
    way = pl.col(kind[0]).cast(pl.String).replace(_WAYS)
    words = (
        pl.when(is_unknown)
        .then(pl.format("copies {}", way))
        .otherwise(pl.format("{} copies from {} to {} memory", *kind))
    )
    sets = _in_program(model, "memsets").with_columns(what=pl.lit("memsets"))
    work = pl.concat(
        [
            part.select("rank", "what", "duration_ns")
            for part in (copies.with_columns(what=words), sets)
        ]
    )
    sums = work.group_by("rank", "what").agg(pl.col("duration_ns").sum())
    ordered = sums.sort("duration_ns", "what")
    return {(rank, "copy"): what for rank, what, _ in ordered.iter_rows()}


def _in_program(model: TimeModel, table: str, *columns: str) -> pl.DataFrame:
    """Return the work that begins in the program, with rank, these columns and duration_ns."""
    work = model.trace.select(table, "rank", "start_ns", *columns, "duration_ns")
    is_inside = pl.col("start_ns").is_between("begin", "end")
    return work.join(model.extents, on="rank", maintain_order="left").filter(is_inside)


def _ops_of_processes(trace: Trace) -> Places:
    """Name, per rank without a device, the op that communicates, computes or copies longest."""
    places = {(rank, "communication"): op for rank, op in longest_communication(trace).items()}
    for part, work in (("compute", ARITHMETIC), ("copy", COPY)):
        for rank, busiest in busiest_places(trace, work).items():
            if busiest:
                in_optimizer = optimizer_place(trace, rank) if work == ARITHMETIC else None
                places[rank, part] = in_optimizer or busiest[0][0]
    return places


def _communicating_devices(model: TimeModel) -> list[int]:
    """List the ranks whose devices communicate for more time than their hosts."""
    on_host = model.idle.filter(pl.col("cause") == "communication")
    idle_ns = pl.col("idle_ns")
    of_hosts = on_host.group_by("rank").agg(idle_ns.sum())
    both = model.by("rank").join(of_hosts, on="rank")
    more = both.filter(pl.col("communication_ns") > 2 * idle_ns)
    return more["rank"].to_list()
