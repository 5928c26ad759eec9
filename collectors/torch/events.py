"""The events of a Chrome trace as typed records, whatever JSON, or nearly JSON, they are written in.

A run of whole events is decoded at once. One that does not decode is cut at every place that looks like the start of an
event, and each piece is decoded, repaired or counted as lost on its own.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from tracelens.capture import Diagnostics

_ABSENT = msgspec.Raw()
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


class Args(msgspec.Struct, rename=_ARG_NAMES):
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


class Event(msgspec.Struct):
    """An event; times stay the bytes they were written as, because a float would not hold them exactly."""

    ph: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    ts: msgspec.Raw = _ABSENT
    dur: msgspec.Raw = _ABSENT
    args: Args | None = None


_DECODE_MANY = msgspec.json.Decoder(list[Event]).decode
_DECODE_ONE = msgspec.json.Decoder(Event).decode

# Every writer seen puts one of these keys first; a boundary inside a string or in nested data is found out because the
# pieces do not decode.
BOUNDARY = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|name|cat|pid|tid|ts|id|args|dur)"\s*:)')
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*+"|[{}\[\]]', re.DOTALL)
_MERGE_LIMIT = 16

_NUMBER_WORDS = re.compile(rb"(?<=[:\[,\s])(?:[-+]?(?:inf(?:inity)?|nan)|N/A)(?=\s*[,}\]])", re.IGNORECASE)
_BAD_ESCAPE = re.compile(rb'\\(?!["\\/bfnrtu])|\\u(?![0-9a-fA-F]{4})')
_CONTROL = re.compile(rb"[\x00-\x1f]")


def decode_whole(block: bytes) -> list[Event] | None:
    """Events of a run of whole event objects separated by commas; None when it is not JSON through and through."""
    try:
        return _DECODE_MANY(b"[" + block + b"]")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def decode_pieces(block: bytes, diagnostics: Diagnostics) -> list[Event]:
    """Events of a damaged run: what cannot be decoded is repaired, or counted and left out.

    The run is cut wherever an event seems to end; a cut inside a string or nested object is taken back.
    """
    cuts = list(BOUNDARY.finditer(block))
    starts = [0, *(cut.end() for cut in cuts)]
    ends = [*(cut.start() + 1 for cut in cuts), len(block)]
    events, i = [], 0
    while i < len(starts):
        event, width = None, 1
        for width in range(1, min(_MERGE_LIMIT, len(starts) - i) + 1):
            event = _decode_piece(block[starts[i] : ends[i + width - 1]])
            if event is not None:
                break
        if event is None:
            event, width = repair(block[starts[i] : ends[i]]), 1
            if event is None:
                diagnostics.add("loss", "event_damaged", "events that are not JSON and could not be repaired")
            else:
                diagnostics.add("warning", "event_repaired", "events that were not JSON, read after repair")
        if event is not None:
            events.append(event)
        i += width
    return events


def _decode_piece(piece: bytes) -> Event | None:
    try:
        return _DECODE_ONE(piece)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def repair(piece: bytes) -> Event | None:
    """The event after mending what real traces get wrong: inf, NaN, N/A, stray backslashes, control and bad bytes."""
    text = piece.decode("utf-8", "replace").encode()
    text = _NUMBER_WORDS.sub(b"null", text)
    text = _BAD_ESCAPE.sub(lambda match: b"\\" + match.group(), text)
    return _decode_piece(_CONTROL.sub(b" ", text))


def array_end(text: bytes) -> int | None:
    """Where the bracket that closes the event list stands in a text that starts inside the list; None if it does not.

    The scan knows strings, so a bracket in a name does not end the list.
    """
    depth = 0
    for match in _TOKENS.finditer(text):
        token = text[match.start()]
        if token in b"{[":
            depth += 1
        elif token in b"}]":
            if depth == 0:
                return match.start()
            depth -= 1
    return None
