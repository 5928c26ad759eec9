"""Compute from a trace's tables what `nsys stats` prints: every cell of its CSV files.

Three rules make them equal to the digit:

- The standard deviation is the n - 1 form, 0 for a single value.
- Cells round half up, while Python's format rounds half to even. But the rounded value is the
  nearest double: 24028.85 is below the tie and becomes 24028.8.
- API names lose a version of exactly four digits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from statistics import median
from typing import Any

import polars as pl

Tables = Mapping[str, pl.DataFrame]
Rows = list[tuple[str, ...]]
_DIRECTIONS = {
    "h2d": "Host-to-Device",
    "d2h": "Device-to-Host",
    "d2d": "Device-to-Device",
    "p2p": "Peer-to-Peer",
}
_STYLES = {"push_pop": "PushPop", "start_end": "StartEnd"}
_MEMSET = "[CUDA memset]"


def cuda_gpu_kern_sum(tables: Tables) -> Rows:
    """Time by kernel name."""
    return _with_share(_durations(tables["kernels"], "name"))


def cuda_gpu_kern_gb_sum(tables: Tables) -> Rows:
    """Time by kernel name, grid and block."""
    return _with_share(
        _grouped(
            ((_shape(k, "grid"), _shape(k, "block"), k["name"]), k["duration_ns"])
            for k in tables["kernels"].iter_rows(named=True)
        )
    )


def cuda_gpu_mem_time_sum(tables: Tables) -> Rows:
    """Sum time by kind of copy, and of fills."""
    return _with_share(_memory(tables, "duration_ns"))


def cuda_gpu_mem_size_sum(tables: Tables) -> Rows:
    """Sum megabytes by kind of copy, and of fills."""
    rows = []
    for key, sizes in _memory(tables, "size_bytes").items():
        megabytes = [Fraction(size, 10**6) for size in sizes]
        low, high = (_rounded(edge(megabytes), 3) for edge in (min, max))
        mean, middle, deviation = _spread(megabytes, 3)
        rows.append(
            (_rounded(sum(megabytes), 3), str(len(sizes)), mean, middle, low, high, deviation, *key)
        )
    return rows


def cuda_api_sum(tables: Tables) -> Rows:
    """Time by API function."""
    return _with_share(_durations(tables["api_calls"], "api"))


def cuda_api_gpu_sum(tables: Tables) -> Rows:
    """Time by API function, kernel and memory operation, all in one."""
    groups = {
        ("CUDA_API", *key): times for key, times in _durations(tables["api_calls"], "api").items()
    }
    groups |= {
        ("CUDA_KERNEL", *key): times for key, times in _durations(tables["kernels"], "name").items()
    }
    groups |= {
        ("MEMORY_OPER", *key): times for key, times in _memory(tables, "duration_ns").items()
    }
    return _with_share(groups)


def cuda_kern_exec_sum(tables: Tables) -> Rows:
    """Launch, queue and execution times by thread, device, API function and kernel.

    The queue time is the kernel's start less the call's end, if that is not negative.
    """
    groups: dict[tuple[str, ...], list[tuple[int, int, int, int]]] = defaultdict(list)
    for k in _launched(tables["kernels"], tables).iter_rows(named=True):
        call_end, end = k["call_start_ns"] + k["call_duration_ns"], k["start_ns"] + k["duration_ns"]
        key = (str(k["process_id"]), str(k["thread_id"]), str(k["device_id"]), k["api"], k["name"])
        total = max(call_end, end) - k["call_start_ns"]
        groups[key].append(
            (total, k["call_duration_ns"], k["start_ns"] - call_end, k["duration_ns"])
        )
    rows = []
    for (process, thread, device, api, name), times in groups.items():
        totals, calls, queues, runs = (list(column) for column in zip(*times, strict=True))
        queues = [queue for queue in queues if queue >= 0]
        cells = [
            cell for values in (totals, calls, queues, runs) for cell in _mean_to_deviation(values)
        ]
        rows.append((process, thread, device, str(len(times)), str(len(queues)), *cells, api, name))
    return rows


def cuda_gpu_trace(tables: Tables, session_start_ns: int) -> Rows:
    """List every kernel, copy and fill, with its start since the session's."""
    device = {
        d["device_id"]: f"{d['name']} ({d['device_id']})"
        for d in tables["devices"].iter_rows(named=True)
    }
    rows = []
    for kind in ("kernels", "memcpys", "memsets"):
        for work in tables.get(kind, pl.DataFrame()).iter_rows(named=True):
            when = (
                str(work["start_ns"] - session_start_ns),
                str(work["duration_ns"]),
                str(work["correlation_id"]),
            )
            where = (device[work["device_id"]], str(work["context_id"]), "", str(work["stream_id"]))
            cells = _kernel_cells(work) if kind == "kernels" else _copy_cells(work)
            name = work["name"] if kind == "kernels" else _operation(work)
            rows.append((*when, *cells, *where, name))
    return rows


def nvtx_sum(tables: Tables) -> Rows:
    """Time by NVTX range."""
    ranges = _ranges(tables).iter_rows(named=True)
    return _with_share(
        _grouped(((_STYLES[r["category"]], f":{r['name']}"), r["duration_ns"]) for r in ranges)
    )


def nvtx_kern_sum(tables: Tables) -> Rows:
    """Sum time by NVTX range and kernel.

    A kernel counts for every range that contains its call on the call's thread.
    """
    kernels = _launched(tables["kernels"], tables)
    inside = _contained(kernels, tables)
    outside = kernels.join(inside, on="kernel_id", how="anti")
    groups: dict[tuple[str, ...], list[tuple[int | None, int]]] = defaultdict(list)
    for k in inside.iter_rows(named=True):
        key = (
            f":{k['range']}",
            _STYLES[k["category"]],
            str(k["process_id"]),
            str(k["thread_id"]),
            k["name"],
        )
        groups[key].append((k["range_id"], k["duration_ns"]))
    for k in outside.iter_rows(named=True):
        groups["", "", str(k["process_id"]), str(k["thread_id"]), k["name"]].append(
            (None, k["duration_ns"])
        )
    rows = []
    for group, found in groups.items():
        times = [duration for _, duration in found]
        n_ranges = len({range_id for range_id, _ in found} - {None})
        cells = (str(n_ranges), str(len(times)), str(sum(times)), *_mean_to_deviation(times))
        rows.append((*group[:-1], *cells, group[-1]))
    return rows


def nvtx_gpu_proj_sum(tables: Tables) -> Rows:
    """Sum time by NVTX range, from its first GPU work to its last.

    Work counts once per call.
    Of the ranges within one, those without GPU work do not count as its children.
    """
    work = [
        _launched(tables[kind], tables)
        for kind in ("kernels", "memcpys", "memsets")
        if kind in tables
    ]
    columns = [
        "process_id",
        "thread_id",
        "call_start_ns",
        "call_duration_ns",
        "start_ns",
        "duration_ns",
        "api_call_id",
    ]
    inside = _contained(pl.concat([frame.select(columns) for frame in work]), tables)
    projected = inside.group_by("range_id").agg(
        time=(pl.col("start_ns") + pl.col("duration_ns")).max() - pl.col("start_ns").min(),
        n_ops=pl.col("api_call_id").n_unique(),
    )
    of_projected = tables["spans"].join(
        projected, left_on="span_id", right_on="range_id", how="semi"
    )
    children = of_projected.group_by("parent_id").len("n_children").drop_nulls()
    ranges = _ranges(tables).join(projected, left_on="span_id", right_on="range_id")
    ranges = ranges.join(children, left_on="span_id", right_on="parent_id", how="left").fill_null(0)
    rows = []
    for (name, category), group in ranges.group_by("name", "category"):
        times, n_ops, n = group["time"].to_list(), int(group["n_ops"].sum()), group.height
        means = [
            _rounded(Fraction(total, n), 1)
            for total in (n_ops, int(group["depth"].sum()), int(group["n_children"].sum()))
        ]
        totals = (str(sum(times)), str(group["duration_ns"].sum()), str(n))
        cells = (*totals, *_mean_to_deviation(times), str(n_ops), *means)
        rows.append((f":{name}", _STYLES[str(category)], *cells))
    return rows


SUMMARIES: dict[str, Callable[[Tables], Rows]] = {
    table.__name__: table
    for table in (
        cuda_gpu_kern_sum,
        cuda_gpu_kern_gb_sum,
        cuda_gpu_mem_time_sum,
        cuda_gpu_mem_size_sum,
        cuda_api_sum,
        cuda_api_gpu_sum,
        cuda_kern_exec_sum,
        nvtx_sum,
        nvtx_kern_sum,
        nvtx_gpu_proj_sum,
    )
}
"""Tables of nsys stats by name. cuda_gpu_trace is left out: it needs the begin of the session."""


def _grouped(pairs: Iterable[tuple[tuple[str, ...], int]]) -> dict[tuple[str, ...], list[int]]:
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return groups


def _durations(frame: pl.DataFrame, by: str) -> dict[tuple[str, ...], list[int]]:
    return _grouped(
        ((name,), duration) for name, duration in frame.select(by, "duration_ns").iter_rows()
    )


def _memory(tables: Tables, column: str) -> dict[tuple[str, ...], list[int]]:
    frames = [tables[kind] for kind in ("memcpys", "memsets") if kind in tables]
    return _grouped(
        ((_operation(work),), work[column])
        for frame in frames
        for work in frame.iter_rows(named=True)
    )


def _operation(work: Mapping[str, Any]) -> str:
    return f"[CUDA memcpy {_DIRECTIONS[work['direction']]}]" if "direction" in work else _MEMSET


def _with_share(groups: Mapping[tuple[str, ...], list[int]]) -> Rows:
    """Return share of all time, total, count, mean, median, least, most, deviation, then the key.

    The key is the group's.
    """
    everything = sum(sum(times) for times in groups.values())
    return [
        (
            _rounded(Fraction(100 * sum(times), everything), 1),
            str(sum(times)),
            str(len(times)),
            *_mean_to_deviation(times),
            *key,
        )
        for key, times in groups.items()
    ]


def _mean_to_deviation(times: list[int]) -> tuple[str, ...]:
    """Mean, median, least, most and deviation of nanoseconds; empty cells for no values."""
    if not times:
        return ("",) * 5
    mean, middle, deviation = _spread([Fraction(time) for time in times], 1)
    return mean, middle, str(min(times)), str(max(times)), deviation


def _spread(values: list[Fraction], digits: int) -> tuple[str, str, str]:
    """Mean, median and sample standard deviation."""
    mean = sum(values, Fraction(0)) / len(values)
    variance = (
        sum(((v - mean) ** 2 for v in values), Fraction(0)) / (len(values) - 1)
        if len(values) > 1
        else 0
    )
    variance = Fraction(variance)
    with localcontext() as context:
        context.prec = 60
        deviation = (Decimal(variance.numerator) / Decimal(variance.denominator)).sqrt()
    return (
        _rounded(mean, digits),
        _rounded(median(values), digits),
        _rounded(Fraction(deviation), digits),
    )


def _rounded(value: Fraction | int, digits: int) -> str:
    with localcontext() as context:
        context.prec = 60
        return str(Decimal(float(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def _shape(kernel: Mapping[str, Any], what: str) -> str:
    return " ".join(f"{kernel[f'{what}_{axis}']:4d}" for axis in "xyz")


def _kernel_cells(kernel: Mapping[str, Any]) -> tuple[str, ...]:
    shape = [str(kernel[f"{what}_{axis}"]) for what in ("grid", "block") for axis in "xyz"]
    shared = [
        _rounded(Fraction(kernel[f"{kind}_shared_bytes"], 10**6), 3)
        for kind in ("static", "dynamic")
    ]
    return (*shape, str(kernel["registers_per_thread"]), *shared, "", "", "", "")


def _copy_cells(work: Mapping[str, Any]) -> tuple[str, ...]:
    size = work["size_bytes"]
    rate = _rounded(Fraction(size * (10**9 // work["duration_ns"]), 10**6), 3)
    memories = (
        (work["source_memory"], work["destination_memory"])
        if "direction" in work
        else (work["memory"], "")
    )
    return (
        *[""] * 9,
        _rounded(Fraction(size, 10**6), 3),
        rate,
        *(memory.capitalize() for memory in memories),
    )


def _launched(work: pl.DataFrame, tables: Tables) -> pl.DataFrame:
    """Device work with the call that started it."""
    calls = tables["api_calls"].select(
        "api_call_id", "api", "thread_id", call_start_ns="start_ns", call_duration_ns="duration_ns"
    )
    return work.join(calls, on="api_call_id")


def _ranges(tables: Tables) -> pl.DataFrame:
    spans = tables.get("spans", pl.DataFrame(schema={"category": pl.String}))
    if "external_id" in spans.columns:  # nsys prints the names of emit_nvtx as they were
        name = pl.concat_str("name", pl.lit(", op_id = "), "external_id")
        spans = spans.with_columns(
            name=pl.when(pl.col("external_id").is_not_null()).then(name).otherwise("name")
        )
    return spans.filter(pl.col("category").is_in(list(_STYLES)))


def _contained(work: pl.DataFrame, tables: Tables) -> pl.DataFrame:
    """Return work with each range that contains its launching call, on that call's thread."""
    ranges = _ranges(tables).select(
        "process_id",
        "thread_id",
        "category",
        range_id="span_id",
        range="name",
        range_start="start_ns",
        range_duration="duration_ns",
    )
    both = work.join(ranges, on=["process_id", "thread_id"])
    return both.filter(
        pl.col("range_start") <= pl.col("call_start_ns"),
        pl.col("range_start") + pl.col("range_duration")
        >= pl.col("call_start_ns") + pl.col("call_duration_ns"),
    )


def differences(ours: Rows, theirs: Rows) -> list[str]:
    """Return rows on one side only, each marked. The order of rows is ignored."""
    left, right = sorted(ours), sorted(theirs)
    only = [f"ours: {row}" for row in left if row not in set(right)]
    only += [f"nsys: {row}" for row in right if row not in set(left)]
    return only if only or left == right else [f"{len(left)} rows of ours, {len(right)} of nsys"]
