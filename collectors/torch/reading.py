"""Read the traces of a file, one after another.

The C parser reads a trace in several threads. If it is not compiled, msgspec reads the trace.
"""

import mmap
import os
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue

import polars as pl
from msgspec import Struct, field
from msgspec.structs import replace

from tracelens.collectors.torch import fields
from tracelens.collectors.torch.columns import RawEvents
from tracelens.collectors.torch.damage import LOST
from tracelens.collectors.torch.document import (
    BLOCK_BYTES,
    Document,
    ReadEvents,
    last_boundary,
    what_follows,
)
from tracelens.collectors.torch.repair import repaired_event
from tracelens.collectors.torch.stream import ByteSource
from tracelens.collectors.torch.text import Text
from tracelens.collectors.torch.values import extended, integer
from tracelens.errors import SourceError
from tracelens.native import LIBRARY, random_key
from tracelens.native.columns import series
from tracelens.trace.capture import Diagnostics

Reader = Callable[[Text, Diagnostics], ReadEvents]
_BLOCK_BYTES = 16 << 20
_MOST_THREADS = 2
# Number of rows after which a table is emptied. It is an odd number of cache lines, or all cells of
# a row would fall into one cache set.
_N_ROWS = (1 << 15) + 8
# The parser may refuse this many events of a block. After that, Python reads the rest.
_MOST_REFUSED = 1 << 14
# A parser that has met more strings than this forgets them. Otherwise its categories would keep
# strings that later blocks do not use.
_MOST_STRINGS = 1 << 17
_FULL = 2
_NULL = 0x7FF8_5AFE_C0DE_0001
"""The number that means None, as in native.h. Read as a float, it is a NaN, which JSON lacks."""


def read_plainly(text: Text, diagnostics: Diagnostics) -> ReadEvents:
    """Read one trace with msgspec. This reader defines the meaning of a trace.

    The text's position moves behind the trace. Raises NoTraceError if the text is no Chrome trace.
    """
    document, collected = Document(text, diagnostics), RawEvents(diagnostics)
    for events in document.events():
        collected.add(events)
        collected.refuse_other_objects(text.name)
    frames = collected.frames()
    return ReadEvents(
        frames,
        document.facts,
        document.complete,
        document.n_events,
        collected.has_fractions,
        "msgspec",
    )


def read_either(text: Text, diagnostics: Diagnostics) -> ReadEvents:
    """Read one trace with the C parser if it is compiled, else with msgspec."""
    return read_native(text, diagnostics) or read_plainly(text, diagnostics)


def read_documents(
    source: ByteSource, diagnostics: Diagnostics, reader: Reader = read_either
) -> Iterator[tuple[ReadEvents, Diagnostics]]:
    """Yield each trace of a file with its diagnostics.

    The first trace uses `diagnostics`. Reading ends at other text, which is counted as lost. Raises
    SourceError if the file does not begin with a trace.
    """
    text = Text(source.blocks(BLOCK_BYTES), str(source.path))
    notes = diagnostics
    read = reader(text, notes)
    while what_follows(text):
        following = Diagnostics()
        source.diagnostics = following
        try:
            after = reader(text, following)
        except SourceError:
            source.diagnostics = notes
            if source.failed:
                raise
            what = "text after the end of the trace; it is no trace, and was not read"
            notes.add("loss", "text_after_trace", what)
            while text.more():
                text.at = len(text.data)
            break
        yield read, notes
        read, notes = after, following
    if source.cut:
        read = replace(read, complete=False)
    yield read, notes


def read_native(
    text: Text,
    diagnostics: Diagnostics,
    *,
    block_bytes: int = _BLOCK_BYTES,
    n_threads: int | None = None,
) -> ReadEvents | None:
    """Read one trace with the C parser.

    The text's position moves behind the trace. If the C library is absent, return None and read
    nothing. Raises NoTraceError if the text is not a Chrome trace.
    """
    if LIBRARY is None:
        return None
    document, collected = Document(text, diagnostics), RawEvents(diagnostics)
    document.find_list()
    n_threads = n_threads or min(_MOST_THREADS, os.cpu_count() or 1)
    with ThreadPoolExecutor(n_threads) as pool:
        blocks = _Blocks(text, block_bytes, pool, n_threads)
        offset = text.offset
        for block in blocks:
            if offset < block.end:
                if offset <= block.start:
                    offset = _take(block, collected, document)
                    collected.refuse_other_objects(text.name)
                    if offset == block.end:
                        continue
                    text.resume(
                        bytes(block.text[offset - block.start :]),
                        blocks.text_from(block.end),
                        offset,
                    )
                for events in document.events_to(block.end):
                    collected.add(events)
                    collected.refuse_other_objects(text.name)
                offset = text.offset
            if document.is_closed:
                break
        else:
            text.resume(b"", iter(()), offset)
        blocks.is_parsing = False
    document.finish()
    frames = collected.frames()
    return ReadEvents(
        frames,
        document.facts,
        document.complete,
        document.n_events,
        collected.has_fractions,
        "native",
    )


class _Parsed(Struct):
    """Holds the C parser's result for a block: rows by table, and refused events, in file order.

    Parsing stops at the end of the event list, at invalid JSON, or after too many refused events.
    """

    n_events: int = 0
    frames: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    refused: list[tuple[bytes, dict[str, int]]] = field(default_factory=list)
    """Events left for msgspec to decode, with the number of rows before them in each table."""
    has_fractions: bool = False
    stopped_at: int = 0
    """The position of the first event that was not read, the block's size if all were read."""


class _Block(Struct):
    """Holds a block of the trace's text, and the C parser's result for it.

    `parsed` is None if the block was not given to the parser.
    """

    text: memoryview
    start: int
    parsed: Future[_Parsed] | None

    @property
    def end(self) -> int:
        """The position after the block's last byte."""
        return self.start + len(self.text)


def _take(block: _Block, collected: RawEvents, document: Document) -> int:
    """Add the parser's result for a block to `collected`, and return the offset to read on from.

    Refused events are repaired, or counted as lost.
    """
    parsed = block.parsed.result() if block.parsed else _Parsed()
    refused = []
    for written, n_before in parsed.refused:
        event = repaired_event(written, document.diagnostics)
        if event is None:
            parsed.n_events -= 1
            document.diagnostics.add("loss", "event_damaged", LOST)
        else:
            refused.append((event, n_before))
    for unplaced in parsed.frames.pop("unplaced", []):
        for phase, category, n in (
            unplaced.group_by("phase", "category", maintain_order=True).len().rows()
        ):
            collected.count_unplaced(phase, category, n)
    collected.add_frames(parsed.frames, refused)
    collected.has_fractions |= parsed.has_fractions
    document.n_events += parsed.n_events
    return block.start + parsed.stopped_at


class _Blocks:
    """Yields the blocks of a text in order, parsed ahead of their use by one parser per thread."""

    def __init__(
        self,
        text: Text,
        block_bytes: int,
        pool: ThreadPoolExecutor,
        n_threads: int,
    ) -> None:
        self.is_parsing = True
        self._start = text.offset
        self._texts = _cut(text.rest(), block_bytes)
        self._pool = pool
        self._n_ahead = n_threads + 1
        self._ahead: deque[_Block] = deque()
        self._idle: SimpleQueue[_Parser] = SimpleQueue()
        for _ in range(n_threads):
            self._idle.put(_Parser())

    def __iter__(self) -> Iterator[_Block]:
        while True:
            while len(self._ahead) < self._n_ahead and self._read():
                pass
            if not self._ahead:
                return
            yield self._ahead.popleft()

    def text_from(self, offset: int) -> Iterator[memoryview]:
        """Yield the text from the block that starts at `offset` to the end, block by block."""
        while (
            block := next(
                (block for block in self._ahead if block.start == offset),
                None,
            )
            or self._read()
        ):
            offset = block.end
            yield block.text

    def _read(self) -> _Block | None:
        """Return the next block, None at the text's end. The block is also kept in `_ahead`."""
        text = next(self._texts, None)
        if text is None:
            return None
        block = _Block(
            text,
            self._start,
            self._pool.submit(self._parse, text) if self.is_parsing else None,
        )
        self._start = block.end
        self._ahead.append(block)
        return block

    def _parse(self, text: memoryview) -> _Parsed:
        parser = self._idle.get()
        try:
            return parser.parse(text)
        finally:
            self._idle.put(parser)


def _cut(pieces: Iterable[bytes | memoryview], block_bytes: int) -> Iterator[memoryview]:
    """Yield the text in blocks that end where an event seems to start.

    Without any such position, a block ends anywhere.
    """
    held: list[bytes | memoryview] = []
    size = 0
    for piece in pieces:
        if size and size + len(piece) > block_bytes:
            text = b"".join(held)
            end = _last_start(text)
            yield memoryview(text)[:end]
            held, size = [text[end:]], size - end
        held.append(piece)
        size += len(piece)
    if size:
        yield memoryview(b"".join(held))


def _last_start(text: bytes) -> int:
    cut = last_boundary(text)
    if cut is not None:
        return cut[1]
    line = text.rfind(b"\n{")
    return line + 1 if line > 0 else len(text)


class _Parser:
    """Parses blocks in one thread, and keeps the strings that it has met.

    The number of a string is its code in a categorical column.
    """

    def __init__(self) -> None:
        n_columns = sum(map(len, fields.TABLES.values()))
        # Only pages that are written take memory.
        self._cells = memoryview(mmap.mmap(-1, 8 * n_columns * _N_ROWS))
        self._forget()

    def _forget(self) -> None:
        """Forget all strings."""
        assert LIBRARY is not None
        special = fields.ALLOCATIONS, fields.COUNTERS, fields.UNPLACED
        self._library = LIBRARY
        self._parser = LIBRARY.parser_new(*fields.plan(), self._cells, *special, *random_key())
        self._texts = self._shapes = pl.Series([], dtype=pl.Categorical)

    def parse(self, text: memoryview) -> _Parsed:
        """Return the rows and refused events of a block of text."""
        if max(len(self._texts), len(self._shapes)) > _MOST_STRINGS:
            self._forget()
        parsed, why = _Parsed(), _FULL
        while why == _FULL and len(parsed.refused) <= _MOST_REFUSED:
            why, parsed.stopped_at, n_events, has_fractions, n_rows, refused = self._library.parse(
                self._parser, text, parsed.stopped_at
            )
            parsed.n_events += n_events
            parsed.has_fractions |= bool(has_fractions)
            words, size = array("q", refused), 2 + len(fields.NAMES)
            heights = {
                name: sum(part.height for part in parts) for name, parts in parsed.frames.items()
            }
            for first in range(0, len(words), size):
                begin, end, *rows = words[first : first + size]
                n_before = {
                    name: heights.get(name, 0) + n
                    for name, n in zip(fields.NAMES, rows, strict=True)
                }
                parsed.refused.append((bytes(text[begin:end]), n_before))
            self._take_rows(parsed, array("q", n_rows))
        return parsed

    def _take_rows(self, parsed: _Parsed, n_rows: "array[int]") -> None:
        """Turn the parser's cells into frames, and add them to `parsed`."""
        strings, parser = self._library.strings, self._parser
        self._texts = extended(
            self._texts,
            strings(parser, 0, len(self._texts)),
            is_json=False,
        )
        self._shapes = extended(
            self._shapes,
            strings(parser, 1, len(self._shapes)),
            is_json=True,
        )
        first_column = 0
        for (name, table), n in zip(fields.TABLES.items(), n_rows, strict=True):
            if n:
                cells = (
                    bytes(self._cells[8 * number * _N_ROWS :][: 8 * n])
                    for number in range(first_column, first_column + len(table))
                )
                columns = [
                    self._column(of, values).alias(of.name)
                    for of, values in zip(table, cells, strict=True)
                ]
                parsed.frames.setdefault(name, []).append(pl.DataFrame(columns))
            first_column += len(table)

    def _column(self, of: fields.Column, cells: bytes) -> pl.Series:
        """Return a column of numbers or strings from its cells.

        The cell of a string holds the string's number.
        """
        # Operations on a Series run only in this thread. As expressions, they would take ten times
        # as long here.
        if of.name in fields.FLOATS:
            floats = series(cells, pl.Float64())
            return floats.set(floats.is_nan(), None)
        numbers = series(cells, pl.Int64())
        values = numbers.set(numbers == _NULL, None)
        if of.how in fields.STRINGS:
            return (self._shapes if of.how == fields.SHAPE else self._texts)[values.cast(pl.UInt32)]
        low, high = values.min(), values.max()
        if not isinstance(low, int) or not isinstance(high, int):
            return values.cast(pl.Int8)
        if high >= fields.TRACK_BASE:
            # If a process or thread is named by a string, its number is in that string.
            named = values.filter(values >= fields.TRACK_BASE).unique()
            names = self._texts[(named - fields.TRACK_BASE).cast(pl.UInt32)].cast(pl.String)
            return values.replace(
                named,
                pl.Series(
                    [integer(name) for name in names],
                    dtype=pl.Int64,
                ),
            )
        return (
            values.cast(pl.Int32, wrap_numerical=True)
            if low > -(2**31) and high < 2**31
            else values
        )
