"""The fast path: a trace's events by compiled kernels, and what they refuse by the slow path, to the same frames."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from queue import SimpleQueue

import numpy as np
import polars as pl

from tracelens.capture import Diagnostics
from tracelens.collectors.torch.columns import RawEvents
from tracelens.collectors.torch.document import BLOCK_BYTES as PIECE_BYTES
from tracelens.collectors.torch.document import Document, ReadEvents, last_boundary, read_facts
from tracelens.collectors.torch.events import Event, decode_one
from tracelens.collectors.torch.fast import fields
from tracelens.collectors.torch.fast.blocks import BLOCK_BYTES, Block, Blocks
from tracelens.collectors.torch.fast.collected import Collected
from tracelens.collectors.torch.fast.frames import Assembly
from tracelens.collectors.torch.fast.layout import PAD
from tracelens.collectors.torch.fast.native import parser
from tracelens.collectors.torch.fast.worker import Parsed, Refused, Worker
from tracelens.collectors.torch.stream import ByteSource
from tracelens.collectors.torch.values import TIME_LIMIT_NS, nanoseconds

_WITHOUT_DURATION = {"allocations", "counters"}
_MOST_WORKERS = 2  # one more reads what is damaged; NUMBER_BITS leaves room for four
_AT_ONCE = 1 << 16


class FastDocument(Document):
    """Reads one trace: a block is parsed by kernels, and again by the slow path where it is no JSON."""

    def collect(self, parse: Callable[[int], int], block_bytes: int, n_workers: int) -> Assembly:
        """Read it all. Afterwards `facts`, `complete`, `n_events` and `has_fractions` are set, as by `events()`."""
        self._collected, self.has_fractions = Collected(), False
        self._parse = parse
        self._spare: Worker | None = None
        self._rest: Iterator[tuple[bytes, bool]] = iter(())
        self._workers = [Worker(parse, number) for number in range(n_workers)]
        idle: SimpleQueue[Worker] = SimpleQueue()
        for worker in self._workers:
            idle.put(worker)
        pieces = self.source.blocks(PIECE_BYTES)
        head, rest = self._find_list(pieces)
        blocks = Blocks(self.diagnostics, block_bytes)
        cut = blocks.cut(rest, pieces)
        tail = None
        with ThreadPoolExecutor(n_workers) as pool:
            ahead = _ahead(pool, idle, cut, n_workers + 1)
            for block, parsed in ahead:
                tail = self._take(block, parsed.result())
                blocks.give_back(block)
                if tail is not None:
                    break
            remaining = ((bytes(block.view), block.is_last) for block, _ in ahead)
            tail_text = self._tail(tail, chain(self._rest, remaining)) if tail is not None else b""
        blocks.release()
        for worker in self._workers:
            worker.release()
        self.facts = read_facts(head, tail_text, self.diagnostics) if head else {}
        closed = tail is not None and (not head or tail_text.rstrip(b"\0 \t\r\n").endswith(b"}"))
        self.complete = closed and not self.source.cut
        return Assembly(self._collected, self._workers + ([self._spare] if self._spare else []))

    def _take(self, block: Block, parsed: Parsed) -> bytes | None:
        """Add a block's events; what follows the list's end, if the block holds it."""
        # The slow path looks for the list's end in each of its runs; it surely sees what is seen here only in the last.
        is_plain = parsed.closed_at is None or (
            block.is_last and last_boundary(block.view[parsed.closed_at :]) is None  # type: ignore[arg-type]
        )
        if is_plain and self._is_sound(block.view, parsed, is_last=True):
            return self._add(block.view, parsed)
        self._rest = block.runs()
        for run, is_last in self._rest:
            again = self._parsed_again(run)
            if self._is_sound(memoryview(run), again, is_last=is_last):
                tail = self._add(memoryview(run), again)
            else:
                events, tail = self._decode(run, is_last=is_last)
                self.n_events += len(events)
                self._add_slow(events)
            if tail is not None:
                return tail
        return None

    def _parsed_again(self, run: bytes) -> Parsed:
        if self._spare is None:
            self._spare = Worker(self._parse, len(self._workers))
        buffer = np.full(len(run) + PAD, 0xFF, np.uint8)
        buffer[: len(run)] = np.frombuffer(run, np.uint8)
        return self._spare.parse(buffer, len(run))

    @staticmethod
    def _is_sound(text: memoryview, parsed: Parsed, *, is_last: bool) -> bool:
        """Whether the text is JSON, and the list's end, if it is there, is where the slow path would see it."""
        if parsed.damaged:
            return False
        if parsed.closed_at is not None:
            last = bytes(text).rfind(b'"ph"')
            if last > parsed.closed_at or (last < 0 and not is_last):
                return False
        parsed.events = [decode_one(refused.text) for refused in parsed.refused]
        return all(event is not None for event in parsed.events)

    def _add(self, text: memoryview, parsed: Parsed) -> bytes | None:
        before = {name: self._collected.height(name) for name in fields.NAMES}
        self._collected.add(parsed.pieces)
        self.n_events += parsed.n_events
        self.has_fractions |= parsed.has_fractions
        if parsed.refused:
            self._add_refused(parsed.events, parsed.refused, before)
        return None if parsed.closed_at is None else bytes(text[parsed.closed_at + 1 :])

    def _add_refused(self, events: list[Event], refused: list[Refused], before: dict[str, int]) -> None:
        """Rows of single events that the slow path read, each at its place.

        The slow path drops events without times, so they go to it in batches of which that is known for all: with both
        times, without a duration, without a start; and those of no table, which it counts.
        """
        tables = [fields.table_of(event.ph, event.cat, event.name) for event in events]
        placed = [i for i, table in enumerate(tables) if table]
        self._slow_frames([event for event, table in zip(events, tables, strict=True) if not table])
        written = ([bytes(getattr(events[i], key)) for i in placed] for key in ("ts", "dur"))
        # No number holds a byte beyond ASCII.
        starts, durations = (nanoseconds([text if text.isascii() else b"" for text in texts]) for texts in written)
        limits = starts.is_between(-TIME_LIMIT_NS, TIME_LIMIT_NS), durations.is_between(0, TIME_LIMIT_NS)
        has_start, has_duration = (good.fill_null(value=False).to_list() for good in limits)
        batches: dict[tuple[bool, bool], list[int]] = {}
        for i, start, duration in zip(placed, has_start, has_duration, strict=True):
            batches.setdefault((start, duration), []).append(i)
        for (start, duration), batch in batches.items():
            for name, frame in self._slow_frames([events[i] for i in batch]).items():
                kept = start and (duration or name in _WITHOUT_DURATION)
                own = [before[name] + refused[i].rows[name] for i in batch if tables[i] == name]
                self._collected.add_slow(name, frame, own if kept else [])

    def _add_slow(self, events: list[Event]) -> None:
        for name, frame in self._slow_frames(events).items():
            self._collected.add_slow(name, frame)

    def _slow_frames(self, events: list[Event]) -> dict[str, pl.DataFrame]:
        slow = RawEvents(self.diagnostics)
        slow.add(events)
        frames = slow.frames()
        self.has_fractions |= slow.has_fractions
        return frames


def _ahead(
    pool: ThreadPoolExecutor, idle: SimpleQueue[Worker], blocks: Iterator[Block], n_ahead: int
) -> Iterator[tuple[Block, Future[Parsed]]]:
    """Blocks with their results to come, in order, while the next ones are read and parsed."""

    def parse(block: Block) -> Parsed:
        worker = idle.get()
        try:
            return worker.parse(block.buffer, block.size)
        finally:
            idle.put(worker)

    waiting: deque[tuple[Block, Future[Parsed]]] = deque()
    for block in blocks:
        waiting.append((block, pool.submit(parse, block)))
        if len(waiting) >= n_ahead:
            yield waiting.popleft()
    yield from waiting


def _count_unplaced(assembly: Assembly, diagnostics: Diagnostics) -> None:
    """Count events that no table holds, as the slow path does and in its words."""
    slow = RawEvents(diagnostics)
    for phase, category, count in assembly.unplaced():
        for begin in range(0, count, _AT_ONCE):
            slow.add([Event(ph=phase, cat=category)] * min(_AT_ONCE, count - begin))
    slow.frames()


def read_fast(
    source: ByteSource, diagnostics: Diagnostics, *, block_bytes: int = BLOCK_BYTES, n_workers: int | None = None
) -> ReadEvents | None:
    """Read a trace to the frames that `RawEvents.frames()` gives; None where there are no kernels, nothing read.

    Strings are Categorical. Raises SourceError like `Document.events`.
    """
    found = parser()
    if found is None:
        return None
    if n_workers is None:
        n_workers = os.cpu_count() or 1
    n_workers = max(1, min(_MOST_WORKERS, n_workers))
    document = FastDocument(source, diagnostics)
    assembly = document.collect(found.run, block_bytes, n_workers)
    frames = assembly.frames()
    _count_unplaced(assembly, diagnostics)
    return ReadEvents(frames, document.facts, document.complete, document.n_events, document.has_fractions, found.path)
