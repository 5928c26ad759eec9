"""Split a torch.profiler trace into events; write it again in any layout in use.

- `kineto`: the source's bytes, as the profiler of torch 1.8 to 2.12 writes it: several fields per
  line
- `fields`: one field per line, and the comma between two events on another line, as in torch 2.13
- `indented`: the layout of `json.dump(trace, file, indent=2)`
- `compact`: without white space

Numbers keep their digits.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LAYOUTS = ("kineto", "fields", "indented", "compact")
_KINETO_BOUNDARY = re.compile(rb"(?<=\}),(?=\s*\{\s*\"(?:ph|name)\")")
_DIGITS = re.compile(r'"\\u0001([^"\\]*)\\u0001"')
_SEPARATOR = {"kineto": b",", "fields": b"\n  ,", "indented": b",", "compact": b","}


@dataclass(frozen=True, slots=True)
class Document:
    """A trace as text: `head`, the events' `texts` with `separator` between them, and `tail`.

    `events` are the parsed texts.
    """

    head: bytes
    texts: list[bytes]
    events: list[dict[str, Any]]
    tail: bytes
    separator: bytes


def read_document(path: Path, layout: str = "kineto") -> Document:
    """Read a trace that the profiler wrote, and return it in the layout asked for.

    Raises ValueError if the file is no such trace.
    """
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    begin, end = re.search(rb'"traceEvents": \[', text), re.search(rb"\s*\][^\]]*\Z", text)
    if begin is None or end is None:
        raise ValueError(
            f"{path.name}: expected a trace as the profiler writes it, found no traceEvents"
        )
    whole = json.loads(text, parse_float=lambda digits: f"\x01{digits}\x01")
    events = whole.pop("traceEvents")
    if layout == "kineto":
        head, tail = text[: begin.end()], text[end.start() :]
        texts = _KINETO_BOUNDARY.split(text[begin.end() : end.start()])
    else:
        after = {"traceName": whole.pop("traceName", path.name)}
        opening, closing = _around(layout)
        head = _dumped(whole, layout)[:-1].rstrip() + opening
        tail = (
            closing + _dumped(after, layout)[1:].lstrip()
            if layout == "compact"
            else closing + _tail(after, layout)
        )
        texts = [_event(event, layout) for event in events]
    if len(texts) != len(events):
        raise ValueError(
            f"{path.name}: {len(events)} events, but {len(texts)} pieces that look like one"
        )
    return Document(head, texts, events, tail, _SEPARATOR[layout])


def _around(layout: str) -> tuple[bytes, bytes]:
    """Return the text between the facts and the first event, and the text after the last event."""
    if layout == "compact":
        return b',"traceEvents":[', b"],"
    return b',\n  "traceEvents": [', b"\n  ],"


def _tail(facts: dict[str, Any], layout: str) -> bytes:
    return b"\n  " + _dumped(facts, layout)[1:].lstrip()


def _event(event: dict[str, Any], layout: str) -> bytes:
    """Write one event, with the white space before it."""
    if layout == "compact":
        return _dumped(event, layout)
    if layout == "indented":
        return b"\n    " + _dumped(event, layout).replace(b"\n", b"\n    ")
    return b"\n  {\n" + b",\n".join(_fields(event)) + b"\n  }"


def _fields(event: dict[str, Any]) -> list[bytes]:
    """Write an event's fields, one per line; fields of its args are indented."""
    lines = [b"    " + _field(key, value) for key, value in event.items() if key != "args"]
    if "args" in event:
        inner = b",\n".join(b"      " + _field(key, value) for key, value in event["args"].items())
        lines.append(b'    "args": {\n' + inner + b"\n    }")
    return lines


def _field(key: str, value: Any) -> bytes:
    return _dumped(key, "fields") + b": " + _dumped(value, "fields")


def _dumped(value: Any, layout: str) -> bytes:
    text = json.dumps(
        value,
        indent=2 if layout == "indented" else None,
        separators=(",", ":") if layout == "compact" else None,
    )
    return _DIGITS.sub(r"\1", text).encode()
