"""JSON that a live capture leaves beside a trace, plain or gzip, which names its format first."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from tracelens.errors import SourceError

_GZIP_MAGIC = b"\x1f\x8b"
_LARGEST_BYTES = 1 << 30
"""A limit for damaged files: a sidecar of a model with ten thousand kernels has a few megabytes."""


def names_format(path: Path, head: bytes, name: str) -> bool:
    """Whether the file is JSON, plain or gzip, whose beginning `head` names the format."""
    if path.is_dir():
        return False
    if head.startswith(_GZIP_MAGIC):
        try:
            head = zlib.decompressobj(wbits=31).decompress(head, 256)
        except zlib.error:
            return False
    return f'"{name}"'.encode() in head[:256]


def content_of(path: Path, how: str) -> bytes:
    """The file's JSON. Raises SourceError where it cannot be read, with how to get another, and for a huge one."""
    try:
        with path.open("rb") as plain:
            zipped = plain.read(2) == _GZIP_MAGIC
        with gzip.open(path) if zipped else path.open("rb") as stream:
            content = stream.read(_LARGEST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(f"{path}: cannot be read: {error}; {how}") from error
    if len(content) > _LARGEST_BYTES:
        raise SourceError(f"{path}: a sidecar of more than {_LARGEST_BYTES >> 20} MiB; it is damaged")
    return content
