"""The fast path: a trace's events by the parser in C, and what they refuse by the slow path, to the same frames."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue

import polars as pl

from tracelens.collectors.torch.columns import RawEvents, series_of
from tracelens.collectors.torch.document import FEWEST_AT_ONCE, Document, ReadEvents
from tracelens.collectors.torch.events import Event
from tracelens.collectors.torch.fast import fields
from tracelens.collectors.torch.fast.blocks import BLOCK_BYTES, Block, Blocks
from tracelens.collectors.torch.fast.collected import Collected
from tracelens.collectors.torch.fast.frames import Assembly
from tracelens.collectors.torch.fast.worker import Parsed, Worker
from tracelens.collectors.torch.repair import mended
from tracelens.collectors.torch.text import Text
from tracelens.collectors.torch.values import TIME_LIMIT_NS, nanoseconds
from tracelens.native import LIBRARY
from tracelens.trace.capture import Diagnostics

_WITHOUT_DURATION = {"allocations", "counters"}
_MOST_WORKERS = 2  # one more reads what is damaged; NUMBER_BITS leaves room for four
_AT_ONCE = 1 << 16
_MOST_LATE = 1 << 14
# After damage, so much is read by msgspec before the parser is started again: its results take a millisecond to take.
_SOUND_AGAIN = 32 << 10
_TRIES = 16


class FastDocument(Document):
    """Reads one trace: blocks of it are parsed ahead, and read on from where the parser stops, event by event."""

    def collect(self, block_bytes: int, n_workers: int) -> Assembly:
        """Read it all. Afterwards `facts`, `complete`, `n_events` and `has_fractions` are set, as by `events()`."""
        self._collected, self.has_fractions = Collected(), False
        self._late: list[tuple[Event, dict[str, int]]] = []
        self._heights: dict[str, int] | None = None
        self._tries, self._at_once = 0, FEWEST_AT_ONCE
        self._spare: Worker | None = None
        self._workers = [Worker(number) for number in range(n_workers)]
        self.find_list()
        blocks = Blocks(block_bytes, self.text.place)
        is_closed = False
        with ThreadPoolExecutor(n_workers) as pool:
            ahead = _Ahead(pool, self._workers, blocks, self.text.rest())
            end = 0
            for block, parsed in ahead:
                end = block.start + block.size
                self._add(parsed.result() if parsed else Parsed())
                if parsed and parsed.result().stopped_at < block.size:
                    stopped = parsed.result().stopped_at
                    self.text.resume(block.text(stopped), ahead.texts(), block.start + stopped)
                    blocks.give_back(block)
                    is_closed = self._read_on()
                    end = self.text.place
                    if is_closed:
                        break
                else:
                    blocks.give_back(block)
            else:
                self.text.resume(b"", iter(()), end)
            ahead.is_parsing = False
        self._flush_late()
        blocks.release()
        self.finish(is_closed=is_closed)
        return Assembly(self._collected, self._workers + ([self._spare] if self._spare else []))

    def _read_on(self) -> bool:
        """Read from where the parser stopped to the end of a block, or of the list; whether it was the list's."""
        text, is_closed, has_stopped = self.text, False, True
        while not is_closed:
            if not self._recovery.in_remains and not has_stopped:
                self._take_sound()
                if not text.left:
                    return False
            if not text.left and not text.more():
                return False
            is_closed, event = self.after_sound()
            if event is not None:
                self._take_late([event])
            has_stopped = False
        return True

    def _take_sound(self) -> None:
        """Read what is JSON: a little of it by the slow path, and by the parser if that is not soon over."""
        self._tries += 1
        if self._at_once < _SOUND_AGAIN and self._tries % _TRIES:
            while self._at_once < _SOUND_AGAIN:
                batch = self._sound()
                if not batch:
                    return
                self._take_late(batch)
        if not self.text.left:
            return
        text = self.text
        if self._spare is None:
            self._spare = Worker(len(self._workers))
        with memoryview(text.data) as view:
            parsed = self._spare.parse(view, text.at)
        self._add(parsed)
        text.at = parsed.stopped_at
        self._at_once = FEWEST_AT_ONCE

    def _add(self, parsed: Parsed) -> None:
        before = {name: self._collected.height(name) for name in fields.NAMES} if parsed.refused else {}
        self._collected.add(parsed.pieces)
        self._heights = None
        self.n_events += parsed.n_events
        self.has_fractions |= parsed.has_fractions
        for refused in parsed.refused:
            event = mended(refused.text, self.diagnostics)
            if event is None:
                self.n_events -= 1
                what = "events that are not JSON and could not be repaired"
                self.diagnostics.add("loss", "event_damaged", what)
            else:
                self._late.append((event, {name: n + before[name] for name, n in refused.rows.items()}))
        if len(self._late) > _MOST_LATE:
            self._flush_late()

    def _take_late(self, events: list[Event]) -> None:
        """Note events that stand after all rows that the parser has read."""
        if self._heights is None:
            self._heights = {name: self._collected.height(name) for name in fields.NAMES}
        self.n_events += len(events)
        self._late += [(event, self._heights) for event in events]
        if len(self._late) > _MOST_LATE:
            self._flush_late()

    def _flush_late(self) -> None:
        """Rows of single events that the slow path read, each at its place.

        The slow path drops events without times, so they go to it in batches of which that is known for all: with both
        times, without a duration, without a start; and those of no table, which it counts.
        """
        late = [(one, before) for event, before in self._late for one in series_of(event)]
        events = [event for event, _ in late]
        rows = [before for _, before in late]
        self._late = []
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
                own = [rows[i][name] for i in batch if tables[i] == name]
                self._collected.add_slow(name, frame, own if kept else [])

    def _slow_frames(self, events: list[Event]) -> dict[str, pl.DataFrame]:
        slow = RawEvents(self.diagnostics)
        slow.add(events)
        frames = slow.frames()
        self.has_fractions |= slow.has_fractions
        return frames


class _Ahead:
    """Blocks with their results to come, in order, while the next ones are read and parsed."""

    def __init__(
        self, pool: ThreadPoolExecutor, workers: list[Worker], blocks: Blocks, pieces: Iterator[bytes]
    ) -> None:
        self.is_parsing = True
        self._pool, self._blocks, self._n_ahead = pool, blocks, len(workers) + 1
        self._cut = blocks.cut(pieces)
        self._idle: SimpleQueue[Worker] = SimpleQueue()
        for worker in workers:
            self._idle.put(worker)
        self._waiting: deque[tuple[Block, Future[Parsed] | None]] = deque()

    def __iter__(self) -> _Ahead:
        return self

    def __next__(self) -> tuple[Block, Future[Parsed] | None]:
        while len(self._waiting) < (self._n_ahead if self.is_parsing else 1):
            block = next(self._cut, None)
            if block is None:
                break
            self._waiting.append((block, self._pool.submit(self._parsed, block) if self.is_parsing else None))
        if not self._waiting:
            raise StopIteration
        return self._waiting.popleft()

    def texts(self) -> Iterator[bytes]:
        """The text of the blocks that are left, whatever was parsed of them."""
        for block, parsed in self:
            if parsed is not None:
                parsed.result()
            text = block.text()
            self._blocks.give_back(block)
            yield text

    def _parsed(self, block: Block) -> Parsed:
        worker = self._idle.get()
        try:
            with memoryview(block.buffer)[: block.size] as text:
                return worker.parse(text)
        finally:
            self._idle.put(worker)


def _count_unplaced(assembly: Assembly, diagnostics: Diagnostics) -> None:
    """Count events that no table holds, as the slow path does and in its words."""
    slow = RawEvents(diagnostics)
    for phase, category, count in assembly.unplaced():
        for begin in range(0, count, _AT_ONCE):
            slow.add([Event(ph=phase, cat=category)] * min(_AT_ONCE, count - begin))
    slow.frames()


def read_fast(
    text: Text, diagnostics: Diagnostics, *, block_bytes: int = BLOCK_BYTES, n_workers: int | None = None
) -> ReadEvents | None:
    """Read one trace to the frames that `RawEvents.frames()` gives; None, and nothing read, without the native library.

    Strings are Categorical. The text is left at what follows. Raises SourceError like `Document.events`.
    """
    if LIBRARY is None:
        return None
    if n_workers is None:
        n_workers = os.cpu_count() or 1
    n_workers = max(1, min(_MOST_WORKERS, n_workers))
    document = FastDocument(text, diagnostics)
    assembly = document.collect(block_bytes, n_workers)
    frames = assembly.frames()
    _count_unplaced(assembly, diagnostics)
    return ReadEvents(frames, document.facts, document.complete, document.n_events, document.has_fractions, "native")
