"""Parse expressions of changes into functions that change the times in a replay's graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from tracelens.derive.replay.attention_changes import sdpa
from tracelens.derive.replay.batch_changes import batch
from tracelens.derive.replay.compile_change import compile_program
from tracelens.derive.replay.faster_change import USAGE as FASTER
from tracelens.derive.replay.faster_change import parse_faster
from tracelens.derive.replay.input_changes import dtype, input_ready, pinned, workers
from tracelens.derive.replay.job_changes import USAGES as JOB_USAGES
from tracelens.derive.replay.kernel_changes import (
    capturable_ns,
    channels_last,
    fused_optimizer,
)
from tracelens.derive.replay.moment_graph import (
    CALL,
    COPY,
    LAUNCH,
    NONE,
    OP,
    QUEUE,
    WAIT,
    Flags,
    Ints,
    picked,
)
from tracelens.derive.replay.subject import NEVER, Change, Spread, Subject, require
from tracelens.errors import UsageError, near

_GRAPH_LAUNCH_NS = 15_000
"""The host's time in ns to launch a CUDA graph, which is chosen, not measured."""
_PINS = "Host(?:Alloc|Malloc|Register|Unregister|Free)|FreeHost|MallocHost"
"""Pattern of calls that allocate or free pinned host memory, which no CUDA graph can contain."""
_GRAPH_GAP_NS = 100
"""Time between two kernels of a CUDA graph, in ns.

The medians of three graphs recorded on an H200 are 64 to 96.
"""
_WAITS_INSIDE = 2
"""With at least this many waits in a step, one of them is not at the step's end."""
_SMALL_BYTES = 64
"""A copy of at most this many bytes reads back a number.

A change that removes the wait for the number also removes the copy.
"""


class Doubt(Struct, frozen=True):
    """Holds the expected error that a change adds to a prediction.

    The error is `of_change` times the time that the change removes, plus `of_rest` times the step
    after the change. The two shares are chosen, not measured.
    """

    of_change: float = 0.1
    of_rest: float = 0.0


class Kind(Struct, frozen=True):
    """Holds a kind of change: its written form, its meaning, and the function that applies it."""

    usage: str
    meaning: str
    make: Callable[[Subject, str | None], Change | Spread]
    doubt: Doubt = Doubt()


def doubt_of(text: str) -> Doubt:
    """Return the expected error of a prediction of this change."""
    kind = KINDS_OF_CHANGE.get(text.strip().partition("=")[0])
    return Doubt() if kind is None else kind.doubt


def spread_of(subject: Subject, text: str) -> Spread:
    """Return the change that an expression describes, with the limits of its effect.

    An exact effect has equal limits. Raises the errors of `parse_change`.
    """
    change = parse_change(subject, text)
    return change if isinstance(change, Spread) else Spread(change, change, change)


def parse_change(subject: Subject, text: str) -> Change | Spread:
    """Return the change that an expression such as `no_sync` describes, for one rank.

    Raises UsageError for an unknown change, or if the trace lacks data for it.
    """
    if text.split("=", maxsplit=1)[0].split()[:1] == ["faster"]:
        return parse_faster(subject, text.strip())
    word, equals, value = text.strip().partition("=")
    if word not in KINDS_OF_CHANGE:
        refuse_unknown(text)
    usage = KINDS_OF_CHANGE[word].usage
    if (equals and not value) or (value and "=" not in usage):
        raise UsageError(f"{text[:60]}: expected {usage}")
    return KINDS_OF_CHANGE[word].make(subject, value or None)


def refuse_unknown(text: str) -> None:
    """Raise UsageError if an expression names no change, with a list of the changes."""
    known = [*KINDS_OF_CHANGE, "faster", *JOB_USAGES]
    word = text.strip().partition("=")[0]
    has_words = word.partition(" ")[0] in {"faster", *JOB_USAGES}
    if word not in known and not has_words:
        close = near(word.lower(), known)
        raise UsageError(f"no change is called {text!r}; {close} (changes: {', '.join(usages())})")


def usages() -> list[str]:
    """List the written form of each change."""
    of_rank = (kind.usage for kind in KINDS_OF_CHANGE.values())
    return [*of_rank, FASTER, *JOB_USAGES.values()]


def _cuda_graph(subject: Subject, layer: str | None) -> Change:
    """Remove the host's time in ops and launches, except one launch per step."""
    table = subject.replay.table
    causes = subject.labels.causes
    issuing = np.array([cause in {None, "launch", "allocation"} for cause in causes])
    # The host's own computing and reading continues between the graphs, even inside ops.
    is_own = np.array([cause in {"host", "input"} for cause in causes])
    apis = subject.replay.excerpt.calls["api"]
    pins = apis.str.contains(_PINS).fill_null(value=False).to_numpy()
    is_own |= (table.kinds == CALL) & picked(pins, table.items)
    if LAUNCH not in table.kinds:
        raise UsageError("cuda_graph: nothing was launched on a GPU in these steps")
    chosen = subject.is_host & ~is_own & (issuing | np.isin(table.kinds, (OP, CALL)))
    if layer is not None:
        chosen &= subject.in_layer(layer)
        require(chosen, f"cuda_graph={layer}: {_no_such_layer(subject, layer)}")
    firsts = _first_of_each_step(subject, chosen & (table.is_helper == 0))
    ends_wait = np.isin(
        table.targets,
        table.targets[table.kinds == WAIT],
    )
    added = capturable_ns(subject, _GRAPH_GAP_NS) if layer is None else 0

    def change(weights: Ints) -> Ints:
        weights = weights + added
        changed = np.where(chosen & ~ends_wait, 0, weights)
        changed[firsts] = _GRAPH_LAUNCH_NS
        usual = subject.replay.usual.launch_ns
        changed = np.where(
            table.kinds == LAUNCH,
            np.minimum(changed, usual),
            changed,
        )
        return np.where(
            table.kinds == QUEUE,
            np.minimum(changed, _GRAPH_GAP_NS),
            changed,
        )

    return change


def _no_such_layer(subject: Subject, layer: str) -> str:
    """Say that no module with this path has host time, and name others."""
    layers = sorted({path for path in subject.labels.layers if path})
    if not layers:
        return "the trace names no layers; tracelens collect torch -- COMMAND records them"
    return f"no module of that path has host time in the steps; {near(layer, layers)}"


def _first_of_each_step(subject: Subject, chosen: Flags) -> Ints:
    """Return the indices of the first chosen graph edge in each step."""
    table = subject.replay.table
    rows = np.flatnonzero(chosen)
    steps = np.searchsorted(
        subject.replay.marks,
        table.graph.sources[rows],
        "right",
    )
    _, firsts = np.unique(steps, return_index=True)
    return rows[firsts]


def _no_sync(subject: Subject, place: str | None) -> Change:
    """Remove the host's waits for the device, and the calls that only wait."""
    table = subject.replay.table
    is_sync, reads_back = _waiting_calls(subject)
    wanted = is_sync | reads_back
    if place is not None:
        spoken = _words_of_calls(subject)
        wanted &= np.array([place.lower() in text.lower() for text in spoken])
    items = np.where(
        np.isin(table.kinds, (WAIT, CALL)),
        table.items,
        NONE,
    )
    chosen = picked(wanted, items)
    is_wait = chosen & (table.kinds == WAIT)
    if not is_wait.any():
        raise UsageError(_no_such_wait(subject, is_sync | reads_back, place))

    is_number = _read_numbers(subject, wanted)

    def change(weights: Ints) -> Ints:
        changed = np.where(chosen & (table.kinds == WAIT), NEVER, weights)
        changed = np.where(is_number & (table.kinds != WAIT), 0, changed)
        only_waits = chosen & (table.kinds == CALL) & picked(is_sync, items)
        return np.where(only_waits, 0, changed)

    return change


def _waiting_calls(subject: Subject) -> tuple[Flags, Flags]:
    """Flag the API calls that only wait for the device, and the copies to the host that wait."""
    excerpt = subject.replay.excerpt
    is_sync = (excerpt.calls["waits"] & (excerpt.calls["kind"] != "memcpy")).to_numpy()
    reads_back = np.zeros(excerpt.calls.height, bool)
    for wait in subject.replay.waits:
        name = excerpt.work["name"][wait.work] if wait.work >= 0 else ""
        is_copy = excerpt.calls["kind"][wait.call] == "memcpy"
        reads_back[wait.call] |= is_copy and str(name).startswith("d2h")
    return is_sync, reads_back


def note_of(subject: Subject, changes: Sequence[str]) -> str | None:
    """Return what a reader must know of a prediction with these changes, None for nothing."""
    words = {change.strip().partition("=")[0] for change in changes}
    if "cuda_graph" not in words or "no_sync" in words:
        return None
    is_sync, reads_back = _waiting_calls(subject)
    table = subject.replay.table
    waits = (table.kinds == WAIT) & picked(is_sync | reads_back, table.items)
    n_waits = round(waits.sum() / (len(subject.replay.marks) - 1))
    if n_waits < _WAITS_INSIDE:
        return None
    return (
        f"a CUDA graph ends where the host waits for the device, {n_waits} times a step; these"
        " waits stay unless no_sync is among the changes"
    )


def _no_such_wait(subject: Subject, waits: Flags, place: str | None) -> str:
    """Say that the host waits for no device work at a place, and name the places where it does.

    `waits` flags the API calls that wait.
    """
    none = "no_sync: the host waits for no device work"
    places = {text.strip() for text in np.array(_words_of_calls(subject))[waits].tolist()}
    if place is None or not places:
        return f"{none} in these steps"
    return f"{none} at {place!r} in these steps; {near(place, sorted(places))}"


def _read_numbers(subject: Subject, calls: Flags) -> Flags:
    """Flag the graph edges of copies that read a number back, and of their API calls and ops.

    `calls` has a flag per API call. Only copies that a flagged API call waits for are included.
    """
    replay = subject.replay
    table = subject.replay.table
    work = replay.excerpt.work
    is_read = work["name"].str.starts_with("d2h") & (work["size_bytes"] <= _SMALL_BYTES)
    awaited = np.zeros(work.height, bool)
    awaited[[wait.work for wait in replay.waits if wait.work >= 0 and calls[wait.call]]] = True
    copies = awaited & (replay.work.calls >= 0) & is_read.fill_null(value=False).to_numpy()
    own_calls = np.zeros(len(calls), bool)
    own_calls[replay.work.calls[copies]] = True
    rows = replay.call_ops[own_calls]
    in_op = np.zeros(replay.excerpt.ops.height, bool)
    in_op[rows[rows >= 0]] = True
    of_op = (table.kinds == OP) & picked(in_op, table.items)
    of_call = (table.kinds == CALL) & picked(own_calls, table.items)
    of_copy = np.isin(table.kinds, (COPY, LAUNCH, QUEUE)) & picked(copies, table.items)
    flags: Flags = of_op | of_call | of_copy
    return flags


def _words_of_calls(subject: Subject) -> list[str]:
    """Return a text for each API call: its name, its op and the op's layer."""
    excerpt = subject.replay.excerpt
    replay = subject.replay
    ops = [""] * excerpt.calls.height
    names = excerpt.ops["name"]
    layers = excerpt.ops["module_path"]
    for call, row in enumerate(replay.call_ops.tolist()):
        if row >= 0:
            ops[call] = f"{names[row]} {layers[row] or ''}"
    apis = excerpt.calls["api"].to_list()
    return [f"{api} {op}" for api, op in zip(apis, ops, strict=True)]


def _without(subject: Subject, cause: str | None) -> Change:
    """Remove the host's time of one cause: host, allocation, loading or input."""
    if cause not in _REMOVABLE:
        raise UsageError(f"without: say one of {', '.join(_REMOVABLE)}, as without=host")
    chosen = subject.of_cause(cause)
    require(chosen, f"without={cause}: the host spends no time on it in these steps")
    return lambda weights: np.where(chosen, 0, weights)


_REMOVABLE = ("host", "allocation", "loading", "input")
"""Causes of host time that a program can avoid or move elsewhere."""


KINDS_OF_CHANGE = {
    "cuda_graph": Kind("cuda_graph[=LAYER]", "the launches of a step become one", _cuda_graph),
    "no_sync": Kind("no_sync[=PLACE]", "the host waits for no results", _no_sync),
    "input_ready": Kind(
        "input_ready", "the input is there when it is asked for", input_ready, Doubt(0, 0.2)
    ),
    "without": Kind(
        "without=CAUSE",
        "the host does no allocation, loading, input or other work (host)",
        _without,
    ),
    "workers": Kind("workers=[OLD:]N", "N workers load the input", workers),
    "channels_last": Kind(
        "channels_last", "no kernels that transpose tensors for convolutions", channels_last
    ),
    "fused_optimizer": Kind(
        "fused_optimizer",
        "an optimizer that goes parameter by parameter is fused",
        fused_optimizer,
    ),
    "sdpa": Kind(
        "sdpa", "attention that is written out becomes one fused kernel", sdpa, Doubt(0.5, 0.0)
    ),
    "compile": Kind("compile", "torch.compile, by what measured programs took", compile_program),
    "pinned": Kind("pinned", "batches are copied from pinned memory, without waiting", pinned),
    "dtype": Kind("dtype=[OLD:]bf16", "batches are copied with fewer bytes an element", dtype),
    "batch": Kind(
        "batch=OLD,OTHER:NEW", "another batch size, from two traces (--with OTHER)", batch
    ),
}
