"""Changes that a replay can make: an expression becomes other weights of the graph."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from tracelens.derive.replay.critical import Labels, labels_of
from tracelens.derive.replay.edges import (
    CALL,
    COPY,
    KERNEL,
    LAUNCH,
    NONE,
    OP,
    PYTHON,
    QUEUE,
    WAIT,
)
from tracelens.derive.replay.graph import Flags, Ints
from tracelens.derive.replay.replay import Replay
from tracelens.errors import UsageError, near
from tracelens.trace import Trace

NEVER = -(10**15)
"""The weight of an edge that nothing waits along any more."""
_GRAPH_LAUNCH_NS = 15_000
"""The host's time to launch a CUDA graph: chosen, not measured."""
_PINS = "Host(?:Alloc|Malloc|Register|Unregister|Free)|FreeHost|MallocHost"
"""Calls that allocate pinned memory of the host, which no graph holds."""
_GRAPH_GAP_NS = 500
"""Between two kernels of a graph: chosen from what predictions of five programs missed."""
_PINNED_BYTES_PER_S = {"H100": 50e9, "H200": 50e9, "A100": 24e9, "L4": 24e9, "V100": 12e9}
"""Bandwidth of pinned copies by device, where the trace has none.

Assumed from the device's link.
"""
_PINNED_CALL_NS = 8_000
"""The host's time to start a pinned copy: chosen, not measured."""

_BYTES = {
    "float64": 8,
    "float32": 4,
    "bf16": 2,
    "fp16": 2,
    "bfloat16": 2,
    "float16": 2,
    "fp8": 1,
    "int8": 1,
}
"""Bytes of an element."""
_FUSED_HOST, _FUSED_DEVICE = 0.05, 0.3
"""What a fused optimizer keeps of the time of one that goes parameter by parameter: read off four
programs of samples/whatif, of which docs/accuracy.md has the errors."""
_SMALL_BYTES = 64
"""What reads back no more than this reads a number: without the wait there is no copy either."""


@dataclass
class Subject:
    """What changes apply to: a rank's replay with the labels of its edges."""

    trace: Trace
    replay: Replay

    @cached_property
    def labels(self) -> Labels:
        """What each edge is of."""
        return labels_of(self.trace, self.replay, np.arange(len(self.replay.table.kinds)))

    def in_layer(self, layer: str) -> Flags:
        """Edges of a module and of those inside it."""
        return np.array(
            [path is not None and f"{path}.".startswith(f"{layer}.") for path in self.labels.layers]
        )

    @property
    def is_host(self) -> Flags:
        """Edges that are the host's own time."""
        return np.isin(self.replay.table.kinds, (OP, PYTHON, CALL))

    def of_cause(self, cause: str) -> Flags:
        """Edges of the host during which it did what this cause says."""
        return np.array([label == cause for label in self.labels.causes]) & self.is_host


Change = Callable[[Ints], Ints]
"""From weights to weights."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of change: how it is written, what it means, and how it is made of its value."""

    usage: str
    meaning: str
    make: Callable[[Subject, str | None], Change]


def parse_change(subject: Subject, text: str) -> Change:
    """Parse an expression. Raises UsageError for unknown words and what the trace cannot answer."""
    faster = re.fullmatch(r"faster[ =](.+?) (?:BY|by) ([\d.]+)", text.strip())
    if faster:
        return _faster(subject, faster[1], float(faster[2]))
    word, _, value = text.strip().partition("=")
    if word in _UNANSWERED:
        raise UsageError(f"{word}: {_UNANSWERED[word]}")
    if word not in KINDS_OF_CHANGE:
        known = [*KINDS_OF_CHANGE, "faster"]
        raise UsageError(
            f"no change is called {text!r}; {near(word, known)} (changes: {', '.join(usages())})"
        )
    return KINDS_OF_CHANGE[word].make(subject, value or None)


def usages() -> list[str]:
    """How each change is written."""
    return [*(kind.usage for kind in KINDS_OF_CHANGE.values()), "faster OP|LAYER|KERNEL by X"]


def _cuda_graph(subject: Subject, layer: str | None) -> Change:
    """The host's time in ops and launches goes, but for one launch a step; waits and input stay."""
    table, causes = subject.replay.table, subject.labels.causes
    issuing = np.array([cause in {None, "launch", "allocation"} for cause in causes])
    # What the host itself computes or reads goes on between the graphs, also where an op does it.
    is_own = np.array([cause in {"host", "input"} for cause in causes])
    apis = subject.replay.window.calls["api"]
    pins = apis.str.contains(_PINS).fill_null(value=False).to_numpy()
    is_own |= (table.kinds == CALL) & _picked(pins, table.items)
    chosen = subject.is_host & ~is_own & (issuing | np.isin(table.kinds, (OP, CALL)))
    if layer is not None:
        chosen &= subject.in_layer(layer)
        _require(chosen, f"cuda_graph={layer}: no module of that path has host time in the steps")
    firsts = _first_of_each_step(subject, chosen)
    ends_wait = np.isin(table.targets, table.targets[table.kinds == WAIT])

    def change(weights: Ints) -> Ints:
        changed = np.where(chosen & ~ends_wait, 0, weights)
        changed[firsts] = _GRAPH_LAUNCH_NS
        usual = subject.replay.usual.launch_ns
        changed = np.where(table.kinds == LAUNCH, np.minimum(changed, usual), changed)
        return np.where(table.kinds == QUEUE, np.minimum(changed, _GRAPH_GAP_NS), changed)

    return change


def _first_of_each_step(subject: Subject, chosen: Flags) -> Ints:
    """The first chosen edge of each step."""
    table = subject.replay.table
    rows = np.flatnonzero(chosen)
    steps = np.searchsorted(subject.replay.marks, table.graph.sources[rows], "right")
    _, firsts = np.unique(steps, return_index=True)
    return rows[firsts]


def _no_sync(subject: Subject, place: str | None) -> Change:
    """Remove the host's waits for the device, and the calls that only wait."""
    table, window = subject.replay.table, subject.replay.window
    names = window.calls["api"].to_list()
    is_sync = (window.calls["waits"] & (window.calls["kind"] != "memcpy")).to_numpy()
    reads_back = np.zeros(len(names), bool)
    for wait in subject.replay.waits:
        name = window.work["name"][wait.work] if wait.work >= 0 else ""
        is_copy = window.calls["kind"][wait.call] == "memcpy"
        reads_back[wait.call] |= is_copy and str(name).startswith("d2h")
    wanted = is_sync | reads_back
    if place is not None:
        spoken = _words_of_calls(subject)
        wanted &= np.array([place.lower() in text.lower() for text in spoken])
    items = np.where(np.isin(table.kinds, (WAIT, CALL)), table.items, NONE)
    chosen = _picked(wanted, items)
    where = "" if place is None else f" at {place!r}"
    _require(
        chosen & (table.kinds == WAIT),
        f"no_sync: the host waits for no device work{where} in these steps",
    )

    is_number = _read_numbers(subject, wanted)

    def change(weights: Ints) -> Ints:
        changed = np.where(chosen & (table.kinds == WAIT), NEVER, weights)
        changed = np.where(is_number & (table.kinds != WAIT), 0, changed)
        only_waits = chosen & (table.kinds == CALL) & _picked(is_sync, items)
        return np.where(only_waits, 0, changed)

    return change


def _read_numbers(subject: Subject, calls: Flags) -> Flags:
    """Find the edges of ops that read back a number that one of these calls waits for.

    Those of its copy count too.
    """
    replay, table = subject.replay, subject.replay.table
    work = replay.window.work
    is_read = work["name"].str.starts_with("d2h") & (work["size_bytes"] <= _SMALL_BYTES)
    awaited = np.zeros(work.height, bool)
    awaited[[wait.work for wait in replay.waits if wait.work >= 0 and calls[wait.call]]] = True
    copies = awaited & (replay.work.calls >= 0) & is_read.fill_null(value=False).to_numpy()
    own_calls = np.zeros(len(calls), bool)
    own_calls[replay.work.calls[copies]] = True
    rows = replay.call_ops[own_calls]
    in_op = np.zeros(replay.window.ops.height, bool)
    in_op[rows[rows >= 0]] = True
    of_op = (table.kinds == OP) & _picked(in_op, table.items)
    of_call = (table.kinds == CALL) & _picked(own_calls, table.items)
    of_copy = np.isin(table.kinds, (COPY, LAUNCH, QUEUE)) & _picked(copies, table.items)
    flags: Flags = of_op | of_call | of_copy
    return flags


def _words_of_calls(subject: Subject) -> list[str]:
    """Of each API call its name, its op and the op's layer, as one text."""
    window, replay = subject.replay.window, subject.replay
    ops = [""] * window.calls.height
    names, layers = window.ops["name"], window.ops["module_path"]
    for call, row in enumerate(replay.call_ops.tolist()):
        if row >= 0:
            ops[call] = f"{names[row]} {layers[row] or ''}"
    apis = window.calls["api"].to_list()
    return [f"{api} {op}" for api, op in zip(apis, ops, strict=True)]


def _input_ready(subject: Subject, _: str | None) -> Change:
    """The host never waits for input."""
    chosen = subject.of_cause("input")
    _require(chosen, f"input_ready: {_NO_INPUT}")
    return lambda weights: np.where(chosen, 0, weights)


def _without(subject: Subject, cause: str | None) -> Change:
    """The host spends no time on this any more."""
    if cause not in _REMOVABLE:
        raise UsageError(f"without: say one of {', '.join(_REMOVABLE)}, as without=host")
    chosen = subject.of_cause(cause)
    _require(chosen, f"without={cause}: the host spends no time on it in these steps")
    return lambda weights: np.where(chosen, 0, weights)


_REMOVABLE = ("host", "allocation", "loading", "input")
"""Causes of time of the host that a program can do without, or do elsewhere."""

_NO_INPUT = (
    "the trace shows no time of a loader; record with stacks, or annotate what reads the input with"
    " record_function('load data')"
)


def _workers(subject: Subject, value: str | None) -> Change:
    """A loader's time is divided among more workers, and hidden behind the rest of the step."""
    numbers = re.fullmatch(r"(?:(\d+):)?(\d+)", value or "")
    if not numbers or int(numbers[2]) < 1:
        raise UsageError("workers: say how many, as workers=4, or workers=2:8 for 8 instead of 2")
    chosen = subject.of_cause("input")
    _require(chosen, f"workers: {_NO_INPUT}")
    places = {what for what, is_input in zip(subject.labels.names, chosen, strict=True) if is_input}
    waits_for_workers = any(re.search(r"poll|acquire|get|_try_get", what or "") for what in places)
    if numbers[1] is None and waits_for_workers:
        raise UsageError(
            "workers: the step waits for workers, and the trace does not say how many there are; say"
            " workers=OLD:NEW"
        )
    before, after = int(numbers[1] or 0), int(numbers[2])
    n_steps = len(subject.replay.marks) - 1

    def change(weights: Ints) -> Ints:
        host = weights[subject.is_host].clip(min=0).sum() / n_steps
        waited = weights[chosen].clip(min=0).sum() / n_steps
        rest = host - waited
        # Workers that are waited for are busy all the time: one batch takes all of them a step.
        produced = (host * before if before else waited) / after
        kept = max(produced - rest, 0) / waited if waited else 0
        return np.where(chosen, (weights * kept).astype(np.int64), weights)

    return change


def _pinned(subject: Subject, _: str | None) -> Change:
    """Make copies from pageable memory as fast as pinned ones. The host does not wait for them."""
    work, table = subject.replay.window.work, subject.replay.table
    is_pageable = (work["name"].str.starts_with("h2d") & work["is_pageable"]).fill_null(value=False)
    rows = is_pageable.to_numpy()
    _require(rows, "pinned: no copy in these steps comes from pageable memory")
    per_s = _pinned_bandwidth(subject)
    took = (work["size_bytes"].fill_null(0).to_numpy() / per_s * 1e9).astype(np.int64)
    of_copy = _picked(rows, table.items)
    is_copy, is_launch = (table.kinds == COPY) & of_copy, (table.kinds == LAUNCH) & of_copy
    durations = np.append(took, 0)[np.where(of_copy, table.items, -1)]
    calls = np.unique(subject.replay.work.calls[rows])
    of_call = np.isin(table.items, calls[calls >= 0])
    usual = subject.replay.usual.launch_ns

    def change(weights: Ints) -> Ints:
        changed = np.where(is_copy, np.minimum(weights, durations), weights)
        changed = np.where(is_launch, np.minimum(changed, usual), changed)
        changed = np.where((table.kinds == WAIT) & of_call, NEVER, changed)
        is_call = (table.kinds == CALL) & of_call
        return np.where(is_call, np.minimum(changed, _PINNED_CALL_NS), changed)

    return change


def _pinned_bandwidth(subject: Subject) -> float:
    """Return the bytes per second of the trace's large pinned copies, else what the link gives."""
    copies = subject.trace.select(
        "memcpys", "direction", "source_memory", "size_bytes", "duration_ns"
    )
    large = copies.filter(
        (pl.col("direction") == "h2d")
        & (pl.col("source_memory") == "pinned")
        & (pl.col("size_bytes") > 1 << 20)
    )
    if large.height:
        return int(large["size_bytes"].sum()) / max(int(large["duration_ns"].sum()), 1) * 1e9
    names = subject.trace.frame("devices")["name"].to_list()
    known = [rate for name in names for word, rate in _PINNED_BYTES_PER_S.items() if word in name]
    if not known:
        raise UsageError(
            "pinned: the trace has no pinned copy, and of its device no bandwidth is known: record"
            " one pinned copy"
        )
    return known[0]


def _dtype(subject: Subject, value: str | None) -> Change:
    """Shorten copies from the host to the bytes of a smaller type, from float32 unless said."""
    old, _, new = (value or "").rpartition(":")
    if new not in _BYTES or (old or "float32") not in _BYTES:
        raise UsageError(
            f"dtype: say one of {', '.join(_BYTES)}, as dtype=bf16, or dtype=float64:bf16"
        )
    table, work = subject.replay.table, subject.replay.window.work
    rows = work["name"].str.starts_with("h2d").fill_null(value=False).to_numpy()
    _require(rows, "dtype: nothing is copied from the host in these steps")
    chosen = np.isin(table.kinds, (COPY, LAUNCH)) & _picked(rows, table.items)
    pageable = rows & work["is_pageable"].fill_null(value=False).to_numpy()
    calls = np.unique(subject.replay.work.calls[pageable])
    # The host itself copies what is pageable to where the device reads it.
    chosen |= (table.kinds == CALL) & np.isin(table.items, calls[calls >= 0])
    share = _BYTES[new] / _BYTES[old or "float32"]
    usual = subject.replay.usual.launch_ns

    def change(weights: Ints) -> Ints:
        scaled = (weights * share).astype(np.int64)
        is_launch = table.kinds == LAUNCH
        scaled = np.where(is_launch, np.maximum(scaled, np.minimum(weights, usual)), scaled)
        return np.where(chosen, scaled, weights)

    return change


def _channels_last(subject: Subject, _: str | None) -> Change:
    """Take away the kernels that turn tensors round for convolutions.

    Other kernels stay as they are.
    """
    table, work = subject.replay.table, subject.replay.window.work
    rows = work["name"].str.contains("(?i)nchwToNhwc|nhwcToNchw").fill_null(value=False).to_numpy()
    _require(rows, "channels_last: no kernel of these steps turns a layout round")
    calls = np.unique(subject.replay.work.calls[rows])
    gone = np.isin(table.kinds, (KERNEL, LAUNCH, QUEUE)) & _picked(rows, table.items)
    gone |= (table.kinds == CALL) & np.isin(table.items, calls[calls >= 0])
    return lambda weights: np.where(gone, 0, weights)


def _fused_optimizer(subject: Subject, _: str | None) -> Change:
    """Shorten the optimizer's steps to the share that fused ones were measured to keep.

    The trace marks each of them.
    """
    replay, table = subject.replay, subject.replay.table
    spans = subject.trace.select(
        "spans", "name", "start_ns", "duration_ns", where=pl.col("rank") == replay.window.rank
    )
    steps = spans.filter(pl.col("name").cast(pl.String).str.starts_with("Optimizer.step#"))
    begins = np.sort(steps["start_ns"].to_numpy() - replay.window.origin_ns)
    ends = begins + steps.sort("start_ns")["duration_ns"].to_numpy()
    _require(begins >= 0, "fused_optimizer: the trace marks no step of an optimizer")
    rows = _lies_in(replay.work.launched, begins, ends)
    names = replay.window.work["name"].fill_null("")
    is_joined = names.str.contains("(?i)multi_tensor|fused").to_numpy() & rows
    if is_joined.any():
        raise UsageError(
            "fused_optimizer: this optimizer is fused, or does several parameters at once already;"
            " what fusing it would give was not measured, so there is no number"
        )
    sources, targets = table.recorded[table.graph.sources], table.recorded[table.targets]
    inside = _covered(targets, begins, ends) - _covered(sources, begins, ends)
    shares = np.where(subject.is_host, inside / np.maximum(targets - sources, 1), 0)
    on_device = np.isin(table.kinds, (KERNEL, QUEUE)) & _picked(rows, table.items)

    def change(weights: Ints) -> Ints:
        shorter = weights * (1 - shares * (1 - _FUSED_HOST))
        return np.where(on_device, shorter * _FUSED_DEVICE, shorter).astype(np.int64)

    return change


def _covered(moments: Ints, begins: Ints, ends: Ints) -> Ints:
    """Sum the time of the intervals until each moment; they are in order and do not overlap."""
    sums = np.concatenate([[0], np.cumsum(ends - begins)])
    place = np.searchsorted(begins, moments, "right") - 1
    last = np.maximum(place, 0)
    covered: Ints = sums[last] + np.minimum(moments, ends[last]) - begins[last]
    return np.where(place >= 0, covered, 0)


def _lies_in(moments: Ints, begins: Ints, ends: Ints) -> Flags:
    """Tell which moments lie in one of the intervals, which are in order and do not overlap."""
    place = np.searchsorted(begins, moments, "right") - 1
    inside: Flags = (place >= 0) & (moments < ends[place])
    return inside


def _faster(subject: Subject, name: str, factor: float) -> Change:
    """Durations of an op, a layer or a kernel, divided."""
    if factor <= 0:
        raise UsageError(f"faster {name}: the factor is above 0")
    labels, table = subject.labels, subject.replay.table
    word = name.lower()
    by_name = np.array(
        [
            any(text is not None and word in text.lower() for text in texts)
            for texts in zip(labels.ops, labels.names, strict=True)
        ]
    )
    chosen = (by_name | subject.in_layer(name)) & ~np.isin(table.kinds, (WAIT, LAUNCH))
    if not chosen.any():
        known = {text for text in (*labels.ops, *labels.layers) if text}
        raise UsageError(
            f"faster {name}: no op, layer or kernel of these steps has that name; "
            f"{near(name, sorted(known))}"
        )
    return lambda weights: np.where(chosen, (weights / factor).astype(np.int64), weights)


def _picked(flags: Flags, rows: Ints) -> Flags:
    """The flag of each row, False for what is no row of them."""
    known = (rows >= 0) & (rows < len(flags))
    return np.append(flags, [False])[np.where(known, rows, len(flags))]


def _require(chosen: Flags, why: str) -> None:
    if not chosen.any():
        raise UsageError(why)


KINDS_OF_CHANGE = {
    "cuda_graph": Kind("cuda_graph[=LAYER]", "the launches of a step become one", _cuda_graph),
    "no_sync": Kind("no_sync[=PLACE]", "the host waits for no results", _no_sync),
    "input_ready": Kind("input_ready", "the input is there when it is asked for", _input_ready),
    "without": Kind(
        "without=CAUSE",
        "the host does no allocation, loading, input or other work (host)",
        _without,
    ),
    "workers": Kind("workers=[OLD:]N", "N workers load the input", _workers),
    "channels_last": Kind(
        "channels_last", "no kernels that turn tensors round for convolutions", _channels_last
    ),
    "fused_optimizer": Kind(
        "fused_optimizer",
        "an optimizer that goes parameter by parameter is fused",
        _fused_optimizer,
    ),
    "pinned": Kind("pinned", "batches are copied from pinned memory, without waiting", _pinned),
    "dtype": Kind("dtype=[OLD:]bf16", "batches are copied with fewer bytes an element", _dtype),
}
_NO_COST = "what its kernels would cost is not known, so there is no number"
_UNANSWERED = {
    "sdpa": _NO_COST,
    "compile": _NO_COST + "; cuda_graph says what launching costs, which compiling may take away",
    "batch": "one batch size says nothing of another",
    "straggler_fixed": "ranks are replayed one by one, each with its collectives as recorded",
    "network": "ranks are replayed one by one, each with its collectives as recorded",
}
"""Changes that are known by name, and why a replay gives no number for them."""
