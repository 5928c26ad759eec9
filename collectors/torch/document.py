"""A Chrome trace as a document: where its event list begins and ends, and the few top-level facts worth keeping."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tracelens.capture import Diagnostics
from tracelens.collectors.torch.events import BOUNDARY, Event, array_end, decode_pieces, decode_whole
from tracelens.collectors.torch.stream import ByteSource
from tracelens.errors import SourceError

BLOCK_BYTES = 8 << 20
_HEAD_LIMIT = 64 << 20
_TAIL_LIMIT = 64 << 20
_LIST_START = re.compile(rb'"traceEvents"\s*:\s*\[')
_ROOT_LIST = re.compile(rb"\s*\[\s*(?=[{\]])")
_EVENT_KEY = re.compile(rb'"ph"\s*:')
_BOM = b"\xef\xbb\xbf"
_SEARCH_BACK = 1 << 16

# Only these top-level keys are read. A trace's user metadata has been seen to hold a whole environment with tokens.
KEYS = (
    "schemaVersion", "deviceProperties", "distributedInfo", "baseTimeNanoseconds", "cupti_version",
    "cuda_runtime_version", "cuda_driver_version", "hip_runtime_version", "hip_driver_version", "record_shapes",
    "with_stack", "with_modules", "with_flops", "profile_memory",
)  # fmt: skip


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
        tail = None
        for run in _whole_events(rest, blocks):
            batch, tail = self._decode(run)
            self.n_events += len(batch)
            yield batch
            if tail is not None:
                break
        tail_text = self._tail(tail, blocks) if tail is not None else b""
        self.facts = read_facts(head + b"[]" + tail_text, self.diagnostics) if head else {}
        self.complete = tail is not None and not self.source.cut

    def _find_list(self, blocks: Iterator[bytes]) -> tuple[bytes, bytes]:
        """The text up to the event list (empty for a bare list), and what has been read after its bracket."""
        head = b""
        for block in blocks:
            head += block
            root = _ROOT_LIST.match(head.removeprefix(_BOM))
            if root:
                return b"", head.removeprefix(_BOM)[root.end() :]
            match = _LIST_START.search(head)
            if match:
                return head[: match.end() - 1], head[match.end() :]
            if len(head) > _HEAD_LIMIT:
                break
        raise SourceError(f"{self.source.path}: {_what_it_is(head)}")

    def _decode(self, run: bytes) -> tuple[list[Event], bytes | None]:
        """Events of a run, and what follows the list's end when the run holds it."""
        if not run.strip():
            return [], None
        batch = decode_whole(run)
        if batch is not None:
            return batch, None
        end = array_end(run)
        if end is not None and not _EVENT_KEY.search(run, end):
            body = run[:end].rstrip().removesuffix(b",")
            if not body:
                return [], run[end + 1 :]
            batch = decode_whole(body)
            return (decode_pieces(body, self.diagnostics) if batch is None else batch), run[end + 1 :]
        last = run if (cut := last_boundary(run)) is None else run[cut.end() :]
        if not last.rstrip().endswith(b"}"):
            run = run[: len(run) - len(last)].rstrip().removesuffix(b",")
            self.diagnostics.add("loss", "event_cut", "the file ends inside an event; the event is lost")
        return (decode_pieces(run, self.diagnostics) if run else []), None

    def _tail(self, tail: bytes, blocks: Iterator[bytes]) -> bytes:
        """The text after the event list, up to a limit."""
        parts, size = [tail], len(tail)
        for block in blocks:
            size += len(block)
            if size > _TAIL_LIMIT:
                self.diagnostics.add("loss", "tail_too_long", "more than 64 MiB after the event list were not read")
                break
            parts.append(block)
        return b"".join(parts)


def _whole_events(rest: bytes, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Runs of whole events; the last run is whatever is left, the end of the list or a cut among it."""
    pending = rest
    for block in blocks:
        pending += block
        cut = last_boundary(pending)
        if cut is None:
            continue
        yield pending[: cut.start() + 1]
        pending = pending[cut.end() :]
    cut = last_boundary(pending)
    if cut is not None:
        yield pending[: cut.start() + 1]
        pending = pending[cut.end() :]
    yield pending


def last_boundary(data: bytes) -> re.Match[bytes] | None:
    """The last place where one event ends and the next starts, looked for from the end."""
    window = _SEARCH_BACK
    while True:
        begin = max(0, len(data) - window)
        matches = deque(BOUNDARY.finditer(data, begin), maxlen=1)
        if matches or not begin:
            return matches[0] if matches else None
        window *= 8


def read_facts(text: bytes, diagnostics: Diagnostics) -> dict[str, Any]:
    """The known top-level keys of the document without its events; read one by one where the whole is not JSON."""
    decoded = text.decode("utf-8", "replace").removeprefix("\ufeff")
    try:
        whole = json.JSONDecoder(strict=False).raw_decode(decoded.lstrip())[0]
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
