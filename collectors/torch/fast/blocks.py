"""A trace's event list in large blocks of whole events, padded as the kernels need it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tracelens.capture import Diagnostics
from tracelens.collectors.torch.document import _EVENT_LIMIT, last_boundary
from tracelens.collectors.torch.fast.layout import PAD

BLOCK_BYTES = 16 << 20
_GROWTH = 2


@dataclass(slots=True)
class Block:
    """Whole events and the commas between them; the last block of a trace holds what is left, whatever it is."""

    buffer: npt.NDArray[np.uint8]
    size: int
    is_last: bool
    ends: list[int]
    """Where the pieces that it was read in end: the slow path cuts there."""

    @property
    def view(self) -> memoryview:
        """The text."""
        return self.buffer.data[: self.size]

    def runs(self) -> Iterator[tuple[bytes, bool]]:
        """The block cut into smaller runs at the places where the slow path would."""
        view, begin = self.view, 0
        for end in self.ends:
            if end > self.size:  # this cut is the one at the block's own end
                break
            cut = last_boundary(view[begin:end])  # type: ignore[arg-type]
            if cut is not None:
                yield bytes(view[begin : begin + cut[0]]), False
                begin += cut[1]
        yield bytes(view[begin:]), self.is_last


class Blocks:
    """Cuts pieces of text into blocks; buffers are used again once they are given back."""

    def __init__(self, diagnostics: Diagnostics, block_bytes: int) -> None:
        """Blocks of about this size, larger only where one event is."""
        self._diagnostics = diagnostics
        self._capacity = block_bytes
        self._free: list[npt.NDArray[np.uint8]] = []

    def give_back(self, block: Block) -> None:
        """The block's buffer may be filled again."""
        if block.buffer.size == self._capacity + PAD:
            self._free.append(block.buffer)

    def release(self) -> None:
        """Let go of the buffers."""
        self._free.clear()

    def cut(self, begun: bytes, pieces: Iterable[bytes]) -> Iterator[Block]:
        """The blocks of a text that has begun and comes in pieces."""
        buffer, used, searched = self._buffer(len(begun)), len(begun), 0
        buffer[:used] = np.frombuffer(begun, np.uint8)
        ends: list[int] = []
        for piece in pieces:
            if used + len(piece) > buffer.size - PAD:
                # Only where the slow path cuts too, which is after a piece: a damaged run is read as it would read it.
                cut = None if not ends else last_boundary(buffer.data[:used], searched)  # type: ignore[arg-type]
                if cut is not None:
                    rest = used - cut[1]
                    following = self._buffer(max(self._capacity, rest + len(piece)))
                    following[:rest] = buffer[cut[1] : used]
                    yield _padded(buffer, cut[0], ends)
                    buffer, used, searched, ends = following, rest, 0, []
                elif used > _EVENT_LIMIT:
                    text = "more than 64 MiB that do not look like events"
                    self._diagnostics.add("loss", "event_too_long", text)
                    used, searched, ends = 0, 0, []
                else:
                    searched = max(0, used - PAD * PAD)
                if used + len(piece) > buffer.size - PAD:
                    larger = self._buffer(_GROWTH * (used + len(piece)))
                    larger[:used] = buffer[:used]
                    buffer = larger
            buffer[used : used + len(piece)] = np.frombuffer(piece, np.uint8)
            used += len(piece)
            ends.append(used)
        yield _padded(buffer, used, ends, is_last=True)

    def _buffer(self, size: int) -> npt.NDArray[Any]:
        if size <= self._capacity and self._free:
            return self._free.pop()
        return np.empty(max(size, self._capacity) + PAD, np.uint8)


def _padded(buffer: npt.NDArray[np.uint8], size: int, ends: list[int], *, is_last: bool = False) -> Block:
    buffer[size : size + PAD] = 0xFF
    return Block(buffer, size, is_last, ends)
