"""Find collectives of processes without a device: spans of gloo, MPI and other backends."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from tracelens.derive.columns.intervals import union
from tracelens.derive.columns.lookup import by_value, small_ranks_together
from tracelens.derive.columns.per_unique import matching
from tracelens.derive.processes.communication import COMMUNICATION, ON_HOST, SPAN_KINDS
from tracelens.derive.processes.cpu_work import (
    ARITHMETIC,
    COLUMNS,
    COPY,
    SHAPES,
    input_bytes,
    process_work,
)
from tracelens.trace import Trace

_PARTS = r"^(?<backend>\w+?):{1,2}_?(?<name>.+?)_?$"
"""Matches a span's name: the backend, and the collective without the underscores around it."""
_OF_TWO = ("send", "recv", "recv_any_source")
"""Calls between two ranks; spans do not say which two."""
HOST_CALLS = {
    "rank": pl.Int32,
    "name": pl.String,
    "group": pl.String,
    "group_id": pl.String,
    "group_ranks": pl.String,
    "sequence": pl.Int64,
    "dtype": pl.String,
    "size_in_bytes": pl.Int64,
    "size_out_bytes": pl.Int64,
    "device_id": pl.Int32,
    "step": pl.Int64,
    "start_ns": pl.Int64,
    "own_start_ns": pl.Int64,
    "end_ns": pl.Int64,
}
"""Columns of `host_calls`. The table of communication kernels has them, too."""


def host_calls(trace: Trace) -> tuple[pl.DataFrame, list[str]]:
    """Return the collectives of the ranks without kernels (HOST_CALLS), and remarks on them.

    A call is the backend's span, or else the op of the process group. If all these ranks mark
    steps, `sequence` is the step, and calls outside of steps are left out. Otherwise it is None.
    """
    spans_by_rank = communicating_spans(trace)
    calls_by_rank = (_calls_of(rank, spans) for rank, spans in spans_by_rank.items())
    calls = pl.concat([pl.DataFrame(schema=HOST_CALLS), *calls_by_rank])
    if calls.is_empty():
        return calls, []
    with_pairs = _with_ranks_of_two(trace, calls)
    is_unpaired = with_pairs["name"].is_in(_OF_TWO) & with_pairs["group_ranks"].is_null()
    n_unpaired = int(is_unpaired.sum())
    remarks = []
    if n_unpaired:
        remarks.append(
            f"{n_unpaired:,} sends and receives of processes have no recorded peer: left out."
        )
    matched = with_pairs.filter(~is_unpaired)
    step = pl.col("step")
    marks_steps = step.count().over("rank") > 0
    if matched.is_empty() or not matched.select(marks_steps.all()).item():
        return matched, remarks
    backends = ", ".join(matched["group"].unique().sort())
    remarks.append(
        f"Collectives of {backends} have no numbers, so they are matched by order in each step."
    )
    by_step = matched.filter(step.is_not_null()).with_columns(sequence="step")
    return by_step, remarks


def _with_ranks_of_two(trace: Trace, rows: pl.DataFrame) -> pl.DataFrame:
    """Fill in the ranks of sends and receives if the job has only two ranks."""
    sizes = trace.ranks["world_size"].drop_nulls().unique().to_list()
    ranks = trace.manifest.ranks
    if sizes != [2] or len(ranks) != 2:
        return rows
    name = pl.col("name")
    is_of_two = name.is_in(_OF_TWO)
    short_name = name.str.extract("(send|recv)")
    both_ranks = pl.lit(str([*ranks]))
    return rows.with_columns(
        name=pl.when(is_of_two).then(short_name).otherwise(name),
        group_id=pl.when(~is_of_two).then("group_id"),
        group_ranks=pl.when(is_of_two).then(both_ranks),
    )


def communicating_spans(trace: Trace) -> dict[int, pl.DataFrame]:
    """Return the communication spans of each rank without kernels, by rank."""
    return trace.derived(_spans_by_rank)


def _spans_by_rank(trace: Trace) -> dict[int, pl.DataFrame]:
    if not trace.has("spans"):
        return {}
    n_kernels = trace.heights("kernels") if trace.has("kernels") else {}
    n_spans = trace.heights("spans")
    without_kernels = [rank for rank in trace.manifest.ranks if not n_kernels.get(rank)]
    heights = {rank: n_spans[rank] for rank in without_kernels if rank in n_spans}
    reading = trace.uncached()
    spans_by_rank = dict[int, pl.DataFrame]()
    for ranks in small_ranks_together(heights):
        spans_by_rank |= _communicating_spans_of(reading, ranks)
    return spans_by_rank


def _communicating_spans_of(trace: Trace, ranks: Collection[int]) -> dict[int, pl.DataFrame]:
    """Return, by rank, the spans of host backends.

    A rank without such spans has the ops of its process groups instead.
    """
    spans = trace.select("spans", "rank", "kind", "name", rank=ranks)
    in_groups, on_host = matching(spans["name"], COMMUNICATION, ON_HOST)
    can_be = spans["kind"].is_in(SPAN_KINDS)
    flags = spans.select(
        "rank",
        of_backend=on_host & can_be,
        of_group=in_groups & can_be,
    )
    has_backend = pl.col("of_backend").any().over("rank")
    is_chosen = pl.when(has_backend).then("of_backend").otherwise("of_group")
    chosen = flags.select(is_chosen).to_series()
    if not chosen.any():
        return {}
    columns = ("rank", "name", "step", "process_id", "start_ns", "duration_ns", *SHAPES)
    communicating = trace.select("spans", *columns, rank=ranks).filter(chosen)
    return {rank: rows.drop("rank") for rank, rows in by_value(communicating, "rank")}


def _calls_of(rank: int, spans: pl.DataFrame) -> pl.DataFrame:
    """Return one rank's spans of communication as HOST_CALLS, without sequence numbers."""
    parts = pl.col("name").cast(pl.String).str.extract_groups(_PARTS)
    dtypes = pl.col("input_dtypes").cast(pl.String)
    start = pl.col("start_ns").cast(pl.Int64)
    no_text = pl.lit(None, pl.String)
    no_number = pl.lit(None, pl.Int64)
    calls = spans.select(
        rank=pl.lit(rank, pl.Int32),
        name=parts.struct.field("name"),
        group=parts.struct.field("backend"),
        group_ranks=no_text,
        sequence=no_number,
        dtype=dtypes.str.extract(r'"([^"]+)"'),
        size_in_bytes=input_bytes(spans["input_shapes"], spans["input_dtypes"]),
        size_out_bytes=no_number,
        device_id=pl.lit(None, pl.Int32),
        step=pl.col("step").cast(pl.Int64),
        start_ns=start,
        own_start_ns=start,
        end_ns=start + pl.col("duration_ns"),
    )
    # A backend's threads may begin two collectives in either order, so only alike calls are
    # compared.
    parts_of_key = ["group", "name", "dtype", "size_in_bytes"]
    key = pl.concat_str(parts_of_key, separator=" ", ignore_nulls=True)
    return calls.with_columns(group_id=key).select(*HOST_CALLS)


def process_computing(trace: Trace) -> pl.DataFrame:
    """Return the intervals in which ranks without kernels compute or copy on the CPU.

    Columns: rank, start_ns, end_ns.
    """
    schema = {"rank": pl.Int32, "start_ns": pl.Int64, "end_ns": pl.Int64}
    parts = [pl.DataFrame(schema=schema)]
    for rank, calls in communicating_spans(trace).items():
        process_id = int(calls["process_id"][0])
        parts.append(_computing_of(trace, rank, process_id))
    return pl.concat(parts)


def _computing_of(trace: Trace, rank: int, process_id: int) -> pl.DataFrame:
    spans = trace.select("spans", *COLUMNS, *SHAPES, rank=rank)
    work = process_work(spans, process_id)
    is_computing = pl.col("work").is_in([ARITHMETIC, COPY])
    computing = work.filter(is_computing)
    times = computing.select(
        "start_ns",
        "end_ns",
        rank=pl.lit(rank, pl.Int32),
    )
    return union(
        times.select("rank", "start_ns", "end_ns"),
        by="rank",
    )
