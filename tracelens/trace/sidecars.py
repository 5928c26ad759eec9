"""JSON that a live capture leaves beside a trace, plain or gzip, which names its format first."""

import gzip
import zlib
from pathlib import Path
from typing import TypeVar

import msgspec

from tracelens.errors import SourceError, first_line


class Sidecar(msgspec.Struct, frozen=True, kw_only=True):
    """The first fields of every sidecar."""

    format: str
    version: int
    torch: str
    rank: int | None = None
    notes: list[str] = []


S = TypeVar("S", bound=Sidecar)
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


def decode_sidecar(path: Path, kind: type[S], name: str, version: int, option: str) -> S:
    """The sidecar of the format `name` up to `version`, which `collect torch` writes with `option`.

    Raises SourceError where it cannot be read, is damaged or huge, or is of another format or a later version.
    """
    how = f"capture again with {option}"
    try:
        with path.open("rb") as plain:
            zipped = plain.read(2) == _GZIP_MAGIC
        with gzip.open(path) if zipped else path.open("rb") as stream:
            content = stream.read(_LARGEST_BYTES + 1)
        if len(content) > _LARGEST_BYTES:
            raise SourceError(f"{path}: a sidecar of more than {_LARGEST_BYTES >> 20} MiB; it is damaged")
        found = msgspec.json.decode(content, type=kind)
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(f"{path}: cannot be read: {error}; {how}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SourceError(f"{path}: expected a {name} sidecar, found {first_line(error)}; {how}") from error
    if found.format != name or found.version > version:
        raise SourceError(
            f"{path}: {found.format} version {found.version}, this tracelens reads {name} up to {version}; "
            "upgrade with pip install -U tracelens-toolkit"
        )
    return found
