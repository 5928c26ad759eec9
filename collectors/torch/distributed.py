"""Read facts about a distributed job from the trace of one rank."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from tracelens.collectors.torch.fields import OF_CALLS, TAKE
from tracelens.collectors.torch.values import TIME_LIMIT_NS, integer, text
from tracelens.derive.columns.per_unique import each_once
from tracelens.schemas.ranks import PARALLEL
from tracelens.trace.capture import HostFacts
from tracelens.trace.same_run import WORLD_SIZE

_RANK_IN_NAME = re.compile(r"(?<![a-z])rank[-_ ]?(\d{1,9})(?!\d)", re.IGNORECASE)
_AXIS_IN_NAME = re.compile(
    rf"(?<![a-z])({'|'.join(PARALLEL)})[-_]?(\d{{1,6}})(?!\d)", re.IGNORECASE
)
_NODE_IN_NAME = re.compile(r"(?<![a-z])node[-_ ]?(\d{1,9})(?!\d)", re.IGNORECASE)
# torch.profiler.tensorboard_trace_handler names files HOST_PID.TIME.pt.trace.json.
_HANDLERS_NAME = re.compile(r"(.+)_\d+\.\d+\.pt\.trace\.json")
# Descriptions of groups by DeviceMesh (mesh_tp) and Megatron (TENSOR_MODEL_PARALLEL_GROUP).
_AXIS_OF_GROUP = {
    axis: re.compile(rf"(mesh_)?{axis}|{word}(_model)?_parallel(_group)?", re.IGNORECASE)
    for axis, word in PARALLEL.items()
}
_DTYPE_BYTES = {
    "float": 4,
    "double": 8,
    "half": 2,
    "bfloat16": 2,
    "int": 4,
    "long": 8,
    "short": 2,
    "char": 1,
    "byte": 1,
    "bool": 1,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "uint8": 1,
    "c10::bfloat16": 2,
    "c10::half": 2,
}
_NO_DESCRIPTION = "undefined"
"""The text that torch writes for a group without a description."""
_MOST_RANKS = 1 << 20
OF_PAIRS = tuple(column.name for column in OF_CALLS)
"""Columns of a span that describe a send or receive call. The call's kernel gets them, too."""
_BATCH, _CALL = "nccl:coalesced", "record_param_comms"
_THREAD = ["process_id", "thread_id"]


def collectives(kernels: pl.DataFrame) -> pl.DataFrame:
    """Return the collective of each communication kernel, one row per kernel.

    kernel_id is the kernel's row number, as `assemble` will assign it.
    """
    width = (
        pl.col("dtype")
        .cast(pl.String)
        .str.to_lowercase()
        .replace_strict(_DTYPE_BYTES, default=None, return_dtype=pl.Int64)
    )
    described = kernels.with_row_index("kernel_id").filter(pl.col("collective").is_not_null())
    lists = [
        each_once(
            described[name],
            lambda written: written.map_elements(lambda text: _json(_numbers(text)), pl.String),
        )
        for name in ("group_ranks", "in_split", "out_split")
    ]
    group = pl.col("group").cast(pl.String)
    return described.select(
        pl.col("kernel_id", "group_id", "group_size", "sequence", "peer", "dtype"),
        *lists,
        group=pl.when(group != _NO_DESCRIPTION)
        .then(group)
        .otherwise(pl.col("group_id").cast(pl.String)),
        name="collective",
        size_in_bytes=pl.when(pl.col("in_elements") < TIME_LIMIT_NS >> 4).then(
            pl.col("in_elements") * width
        ),
        size_out_bytes=pl.when(pl.col("out_elements") < TIME_LIMIT_NS >> 4).then(
            pl.col("out_elements") * width
        ),
    )


def describe_pairs(kernels: pl.DataFrame, raw: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the kernels, each with the columns of the send or receive call that it serves.

    A kernel that serves several calls stays as it is. `raw` has spans and api_calls.
    """
    name = pl.col("name").cast(pl.String)
    is_of_pair = name.str.contains("(?i)send_?recv")
    is_undescribed = pl.col("collective").is_null() & is_of_pair
    rows = kernels.select(is_undescribed).to_series().arg_true()
    if not rows.len() or "spans" not in raw or "api_calls" not in raw:
        return kernels
    # `batch_isend_irecv` runs one kernel for a batch of calls, which the kernel's arguments do not
    # describe. torch records a span `record_param_comms` for each call, then an annotation for the
    # batch. The kernel is launched in this annotation.
    calls = _calls_of_rows(kernels, rows, raw)
    every_row = kernels.select(pl.int_range(pl.len()).cast(rows.dtype).alias("row"))
    described = every_row.join(calls, on="row", how="left", maintain_order="left")
    types = {call.name: pl.Int64 if call.how == TAKE else pl.Categorical for call in OF_CALLS}
    return kernels.with_columns(
        pl.coalesce(pl.col(name).cast(dtype), described[name].cast(dtype)).alias(name)
        for name, dtype in types.items()
    )


def _calls_of_rows(
    kernels: pl.DataFrame,
    rows: pl.Series,
    raw: Mapping[str, pl.DataFrame],
) -> pl.DataFrame:
    """Return the send or receive call of each kernel in `rows`, one row per kernel.

    Kernels of batches with several calls are left out.
    """
    launches = raw["api_calls"].select("correlation_id", *_THREAD, at="start_ns")
    wanted = kernels.select("correlation_id")[rows].with_columns(row=rows)
    launched = wanted.join(launches, on="correlation_id").sort("at")
    nearest = launched.join_asof(
        _single_calls(raw["spans"]),
        left_on="at",
        right_on="start_ns",
        by=_THREAD,
        check_sortedness=False,
    )
    return nearest.filter(pl.col("at") < pl.col("end_ns"))


def _single_calls(spans: pl.DataFrame) -> pl.DataFrame:
    """Return the batches with a single send or receive call, ordered by start.

    Columns are the thread, start_ns, end_ns and OF_PAIRS.
    """
    named = pl.col("name").cast(pl.String)
    batches = spans.filter(named == _BATCH).select(
        *_THREAD,
        "start_ns",
        end_ns=pl.col("start_ns") + pl.col("duration_ns"),
    )
    is_pair = (named == _CALL) & pl.col("collective").cast(pl.String).is_in(["send", "recv"])
    calls = spans.filter(is_pair).select(*_THREAD, *OF_PAIRS, called_ns="start_ns")
    batched = calls.sort("called_ns").join_asof(
        batches.sort("start_ns"),
        left_on="called_ns",
        right_on="start_ns",
        by=_THREAD,
        strategy="forward",
        check_sortedness=False,
    )
    single = batched.drop_nulls("start_ns").filter(pl.len().over(*_THREAD, "start_ns") == 1)
    return single.drop("called_ns").sort("start_ns")


def _json(numbers: list[int] | None) -> str | None:
    return json.dumps(numbers) if numbers else None


def _numbers(written: Any) -> list[int] | None:
    """Return a list of whole numbers, from the list or its text.

    Return None for anything else, such as a list that is cut with `...`.
    """
    if isinstance(written, str):
        try:
            written = msgspec.json.decode(written)
        except (msgspec.DecodeError, RecursionError):
            return None
    is_good = isinstance(written, list) and len(written) <= _MOST_RANKS
    return (
        written
        if is_good and all(type(number) is int and 0 <= number < 2**53 for number in written)
        else None
    )


def with_group_ranks(collectives: pl.DataFrame, facts: dict[str, Any]) -> pl.DataFrame:
    """Return the collectives with the ranks of their groups from distributedInfo.

    A collective's own list of ranks is kept, unless it is cut or absent.
    """
    listed = {name: _json(ranks) for name, _, ranks in _groups(facts)}
    if not listed or "group_id" not in collectives.columns:
        return collectives
    name = (
        pl.col("group_id")
        .cast(pl.String)
        .replace_strict(listed, default=None, return_dtype=pl.String)
    )
    recorded = (
        [pl.col("group_ranks").cast(pl.String)] if "group_ranks" in collectives.columns else []
    )
    return collectives.with_columns(group_ranks=pl.coalesce(*recorded, name))


def _groups(facts: dict[str, Any]) -> list[tuple[str, str, list[int]]]:
    """Return (name, description, ranks) of each process group with a full list of ranks.

    The groups are listed in distributedInfo.
    """
    config = distributed(facts).get("pg_config")
    groups = []
    for group in config if isinstance(config, list) else ():
        if isinstance(group, dict) and (
            ranks := _members(group, integer(distributed(facts).get(WORLD_SIZE)))
        ):
            name, description = (str(group.get(key, "")) for key in ("pg_name", "pg_desc"))
            groups.append((name, description, ranks))
    return groups


def _members(group: dict[str, Any], size: int | None) -> list[int] | None:
    """Return a group's ranks, None if they are damaged.

    PyTorch lists no ranks for the group of all ranks. This group gets all ranks from 0 on.
    """
    ranks = _numbers(group.get("ranks"))
    is_all = (
        ranks == []
        and size is not None
        and size <= _MOST_RANKS
        and integer(group.get("pg_size")) == size
    )
    return [*range(size or 0)] if is_all else ranks


def host_facts_of(path: Path, facts: dict[str, Any]) -> HostFacts:
    """Return facts that show whether captures are from one host, and from one job."""
    handlers = _HANDLERS_NAME.match(path.name)
    host = text(facts.get("host_name")) or (handlers[1] if handlers else None)
    return HostFacts.on(
        host,
        {name: tuple(ranks) for name, _, ranks in _groups(facts)},
    )


def distributed(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the trace's distributedInfo (backend, rank, world size), empty if it has none."""
    info = facts.get("distributedInfo")
    return info if isinstance(info, dict) else {}


def rank_of(
    path: Path,
    facts: dict[str, Any],
    beside: dict[str, Any],
) -> tuple[int | None, str]:
    """Return the rank and its origin: distributedInfo, else the launcher, else the file name.

    `beside` holds the sidecar's facts. The rank is None if no origin has it.
    """
    for origin, recorded in (("distributedInfo", distributed(facts)), ("launcher", beside)):
        rank = integer(recorded.get("rank"))
        if rank is not None and 0 <= rank < 2**31:
            return rank, origin
    match = _RANK_IN_NAME.search(path.name)
    return (int(match.group(1)), "file name") if match else (None, "input order")


def describe_rank(
    rank: int | None,
    name: str,
    facts: dict[str, Any],
    beside: dict[str, Any],
) -> pl.DataFrame:
    """Return the row of the table `ranks` for a trace with this rank and file name.

    - `world_size`
    - `node`: from the launcher, else from the file's name.
    - the rank's position on each axis of parallelism: from the file's name, else from the groups of
      distributedInfo.
    """
    positions: dict[str, int | None] = dict.fromkeys(PARALLEL)
    for _, description, ranks in _groups(facts):
        for axis, pattern in _AXIS_OF_GROUP.items():
            if rank in ranks and pattern.fullmatch(description):
                positions[axis] = ranks.index(rank)
    positions |= {axis.lower(): int(position) for axis, position in _AXIS_IN_NAME.findall(name)}
    size = integer(distributed(facts).get(WORLD_SIZE))
    in_name = _NODE_IN_NAME.search(name)
    node = integer(beside.get("node")) if "node" in beside else int(in_name[1]) if in_name else None
    row = {"world_size": size, "node": node} | positions
    fitting = {
        key: value if isinstance(value, int) and 0 <= value < 2**31 else None
        for key, value in row.items()
    }
    return pl.DataFrame([fitting], schema=dict.fromkeys(row, pl.Int32))
