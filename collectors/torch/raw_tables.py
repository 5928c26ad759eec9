"""Raw frames of a Chrome trace as the raw tables that `assemble` takes.

It takes the same of every profiler.
"""

import json
import math
import re
from typing import Any

import msgspec
import polars as pl

from tracelens.collectors.torch.distributed import collectives
from tracelens.collectors.torch.fields import TABLES as RAW_TABLES
from tracelens.collectors.torch.values import TIME_LIMIT_NS, integer, text
from tracelens.derive.columns.per_unique import each_once, each_pair_once
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
# CopyHostToDevice of roctracer, HostToDeviceCopy and MEMORY_COPY_HOST_TO_DEVICE of rocprofiler-sdk.
_ROCM_DIRECTION = r"(?i)(Host|Device|Peer)_?To_?(Host|Device|Peer)"
# CUPTI has static kinds too, which Kineto writes as `Device Static` and `Managed Static`.
_ENDS = r"(?i)\(\s*(\w+?)(?:[ _-]?Static)?\s*->\s*(\w+?)(?:[ _-]?Static)?\s*\)"
_FILLED = r"(?i)\(\s*(\w+?)(?:[ _-]?Static)?\s*\)"
_ADDRESS = r" at 0x[0-9a-fA-F]+"
# A call is named `FILE(LINE): FUNCTION`; folders may hold brackets and colons too.
_UP_TO_PACKAGES = r"^(?:[A-Za-z]:)?[/\\].*[/\\](?:site-packages|dist-packages)[/\\]"
# The standard library keeps its packages: json/encoder.py is then another file than a program's
# encoder.py.
_UP_TO_STDLIB = (
    r"^(?:[A-Za-z]:)?[/\\].*[/\\](?:lib(?:32|64)?[/\\]python\d[\d.]*t?|Python\d+[/\\]Lib)[/\\]"
)
# A live capture's own hooks keep their folder, so that they are told from the program's files.
_UP_TO_HOOKS = r"^(?:[A-Za-z]:)?[/\\].*[/\\](collectors[/\\]torch[/\\]live[/\\])"
_UP_TO_FILE = r"^(?:[A-Za-z]:)?[/\\].*[/\\]([^/\\]*\(\d+\): )"
_ABSOLUTE_PATH = r"(^|[\s'\"(<\[=,;])(?:[A-Za-z]:)?[/\\]+(?:[^/\\():<>]+[/\\]+)+"
_KINDS = {"cpu_op": "op", "Operator": "op", "user_annotation": "annotation", "overhead": "overhead"}
_NOT_AS_JSON = re.compile(r"\b(?:True|False)\b|\.(?![0-9])")
"""Python's truth values, and the point at the end of C++'s whole numbers."""
_LONGEST_INPUT, _DEEPEST_INPUT = 1 << 16, 4
_STEP = r"^ProfilerStep#[0-9]+$"
_MODULE = "nn.Module: "
_DRIVERS = ["cuda_driver", "xpu_driver", "privateuse1_driver"]
"""Categories of driver calls; the other categories of calls are a runtime's."""
_MTIA_WAIT, _MTIA_ENCLOSING = "event_wait", ("merge", "remote")
_SPARSE, _FEW = 8, 1 << 16
_SYNC = {
    "event": "(?i)event sync",
    "stream_wait": "(?i)wait",
    "context": "(?i)context",
    "stream": "(?i)stream",
}


def raw_tables(
    frames: dict[str, pl.DataFrame], base_ns: int, diagnostics: Diagnostics
) -> dict[str, pl.DataFrame]:
    """Return the frames with times on the trace's base and the schema's words.

    Kineto's words are translated into the schema's. Takes each frame out of `frames` as it converts
    it, so that no table is in memory twice.
    """
    if abs(base_ns) >= TIME_LIMIT_NS:
        diagnostics.add(
            "warning",
            "base_time_wrong",
            "baseTimeNanoseconds is no time; times count from the trace's own",
        )
        base_ns = 0
    _set_mtia_apart(frames, diagnostics)
    raw = {}
    for name in list(frames):
        frame = frames.pop(name).with_columns(pl.col("start_ns").cast(pl.Int64) + base_ns)
        raw[name] = _CONVERT[name](_fitting(name, frame))
    if "kernels" in raw:
        raw["kernels"] = raw["kernels"].sort("start_ns", maintain_order=True)
        raw["collectives"] = _fitting("collectives", collectives(raw["kernels"]))
    return {name: _without_empty(raw.pop(name)) for name in list(raw)}


def _set_mtia_apart(frames: dict[str, pl.DataFrame], diagnostics: Diagnostics) -> None:
    """Move what is no work out of an MTIA's kernels: all of its device events have one category.

    `event_wait` is a stream's wait for another one, a row of `synchronizations`. `merge` and
    `remote` last as long as the events that they enclose, which are the work; they are counted.
    """
    kernels, calls = frames.get("kernels"), frames.get("api_calls")
    if kernels is None or calls is None or not (calls["category"] == "mtia_runtime").any():
        return
    name = pl.col("name").cast(pl.String)
    is_wait, encloses = name == _MTIA_WAIT, name.is_in(_MTIA_ENCLOSING)
    diagnostics.add(
        "info",
        "enclosing_events",
        "device events that enclose others and are no work of their own (merge, remote)",
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
            [waits.select(columns), *known], how="vertical_relaxed"
        )
    frames["kernels"] = kernels.filter(~encloses & ~is_wait)


def _without_empty(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame without columns of only None values, which need not be carried along."""
    empty = [column.name for column in frame.get_columns() if column.null_count() == frame.height]
    return frame.drop(empty) if frame.height else frame


def _fitting(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with None for values that a 32-bit column cannot hold.

    One wrong number must not cost the trace.
    """
    declared = TABLES[name].schema
    narrow = [
        c for c, dtype in frame.schema.items() if dtype == pl.Int64 and declared.get(c) == pl.Int32
    ]
    return frame.with_columns(
        pl.when(pl.col(column).is_between(-(2**31), 2**31 - 1)).then(column).alias(column)
        for column in narrow
    )


def _spans(spans: pl.DataFrame) -> pl.DataFrame:
    """Return spans with kind, recorded Python caller and plain names.

    The caller is a row number. Names lose addresses and folders.
    """
    callers = _callers(spans.select("process_id", "python_id", "python_parent_id"))
    return spans.with_columns(
        each_once(spans["input_strides"], lambda text: text.map_elements(_plain, pl.String)),
        each_once(spans["concrete_inputs"], lambda text: text.map_elements(_plain, pl.String)),
        *each_pair_once(spans["category"], spans["name"], _named),
        callers.alias("parent_hint"),
        pl.col("process_id", "thread_id").fill_null(-1),
    ).drop("python_id", "python_parent_id")


def _plain(written: str) -> str | None:
    """Return the JSON list with numbers, booleans and lists of them, and None for anything else.

    Return None where it is no list. Inputs that are no tensors are written as Python spells them,
    in strings.
    """
    values = _decoded(written)
    if not isinstance(values, list):
        return None
    read = (_decoded(_as_json(value)) if isinstance(value, str) else value for value in values)
    return json.dumps([value if _is_plain(value) else None for value in read])


def _as_json(value: str) -> str:
    """Return a value as JSON spells it, where it is a number, a truth value or a list of them."""
    return _NOT_AS_JSON.sub(lambda match: match[0].lower() if match[0] != "." else ".0", value)


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text) if len(text) <= _LONGEST_INPUT else None
    except (msgspec.DecodeError, RecursionError):
        return None


def _is_plain(value: Any, depth: int = 0) -> bool:
    if isinstance(value, list):
        return depth < _DEEPEST_INPUT and all(_is_plain(element, depth + 1) for element in value)
    return isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value))


def _named(spans: pl.DataFrame) -> pl.DataFrame:
    """Return the kind of spans by category and name, and their names.

    Those of Python calls without addresses and folders.
    """
    is_call, is_module = (
        pl.col("category") == "python_function",
        pl.col("name").str.starts_with(_MODULE),
    )
    # The profiler's own step annotation was an Operator until 2022.
    is_step = (pl.col("category") == "Operator") & pl.col("name").str.contains(_STEP)
    kind = (
        pl.when(is_call & is_module)
        .then(pl.lit("module"))
        .when(is_call)
        .then(pl.lit("python"))
        .when(is_step)
        .then(pl.lit("annotation"))
        .otherwise(pl.col("category").replace_strict(_KINDS, default=None))
    )
    bare = pl.when(is_call & ~is_module).then(_without_folders(pl.col("name"))).otherwise("name")
    return spans.select(name=bare, kind=kind)


def _without_folders(name: pl.Expr) -> pl.Expr:
    return (
        name.str.replace_all(_ADDRESS, "")
        .str.replace(_UP_TO_PACKAGES, "")
        .str.replace(_UP_TO_STDLIB, "")
        .str.replace(_UP_TO_HOOKS, "$1")
        .str.replace(_UP_TO_FILE, "$1")
        .str.replace_all(_ABSOLUTE_PATH, "$1")
    )


def _callers(spans: pl.DataFrame) -> pl.Series:
    """Return the row of the Python call that each call names as its parent.

    It is the first with that number in its process.
    """
    spans = spans.select(
        "process_id", pl.col("python_id", "python_parent_id").cast(pl.Int64)
    ).with_row_index("row")
    caller_rows = pl.repeat(None, spans.height, dtype=pl.UInt32, eager=True)
    if not spans["python_parent_id"].count():
        return caller_rows
    process = spans["process_id"]
    for process_id in process.unique().drop_nulls():
        of_process = spans.lazy().filter(pl.col("process_id") == process_id)
        callers = of_process.select("row", "python_id").drop_nulls().collect()
        callees = of_process.select("row", "python_parent_id").drop_nulls().collect()
        rows = _first_rows(callers["python_id"], callers["row"], callees["python_parent_id"])
        caller_rows = caller_rows.scatter(callees["row"], rows)
    return caller_rows


def _first_rows(numbers: pl.Series, rows: pl.Series, wanted: pl.Series) -> pl.Series:
    """Return for each wanted number the first row that has it; None where none has."""
    lowest, highest = numbers.min(), numbers.max()
    # The profiler counts calls up: a list by number is short, and takes a tenth of a join's time
    # and memory.
    if (
        isinstance(lowest, int)
        and isinstance(highest, int)
        and lowest >= 0
        and highest < _SPARSE * len(rows) + _FEW
    ):
        table = pl.repeat(None, highest + 1, dtype=pl.UInt32, eager=True).scatter(numbers, rows)
        if (table.gather(numbers) == rows).all():
            return table.gather(wanted.set((wanted < 0) | (wanted > highest), None))
    first = pl.DataFrame({"number": numbers, "row": rows}).unique("number", keep="first")
    return wanted.to_frame("number").join(first, on="number", how="left", maintain_order="left")[
        "row"
    ]


def _api_calls(calls: pl.DataFrame) -> pl.DataFrame:
    """Return calls with the kind of interface that they belong to."""
    source = each_once(
        calls["category"],
        lambda category: (
            pl.when(category.is_in(_DRIVERS)).then(pl.lit("driver")).otherwise(pl.lit("runtime"))
        ),
    )
    return calls.with_columns(
        pl.col("process_id", "thread_id").fill_null(-1), source_api=source
    ).drop("category")


def _kernels(kernels: pl.DataFrame) -> pl.DataFrame:
    """Return kernels; Kineto of 2021 wrote negative occupancy where it did not know the device."""
    return _work(kernels).with_columns(
        *(
            pl.when(pl.col(c) >= 0).then(c).alias(c)
            for c in ("grid_blocks_per_sm", "grid_warps_per_sm")
        ),
        estimated_occupancy_frac=pl.when(pl.col("occupancy_percent") >= 0).then("occupancy_percent")
        / 100,
    )


def _memcpys(copies: pl.DataFrame) -> pl.DataFrame:
    """Return copies with direction and memory kinds.

    They are parsed from the name, not looked up in a list of names.
    """
    described = each_once(copies["name"], _direction_and_memory).struct.unnest()
    return _work(copies).with_columns(*described, size_bytes=pl.col("size_bytes").fill_null(0))


def _direction_and_memory(name: pl.Expr) -> pl.Expr:
    letters = name.str.extract(_DIRECTION).str.to_uppercase()
    rocm = pl.concat_str(
        name.str.extract(_ROCM_DIRECTION, 1).str.slice(0, 1),
        pl.lit("TO"),
        name.str.extract(_ROCM_DIRECTION, 2).str.slice(0, 1),
    )
    # Arrays are device memory, so A counts as D for the direction.
    direction = (
        pl.coalesce(letters, rocm)
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
        filled.alias("memory"), size_bytes=pl.col("size_bytes").fill_null(0)
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

    # Kineto writes -1 or 2^32-1 where a wait has no stream.
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
        pl.col("process_id", "thread_id").fill_null(-1), pl.col("size_bytes").fill_null(0)
    )


def _counters(counters: pl.DataFrame) -> pl.DataFrame:
    return counters.rename({"start_ns": "time_ns"}).drop_nulls("value")


_CONVERT = {
    "spans": _spans,
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
    """Return devices from deviceProperties.

    Devices that only kernels name are listed without properties. Where one GPU is visible,
    deviceProperties numbers it 0, and kernels may carry its number in the machine (ROCm with
    HIP_VISIBLE_DEVICES). One description then belongs to the one device.
    """
    entries = (
        [entry for entry in properties if isinstance(entry, dict)]
        if isinstance(properties, list)
        else []
    )
    rows = {row["device_id"]: row for row in map(_device, entries) if row["device_id"] is not None}
    used = set(kernels["device_id"].unique()) if kernels is not None else set()
    if len(entries) == len(rows) == len(used) == 1 and used != set(rows):
        ((described, row),), (device,) = rows.items(), used
        rows = {device: row | {"device_id": device}}
        diagnostics.add(
            "info",
            "device_renumbered",
            f"devices described as {described}, which kernels call {device}: the only ones of the trace",
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
    return _fitting("devices", pl.DataFrame(list(rows.values()), schema=schema)).drop_nulls(
        "device_id"
    )


def _device(entry: dict[str, Any]) -> dict[str, Any]:
    """Return a row of `devices` from an entry of deviceProperties."""
    major, minor = integer(entry.get("computeMajor")), integer(entry.get("computeMinor"))
    name = text(entry.get("name")) or "unknown"
    # PyTorch for ROCm writes the gfx number as a compute capability, and this key of its own.
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
