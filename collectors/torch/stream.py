"""Bytes of a trace file in blocks: plain or gzip, from disk or standard input, hashed as they pass."""

from __future__ import annotations

import hashlib
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tracelens.capture import Diagnostics, SourceFile
from tracelens.errors import SourceError

GZIP_MAGIC = b"\x1f\x8b"
READ_BYTES = 1 << 20
_GZIP_WINDOW = 31
_SNIFF_BYTES = 4096
_CAREFUL_BYTES = 512


class ByteSource:
    """A trace file's decompressed bytes. After the last block, `describe` tells size and hash of what was read."""

    def __init__(self, path: Path, diagnostics: Diagnostics) -> None:
        """Name the file; nothing is opened yet. The path `-` is standard input."""
        self.path = path
        self.name = "standard input" if str(path) == "-" else path.name
        self.cut = False
        self._diagnostics = diagnostics
        self._digest = hashlib.sha256()
        self._size = 0

    def blocks(self, block_bytes: int) -> Iterator[bytes]:
        """The decompressed content in pieces of about `block_bytes`. Raises SourceError when it cannot be read."""
        try:
            if str(self.path) == "-":
                yield from self._decompressed(sys.stdin.buffer, block_bytes)
            else:
                with self.path.open("rb") as stream:
                    yield from self._decompressed(stream, block_bytes)
        except OSError as error:
            raise SourceError(f"{self.path}: cannot be read: {error.strerror or error}") from error

    def describe(self, kind: str) -> SourceFile:
        """What was read, for the manifest."""
        return SourceFile(self.name, kind, self._size, self._digest.hexdigest())

    def _raw(self, stream: BinaryIO, size: int) -> Iterator[bytes]:
        while piece := stream.read(size):
            self._digest.update(piece)
            self._size += len(piece)
            yield piece

    def _decompressed(self, stream: BinaryIO, block_bytes: int) -> Iterator[bytes]:
        raw = self._raw(stream, READ_BYTES)
        first = next(raw, b"")
        if not first.startswith(GZIP_MAGIC):
            if first:
                yield first
            yield from raw
            return
        yield from self._inflate(first, raw, block_bytes)

    def _inflate(self, first: bytes, raw: Iterator[bytes], block_bytes: int) -> Iterator[bytes]:
        """Gzip members one after another; a damaged or cut stream gives what came before the damage."""
        inflater = zlib.decompressobj(_GZIP_WINDOW)
        data = first
        while True:
            before = inflater.copy()
            try:
                out = inflater.decompress(data, block_bytes)
            except zlib.error as error:
                yield _up_to_damage(before, data)
                self._lost("gzip_damaged", f"the gzip stream is damaged ({error}); events after that point are lost")
                return
            if out:
                yield out
            if inflater.eof:
                data = inflater.unused_data or next(raw, b"")
                if len(data) < len(GZIP_MAGIC):
                    data += next(raw, b"")
                if not data.startswith(GZIP_MAGIC):
                    return
                inflater = zlib.decompressobj(_GZIP_WINDOW)
                continue
            data = inflater.unconsumed_tail or next(raw, b"")
            if not data:
                tail = inflater.flush()
                if tail:
                    yield tail
                self._lost("gzip_truncated", "the gzip stream ends early; events after that point are lost")
                return

    def _lost(self, code: str, text: str) -> None:
        self.cut = True
        self._diagnostics.add("loss", code, text)


def unzipped(head: bytes) -> bytes:
    """What the first bytes of a gzip file hold, as far as they can be read."""
    try:
        return zlib.decompressobj(_GZIP_WINDOW).decompress(head, _SNIFF_BYTES)
    except zlib.error:
        return b""


def _up_to_damage(inflater: zlib._Decompress, data: bytes) -> bytes:
    """The content of damaged data up to the damage: zlib gives nothing of a piece in which it finds an error."""
    parts, at, size = [], 0, _CAREFUL_BYTES
    while at < len(data):
        before = inflater.copy()
        try:
            parts.append(inflater.decompress(data[at : at + size]))
            at += size
        except zlib.error:
            if size == 1:
                break
            inflater, size = before, 1
    return b"".join(parts)
