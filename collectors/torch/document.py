"""Read a Chrome trace as a document: its list of events, and some top-level facts."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from msgspec import Struct

from tracelens.collectors.torch.damage import KEYS, LONG, LOST, SEPARATORS, Recovery
from tracelens.collectors.torch.events import (
    BOUNDARY,
    EVENT_START,
    Event,
    decode_lines,
    decode_whole,
    object_end,
)
from tracelens.collectors.torch.text import Text
from tracelens.errors import NoTraceError
from tracelens.trace.capture import Diagnostics
from tracelens.trace.cleaning import whole_text

BLOCK_BYTES = 8 << 20
_HEAD_LIMIT = 64 << 20
_TAIL_LIMIT = 64 << 20
_LIST_START = re.compile(rb'"traceEvents"\s*:\s*\[')
_ROOT_LIST = re.compile(rb"\s*\[\s*(?=[{\]])")
_ROOT_EVENT = re.compile(rb'\s*(?=\{\s*"ph"\s*:)')
_BETWEEN = b"\0\x1e \t\r\n"
_BOM = b"\xef\xbb\xbf"
_SEARCH_BACK = 1 << 16
_OVERLAP = 4096
# The bytes of text whose data fits into a processor's cache. Decoding eight times as much at once
# takes a fifth more time.
_MOSTLY_AT_ONCE = 256 << 10
_FEWEST_AT_ONCE = 4 << 10


class ReadEvents(Struct, frozen=True):
    """Holds the content of a trace: raw frames by table, and top-level facts.

    `path` names the parser that read the trace: native or msgspec.
    """

    frames: dict[str, pl.DataFrame]
    facts: dict[str, Any]
    complete: bool
    n_events: int
    has_fractions: bool
    path: str


@dataclass(slots=True)
class Document:
    """Reads one trace from a text, and leaves the text's position behind the trace.

    `events()` yields all events. `facts` are complete after the last event. A caller that parses
    some events itself calls `find_list`, then `events_to` for the other events, and last `finish`.
    """

    text: Text
    diagnostics: Diagnostics
    facts: dict[str, Any] = field(default_factory=dict)
    complete: bool = False
    n_events: int = 0
    is_closed: bool = False
    """True once the end of the event list was read."""
    _recovery: Recovery = field(init=False)
    _head: bytes = b""
    _is_lines: bool = False
    # The bytes that are decoded at once. The number begins small, because a file may hold many
    # small traces.
    _at_once: int = 2 * _FEWEST_AT_ONCE
    _no_intact_before: int = 0
    _end: int | None = None

    def events(self) -> Iterator[list[Event]]:
        """Yield the events in file order, in batches.

        Raises NoTraceError if the text is not a Chrome trace.
        """
        self.find_list()
        yield from self.events_to(None)
        self.finish()

    def events_to(self, end: int | None) -> Iterator[list[Event]]:
        """Yield the next events of the list in batches, up to the text's offset `end` if given."""
        text, self._end = self.text, end
        while not self.is_closed and (end is None or text.offset < end):
            while not self._recovery.has_lost and (batch := self._intact_events()):
                self.n_events += len(batch)
                yield batch
            if end is not None and text.offset >= end:
                return
            if not text.left and not text.more():
                return
            event = self._repaired_event()
            if event is not None:
                self.n_events += 1
                yield [event]

    def find_list(self) -> None:
        """Move the text to the first event. Raises NoTraceError when there is no event list."""
        self._find_list()
        self._recovery = Recovery(self.text, self.diagnostics)

    def _find_list(self) -> None:
        text, searched = self.text, 0
        text.reach(len(_BOM))
        if text.data.startswith(_BOM, text.at):
            text.at += len(_BOM)
        while True:
            root = _ROOT_LIST.match(text.data, text.at)
            match = (
                None
                if root
                else _LIST_START.search(text.data, text.at + max(0, searched - _OVERLAP))
            )
            list_start = root or match
            if list_start is not None:
                self._head = b"" if root else bytes(text.data[text.at : list_start.end() - 1])
                text.at = list_start.end()
                return
            searched = text.left
            if searched > _HEAD_LIMIT or not text.more():
                break
        lines = _ROOT_EVENT.match(text.data, text.at)
        if lines is None:
            raise NoTraceError(f"{text.name}: {_what_it_is(bytes(text.data[text.at :]))}")
        self._is_lines, text.at = True, lines.end()

    def finish(self) -> None:
        """Read the text after the list to the document's end, and set `facts` and `complete`."""
        tail, is_whole = b"", self.is_closed or (self._is_lines and not self._recovery.is_cut)
        if self.is_closed and self._head:
            tail, is_whole = self._tail()
        self.facts = read_facts(self._head, tail, self.diagnostics) if self._head else {}
        self.complete = is_whole
        self.text.skip(_BETWEEN)

    def _repaired_event(self) -> Event | None:
        """Read on at text that is not an intact event.

        Return the repaired event, None if no event was read.
        """
        text = self.text
        text.skip(SEPARATORS)
        if not text.left:
            return None
        if text.data[text.at] == ord("]"):
            self.is_closed = self._closes()
            if not self.is_closed:
                self.diagnostics.add("loss", "event_damaged", LOST)
            text.at += 1
            return None
        return self._recovery.step()

    def _intact_events(self) -> list[Event]:
        """Return the next events that are valid JSON, an empty list if other text comes first."""
        text = self.text
        if self._is_lines:
            return self._intact_lines()
        if text.offset < self._no_intact_before:
            return []
        size = self._at_once
        most = LONG if self._end is None else min(LONG, self._end - text.offset)
        has_failed = False
        while True:
            size = min(size, most)
            text.reach(size + _OVERLAP)
            boundary = last_boundary(text.data, text.at, text.at + size)
            if boundary is None and has_failed:
                return []
            if boundary is None and (size >= most or text.left <= size):
                self._no_intact_before = text.offset + min(size, text.left) - _OVERLAP
                return []
            if boundary is None:
                size *= 4
                continue
            end, next_event = boundary
            batch = decode_whole(text.data[text.at : end])
            if batch is not None:
                text.at = next_event
                self._at_once = min(2 * size, _MOSTLY_AT_ONCE)
                return batch
            is_one_event = last_boundary(text.data, text.at, end) is None
            if is_one_event:
                # The text before `end` is read event by event, without another attempt here.
                self._no_intact_before = text.offset + end - text.at
            if is_one_event or size <= _FEWEST_AT_ONCE:
                self._at_once = _FEWEST_AT_ONCE
                return []
            has_failed = True
            size = max(_FEWEST_AT_ONCE, min(size, end - text.at) // 8)

    def _intact_lines(self) -> list[Event]:
        """Return the next events of a text that has one event per line and no list around them."""
        text, size = self.text, self._at_once
        size = size if self._end is None else min(size, self._end - text.offset)
        while size > 0:
            text.reach(size)
            end = text.data.rfind(b"\n", text.at, text.at + size) + 1
            if end > 0:
                batch = decode_lines(bytes(text.data[text.at : end]))
                if batch is not None:
                    text.at = end
                    self._at_once = min(2 * size, _MOSTLY_AT_ONCE)
                    return batch
            if size <= _FEWEST_AT_ONCE:
                self._at_once = size
                return []
            size //= 8
        return []

    def _closes(self) -> bool:
        """Return whether the bracket at `at` closes the list, so that no other event follows."""
        text = self.text
        for size in (_OVERLAP, 1 << 20):
            text.reach(size)
            after = bytes(text.data[text.at + 1 : text.at + size]).lstrip(SEPARATORS)
            if after:
                break
        if self._head:
            return EVENT_START.match(after) is None
        return not (text.data[text.at + 1 : text.at + 2] == b"," and EVENT_START.match(after))

    def _tail(self) -> tuple[bytes, bool]:
        """Return the text after the event list up to the brace that closes the document.

        Also return whether that brace exists.
        """
        text, size = self.text, _OVERLAP
        while True:
            text.reach(size)
            end = object_end(text.data, text.at, depth=1)
            if end is not None:
                return _take(text, end), True
            if text.over and text.left <= size:
                tail = _take(text, len(text.data))
                return tail, tail.rstrip(_BETWEEN).endswith(b"}")
            if size > _TAIL_LIMIT:
                break
            size *= 4
        self.diagnostics.add(
            "loss", "tail_too_long", "more than 64 MiB after the event list were not read"
        )
        tail = _take(text, len(text.data))
        while text.more():
            text.at = len(text.data)
        return tail, False


def _take(text: Text, end: int) -> bytes:
    """Return the text from its position up to `end`, and move the position to `end`."""
    taken = bytes(text.data[text.at : end])
    text.at = end
    return taken


def what_follows(text: Text) -> bytes:
    """Return the first byte after a document and its separators, b"" at the text's end."""
    while True:
        text.skip(_BETWEEN)
        if text.left or not text.more():
            return bytes(text.data[text.at : text.at + 1])


def last_boundary(
    data: bytes | bytearray,
    begin: int = 0,
    upto: int | None = None,
) -> tuple[int, int] | None:
    """Return the last boundary between events in `data[begin:upto]`, None if there is none.

    A boundary is the end of one event and the start of the next event.
    """
    stop = len(data) if upto is None else min(upto, len(data))
    n_searched = _SEARCH_BACK
    while True:
        start = max(begin, stop - n_searched)
        last = None
        for match in BOUNDARY.finditer(data, start, min(len(data), stop + _OVERLAP)):
            if match.end() <= stop:
                last = (match.start() + 1, match.end())
        if last or start == begin:
            return last
        n_searched *= 8


def read_facts(head: bytes, tail: bytes, diagnostics: Diagnostics) -> dict[str, Any]:
    """Return the known top-level facts of a trace, from the text before and after its events."""
    decoded = (head + b"[]" + tail).decode("utf-8", "replace")
    try:
        # A trace that is cut within its events has no closing brace.
        whole = json.JSONDecoder(strict=False).raw_decode(
            (decoded if tail else decoded + "}").lstrip()
        )[0]
        if isinstance(whole, dict):
            return {key: whole_text(whole[key]) for key in KEYS if key in whole}
    except (ValueError, RecursionError):
        pass
    # The text is not valid JSON, so keys are read one by one.
    facts: dict[str, Any] = {}
    for key in KEYS:
        match = re.search(rf'"{key}"\s*:\s*', decoded)
        if match is None:
            continue
        try:
            facts[key] = whole_text(
                json.JSONDecoder(strict=False).raw_decode(decoded, match.end())[0]
            )
        except (ValueError, RecursionError):
            diagnostics.add(
                "loss", "metadata_damaged", "top-level facts of the trace that are not JSON"
            )
    return facts


def _what_it_is(head: bytes) -> str:
    """Return a line that says what the file is instead of a trace, and what to do."""
    expected = "expected a torch.profiler Chrome trace (JSON with traceEvents)"
    if not head.strip():
        return (
            f"{expected}, found an empty file, or damaged gzip; export again with"
            " prof.export_chrome_trace(path)"
        )
    start = head.lstrip(_BOM).lstrip()[:1]
    if start not in (b"{", b"["):
        return (
            f"{expected}, found something that is not JSON; see tracelens collect --help for what"
            " can be read"
        )
    if b'"nodes"' in head and b'"schema"' in head:
        return (
            f"{expected}, found an ExecutionTraceObserver file; collect the trace that"
            " prof.export_chrome_trace wrote"
        )
    return (
        f"{expected}, found JSON without a traceEvents list; export again with"
        " prof.export_chrome_trace(path)"
    )
