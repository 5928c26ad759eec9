"""A Chrome trace as a document: where its event list begins and ends, and the few top-level facts worth keeping."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from tracelens.capture import Diagnostics
from tracelens.collectors.torch.damage import decode_pieces, is_readable
from tracelens.collectors.torch.events import BOUNDARY, EVENT_START, Event, array_end, decode_whole, object_end
from tracelens.collectors.torch.stream import ByteSource
from tracelens.errors import SourceError

BLOCK_BYTES = 8 << 20
_HEAD_LIMIT = 64 << 20
_TAIL_LIMIT = 64 << 20
_LIST_START = re.compile(rb'"traceEvents"\s*:\s*\[')
_ROOT_LIST = re.compile(rb"\s*\[\s*(?=[{\]])")
_LOOKS_LIKE_END = re.compile(rb'(?<=\})\s*\](?=\s*(?:,\s*"\w+"\s*:|\}?\s*\Z))')
_BOM = b"\xef\xbb\xbf"
_EVENT_LIMIT = 64 << 20
_SEARCH_BACK = 1 << 16
_OVERLAP = 4096
_NESTED_STARTS = 16

# Only these top-level keys are read. A trace's user metadata has been seen to hold a whole environment with tokens.
KEYS = (
    "schemaVersion", "deviceProperties", "distributedInfo", "baseTimeNanoseconds", "cupti_version",
    "cuda_runtime_version", "cuda_driver_version", "hip_runtime_version", "hip_driver_version", "record_shapes",
    "with_stack", "with_modules", "with_flops", "profile_memory",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReadEvents:
    """What reading a trace gives: raw frames by table, top-level facts, and `path`, the way it was read."""

    frames: dict[str, pl.DataFrame]
    facts: dict[str, Any]
    complete: bool
    n_events: int
    has_fractions: bool
    path: str


@dataclass(slots=True)
class Document:
    """Reads one trace: iterate `events()` to its end, then `facts` and `complete` are set."""

    source: ByteSource
    diagnostics: Diagnostics
    facts: dict[str, Any] = field(default_factory=dict)
    complete: bool = False
    n_events: int = 0

    def events(self) -> Iterator[list[Event]]:
        """The events in file order, in batches. Raises SourceError when this is no Chrome trace or holds no event."""
        blocks = self.source.blocks(BLOCK_BYTES)
        head, rest = self._find_list(blocks)
        runs = self._whole_events(rest, blocks)
        tail = None
        for run, is_last in runs:
            batch, tail = self._decode(run, is_last=is_last)
            self.n_events += len(batch)
            yield batch
            if tail is not None:
                break
        tail_text = self._tail(tail, runs) if tail is not None else b""
        self.facts = read_facts(head, tail_text, self.diagnostics) if head else {}
        closed = tail is not None and (not head or tail_text.rstrip(b"\0 \t\r\n").endswith(b"}"))
        self.complete = closed and not self.source.cut

    def _find_list(self, blocks: Iterator[bytes]) -> tuple[bytes, bytes]:
        """The text up to the event list (empty for a bare list), and what has been read after its bracket."""
        head = bytearray()
        for block in blocks:
            searched = max(0, len(head) - _OVERLAP)
            head += block
            if head.startswith(_BOM):
                del head[: len(_BOM)]
            root = _ROOT_LIST.match(head)
            if root:
                return b"", bytes(head[root.end() :])
            match = _LIST_START.search(head, searched)
            if match:
                return bytes(head[: match.end() - 1]), bytes(head[match.end() :])
            if len(head) > _HEAD_LIMIT:
                break
        raise SourceError(f"{self.source.path}: {_what_it_is(bytes(head))}")

    def _whole_events(self, rest: bytes, blocks: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
        """Runs of whole events, and whether it is the last: that one holds the end of the list, or a cut."""
        pending, searched = bytearray(rest), 0
        for block in blocks:
            pending += block
            cut = last_boundary(pending, searched)
            if cut is not None:
                yield bytes(pending[: cut[0]]), False
                del pending[: cut[1]]
            elif len(pending) > _EVENT_LIMIT:
                self.diagnostics.add("loss", "event_too_long", "more than 64 MiB that do not look like events")
                pending.clear()
            searched = max(0, len(pending) - _OVERLAP)
        yield bytes(pending), True

    def _decode(self, run: bytes, *, is_last: bool) -> tuple[list[Event], bytes | None]:
        """Events of a run, and what follows the list's end when the run holds it."""
        if not run.strip():
            return [], None
        batch = decode_whole(run)
        if batch is not None:
            return batch, None
        end = list_end(run, is_last=is_last)
        if end is not None:
            body = run[:end].rstrip().removesuffix(b",")
            batch = decode_whole(body)
            return (decode_pieces(body, self.diagnostics) if batch is None else batch), run[end + 1 :]
        if is_last:
            run = self._without_cut_event(run)
        return decode_pieces(run, self.diagnostics), None

    def _without_cut_event(self, run: bytes) -> bytes:
        """The last run of a cut file without the event that the cut went through."""
        cut = last_boundary(run)
        begin = cut[1] if cut else 0
        close = object_end(run, begin, len(run))
        rest = run[begin if close is None else close :]
        if rest.strip(b" \t\r\n,"):
            self.diagnostics.add("loss", "event_cut", "the file ends inside an event; the event is lost")
        return run[: len(run) - len(rest)].rstrip().removesuffix(b",")

    def _tail(self, tail: bytes, runs: Iterator[tuple[bytes, bool]]) -> bytes:
        """The text after the event list, up to a limit; a run's missing comma is put back."""
        parts, size = [tail], len(tail)
        for run, _ in runs:
            size += len(run)
            if size > _TAIL_LIMIT:
                self.diagnostics.add("loss", "tail_too_long", "more than 64 MiB after the event list were not read")
                break
            parts.append(b"," + run)
        return b"".join(parts)


def last_boundary(data: bytes | bytearray, begin: int = 0, upto: int | None = None) -> tuple[int, int] | None:
    """Where the last event but one in `data[begin:upto]` ends and the last starts; looked for from the end."""
    stop = len(data) if upto is None else upto
    window = _SEARCH_BACK
    while True:
        start = max(begin, stop - window)
        last = None
        for match in BOUNDARY.finditer(data, start, min(len(data), stop + _OVERLAP)):
            if match.end() <= stop:
                last = (match.start() + 1, match.end())
        if last or start == begin:
            return last
        window *= 8


def list_end(run: bytes, *, is_last: bool) -> int | None:
    """Where the bracket that closes the event list stands in a run that is not JSON as it is; None if it does not.

    It stands after the last event, and what comes after the list has no key `ph`: the scan starts at the event with the
    last one, so that damage before does not mislead it. Where that finds nothing, the last run is scanned whole, and at
    last searched for what the end looks like, in case its last event is damaged.
    """
    last = begin = run.rfind(b'"ph"')
    for _ in range(_NESTED_STARTS):
        if begin <= 0:
            break
        cut = last_boundary(run, upto=begin)
        begin = cut[1] if cut else 0
        end = array_end(run, begin)
        if end is None:
            break
        if end > last:
            return end
        begin -= 1
    if not is_last:
        return None
    end = array_end(run)
    if end is not None and (last < 0 or end > last):
        return end
    looks = _LOOKS_LIKE_END.search(run, max(0, last))
    if looks is None:
        return None
    # In a cut file nested data can look like the end too, but then the event before it is no event.
    cut = last_boundary(run, upto=max(0, last))
    starts = [match.start() for match in EVENT_START.finditer(run, cut[1] if cut else 0, looks.start())]
    return looks.start() if any(is_readable(run[start : looks.start()]) for start in starts[:_NESTED_STARTS]) else None


def read_facts(head: bytes, tail: bytes, diagnostics: Diagnostics) -> dict[str, Any]:
    """The known top-level keys of the document around its events; read one by one where the whole is not JSON."""
    decoded = (head + b"[]" + tail).decode("utf-8", "replace")
    try:
        # Of a trace that is cut among its events, the closing brace is missing.
        whole = json.JSONDecoder(strict=False).raw_decode((decoded if tail else decoded + "}").lstrip())[0]
        if isinstance(whole, dict):
            return {key: whole[key] for key in KEYS if key in whole}
    except (ValueError, RecursionError):
        pass
    facts: dict[str, Any] = {}
    for key in KEYS:
        match = re.search(rf'"{key}"\s*:\s*', decoded)
        if match is None:
            continue
        try:
            facts[key] = json.JSONDecoder(strict=False).raw_decode(decoded, match.end())[0]
        except (ValueError, RecursionError):
            diagnostics.add("loss", "metadata_damaged", "top-level facts of the trace that are not JSON")
    return facts


def _what_it_is(head: bytes) -> str:
    """One line on what was found where a trace was expected, and what to do."""
    expected = "expected a torch.profiler Chrome trace (JSON with traceEvents)"
    if not head.strip():
        return f"{expected}, found an empty file; export again with prof.export_chrome_trace(path)"
    start = head.lstrip(_BOM).lstrip()[:1]
    if start not in (b"{", b"["):
        return f"{expected}, found something that is not JSON; see tracelens collect --help for what can be read"
    if b'"nodes"' in head and b'"schema"' in head:
        return (
            f"{expected}, found an ExecutionTraceObserver file; collect the trace that prof.export_chrome_trace wrote"
        )
    return f"{expected}, found JSON without a traceEvents list; export again with prof.export_chrome_trace(path)"
