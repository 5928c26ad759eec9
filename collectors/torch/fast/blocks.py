"""A trace's text in large blocks that end between two events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tracelens.collectors.torch.document import last_boundary

BLOCK_BYTES = 16 << 20


@dataclass(slots=True)
class Block:
    """Text from `start` on; the next block goes on where it ends."""

    buffer: bytearray
    size: int
    start: int

    def text(self, begin: int = 0) -> bytes:
        """The text from a place on."""
        return bytes(memoryview(self.buffer)[begin : self.size])


class Blocks:
    """Cuts pieces of text into blocks; buffers are used again once they are given back."""

    def __init__(self, block_bytes: int, start: int) -> None:
        """Blocks of about this size of a text that starts there."""
        self._capacity = block_bytes
        self._start = start
        self._free: list[bytearray] = []

    def give_back(self, block: Block) -> None:
        """The block's buffer may be filled again."""
        if len(block.buffer) == self._capacity:
            self._free.append(block.buffer)

    def release(self) -> None:
        """Let go of the buffers."""
        self._free.clear()

    def cut(self, pieces: Iterable[bytes]) -> Iterator[Block]:
        """The text in blocks that end where an event seems to start; somewhere, where there is no such place."""
        buffer, used = self._buffer(0), 0
        for piece in pieces:
            if used and used + len(piece) > len(buffer):
                end = _last_start(buffer, used)
                following = self._buffer(used - end + len(piece))
                following[: used - end] = buffer[end:used]
                yield self._block(buffer, end)
                buffer, used = following, used - end
            elif len(piece) > len(buffer):
                buffer = self._buffer(len(piece))
            buffer[used : used + len(piece)] = piece
            used += len(piece)
        yield self._block(buffer, used)

    def _block(self, buffer: bytearray, size: int) -> Block:
        block = Block(buffer, size, self._start)
        self._start += size
        return block

    def _buffer(self, size: int) -> bytearray:
        if size <= self._capacity and self._free:
            return self._free.pop()
        return bytearray(max(size, self._capacity))


def _last_start(buffer: bytearray, used: int) -> int:
    cut = last_boundary(buffer, 0, used)
    if cut is not None:
        return cut[1]
    line = buffer.rfind(b"\n{", 0, used)
    return line + 1 if line > 0 else used
