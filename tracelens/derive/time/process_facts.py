"""Describe processes without a device: ops, reads, communication, signs of an unrecorded device."""

from collections.abc import Sequence

import polars as pl

from tracelens.derive.columns.per_unique import matching
from tracelens.derive.processes.communication import COMMUNICATION
from tracelens.derive.processes.cpu_work import READS, steps_around_reads
from tracelens.derive.time.op_times import op_times
from tracelens.derive.time.program_phases import in_program
from tracelens.derive.time.step_table import process_ranks
from tracelens.trace import Trace

_DEVICE_OPS = r"^aten::_?(cudnn|miopen)_"
"""Ops of cuDNN and MIOpen, which compute on GPUs only."""
_WITHIN = " > "


def process_sentences(trace: Trace, processes: Sequence[int]) -> list[str]:
    """Explain what the time of ranks without a device consists of; `processes` are these ranks."""
    if not processes:
        return []
    are_some = len(processes) < len(trace.manifest.ranks)
    which = f" of rank {', '.join(map(str, processes))}" if are_some else ""
    sentence = (
        f"Nothing was recorded on a device, so this is the time of the process{which}. It computes"
        " while any of its threads runs an op that does arithmetic, and copies while a thread"
    )
    return [
        sentence
        + " copies memory. 'Calling ops' is the time of small ops, and of pauses between ops."
    ]


def unseen_device(trace: Trace, processes: Sequence[int]) -> list[str]:
    """Return a warning if one of these ranks, which have no device work, has a device."""
    is_of_process = pl.col("rank").is_in(processes)
    devices = trace.frame("devices").filter(is_of_process)
    names = devices["name"].unique().sort()
    return [
        f"No work of the device ({name}) was recorded: if the program used it, ops launched and"
        " waited; profile with ProfilerActivity.CUDA."
        for name in names.head(1)
    ]


def unrecorded_device(trace: Trace, rank: int) -> str | None:
    """Describe a sign that a rank used a device that was not recorded, None without such a sign."""
    spans = trace.select("spans", "name", rank=rank)
    (is_of_device,) = matching(spans["name"], _DEVICE_OPS)
    called = spans.filter(is_of_device)["name"].cast(pl.String)
    if called.len():
        return f"the program calls {called[0]}, which runs on a device whose work was not recorded"
    # torch writes the device's events after the host's, so a file that ends early may lack them.
    devices = trace.frame("devices").filter(rank=rank)
    if trace.manifest.complete or devices.is_empty():
        return None
    return f"the file ends before any work of the device ({devices['name'][0]})"


def count_ops(trace: Trace) -> dict[int, int]:
    """Return the number of ops by rank, for ranks that have no device."""
    return {rank: int(ops["n_calls"].sum()) for rank, ops in trace.derived(_ops).items()}


def reads_of(places: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the call paths of all ops that read single values of tensors, with their times."""
    reads = []
    for what, ns in places:
        _, _, op = what.rpartition(_WITHIN)
        if op == READS:
            reads.append((what, ns))
    return reads


def count_reads(trace: Trace, rank: int) -> int:
    """Count the single values of tensors that the rank's program reads.

    If the rank marks steps, only reads in steps count.
    """
    spans = trace.select(
        "spans",
        "rank",
        "step",
        "name",
        "parent_id",
        rank=rank,
    )
    # Optimizers read their own step count.
    is_of_optimizer = steps_around_reads(spans).is_not_null()
    is_read = pl.col("name") == READS
    own_spans = spans.filter(~is_of_optimizer)
    return own_spans.filter(is_read & in_program(trace)).height


def longest_communication(trace: Trace) -> dict[int, str]:
    """Return, by rank, the name of the longest communication, for ranks that have no device."""
    columns = ("rank", "kind", "name", "duration_ns")
    is_of_ranks = pl.col("rank").is_in(process_ranks(trace))
    spans = trace.select("spans", *columns).filter(is_of_ranks)
    (communicates,) = matching(spans["name"], COMMUNICATION)
    communication = spans.filter(communicates)
    by_name = communication.group_by("rank", "name")
    times = by_name.agg(pl.col("duration_ns").sum())
    ordered = times.sort("duration_ns", "name", descending=[True, False])
    longest = ordered.unique("rank", keep="first", maintain_order=True)
    names = longest.select("rank", pl.col("name").cast(pl.String))
    return dict(names.iter_rows())


def _ops(trace: Trace) -> dict[int, pl.DataFrame]:
    """Return the frames of `op_times` by rank, for ranks that have no device."""
    ranks = process_ranks(trace)
    if not ranks:
        return {}
    by_rank = {int(ops["rank"][0]): ops for ops in op_times(trace)}
    return {rank: by_rank[rank] for rank in ranks}
