"""Bytes of a trace as `stream` gives them, gzip through isal where it is installed: a third of zlib's time."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

from tracelens.collectors.torch.stream import GZIP_MAGIC, READ_BYTES, ByteSource

_GZIP_WINDOW = 31


class QuickSource(ByteSource):
    """A ByteSource; zlib itself is used for standard input, and from where a stream is damaged or cut."""

    def _inflate(self, first: bytes, raw: Iterator[bytes], block_bytes: int) -> Iterator[bytes]:
        if importlib.util.find_spec("isal") is None or str(self.path) == "-":
            yield from super()._inflate(first, raw, block_bytes)
            return
        from isal import isal_zlib  # noqa: PLC0415 - optional

        inflater, data, given = isal_zlib.decompressobj(_GZIP_WINDOW), first, 0
        while True:
            try:
                out = inflater.decompress(data, block_bytes)
            except isal_zlib.error:  # type: ignore[misc]
                yield from self._again(given, block_bytes)
                return
            if out:
                given += len(out)
                yield out
            if inflater.eof:
                data = inflater.unused_data or next(raw, b"")
                if len(data) < len(GZIP_MAGIC):
                    data += next(raw, b"")
                if not data.startswith(GZIP_MAGIC):
                    return
                inflater = isal_zlib.decompressobj(_GZIP_WINDOW)
                continue
            data = inflater.unconsumed_tail or next(raw, b"")
            if not data:
                yield from self._again(given, block_bytes)
                return

    def _again(self, given: int, block_bytes: int) -> Iterator[bytes]:
        """What zlib gives of the file after so many bytes; it alone says how much of a damaged stream there is."""
        with self.path.open("rb") as stream:
            raw = iter(lambda: stream.read(READ_BYTES), b"")
            for out in super()._inflate(next(raw, b""), raw, block_bytes):
                if given < len(out):
                    yield out[given:]
                given = max(0, given - len(out))
