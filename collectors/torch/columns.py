"""Events of a Chrome trace into raw frames, one a sort of event; every event that fits none is counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import polars as pl

from tracelens.collectors.torch.events import Args, CounterEvent, Event
from tracelens.collectors.torch.values import (
    TIME_LIMIT_NS,
    decoded,
    integers,
    nanoseconds,
    number,
    numbers,
    text,
    texts,
    triple,
)
from tracelens.derive.columns.distinct import each_once
from tracelens.trace.capture import Diagnostics

# Kineto's words of 2022-05 on, and those before.
_GROUPS = {
    "cpu_op": "spans", "Operator": "spans", "user_annotation": "spans", "python_function": "spans",
    "overhead": "spans", "cuda_runtime": "api_calls", "cuda_driver": "api_calls", "Runtime": "api_calls",
    "kernel": "kernels", "Kernel": "kernels", "gpu_memcpy": "memcpys", "Memcpy": "memcpys",
    "gpu_memset": "memsets", "Memset": "memsets", "cuda_sync": "synchronizations",
    # Other makers' host calls; their kernels and copies mostly have the names above. MTIA's device events are its own.
    "mtia_runtime": "api_calls", "xpu_runtime": "api_calls", "xpu_driver": "api_calls", "hpu_op": "api_calls",
    "glow_runtime": "api_calls", "privateuse1_runtime": "api_calls", "privateuse1_driver": "api_calls",
    "mtia_ccp_events": "kernels",
}  # fmt: skip
DRIVERS = ("cuda_driver", "xpu_driver", "privateuse1_driver")
"""Categories of calls of a driver; those of other calls are a runtime's."""
# What these tell stands in other events too, or is of the profiler itself.
_NOTHING_LOST = {"gpu_user_annotation", "Trace", "cuda_event", "cuda_profiler_range", "external_correlation"}
_STEP = re.compile(r"ProfilerStep#[0-9]+")
_NO_ARGS = Args()
_KINDS = {"cpu_op": "op", "Operator": "op", "user_annotation": "annotation", "overhead": "overhead"}


class RawEvents:
    """Collects events batch by batch; `frames()` gives what came in as one raw frame a table."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        """Start empty."""
        self._parts: dict[str, list[pl.DataFrame]] = {}
        self._waiting: dict[str, list[Event]] = {}
        self._diagnostics = diagnostics
        self._unknown: Counter[tuple[str, bool]] = Counter()
        self.has_fractions = False

    def add(self, batch: list[Event]) -> None:
        """Take a batch of events."""
        waiting = self._waiting
        for event in batch:
            group = self._group(event)
            if group == "counters":
                waiting.setdefault(group, []).extend(series_of(event))
            elif group in waiting:
                waiting[group].append(event)
            elif group:
                waiting[group] = [event]

    def flush(self) -> None:
        """Make frames of the events taken so far; until then each holds on to the text that it was read in."""
        for name in list(self._waiting):
            self._make(name)

    def frames(self) -> dict[str, pl.DataFrame]:
        """Raw frames by table name, and the count of unplaced events handed to the diagnostics."""
        self.flush()
        for (category, is_lost), count in self._unknown.most_common():
            lost = "events of a category that is not read: they are in no table and no total"
            severity, said = ("loss", lost) if is_lost else ("info", "events that no table holds")
            self._diagnostics.add(severity, f"category_{category}"[:80], said, count)
        return {name: pl.concat(parts, how="vertical_relaxed") for name, parts in self._parts.items()}

    def _make(self, name: str) -> None:
        """A frame of the events that wait for it."""
        events = self._waiting.pop(name)
        starts, durations = (list(map(bytes, written)) for written in _fields(events, "ts", "dur"))
        frame = _MAKERS[name](events).with_columns(start_ns=nanoseconds(starts))
        if name not in {"allocations", "counters"}:
            frame = frame.with_columns(duration_ns=nanoseconds(durations))
        self.has_fractions = self.has_fractions or any(b"." in start for start in starts)
        self._count_unsized(name, frame)
        self._parts.setdefault(name, []).append(self._timed(frame))

    def _group(self, event: Event) -> str:
        """Which raw frame the event belongs to; empty when it is known to add nothing, or was counted."""
        if event.ph == "X":
            group = _GROUPS.get(event.cat) if isinstance(event.cat, str) else None
            if group:
                return group
            category = _word(event.cat)
            self._unknown[category, category not in _NOTHING_LOST] += 1
        elif event.ph == "i" and event.name == "[memory]":
            return "allocations"
        elif event.ph == "C":
            return "counters"
        elif event.ph not in ("M", "s", "t", "f"):  # no set: what stands there may not be hashable
            self._unknown[f"{_word(event.cat)} (ph {_word(event.ph)})", False] += 1
        return ""

    def _count_unsized(self, name: str, frame: pl.DataFrame) -> None:
        """Count the events without the number that they are about."""
        if name in {"memcpys", "memsets", "allocations"}:
            n, text = frame["size_bytes"].null_count(), "copies, fills and allocations without a size, which count as 0"
            self._diagnostics.add("warning", "size_unknown", text, n)
        elif name == "counters":
            n = frame["value"].null_count()
            self._diagnostics.add("loss", "counter_without_value", "counter events without a number", n)

    def _timed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows with a start, and with a duration that is not negative."""
        good = pl.col("start_ns").is_between(-TIME_LIMIT_NS, TIME_LIMIT_NS)
        if "duration_ns" in frame.columns:
            good &= pl.col("duration_ns").is_between(0, TIME_LIMIT_NS).fill_null(value=False)
        kept = frame.filter(good)
        self._diagnostics.add(
            "loss",
            "event_without_time",
            "events whose start or duration is missing or wrong",
            frame.height - kept.height,
        )
        return kept


def series_of(event: Event) -> list[Event]:
    """The event; for a counter one a series, named for the counter and, unless that is `value`, the number in it."""
    if not isinstance(event, CounterEvent):
        return [event]
    numbers = {name: found for name, value in event.values.items() if (found := number(value)) is not None}
    of = text(event.name) or ""
    return [
        Event("C", event.cat, of if name == "value" else f"{of} {name}".strip(), event.pid, event.tid, event.ts,
              args=Args(counter_value=value))
        for name, value in numbers.items()
    ] or [Event("C", event.cat, event.name, event.pid, event.tid, event.ts)]  # fmt: skip


def _word(value: Any) -> str:
    return value if isinstance(value, str) and value else "none"


def _fields(records: list[Any], *names: str) -> list[list[Any]]:
    """The fields of the records, a list each. Without a tuple a record, which garbage collection would look at."""
    return [list(map(attrgetter(name), records)) for name in names]


def _args(events: list[Event]) -> list[Args]:
    """The args of each event; those of one without say nothing."""
    return [e.args or _NO_ARGS for e in events]


def _first(values: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    return [other if value is None else value for value, other in zip(values, others, strict=True)]


def _spans(events: list[Event]) -> pl.DataFrame:
    names, processes, threads, categories = _fields(events, "name", "pid", "tid", "cat")
    ids, old_ids, sequences, forward, python, parents, backends, dims, old_dims, types = _fields(
        _args(events), "external_id", "external_id_old", "sequence", "forward_thread", "python_id", "python_parent",
        "kernel_backend", "dims", "dims_old", "types",
    )  # fmt: skip
    shapes = [shape or old for shape, old in zip(map(bytes, dims), map(bytes, old_dims), strict=True)]
    return pl.DataFrame(
        {
            "name": texts(names).fill_null(""),
            "process_id": integers(processes),
            "thread_id": integers(threads),
            "kind": pl.Series(map(_span_kind, categories, names), dtype=pl.String),
            "category": pl.Series(categories, dtype=pl.String),
            "external_id": integers(_first(ids, old_ids)),
            "sequence_number": integers(sequences),
            "forward_thread_id": integers(forward),
            "python_id": integers(python),
            "python_parent_id": integers(parents),
            "backend": texts(backends),
            "input_shapes": _json_text(shapes),
            "input_dtypes": _json_text(list(map(bytes, types))),
        }
    )


def _span_kind(category: str, name: Any) -> str:
    if category == "python_function":
        return "module" if isinstance(name, str) and name.startswith("nn.Module: ") else "python"
    # The profiler's own step annotation was an Operator until 2022.
    if category == "Operator" and isinstance(name, str) and _STEP.fullmatch(name):
        return "annotation"
    return _KINDS[category]


def _json_text(values: Sequence[bytes]) -> pl.Series:
    """JSON as text, spaced alike whatever layout the file has."""
    return each_once(decoded(values), _spaced_alike)


def _spaced_alike(text: pl.Expr) -> pl.Expr:
    alike = text.str.replace_all(r"\s*([\[\],])\s*", "$1").str.replace_all(",", ", ", literal=True)
    return pl.when(alike != "").then(alike)


def _api_calls(events: list[Event]) -> pl.DataFrame:
    names, processes, threads, categories = _fields(events, "name", "pid", "tid", "cat")
    return pl.DataFrame(
        {
            "raw_api": texts(names).fill_null(""),
            "process_id": integers(processes),
            "thread_id": integers(threads),
            "source_api": pl.Series(["driver" if c in DRIVERS else "runtime" for c in categories]),
            "correlation_id": integers([a.correlation for a in _args(events)]),
        }
    )


def _work(events: list[Event]) -> dict[str, pl.Series]:
    """Columns of every sort of device work; the device falls back to the track the event stands on."""
    names, processes, threads = _fields(events, "name", "pid", "tid")
    devices, streams, contexts, correlations, nodes = _fields(
        _args(events), "device", "stream", "context", "correlation", "graph_node"
    )
    return {
        "name": texts(names).fill_null(""),
        "device_id": integers(devices).fill_null(integers(processes)),
        "stream_id": integers(streams).fill_null(integers(threads)),
        "context_id": integers(contexts),
        "correlation_id": integers(correlations),
        "graph_node_id": integers(nodes),
    }


def _kernels(events: list[Event]) -> pl.DataFrame:
    columns = _work(events)
    grids, blocks, registers, shared, blocks_per_sm, warps_per_sm, occupancy = _fields(
        _args(events), "grid", "block", "registers", "shared", "blocks_per_sm", "warps_per_sm", "occupancy"
    )
    collectives, descriptions, names, sizes, dtypes, in_elements, out_elements = _fields(
        _args(events), "collective", "group_description", "group_name", "group_size", "dtype", "in_elements",
        "out_elements",
    )  # fmt: skip
    for what, values in (("grid", grids), ("block", blocks)):
        for axis, found in zip("xyz", zip(*map(triple, values), strict=True), strict=True):
            columns[f"{what}_{axis}"] = pl.Series(found, dtype=pl.Int64)
    groups = [text(description) or text(name) for description, name in zip(descriptions, names, strict=True)]
    columns |= {
        "registers_per_thread": integers(registers),
        "shared_bytes": integers(shared),
        "grid_blocks_per_sm": numbers(blocks_per_sm),
        "grid_warps_per_sm": numbers(warps_per_sm),
        "occupancy_percent": numbers(occupancy),
        "collective": texts(collectives),
        "group": pl.Series(groups, dtype=pl.String),
        "group_size": integers(sizes),
        "dtype": texts(dtypes),
        "in_elements": integers(in_elements),
        "out_elements": integers(out_elements),
    }
    return pl.DataFrame(columns)


def _sized(events: list[Event]) -> pl.DataFrame:
    return pl.DataFrame(_work(events) | {"size_bytes": integers([a.bytes for a in _args(events)])})


def _synchronizations(events: list[Event]) -> pl.DataFrame:
    kinds = [text(e.args.sync_kind) if e.args and e.args.sync_kind else text(e.name) for e in events]
    return pl.DataFrame(_work(events) | {"what": pl.Series(kinds, dtype=pl.String)})


def _allocations(events: list[Event]) -> pl.DataFrame:
    addresses, sizes, allocated, reserved, devices, types = _fields(
        _args(events), "addr", "memory_bytes", "allocated", "reserved", "device_id", "device_type"
    )
    on_device = [None if kind == 0 else device for device, kind in zip(devices, types, strict=True)]
    return pl.DataFrame(
        {
            "address": integers(addresses),
            "size_bytes": integers(sizes),
            "allocated_bytes": integers(allocated),
            "reserved_bytes": integers(reserved),
            "device_id": integers(on_device),
        }
    )


def _counters(events: list[Event]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "name": texts([e.name for e in events]).fill_null(""),
            "value": numbers([a.counter_value for a in _args(events)]),
        }
    )


_MAKERS = {
    "spans": _spans,
    "api_calls": _api_calls,
    "kernels": _kernels,
    "memcpys": _sized,
    "memsets": _sized,
    "synchronizations": _synchronizations,
    "allocations": _allocations,
    "counters": _counters,
}
