"""Read the JSON files that a live capture writes beside a trace, plain or gzip."""

import gzip
import zlib
from pathlib import Path
from typing import ClassVar

import msgspec
import polars as pl

from tracelens.errors import SourceError, first_line
from tracelens.trace.capture import Capture, Diagnostics, SourceFile
from tracelens.trace.collector import Collector


class Sidecar(msgspec.Struct, frozen=True, kw_only=True):
    """Base class of the sidecars, files that a live capture writes beside its trace."""

    kind: ClassVar[str]
    """The name of the table that the sidecar fills.

    The sidecar's collector has the same name. The sidecar's format is `tracelens-KIND`.
    """
    option: ClassVar[str]
    """The option of a live capture that writes the sidecar."""
    about_notes: ClassVar[str]
    """The diagnostic code with which the sidecar's `notes` are reported."""
    why_empty: ClassVar[str]
    """The reason why the table is empty if the sidecar has no rows."""

    format: str
    version: int
    torch: str
    rank: int | None = None
    notes: list[str] = []

    def rows(self) -> pl.DataFrame:
        """Return the table's rows, without the rank."""
        raise NotImplementedError


_VERSION = 1
_GZIP_MAGIC = b"\x1f\x8b"
_SNIFF_BYTES = 4096
_LARGEST_BYTES = 1 << 30
"""A sidecar that unpacks to more bytes is damaged.

The sidecar of a model with ten thousand kernels has a few megabytes.
"""


def sidecar_collector(sidecar: type[Sidecar], beside: str) -> Collector:
    """Return the collector that reads this kind of sidecar into one table.

    `beside` is the collector of the live capture. Reading raises SourceError if the file is damaged
    or of a later version.
    """

    def sniff(path: Path, head: bytes) -> bool:
        return not path.is_dir() and f'"tracelens-{sidecar.kind}"'.encode() in unzipped(head)[:256]

    def read(path: Path) -> list[Capture]:
        decoded = _decoded(path, sidecar)
        diagnostics = Diagnostics()
        for note in decoded.notes:
            diagnostics.add("info", decoded.about_notes, note)
        table = decoded.rows()
        return [
            Capture(
                kind=decoded.kind,
                source=SourceFile.of(path, decoded.kind),
                tables={decoded.kind: table} if table.height else {},
                producer=f"tracelens collect {beside} {decoded.option}",
                versions={beside: decoded.torch},
                rank=decoded.rank,
                rank_origin="sidecar" if decoded.rank is not None else "input order",
                reasons={decoded.kind: decoded.why_empty},
                diagnostics=diagnostics,
            )
        ]

    source = f"a sidecar of {sidecar.option}"
    return Collector(
        kind=sidecar.kind,
        expects=f"{source} (.json, .json.gz)",
        sniff=sniff,
        read=read,
        fills={sidecar.kind: f"of {source}"},
    )


def unzipped(head: bytes) -> bytes:
    """Return the beginning of a file's content, unpacked if the file is gzip.

    The result is empty for damaged gzip.
    """
    if not head.startswith(_GZIP_MAGIC):
        return head
    try:
        return zlib.decompressobj(wbits=31).decompress(head, _SNIFF_BYTES)
    except zlib.error:
        return b""


def _decoded(path: Path, kind: type[Sidecar]) -> Sidecar:
    """Return the content of a sidecar's file.

    Raises SourceError if the file cannot be read, is damaged or too large, or has another format.
    """
    name, how = f"tracelens-{kind.kind}", f"capture again with {kind.option}"
    try:
        with path.open("rb") as plain:
            zipped = plain.read(2) == _GZIP_MAGIC
        with gzip.open(path) if zipped else path.open("rb") as stream:
            content = stream.read(_LARGEST_BYTES + 1)
        if len(content) > _LARGEST_BYTES:
            raise SourceError(
                f"{path}: a sidecar of more than {_LARGEST_BYTES >> 20} MiB; it is damaged"
            )
        decoded = msgspec.json.decode(content, type=kind)
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(f"{path}: cannot be read: {error}; {how}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SourceError(
            f"{path}: expected a {name} sidecar, found {first_line(error)}; {how}"
        ) from error
    if decoded.format != name or decoded.version > _VERSION:
        raise SourceError(
            f"{path}: {decoded.format} version {decoded.version}, this tracelens reads {name} up to"
            f" {_VERSION}; install a newer tracelens"
        )
    return decoded
