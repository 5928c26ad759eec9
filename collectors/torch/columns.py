"""Events of a Chrome trace into raw frames, one a sort of event; every event that fits none is counted."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import polars as pl

from tracelens.capture import Diagnostics
from tracelens.collectors.torch.events import Args, CounterEvent, Event
from tracelens.collectors.torch.values import (
    TIME_LIMIT_NS,
    decoded,
    integers,
    nanoseconds,
    number,
    text,
    triple,
)

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
        for event in batch:
            group = self._group(event)
            if group:
                self._waiting.setdefault(group, []).extend(series_of(event))

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
        starts = [bytes(e.ts) for e in events]
        frame = _MAKERS[name](events).with_columns(start_ns=nanoseconds(starts))
        if name not in {"allocations", "counters"}:
            frame = frame.with_columns(duration_ns=nanoseconds([bytes(e.dur) for e in events]))
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


def _host(events: list[Event]) -> dict[str, Any]:
    return {
        "name": pl.Series([text(e.name) or "" for e in events], dtype=pl.String),
        "process_id": integers(e.pid for e in events),
        "thread_id": integers(e.tid for e in events),
    }


def _spans(events: list[Event]) -> pl.DataFrame:
    args = [e.args for e in events]
    ids = integers(a and (a.external_id if a.external_id is not None else a.external_id_old) for a in args)
    return pl.DataFrame(
        _host(events)
        | {
            "kind": pl.Series([_span_kind(e) for e in events], dtype=pl.String),
            "category": pl.Series([e.cat for e in events], dtype=pl.String),
            "external_id": ids,
            "sequence_number": integers(a and a.sequence for a in args),
            "forward_thread_id": integers(a and a.forward_thread for a in args),
            "python_id": integers(a and a.python_id for a in args),
            "python_parent_id": integers(a and a.python_parent for a in args),
            "backend": pl.Series([text(a.kernel_backend) if a else None for a in args], dtype=pl.String),
            "input_shapes": _json_text([bytes(a.dims) or bytes(a.dims_old) if a else b"" for a in args]),
            "input_dtypes": _json_text([bytes(a.types) if a else b"" for a in args]),
        }
    )


def _span_kind(event: Event) -> str:
    if event.cat == "python_function":
        return "module" if isinstance(event.name, str) and event.name.startswith("nn.Module: ") else "python"
    # The profiler's own step annotation was an Operator until 2022.
    if event.cat == "Operator" and isinstance(event.name, str) and _STEP.fullmatch(event.name):
        return "annotation"
    return _KINDS[event.cat]


def _json_text(values: list[bytes]) -> pl.Series:
    """JSON as text, spaced alike whatever layout the file has."""
    return decoded(values).str.replace_all(r"\s*([\[\],])\s*", "$1").str.replace_all(",", ", ").replace("", None)


def _api_calls(events: list[Event]) -> pl.DataFrame:
    return pl.DataFrame(
        _host(events)
        | {
            "source_api": pl.Series(["driver" if e.cat in DRIVERS else "runtime" for e in events]),
            "correlation_id": integers(e.args and e.args.correlation for e in events),
        }
    ).rename({"name": "raw_api"})


def _work(events: list[Event]) -> dict[str, Any]:
    """Columns of every sort of device work; the device falls back to the track the event stands on."""
    args = [e.args for e in events]
    device = integers(a and a.device for a in args).fill_null(integers(e.pid for e in events))
    stream = integers(a and a.stream for a in args).fill_null(integers(e.tid for e in events))
    return {
        "name": pl.Series([text(e.name) or "" for e in events], dtype=pl.String),
        "device_id": device,
        "stream_id": stream,
        "context_id": integers(a and a.context for a in args),
        "correlation_id": integers(a and a.correlation for a in args),
        "graph_node_id": integers(a and a.graph_node for a in args),
    }


def _kernels(events: list[Event]) -> pl.DataFrame:
    args = [e.args for e in events]
    columns = _work(events)
    for what, values in (("grid", [a and a.grid for a in args]), ("block", [a and a.block for a in args])):
        triples = [triple(value) for value in values]
        for axis, name in enumerate("xyz"):
            columns[f"{what}_{name}"] = pl.Series([t[axis] for t in triples], dtype=pl.Int64)
    columns |= {
        "registers_per_thread": integers(a and a.registers for a in args),
        "shared_bytes": integers(a and a.shared for a in args),
        "grid_blocks_per_sm": pl.Series([number(a and a.blocks_per_sm) for a in args], dtype=pl.Float64),
        "grid_warps_per_sm": pl.Series([number(a and a.warps_per_sm) for a in args], dtype=pl.Float64),
        "occupancy_percent": pl.Series([number(a and a.occupancy) for a in args], dtype=pl.Float64),
        "collective": pl.Series([text(a.collective) if a else None for a in args], dtype=pl.String),
        "group": pl.Series(
            [text(a.group_description) or text(a.group_name) if a else None for a in args], dtype=pl.String
        ),
        "group_size": integers(a and a.group_size for a in args),
        "dtype": pl.Series([text(a.dtype) if a else None for a in args], dtype=pl.String),
        "in_elements": integers(a and a.in_elements for a in args),
        "out_elements": integers(a and a.out_elements for a in args),
    }
    return pl.DataFrame(columns)


def _sized(events: list[Event]) -> pl.DataFrame:
    sizes = integers(e.args and e.args.bytes for e in events)
    return pl.DataFrame(_work(events) | {"size_bytes": sizes})


def _synchronizations(events: list[Event]) -> pl.DataFrame:
    kinds = [text(e.args.sync_kind) if e.args and e.args.sync_kind else text(e.name) for e in events]
    return pl.DataFrame(_work(events) | {"what": pl.Series(kinds, dtype=pl.String)})


def _allocations(events: list[Event]) -> pl.DataFrame:
    args = [e.args for e in events]
    on_device = [a.device_id if a and a.device_type != 0 else None for a in args]
    return pl.DataFrame(
        {
            "address": integers(a and a.addr for a in args),
            "size_bytes": integers(a and a.memory_bytes for a in args),
            "allocated_bytes": integers(a and a.allocated for a in args),
            "reserved_bytes": integers(a and a.reserved for a in args),
            "device_id": integers(on_device),
        }
    )


def _counters(events: list[Event]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "name": pl.Series([text(e.name) or "" for e in events], dtype=pl.String),
            "value": pl.Series([number(e.args and e.args.counter_value) for e in events], dtype=pl.Float64),
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
