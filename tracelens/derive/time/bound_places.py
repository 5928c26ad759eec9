"""Find where each part of a rank's time comes from: a kernel, kind of copy, op or call path."""

import re

import polars as pl

from tracelens.derive.processes.cpu_work import ARITHMETIC, COPY
from tracelens.derive.time.cpu_only import busiest_places, longest_communication
from tracelens.derive.time.model import TimeModel
from tracelens.trace import Trace

Places = dict[tuple[int, str], str]
"""The place of a part of time, by rank and part."""

_LONGEST_NAME = 60


def bound_places(model: TimeModel) -> Places:
    """Return, by rank and part, the place that takes most of that part of the rank's time."""
    trace = model.trace
    busy = _kernels(trace) | _copies(trace)
    if model.processes:
        busy |= _ops_of_processes(trace)
    named = model.idle.drop_nulls("what")
    longest = named.unique(["rank", "cause"], keep="first", maintain_order=True)
    names = longest.select("rank", "cause", "what")
    idle = {(rank, cause): what for rank, cause, what in names.iter_rows()}
    on_devices = {(rank, "communication") for rank in _communicating_devices(model)}
    return busy | idle | {key: busy[key] for key in on_devices & busy.keys()}


def short_kernel(name: str) -> str:
    """Shorten a kernel's name: no template arguments, no parameters, cut where it is long."""
    bare = re.sub(r"^void ", "", name).replace("(anonymous namespace)::", "")
    bare = re.sub(r"[<(].*", "", bare) or name
    return bare if len(bare) <= _LONGEST_NAME else bare[: _LONGEST_NAME - 1] + "…"


def _kernels(trace: Trace) -> Places:
    """Name, per rank, the kernel that computes longest and the one that communicates longest."""
    kernels = trace.select("kernels", "rank", "name", "is_communication", "duration_ns")
    by_name = kernels.lazy().group_by("rank", "name", "is_communication")
    sums = by_name.agg(pl.col("duration_ns").sum()).collect()
    ordered = sums.sort("duration_ns", "name", descending=[True, False])
    longest = ordered.unique(["rank", "is_communication"], keep="first", maintain_order=True)
    places = {}
    for rank, name, is_communication, _ in longest.iter_rows():
        for part in ("communication", "waiting") if is_communication else ("compute",):
            places[rank, part] = short_kernel(name)
    return places


def _copies(trace: Trace) -> Places:
    """Describe, per rank, the kind of copy that takes most time."""
    kind = ["rank", "direction", "source_memory", "destination_memory"]
    copies = trace.select("memcpys", *kind, "duration_ns")
    total_ns = pl.col("duration_ns").sum()
    sums = copies.group_by(kind).agg(total_ns).sort("duration_ns", "direction")
    return {
        (rank, "copy"): f"{direction} copies from {source} to {destination} memory"
        for rank, direction, source, destination, _ in sums.iter_rows()
    }


def _ops_of_processes(trace: Trace) -> Places:
    """Name, per rank without a device, the op that communicates, computes or copies longest."""
    places = {(rank, "communication"): op for rank, op in longest_communication(trace).items()}
    for part, work in (("compute", ARITHMETIC), ("copy", COPY)):
        for rank, busiest in busiest_places(trace, work).items():
            if busiest:
                places[rank, part] = busiest[0][0]
    return places


def _communicating_devices(model: TimeModel) -> list[int]:
    """List the ranks whose devices communicate for more time than their hosts."""
    on_host = model.idle.filter(pl.col("cause") == "communication")
    idle_ns = pl.col("idle_ns")
    of_hosts = on_host.group_by("rank").agg(idle_ns.sum())
    both = model.by("rank").join(of_hosts, on="rank")
    more = both.filter(pl.col("communication_ns") > 2 * idle_ns)
    return more["rank"].to_list()
