"""Read a trace file's bytes in blocks, plain or gzip, from disk or standard input.

Bytes are hashed as they are read.
"""

import hashlib
import importlib
import importlib.util
import logging
import sys
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from tracelens.errors import SourceError
from tracelens.progress import Share, log_share
from tracelens.storage.limits import EXPANSION, may_become
from tracelens.trace.capture import Diagnostics, SourceFile

_LOG = logging.getLogger(__name__)
GZIP_MAGIC = b"\x1f\x8b"
READ_BYTES = 1 << 20
_LARGE_BYTES = 1 << 25
"""The smallest size of a file that shows progress while it is read."""
_GZIP_WINDOW = 31
_CAREFUL_BYTES = 512


class ByteSource:
    """Yields a trace file's decompressed bytes. Afterwards, `describe` returns size and hash."""

    def __init__(self, path: Path, diagnostics: Diagnostics) -> None:
        """Keep the path, without opening it. The path `-` is standard input."""
        self.path = path
        self.name = "standard input" if str(path) == "-" else path.name
        self.cut = False
        self.failed = False
        self.diagnostics = diagnostics
        self._digest = hashlib.sha256()
        self._size = 0

    def blocks(self, block_bytes: int) -> Iterator[bytes]:
        """Yield the decompressed content in blocks of about `block_bytes`.

        Raises SourceError if the file cannot be read.
        """
        try:
            if str(self.path) == "-":
                if sys.stdin is None:  # as after the shell's `<&-`
                    raise SourceError(
                        "standard input: expected a trace, found it closed; pipe one into it, or"
                        " name a file"
                    )
                yield from self._decompressed(sys.stdin.buffer, block_bytes)
            else:
                with self.path.open("rb") as stream:
                    yield from self._decompressed(stream, block_bytes)
        except OSError as error:
            self.failed = True
            raise SourceError(
                f"{self.path}: cannot be read: {error.strerror or error}; name a file that you may"
                " read"
            ) from error

    def describe(self, kind: str) -> SourceFile:
        """Return the file's name, size and hash for the manifest."""
        return SourceFile(self.name, kind, self._size, self._digest.hexdigest())

    def _raw(self, stream: BinaryIO, size: int) -> Iterator[bytes]:
        """Yield the stream's bytes, and log the progress of a large file."""
        n_bytes = self.path.stat().st_size if self.path.is_file() else 0
        is_large = n_bytes >= _LARGE_BYTES
        while piece := stream.read(size):
            self._digest.update(piece)
            self._size += len(piece)
            if is_large:
                share = Share(self._size, n_bytes, is_bytes=True, is_part=True)
                log_share(_LOG, share, self.name)
            yield piece

    def _decompressed(self, stream: BinaryIO, block_bytes: int) -> Iterator[bytes]:
        """Yield the stream's decompressed content, up to the damage if gzip is damaged or cut."""
        raw = self._raw(stream, READ_BYTES)
        first = next(raw, b"")
        if not first.startswith(GZIP_MAGIC):
            yield from filter(None, chain([first], raw))
            return
        # isal takes a third of zlib's time.
        module = zlib if str(self.path) == "-" else _isal()
        given = 0
        try:
            for out in _inflated(module, chain([first], raw), block_bytes):
                given += len(out)
                self._check_expansion(given)
                yield out
        except _DamageError as damage:
            if module is zlib:
                self._note_damage(damage)
                return
        else:
            return
        try:
            # Only zlib reports how much of a damaged stream is good, so it reads the file again.
            yield from self._inflated_again(given, block_bytes)
        except _DamageError as damage:
            self._note_damage(damage)

    def _inflated_again(self, given: int, block_bytes: int) -> Iterator[bytes]:
        """Yield the file's content from byte `given` on, inflated by zlib."""
        with self.path.open("rb") as again:
            left = given
            for out in _inflated(
                zlib,
                iter(lambda: again.read(READ_BYTES), b""),
                block_bytes,
            ):
                if left < len(out):
                    yield out[left:]
                left = max(0, left - len(out))

    def _note_damage(self, damage: "_DamageError") -> None:
        """Record that the content ends before the file's end."""
        self.cut = True
        self.diagnostics.add("loss", damage.code, str(damage))

    def _check_expansion(self, given: int) -> None:
        """Raise SourceError for a gzip bomb, a small file that was made to fill memory."""
        # Traces compress to about a tenth of their size, gzip bombs to a thousandth.
        if given > may_become(self._size):
            self.failed = True
            raise SourceError(
                f"{self.path}: expected a trace, found {self._size} bytes of gzip that unpack to"
                f" over {given}, more than {EXPANSION.value} times as much;"
                f" {EXPANSION.how_to_raise}"
            )


class _DamageError(Exception):
    """Raised for a damaged gzip stream, after its content up to the damage was yielded."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def _inflated(module: Any, raw: Iterator[bytes], block_bytes: int) -> Iterator[bytes]:
    """Yield the content of gzip members one after another.

    Raises _DamageError at the first damaged member.
    """
    data = next(raw, b"")
    inflater = module.decompressobj(_GZIP_WINDOW)
    while True:
        before = inflater.copy() if module is zlib else None
        try:
            out = inflater.decompress(data, block_bytes)
        except module.error as error:
            if before is not None:
                yield _up_to_damage(before, data)
            text = f"the gzip stream is damaged ({error}); events after that point are lost"
            raise _DamageError("gzip_damaged", text) from error
        if out:
            yield out
        if inflater.eof:
            data = inflater.unused_data or next(raw, b"")
            if len(data) < len(GZIP_MAGIC):
                data += next(raw, b"")
            if not data.startswith(GZIP_MAGIC):
                return
            inflater = module.decompressobj(_GZIP_WINDOW)
            continue
        data = inflater.unconsumed_tail or next(raw, b"")
        if not data:
            if module is zlib and (tail := inflater.flush()):
                yield tail
            raise _DamageError(
                "gzip_truncated", "the gzip stream ends early; events after that point are lost"
            )


def _isal() -> Any:
    """Return isal's module with zlib's interface if it is installed, else Python's own zlib."""
    return importlib.import_module("isal.isal_zlib") if importlib.util.find_spec("isal") else zlib


def _up_to_damage(inflater: "zlib._Decompress", data: bytes) -> bytes:
    """Return the content of damaged data up to the damage."""
    parts, position, size = [], 0, _CAREFUL_BYTES
    # zlib returns nothing for data with an error, so single bytes are tried.
    while position < len(data):
        before = inflater.copy()
        try:
            parts.append(inflater.decompress(data[position : position + size]))
            position += size
        except zlib.error:
            if size == 1:
                break
            inflater, size = before, 1
    return b"".join(parts)
