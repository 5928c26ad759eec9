"""Decode the events of a Chrome trace as typed records.

Many intact events are decoded at once. If this fails, `damage` reads on.
"""

import re
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import msgspec

from tracelens.collectors.torch.fields import ARG_KEYS, JSON, PROFILER_RANGE, TRIPLE
from tracelens.collectors.torch.values import number, text

_ABSENT = msgspec.Raw()
_DEEPEST = 32


def attribute(key: str) -> str:
    """Return the attribute of an Event or of Args that holds the value of a key."""
    return re.sub(r"\W", "_", key)


Args = msgspec.defstruct(
    "Args",
    [
        (
            attribute(key),
            *((msgspec.Raw, _ABSENT) if kind in (JSON, TRIPLE) else (Any, None)),
        )
        for key, kind in ARG_KEYS.items()
    ],
    rename={attribute(key): key for key in ARG_KEYS},
    gc=False,
)
"""Holds the args of an event that fill columns.

Values are unchecked. Shapes, types and grids stay bytes.
"""


class BareEvent(msgspec.Struct, gc=False):
    """Holds an event without its args."""

    ph: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    # Times stay bytes, because a float would not hold them exactly.
    ts: msgspec.Raw = _ABSENT
    dur: msgspec.Raw = _ABSENT


class Event(BareEvent):
    """Holds the parts of an event that tables need."""

    args: Args | None = None  # type: ignore[valid-type]  # made by msgspec


class CounterEvent(Event):
    """Holds a counter event, or a range of CUPTI's profiler, with all of its args.

    Each number among the args is a series.
    """

    values: dict[str, Any] = {}

    def series(self) -> list[Event]:
        """Return one event per series of a counter, or the event itself if it has no series.

        A series is named `COUNTER SERIES`. A series called `value` has only the counter's name. In
        a range of CUPTI's profiler, each number in the args is a series, named by its key.
        """
        is_range = self.cat == PROFILER_RANGE and self.ph == "X"
        # A range is named after its kernel. Its process id is the device.
        about = {"kernel": self.name, "device": self.pid} if is_range else {}
        counter = "" if is_range else text(self.name) or ""
        return [
            Event(
                self.ph,
                self.cat,
                name if is_range else counter if name == "value" else f"{counter} {name}".strip(),
                self.pid,
                self.tid,
                self.ts,
                self.dur if is_range else _ABSENT,
                Args(value=value, **about),
            )
            for name, value in self.values.items()
            if number(value) is not None
        ] or [self]


class _RawArgs(msgspec.Struct, gc=False):
    """Holds an event's args as bytes."""

    args: msgspec.Raw = _ABSENT


_DECODE_MANY = msgspec.json.Decoder(list[Event]).decode
_DECODER = msgspec.json.Decoder(Event)
_DECODE_ONE = _DECODER.decode
_DECODE_ANY = msgspec.json.Decoder(msgspec.Raw).decode
_DECODE_BARE = msgspec.json.Decoder(BareEvent).decode
_RAW_ARGS = msgspec.json.Decoder(_RawArgs)
_DECODE_MANY_RAW = msgspec.json.Decoder(list[_RawArgs]).decode
_DECODE_OBJECT = msgspec.json.Decoder(dict[str, Any]).decode
_PHASE, _CATEGORY = attrgetter("ph"), attrgetter("cat")
_NOT_JSON = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

# All known writers put one of these keys first. If the boundary lies inside a string or nested
# data, the pieces do not decode, which shows the mistake.
_FIRST_KEY = rb'\{\s*"(?:ph|name|cat|pid|tid|ts|id|args|dur|bp|s|tts)"\s*:'
EVENT_START = re.compile(_FIRST_KEY)
BOUNDARY = re.compile(rb"\}\s*,\s*(?=" + _FIRST_KEY + rb")")
# An unfinished string reaches to the end, so nothing after its quote is searched again.
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\Z)|[{}\[\]]', re.DOTALL)


def decode_whole(block: bytes | bytearray) -> list[Event] | None:
    """Return the events in a text of objects separated by commas.

    Return None if any part of the text is not valid JSON.
    """
    listed = b"".join((b"[", block, b"]"))
    try:
        return _with_values(_DECODE_MANY(listed), lambda: _DECODE_MANY_RAW(listed))
    except _NOT_JSON:
        return None


def decode_lines(lines: bytes) -> list[Event] | None:
    """Return the events in a text with one event per line, None if a line holds anything else."""
    try:
        return _with_values(
            _DECODER.decode_lines(lines),
            lambda: _RAW_ARGS.decode_lines(lines),
        )
    except _NOT_JSON:
        return None


def decode_one(piece: bytes) -> Event | None:
    """Return the event in a JSON text.

    Return None if the text is not JSON, or if the event's args are not an object.
    """
    try:
        return _with_values(
            [_DECODE_ONE(piece)],
            lambda: [_RAW_ARGS.decode(piece)],
        )[0]
    except _NOT_JSON:
        return None


def _with_values(events: list[Event], raw_args: Callable[[], list[_RawArgs]]) -> list[Event]:
    """Return the events, with all args of counters and of profiler ranges.

    `raw_args` returns the args of each event as JSON. It is called only if one of the events is a
    counter or a profiler range.
    """
    if "C" in map(_PHASE, events) or PROFILER_RANGE in map(_CATEGORY, events):
        raw = raw_args()
        for i, event in enumerate(events):
            if (event.ph != "C" and event.cat != PROFILER_RANGE) or event.args is None:
                continue
            values = _DECODE_OBJECT(raw[i].args)
            bare = (event.ph, event.cat, event.name, event.pid, event.tid, event.ts, event.dur)
            events[i] = CounterEvent(*bare, values=values)
    return events


def decode_without_args(piece: bytes) -> Event | None:
    """Return the event in a JSON text without the event's args.

    Return None if the text without the args is not JSON.
    """
    try:
        return Event(*msgspec.structs.astuple(_DECODE_BARE(piece)))
    except _NOT_JSON:
        return None


def is_json(piece: bytes) -> bool:
    """Return whether the text is a single JSON value. Bytes that are not UTF-8 are allowed."""
    try:
        _DECODE_ANY(piece if piece.isascii() else piece.decode("utf-8", "replace").encode())
    except _NOT_JSON:
        return False
    return True


def flattened(piece: bytes) -> tuple[bytes | None, int]:
    """Return a JSON text without its deepest values, and the depth to which it was nested.

    Values nested deeper than any table needs are left out. The returned text is None if nothing
    was left out. It is also None if brackets do not match.
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


def object_end(
    text: bytes | bytearray,
    begin: int,
    limit: int | None = None,
    *,
    depth: int = 0,
) -> int | None:
    """Return the end of the object that starts at `begin`.

    Return None if the object does not end before `limit`.

    If `depth` is 1, `begin` is inside an object, and the end of that object is returned.
    """
    for match in _TOKENS.finditer(text, begin, len(text) if limit is None else limit):
        token = text[match.start()]
        if token in b"{[":
            depth += 1
        elif token in b"}]":
            depth -= 1
            if depth <= 0:
                return match.end()
    return None
