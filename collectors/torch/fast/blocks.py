"""A trace's text in large blocks that end between two events, padded as the kernels need it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tracelens.collectors.torch.document import last_boundary
from tracelens.collectors.torch.fast.layout import PAD

BLOCK_BYTES = 16 << 20


@dataclass(slots=True)
class Block:
    """Text from `start` on; the next block goes on where it ends."""

    buffer: npt.NDArray[np.uint8]
    size: int
    start: int

    def text(self, begin: int = 0) -> bytes:
        """The text from a place on."""
        return self.buffer[begin : self.size].tobytes()


class Blocks:
    """Cuts pieces of text into blocks; buffers are used again once they are given back."""

    def __init__(self, block_bytes: int, start: int) -> None:
        """Blocks of about this size of a text that starts there."""
        self._capacity = block_bytes
        self._start = start
        self._free: list[npt.NDArray[np.uint8]] = []

    def give_back(self, block: Block) -> None:
        """The block's buffer may be filled again."""
        if block.buffer.size == self._capacity + PAD:
            self._free.append(block.buffer)

    def release(self) -> None:
        """Let go of the buffers."""
        self._free.clear()

    def cut(self, pieces: Iterable[bytes]) -> Iterator[Block]:
        """The text in blocks that end where an event seems to start; somewhere, where there is no such place."""
        buffer, used = self._buffer(0), 0
        for piece in pieces:
            if used and used + len(piece) > buffer.size - PAD:
                end = _last_start(buffer, used)
                following = self._buffer(used - end + len(piece))
                following[: used - end] = buffer[end:used]
                yield self._block(buffer, end)
                buffer, used = following, used - end
            elif len(piece) > buffer.size - PAD:
                buffer = self._buffer(len(piece))
            buffer[used : used + len(piece)] = np.frombuffer(piece, np.uint8)
            used += len(piece)
        yield self._block(buffer, used)

    def _block(self, buffer: npt.NDArray[np.uint8], size: int) -> Block:
        block = Block(padded(buffer, size), size, self._start)
        self._start += size
        return block

    def _buffer(self, size: int) -> npt.NDArray[Any]:
        if size <= self._capacity and self._free:
            return self._free.pop()
        return np.empty(max(size, self._capacity) + PAD, np.uint8)


def padded(buffer: npt.NDArray[np.uint8], size: int) -> npt.NDArray[np.uint8]:
    """The buffer with what has to stand behind a text of this size."""
    buffer[size : size + PAD] = 0xFF
    return buffer


def _last_start(buffer: npt.NDArray[np.uint8], used: int) -> int:
    cut = last_boundary(buffer.data, 0, used)  # type: ignore[arg-type]
    if cut is not None:
        return cut[1]
    line = buffer[:used].tobytes().rfind(b"\n{")
    return line + 1 if line > 0 else used
