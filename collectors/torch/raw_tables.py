"""Turn raw frames of a Chrome trace into the raw tables that `assemble` takes.

Raw tables have the same form for every profiler.
"""

import re
from typing import Any

import polars as pl

from tracelens.collectors.torch.distributed import OF_PAIRS, collectives, describe_pairs
from tracelens.collectors.torch.fields import TABLES as RAW_TABLES
from tracelens.collectors.torch.raw_spans import raw_spans
from tracelens.collectors.torch.values import TIME_LIMIT_NS, integer, text
from tracelens.derive.columns.per_unique import each_once
from tracelens.schemas import TABLES
from tracelens.trace.capture import Diagnostics

_MEMORY = {
    "pageable": "pageable",
    "pinned": "pinned",
    "device": "device",
    "managed": "managed",
    "unified": "managed",
    "array": "array",
}
_DIRECTION = r"(?i)\b(HtoD|DtoH|DtoD|PtoP|HtoH|HtoA|AtoH|AtoA|AtoD|DtoA)\b"
# roctracer writes CopyHostToDevice, rocprofiler-sdk HostToDeviceCopy and
# MEMORY_COPY_HOST_TO_DEVICE.
_ROCM_DIRECTION = r"(?i)(Host|Device|Peer)_?To_?(Host|Device|Peer)"
# Intel's PTI writes Memcpy M2D, where M is memory that only the host has.
_PTI_DIRECTION = r"\b([MHD]2[MHD])\b"
# CUPTI also has static kinds, which Kineto writes as `Device Static` and `Managed Static`.
_ENDS = r"(?i)\(\s*(\w+?)(?:[ _-]?Static)?\s*->\s*(\w+?)(?:[ _-]?Static)?\s*\)"
_FILLED = r"(?i)\(\s*(\w+?)(?:[ _-]?Static)?\s*\)"
_DRIVERS = ["cuda_driver", "xpu_driver", "privateuse1_driver"]
"""Categories of driver calls. All other categories of calls are runtime calls."""
_MTIA_WAIT, _MTIA_ENCLOSING = "event_wait", ("merge", "remote")
_SYNC = {
    "event": "(?i)event sync",
    "stream_wait": "(?i)wait",
    "context": "(?i)context",
    "stream": "(?i)stream",
}


def raw_tables(
    frames: dict[str, pl.DataFrame],
    base_ns: int,
    diagnostics: Diagnostics,
) -> dict[str, pl.DataFrame]:
    """Return the raw tables, with `base_ns` added to times and Kineto's words translated.

    Each frame is removed from `frames` as it is converted, so that no table is in memory twice.
    """
    if abs(base_ns) >= TIME_LIMIT_NS:
        diagnostics.add(
            "warning",
            "base_time_wrong",
            "baseTimeNanoseconds is no time; times count from the trace's own",
        )
        base_ns = 0
    _split_mtia_events(frames, diagnostics)
    raw = {}
    for name in list(frames):
        frame = frames.pop(name).with_columns(pl.col("start_ns").cast(pl.Int64) + base_ns)
        raw[name] = _CONVERT[name](_fitting(name, frame))
    if "kernels" in raw:
        raw["kernels"] = describe_pairs(
            raw["kernels"].sort("start_ns", maintain_order=True),
            raw,
        )
        raw["collectives"] = _fitting("collectives", collectives(raw["kernels"]))
    if "spans" in raw:
        raw["spans"] = raw["spans"].drop(OF_PAIRS)
    return {name: _without_empty(raw.pop(name)) for name in list(raw)}


def _split_mtia_events(frames: dict[str, pl.DataFrame], diagnostics: Diagnostics) -> None:
    """Move stream waits of an MTIA (Meta's accelerator) from kernels to synchronizations.

    Kernels that only enclose other events are removed.
    """
    kernels, calls = frames.get("kernels"), frames.get("api_calls")
    if kernels is None or calls is None or not (calls["category"] == "mtia_runtime").any():
        return
    # All device events of an MTIA have one category.
    name = pl.col("name").cast(pl.String)
    is_wait, encloses = name == _MTIA_WAIT, name.is_in(_MTIA_ENCLOSING)
    diagnostics.add(
        "info",
        "enclosing_events",
        "device events that enclose others and are not work of their own (merge, remote)",
        kernels.filter(encloses).height,
    )
    waits = kernels.filter(is_wait).with_columns(
        pl.lit("stream wait").alias("what"),
        pl.lit(None, pl.Int64).alias("waited_stream_id"),
        pl.lit(None, pl.Int64).alias("waited_correlation_id"),
    )
    if waits.height:
        columns = [column.name for column in RAW_TABLES["synchronizations"]]
        known = [frames[name] for name in ("synchronizations",) if name in frames]
        frames["synchronizations"] = pl.concat(
            [waits.select(columns), *known],
            how="vertical_relaxed",
        )
    frames["kernels"] = kernels.filter(~encloses & ~is_wait)


def _without_empty(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame without columns that hold only None."""
    empty = [column.name for column in frame.get_columns() if column.null_count() == frame.height]
    return frame.drop(empty) if frame.height else frame


def _fitting(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with None for values that a 32-bit column cannot hold.

    Otherwise one wrong number would make the whole trace unreadable.
    """
    declared = TABLES[name].schema
    narrow = [
        c for c, dtype in frame.schema.items() if dtype == pl.Int64 and declared.get(c) == pl.Int32
    ]
    return frame.with_columns(
        pl.when(pl.col(column).is_between(-(2**31), 2**31 - 1)).then(column).alias(column)
        for column in narrow
    )


def _api_calls(calls: pl.DataFrame) -> pl.DataFrame:
    """Return the calls with `source_api`, runtime or driver."""
    source = each_once(
        calls["category"],
        lambda category: (
            pl.when(category.is_in(_DRIVERS)).then(pl.lit("driver")).otherwise(pl.lit("runtime"))
        ),
    )
    return calls.with_columns(
        pl.col("process_id", "thread_id").fill_null(-1),
        source_api=source,
    ).drop("category")


def _kernels(kernels: pl.DataFrame) -> pl.DataFrame:
    """Return the kernels with their occupancy as a fraction, None if it is negative.

    Kineto of 2021 wrote negative values for devices that it did not know.
    """
    return _work(kernels).with_columns(
        *(
            pl.when(pl.col(c) >= 0).then(c).alias(c)
            for c in ("grid_blocks_per_sm", "grid_warps_per_sm")
        ),
        estimated_occupancy_frac=pl.when(pl.col("occupancy_percent") >= 0).then("occupancy_percent")
        / 100,
    )


def _memcpys(copies: pl.DataFrame) -> pl.DataFrame:
    """Return the copies with direction and memory kinds, parsed from their names."""
    described = each_once(copies["name"], _direction_and_memory).struct.unnest()
    return _work(copies).with_columns(*described, size_bytes=pl.col("size_bytes").fill_null(0))


def _direction_and_memory(name: pl.Expr) -> pl.Expr:
    letters = name.str.extract(_DIRECTION).str.to_uppercase()
    rocm = pl.concat_str(
        name.str.extract(_ROCM_DIRECTION, 1).str.slice(0, 1),
        pl.lit("TO"),
        name.str.extract(_ROCM_DIRECTION, 2).str.slice(0, 1),
    )
    pti = name.str.extract(_PTI_DIRECTION).str.replace_all("M", "H")
    # Arrays are device memory, so A counts as D in the direction.
    direction = (
        pl.coalesce(letters, rocm, pti)
        .str.replace_all("A", "D")
        .str.replace("TO", "2")
        .str.to_lowercase()
    )
    kinds = [
        name.str.extract(_ENDS, i).str.to_lowercase().replace_strict(_MEMORY, default=None)
        for i in (1, 2)
    ]
    by_letter = {"h": "unknown", "d": "device", "p": "device"}
    ends = [direction.str.slice(i, 1).replace_strict(by_letter, default="unknown") for i in (0, 2)]
    known = direction.is_in(["h2d", "d2h", "d2d", "p2p", "h2h"])
    return pl.struct(
        direction=pl.when(known).then(direction).otherwise(pl.lit("unknown")),
        source_memory=pl.coalesce(kinds[0], ends[0], pl.lit("unknown")),
        destination_memory=pl.coalesce(kinds[1], ends[1], pl.lit("unknown")),
    )


def _memsets(memsets: pl.DataFrame) -> pl.DataFrame:
    filled = each_once(
        memsets["name"],
        lambda name: (
            name.str.extract(_FILLED).str.to_lowercase().replace_strict(_MEMORY, default=None)
        ),
    )
    return _work(memsets).with_columns(
        filled.alias("memory"),
        size_bytes=pl.col("size_bytes").fill_null(0),
    )


def _work(work: pl.DataFrame) -> pl.DataFrame:
    return work.with_columns(pl.col("device_id").fill_null(-1))


def _synchronizations(syncs: pl.DataFrame) -> pl.DataFrame:
    def waited_for(what: pl.Expr) -> pl.Expr:
        cases = (
            pl.when(what.str.contains(pattern)).then(pl.lit(word))
            for word, pattern in _SYNC.items()
        )
        return pl.coalesce(*cases, pl.lit("unknown"))

    # Kineto writes -1 or 2^32-1 if a wait has no stream.
    return syncs.with_columns(
        each_once(syncs["what"], waited_for).alias("kind"),
        *(
            pl.when((pl.col(name) >= 0) & (pl.col(name) < 2**31)).then(name).alias(name)
            for name in ("stream_id", "waited_stream_id")
        ),
        pl.when(pl.col("waited_correlation_id") >= 0)
        .then("waited_correlation_id")
        .alias("waited_correlation_id"),
    )


def _allocations(allocations: pl.DataFrame) -> pl.DataFrame:
    return allocations.rename({"start_ns": "time_ns"}).with_columns(
        pl.col("process_id", "thread_id").fill_null(-1),
        pl.col("size_bytes").fill_null(0),
    )


def _counters(counters: pl.DataFrame) -> pl.DataFrame:
    return counters.rename({"start_ns": "time_ns"}).drop_nulls("value")


_CONVERT = {
    "spans": raw_spans,
    "api_calls": _api_calls,
    "kernels": _kernels,
    "memcpys": _memcpys,
    "memsets": _memsets,
    "synchronizations": _synchronizations,
    "allocations": _allocations,
    "counters": _counters,
}


def devices(
    properties: Any, kernels: pl.DataFrame | None, diagnostics: Diagnostics
) -> pl.DataFrame:
    """Return one row per device, from deviceProperties.

    A device that occurs only in kernels gets a row without properties.
    """
    entries = (
        [entry for entry in properties if isinstance(entry, dict)]
        if isinstance(properties, list)
        else []
    )
    rows = {row["device_id"]: row for row in map(_device, entries) if row["device_id"] is not None}
    used = set(kernels["device_id"].unique()) if kernels is not None else set()
    # If only one GPU is visible, deviceProperties numbers it 0, but kernels may use its number in
    # the machine (ROCm with HIP_VISIBLE_DEVICES).
    if len(entries) == len(rows) == len(used) == 1 and used != set(rows):
        ((described, row),), (device,) = rows.items(), used
        rows = {device: row | {"device_id": device}}
        diagnostics.add(
            "info",
            "device_renumbered",
            f"devices described as {described}, which kernels call {device}: the only ones of the"
            " trace",
        )
    for device in sorted(used - set(rows)):
        diagnostics.add(
            "warning",
            "device_unknown",
            "devices that kernels ran on but the trace does not describe",
        )
        rows[device] = {"device_id": device, "name": "unknown"}
    schema = {
        column.name: pl.Int64 if column.dtype == pl.Int32 else column.dtype
        for column in TABLES["devices"]
        if column.name != "rank"
    }
    return _fitting(
        "devices",
        pl.DataFrame(list(rows.values()), schema=schema),
    ).drop_nulls("device_id")


def _device(entry: dict[str, Any]) -> dict[str, Any]:
    """Return a row of `devices` from an entry of deviceProperties."""
    major, minor = integer(entry.get("computeMajor")), integer(entry.get("computeMinor"))
    name = text(entry.get("name")) or "unknown"
    # Only PyTorch for ROCm writes maxSharedMemoryPerMultiProcessor. It writes the gfx number as the
    # compute capability.
    is_amd = (
        "maxSharedMemoryPerMultiProcessor" in entry
        or re.search(r"\bAMD\b|Radeon|Instinct|^gfx", name) is not None
    )
    shared = entry.get("sharedMemPerMultiprocessor", entry.get("maxSharedMemoryPerMultiProcessor"))
    whole = {
        "device_id": "id",
        "sm_count": "numSms",
        "warp_size": "warpSize",
        "registers_per_sm": "regsPerMultiprocessor",
        "max_threads_per_sm": "maxThreadsPerMultiprocessor",
        "memory_bytes": "totalGlobalMem",
    }
    return {column: integer(entry.get(key)) for column, key in whole.items()} | {
        "name": name,
        "compute_capability": (
            f"{major}.{minor}" if None not in (major, minor) and not is_amd else None
        ),
        "shared_memory_per_sm_bytes": integer(shared),
    }
