"""Repair the text of an event that is not JSON.

It may contain bare words, stray backslashes and quotes, or bytes that are not UTF-8.
"""

import math
import re
from collections.abc import Callable

from tracelens.collectors.torch.events import Event, decode_one, decode_without_args, flattened
from tracelens.storage.limits import NESTING
from tracelens.trace.capture import Diagnostics

LONGEST_REPAIRED = 1 << 17
TOO_DEEP = Event()
"""Stands for an event that was counted as lost because its values are nested too deep."""

_ESCAPE = re.compile(rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
# Half of a surrogate pair: the name was cut between its two halves.
_LONE_SURROGATE = re.compile(
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
_CONTROL = re.compile(rb"[\x00-\x1f]")
_STRING_OR_BARE = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\Z)|[^\s,:{}\[\]"]+')
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_QUOTE = re.compile(rb'(?<!\\)(?:\\\\)*"')
_AFTER_STRING = re.compile(rb'\s*(?:$|[:}\]]|,\s*(?:$|["{\[\-0-9tfnN]))')
_CLOSING_ESCAPED = re.compile(rb'(?<!\\)\\"(?=\s*(?:[}\]]|,\s*"))')


def repaired_event(piece: bytes, diagnostics: Diagnostics) -> Event | None:
    """Return the event in a text, repaired if necessary, None if repair fails.

    Repairs and lost args are counted.
    """
    event = decode_one(piece)
    if event is not None:
        return event
    if len(piece) > LONGEST_REPAIRED:
        return _shallow(piece, diagnostics)
    readable, texts = _characters(piece), []
    for repair in _REPAIRS:
        texts.append(repair(readable))
        event = decode_one(texts[-1])
        if event is not None:
            diagnostics.add(
                "warning", "event_repaired", "events that were not JSON, read after repair"
            )
            return event
    for text in texts:
        event = decode_without_args(text)
        if event is not None:
            diagnostics.add(
                "loss", "args_damaged", "events whose args are not an object; read without them"
            )
            return event
    return _shallow(piece, diagnostics)


def _shallow(piece: bytes, diagnostics: Diagnostics) -> Event | None:
    """Return the event without its most deeply nested values, which no table needs.

    - If no value is nested that deep, return None.
    - If the event is still not JSON, return None.
    - If the event is nested deeper than the user allows, count a loss and return TOO_DEEP.
    """
    flat, depth = flattened(piece)
    if flat is None:
        return None
    if depth > NESTING.value:
        text = f"events with values nested {NESTING.value} deep and more; {NESTING.how_to_raise}"
        diagnostics.add("loss", "event_too_deep", text)
        return TOO_DEEP
    return decode_one(flat)


def _characters(piece: bytes) -> bytes:
    as_utf8 = piece.decode("utf-8", "replace").encode()
    whole_escapes = _ESCAPE.sub(
        lambda match: match.group() if len(match.group()) > 1 else rb"\\",
        as_utf8,
    )
    no_lone_surrogates = _LONE_SURROGATE.sub(
        lambda match: match.group(1) or rb"\ufffd",
        whole_escapes,
    )
    return _CONTROL.sub(b" ", no_lone_surrogates)


def _bare_words(text: bytes) -> bytes:
    """Return the text with None for inf, NaN, N/A and every other bare word.

    None also replaces numbers too large for a float.
    """
    return _STRING_OR_BARE.sub(
        lambda match: match.group() if _is_json(match.group()) else b"null",
        text,
    )


def _is_json(token: bytes) -> bool:
    if token.startswith(b'"') or token in {b"true", b"false", b"null"}:
        return True
    is_plain = b"e" not in token.lower()
    return _NUMBER.fullmatch(token) is not None and (
        is_plain or (len(token) < 300 and math.isfinite(float(token)))
    )


def _inner_quotes(text: bytes) -> bytes:
    """Return the text with the quotes inside strings escaped.

    A quote is inside a string if no comma, colon or bracket follows it.
    """
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


_REPAIRS: tuple[Callable[[bytes], bytes], ...] = (
    _bare_words,
    lambda text: _bare_words(_inner_quotes(text)),
    lambda text: _bare_words(_CLOSING_ESCAPED.sub(rb'\\\\"', text)),
)
"""Repairs, tried in turn.

The first one only replaces bare words. The second also escapes quotes inside a string. The third
instead doubles a backslash before a closing quote, so that the quote closes the string.
"""
