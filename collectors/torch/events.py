"""The events of a Chrome trace as typed records, whatever JSON, or nearly JSON, they are written in.

A run of whole events is decoded at once; where that fails, `damage` reads on.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

_ABSENT = msgspec.Raw()
_DEEPEST = 32
_ARG_NAMES = {
    "external_id": "External id",
    "external_id_old": "external id",
    "sequence": "Sequence number",
    "forward_thread": "Fwd thread id",
    "dims": "Input Dims",
    "dims_old": "Input dims",
    "types": "Input type",
    "python_id": "Python id",
    "python_parent": "Python parent id",
    "registers": "registers per thread",
    "shared": "shared memory",
    "blocks_per_sm": "blocks per SM",
    "warps_per_sm": "warps per SM",
    "occupancy": "est. achieved occupancy %",
    "graph_node": "graph node id",
    "sync_kind": "cuda_sync_kind",
    "addr": "Addr",
    "device_type": "Device Type",
    "device_id": "Device Id",
    "memory_bytes": "Bytes",
    "allocated": "Total Allocated",
    "reserved": "Total Reserved",
    "collective": "Collective name",
    "group_name": "Process Group Name",
    "group_description": "Process Group Description",
    "group_size": "Group size",
    "in_elements": "In msg nelems",
    "out_elements": "Out msg nelems",
    "counter_value": "value",
}


class Args(msgspec.Struct, rename=_ARG_NAMES, gc=False):
    """Of an event's args, what the tables hold. Values are unchecked; shapes and types stay the bytes they were."""

    external_id: Any = None
    external_id_old: Any = None
    sequence: Any = None
    forward_thread: Any = None
    dims: msgspec.Raw = _ABSENT
    dims_old: msgspec.Raw = _ABSENT
    types: msgspec.Raw = _ABSENT
    python_id: Any = None
    python_parent: Any = None
    kernel_backend: Any = None
    correlation: Any = None
    cbid: Any = None
    device: Any = None
    context: Any = None
    stream: Any = None
    grid: Any = None
    block: Any = None
    registers: Any = None
    shared: Any = None
    blocks_per_sm: Any = None
    warps_per_sm: Any = None
    occupancy: Any = None
    graph_node: Any = None
    bytes: Any = None
    sync_kind: Any = None
    addr: Any = None
    device_type: Any = None
    device_id: Any = None
    memory_bytes: Any = None
    allocated: Any = None
    reserved: Any = None
    collective: Any = None
    group_name: Any = None
    group_description: Any = None
    group_size: Any = None
    dtype: Any = None
    in_elements: Any = None
    out_elements: Any = None
    counter_value: Any = None


class Event(msgspec.Struct, gc=False):
    """An event; times stay the bytes they were written as, because a float would not hold them exactly."""

    ph: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    ts: msgspec.Raw = _ABSENT
    dur: msgspec.Raw = _ABSENT
    args: Args | None = None


class CounterEvent(Event):
    """A counter event with all of its args: each number among them is a series, whatever it is called."""

    values: dict[str, Any] = {}


class _RawArgs(msgspec.Struct, gc=False):
    """An event's phase, and its args as they are written."""

    ph: Any = None
    args: msgspec.Raw = _ABSENT


class _LooseEvent(msgspec.Struct, gc=False):
    """An event whose args are not looked into."""

    ph: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    ts: msgspec.Raw = _ABSENT
    dur: msgspec.Raw = _ABSENT


_DECODE_MANY = msgspec.json.Decoder(list[Event]).decode
_DECODER = msgspec.json.Decoder(Event)
_DECODE_ONE = _DECODER.decode
_DECODE_ANY = msgspec.json.Decoder(msgspec.Raw).decode
_DECODE_LOOSE = msgspec.json.Decoder(_LooseEvent).decode
_RAW_ARGS = msgspec.json.Decoder(_RawArgs)
_DECODE_MANY_RAW = msgspec.json.Decoder(list[_RawArgs]).decode
_DECODE_OBJECT = msgspec.json.Decoder(dict[str, Any]).decode
_NOT_JSON = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

# Every writer seen puts one of these keys first; a boundary inside a string or in nested data is found out because the
# pieces do not decode.
_FIRST_KEY = rb'\{\s*"(?:ph|name|cat|pid|tid|ts|id|args|dur|bp|s|tts)"\s*:'
EVENT_START = re.compile(_FIRST_KEY)
BOUNDARY = re.compile(rb"\}\s*,\s*(?=" + _FIRST_KEY + rb")")
# An unfinished string reaches to the end: what follows its quote is not looked at again.
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\Z)|[{}\[\]]', re.DOTALL)


def decode_whole(block: bytes) -> list[Event] | None:
    """Events of a run of whole event objects separated by commas; None when it is not JSON through and through."""
    try:
        events = _DECODE_MANY(b"[" + block + b"]")
        return _with_values(events, lambda: _DECODE_MANY_RAW(b"[" + block + b"]"))
    except _NOT_JSON:
        return None


def decode_lines(lines: bytes) -> list[Event] | None:
    """Events on lines of their own; None when a line is anything else."""
    try:
        return _with_values(_DECODER.decode_lines(lines), lambda: _RAW_ARGS.decode_lines(lines))
    except _NOT_JSON:
        return None


def decode_one(piece: bytes) -> Event | None:
    """The event that the piece is; None when it is not JSON, or its args are no object."""
    try:
        return _with_values([_DECODE_ONE(piece)], lambda: [_RAW_ARGS.decode(piece)])[0]
    except _NOT_JSON:
        return None


def _with_values(events: list[Event], raw_args: Callable[[], list[_RawArgs]]) -> list[Event]:
    """The events, counters among them with all of their args; most runs of events have none and are read once."""
    if all(event.ph != "C" or event.args is None for event in events):
        return events
    return [
        CounterEvent(
            event.ph,
            event.cat,
            event.name,
            event.pid,
            event.tid,
            event.ts,
            event.dur,
            event.args,
            _DECODE_OBJECT(raw.args),
        )
        if event.ph == "C" and event.args is not None
        else event
        for event, raw in zip(events, raw_args(), strict=True)
    ]


def decode_without_args(piece: bytes) -> Event | None:
    """The event without its args; None when it is not JSON all the same."""
    try:
        loose = _DECODE_LOOSE(piece)
    except _NOT_JSON:
        return None
    return Event(loose.ph, loose.cat, loose.name, loose.pid, loose.tid, loose.ts, loose.dur)


def is_json(piece: bytes) -> bool:
    """Whether the piece is one JSON value, but for bytes that are no text."""
    try:
        _DECODE_ANY(piece if piece.isascii() else piece.decode("utf-8", "replace").encode())
    except _NOT_JSON:
        return False
    return True


def flattened(piece: bytes) -> tuple[bytes | None, int]:
    """The piece with null for every value nested deeper than any that a table holds, and how deep it is.

    Without a piece where its brackets do not match, or nothing is that deep.
    """
    parts: list[bytes] = []
    depth = deepest = done = 0
    for match in _TOKENS.finditer(piece):
        token = piece[match.start()]
        if token in b"{[":
            depth += 1
            deepest = max(deepest, depth)
            if depth == _DEEPEST + 1:
                parts += [piece[done : match.start()], b"null"]
        elif token in b"}]":
            if depth == _DEEPEST + 1:
                done = match.end()
            depth -= 1
            if depth < 0:
                return None, deepest
    return (b"".join([*parts, piece[done:]]) if depth == 0 and parts else None), deepest


def root_end(text: bytes | bytearray, begin: int) -> int | None:
    """Where the object is over in which the text is at `begin`, strings known; None if it is not."""
    depth = 1
    for match in _TOKENS.finditer(text, begin):
        token = text[match.start()]
        if token in b"{[":
            depth += 1
        elif token in b"}]":
            depth -= 1
            if depth == 0:
                return match.end()
    return None


def object_end(text: bytes | bytearray, begin: int, limit: int) -> int | None:
    """Where the object that starts at `begin` is over; None if it is not before `limit`."""
    depth = 0
    for match in _TOKENS.finditer(text, begin, limit):
        token = text[match.start()]
        if token in b"{[":
            depth += 1
        elif token in b"}]":
            depth -= 1
            if depth <= 0:
                return match.end()
    return None
