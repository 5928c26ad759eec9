"""Events of a run that is not JSON through and through: each event is read, repaired or counted as lost on its own."""

from __future__ import annotations

import math
import re
from bisect import bisect_right

from tracelens.capture import Diagnostics
from tracelens.collectors.torch.events import (
    BOUNDARY,
    EVENT_START,
    Event,
    decode_one,
    decode_without_args,
    object_end,
)

_PH_FIRST = re.compile(rb'\{\s*"ph"\s*:')
_ESCAPE = re.compile(rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
# Half of a surrogate pair: a name that was cut between its two halves.
_LONE_SURROGATE = re.compile(
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
_CONTROL = re.compile(rb"[\x00-\x1f]")
_STRING_OR_BARE = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\Z)|[^\s,:{}\[\]"]+')
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_QUOTE = re.compile(rb'(?<!\\)(?:\\\\)*"')
_AFTER_STRING = re.compile(rb'\s*(?:$|[:}\]]|,\s*(?:$|["{\[\-0-9tfnN]))')
_CLOSING_ESCAPED = re.compile(rb'(?<!\\)\\"(?=\s*(?:[}\]]|,\s*"))')


def decode_pieces(block: bytes, diagnostics: Diagnostics) -> list[Event]:
    """Events of a damaged run, in order; damage costs the events it touches.

    The run is cut wherever one event seems to end and the next to start. A piece that is no event even after repair is
    read up to the brace that closes it, which may be before the cut (events glued together) or after it (the cut was
    in nested data). Scans for that brace are limited to the length of the run in all, so that a run full of damage does
    not take quadratic time.
    """
    cuts = [(match.start() + 1, match.end()) for match in BOUNDARY.finditer(block)]
    ends, starts = [*(cut[0] for cut in cuts), len(block)], [*(cut[1] for cut in cuts), len(block)]
    events: list[Event] = []
    at, in_remains, scan_left = 0, False, 2 * len(block)
    while at < len(block):
        place = bisect_right(ends, at)
        place = min(place, len(ends) - 1)
        end, after = ends[place], starts[place]
        event = _mended(block[at:end], diagnostics)
        if event is None:
            limit = min(len(block), at + scan_left)
            close = object_end(block, at, limit)
            scan_left -= (close or limit) - at
            if close is not None and close != end:
                event = _mended(block[at:close], diagnostics)
                if event is not None:
                    after = _next_start(block, close, Diagnostics() if in_remains else diagnostics)
        if event is None:
            if not in_remains:
                diagnostics.add("loss", "event_damaged", "events that are not JSON and could not be repaired")
            glued = _PH_FIRST.search(block, at + 1, end)
            in_remains, at = True, glued.start() if glued else after
            continue
        # After a lost event, what has no phase is a nested part of it.
        if not in_remains or isinstance(event.ph, str):
            events.append(event)
            in_remains = False
        at = after
    return events


def _next_start(block: bytes, at: int, diagnostics: Diagnostics) -> int:
    """Where the next event starts after one that ended at `at`; what stands between them, if anything, is lost."""
    start = EVENT_START.search(block, at)
    begin = start.start() if start else len(block)
    if block[at:begin].strip(b" \t\r\n,"):
        diagnostics.add("loss", "event_damaged", "events that are not JSON and could not be repaired")
    return begin


def is_readable(piece: bytes) -> bool:
    """Whether the piece is an event with a phase, if need be after repair."""
    event = _mended(piece, Diagnostics())
    return event is not None and isinstance(event.ph, str)


def _mended(piece: bytes, diagnostics: Diagnostics) -> Event | None:
    """The event that the piece is, if need be after repair or without its args, which is counted."""
    event = decode_one(piece)
    if event is not None:
        return event
    texts = [repair(piece) for repair in _REPAIRS]
    for text in texts:
        event = decode_one(text)
        if event is not None:
            diagnostics.add("warning", "event_repaired", "events that were not JSON, read after repair")
            return event
    for text in texts:
        event = decode_without_args(text)
        if event is not None:
            diagnostics.add("loss", "args_damaged", "events whose args are no object; read without them")
            return event
    return None


def _with_words(piece: bytes) -> bytes:
    """The piece with bad bytes, control characters, stray backslashes, and words that are no JSON mended."""
    return _bare_words(_characters(piece))


def _with_quotes(piece: bytes) -> bytes:
    """The same, with quotes inside a string escaped too."""
    return _bare_words(_inner_quotes(_characters(piece)))


def _with_closing(piece: bytes) -> bytes:
    """The same, with a backslash before a closing quote taken for a stray one."""
    return _bare_words(_CLOSING_ESCAPED.sub(rb'\\\\"', _characters(piece)))


_REPAIRS = (_with_words, _with_quotes, _with_closing)


def _characters(piece: bytes) -> bytes:
    text = piece.decode("utf-8", "replace").encode()
    text = _ESCAPE.sub(lambda match: match.group() if len(match.group()) > 1 else rb"\\", text)
    text = _LONE_SURROGATE.sub(lambda match: match.group(1) or rb"\ufffd", text)
    return _CONTROL.sub(b" ", text)


def _bare_words(text: bytes) -> bytes:
    """The text with inf, NaN, N/A and every other bare word, and numbers beyond a float, as null."""
    return _STRING_OR_BARE.sub(lambda match: match.group() if _is_json(match.group()) else b"null", text)


def _is_json(token: bytes) -> bool:
    if token.startswith(b'"') or token in {b"true", b"false", b"null"}:
        return True
    return _NUMBER.fullmatch(token) is not None and (len(token) < 300 or b"e" not in token.lower()) and _fits(token)


def _fits(token: bytes) -> bool:
    return b"e" not in token.lower() or math.isfinite(float(token))


def _inner_quotes(text: bytes) -> bytes:
    """The text with those quotes escaped that stand inside a string: no comma, colon or bracket follows them."""
    parts, done, opened = [], 0, False
    for match in _QUOTE.finditer(text):
        quote = match.end() - 1
        if not opened:
            opened = True
        elif _AFTER_STRING.match(text, match.end()):
            opened = False
        else:
            parts += [text[done:quote], b"\\"]
            done = quote
    return b"".join([*parts, text[done:]])
