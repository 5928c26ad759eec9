"""Change the input of a step: its loader, and the copies from the host."""

from __future__ import annotations

import re

import numpy as np

from tracelens.derive.kernels.pinned_copies import pinned_bytes_per_s
from tracelens.derive.replay.moment_graph import CALL, COPY, LAUNCH, OP, WAIT, Flags, Ints, picked
from tracelens.derive.replay.replay import Replay
from tracelens.derive.replay.subject import NEVER, Change, Spread, Subject, require
from tracelens.errors import UsageError

_PINNED_CALL_NS = 8_000
"""The host's time in ns to start a pinned copy, which is chosen, not measured."""

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
"""Bytes per element by type."""
_LONG_WAIT_NS = 5_000_000
"""After a wait for input of this length, the host's caches are cold."""
_COLD_NS = 3_000_000
"""Time for which caches stay cold after a long wait."""
_WARM_SHARE = 0.5
"""With warm caches, work after a long wait takes this share of its recorded time.

This share was measured on two programs of samples/whatif. The shares of the other programs of
samples/whatif differ from this one by at most a quarter.
"""
_NO_INPUT = (
    "the trace shows no time of a loader; record with stacks, or annotate what reads the input with"
    " record_function('load data')"
)


def input_ready(subject: Subject, _: str | None) -> Spread:
    """Remove the host's waits for input, and the slowness of cold caches after long waits.

    The change `most` of the result removes only the waits.
    """
    chosen = subject.of_cause("input")
    require(chosen, f"input_ready: {_NO_INPUT}")
    is_cold = _is_cold(subject, chosen)

    def change(weights: Ints) -> Ints:
        return _warmed(at_most(weights), is_cold)

    def at_most(weights: Ints) -> Ints:
        return np.where(chosen, 0, weights)

    return Spread(change, change, at_most)


def _is_cold(subject: Subject, chosen: Flags) -> Flags:
    """Flag the host's work, launches and copies to the device just after a long wait for input."""
    table = subject.replay.table
    replay = subject.replay
    sources = table.recorded[table.graph.sources]
    steps = np.searchsorted(replay.marks, table.graph.sources, "right")
    waited = np.bincount(
        steps,
        np.where(chosen, table.graph.weights, 0),
    )[steps]
    ends = np.sort(table.recorded[table.targets[chosen]])
    interval = np.searchsorted(ends, sources, "right") - 1
    since = np.where(
        interval >= 0,
        sources - ends[np.maximum(interval, 0)],
        _COLD_NS,
    )
    copied = replay.excerpt.work["name"].str.starts_with("h2d").fill_null(value=False).to_numpy()
    is_copy = (table.kinds == COPY) & picked(copied, table.items)
    is_near = (waited >= _LONG_WAIT_NS) & (since >= 0) & (since < _COLD_NS)
    is_cold: Flags = is_near & ~chosen & (subject.is_host | (table.kinds == LAUNCH) | is_copy)
    return is_cold


def _warmed(weights: Ints, is_cold: Flags) -> Ints:
    return np.where(is_cold, weights * _WARM_SHARE, weights).astype(np.int64)


def workers(subject: Subject, value: str | None) -> Spread:
    """Divide a loader's time among more workers, and hide it behind the rest of the step.

    `value` is the new number of workers, such as `4`, or the present and the new number, such as
    `2:8`.
    """
    numbers = re.fullmatch(r"(?:([0-9]{1,9}):)?([0-9]{1,9})", value or "")
    if not numbers or int(numbers[2]) < 1:
        raise UsageError("workers: say how many, as workers=4, or workers=2:8 for 8 instead of 2")
    n_before, n_after = int(numbers[1] or 0), int(numbers[2])
    is_input = subject.of_cause("input")
    require(is_input, f"workers: {_NO_INPUT}")
    if numbers[1] is None and _waits_for_workers(subject, is_input):
        raise UsageError(
            "workers: the step waits for workers, and the trace does not say how many there are; say"
            " workers=OLD:NEW"
        )
    n_steps = len(subject.replay.marks) - 1
    is_cold = _is_cold(subject, is_input)
    is_op = is_input & (subject.replay.table.kinds == OP)

    def of_a_step(weights: Ints, chosen: Flags) -> float:
        return float(weights[chosen].clip(min=0).sum() / n_steps)

    def change(weights: Ints, undivided_ns: float = 0.0) -> Ints:
        waited = of_a_step(weights, is_input)
        # The program waits for its workers, so they are always busy, and together they make one
        # batch per step.
        divided = (
            of_a_step(weights, subject.is_host) * n_before if n_before else waited - undivided_ns
        )
        produced = divided / n_after + undivided_ns
        warmed = _warmed(weights, is_cold)
        rest = of_a_step(warmed, subject.is_host & ~is_input)
        kept_frac = max(produced - rest, 0) / waited if waited else 0
        return np.where(
            is_input,
            (warmed * kept_frac).astype(np.int64),
            warmed,
        )

    def change_without_ops(weights: Ints) -> Ints:
        return change(weights, of_a_step(weights, is_op))

    # torch's ops may use all cores in the main process, but only one in a worker. So without a
    # present number, the upper limit assumes that workers do not make these ops faster.
    return Spread(change, change, change if n_before else change_without_ops)


def _waits_for_workers(subject: Subject, is_input: Flags) -> bool:
    """Return whether the host waits for a loader's workers, judged by the names of its waits."""
    names = {name for name, chosen in zip(subject.labels.names, is_input, strict=True) if chosen}
    pattern = r"MultiProcessing|poll|acquire|\bget\b|_get_data"
    return any(re.search(pattern, name or "") for name in names)


def pinned(subject: Subject, _: str | None) -> Change:
    """Make copies from pageable memory as fast as pinned copies, and remove waits for them.

    Waits are removed from the copy's call, and from synchronisations in the same op.
    """
    work = subject.replay.excerpt.work
    table = subject.replay.table
    is_pageable = (work["name"].str.starts_with("h2d") & work["is_pageable"]).fill_null(value=False)
    rows = is_pageable.to_numpy()
    require(rows, "pinned: no copy in these steps comes from pageable memory")
    per_s = pinned_bytes_per_s(subject.trace, "h2d")
    if per_s is None:
        raise UsageError(
            "pinned: the trace has no pinned copy, and of its device no bandwidth is known: record"
            " one pinned copy"
        )
    took = (work["size_bytes"].fill_null(0).to_numpy() / per_s * 1e9).astype(np.int64)
    of_copy = picked(rows, table.items)
    is_copy = (table.kinds == COPY) & of_copy
    is_launch = (table.kinds == LAUNCH) & of_copy
    durations = np.append(took, 0)[np.where(of_copy, table.items, -1)]
    calls = subject.replay.work.calls[rows]
    of_call = np.isin(table.items, calls[calls >= 0])
    of_synchronisation = np.isin(table.items, _synchronisations(subject.replay, rows))
    usual = subject.replay.usual.launch_ns

    def change(weights: Ints) -> Ints:
        copied = np.where(is_copy, np.minimum(weights, durations), weights)
        launched = np.where(is_launch, np.minimum(copied, usual), copied)
        is_wait = (table.kinds == WAIT) & (of_call | of_synchronisation)
        unawaited = np.where(is_wait, NEVER, launched)
        is_call = table.kinds == CALL
        unsynchronised = np.where(is_call & of_synchronisation, 0, unawaited)
        called = np.minimum(unsynchronised, _PINNED_CALL_NS)
        return np.where(is_call & of_call, called, unsynchronised)

    return change


def _synchronisations(replay: Replay, rows: Flags) -> list[int]:
    """Return the API calls that wait for a copy in `rows` and are made by the op that copies."""
    op_of = replay.call_ops
    copy_calls = replay.work.calls
    return [
        wait.call
        for wait in replay.waits
        if rows[wait.work]
        and wait.call != copy_calls[wait.work]
        and op_of[wait.call] >= 0
        and op_of[wait.call] == op_of[copy_calls[wait.work]]
    ]


def dtype(subject: Subject, value: str | None) -> Change:
    """Shorten copies from the host in proportion to the bytes of a smaller type.

    `value` is the new type, such as `bf16`, or the old (default: float32) and the new type, such as
    `float64:bf16`.
    """
    old, _, new = (value or "").rpartition(":")
    if new not in _BYTES or (old or "float32") not in _BYTES:
        raise UsageError(
            f"dtype: say one of {', '.join(_BYTES)}, as dtype=bf16, or dtype=float64:bf16"
        )
    table = subject.replay.table
    work = subject.replay.excerpt.work
    rows = work["name"].str.starts_with("h2d").fill_null(value=False).to_numpy()
    require(rows, "dtype: nothing is copied from the host in these steps")
    chosen = np.isin(table.kinds, (COPY, LAUNCH)) & picked(rows, table.items)
    pageable = rows & work["is_pageable"].fill_null(value=False).to_numpy()
    calls = subject.replay.work.calls[pageable]
    # The host itself first copies pageable memory to where the device can read it.
    chosen |= (table.kinds == CALL) & np.isin(table.items, calls[calls >= 0])
    share = _BYTES[new] / _BYTES[old or "float32"]
    usual = subject.replay.usual.launch_ns

    def change(weights: Ints) -> Ints:
        scaled = (weights * share).astype(np.int64)
        is_launch = table.kinds == LAUNCH
        scaled = np.where(
            is_launch,
            np.maximum(scaled, np.minimum(weights, usual)),
            scaled,
        )
        return np.where(chosen, scaled, weights)

    return change
