"""Turn paths into captures: list folders, and find the collector of a file by its content."""

import errno
import logging
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from tracelens.errors import SourceError, UsageError
from tracelens.progress import Share, log_share
from tracelens.trace.capture import SOURCE_UNREAD, Capture
from tracelens.trace.collector import COLLECTORS, Collector
from tracelens.trace.directory import is_stored_trace
from tracelens.trace.fetching import fetched

_LOG = logging.getLogger(__name__)
Paths: TypeAlias = Sequence[str | os.PathLike[str]] | str | os.PathLike[str]

STANDARD_INPUT = Path("-")
SKIPPED = "file_skipped"
"""Diagnostic code for files of a folder that are not traces."""
_NAMED = 3
"""A message names at most this many traces of a folder."""
HEAD_BYTES = 1 << 16
_NAMED = 3
_GZIP, _UNPACKED_BYTES = b"\x1f\x8b", 4096
"""The first bytes of a gzip file, and the number of bytes that suffice to unpack one byte."""


def read_captures(paths: Paths, kind: str | None = None) -> list[Capture]:
    """Return the captures of all sources, for `combine`.

    `kind` names the collector; None detects it by each file's content. Raises SourceError if a
    source cannot be read, and UsageError for an unknown `kind` or without paths.
    """
    skipped: list[Path] = []
    with fetched(given_paths(paths)) as local:
        sources = sources_of(local, kind, skipped)
        captures = read_in_turn(sources, lambda collector, path: collector.read(path))
    note_skipped(captures, skipped)
    return captures


def read_in_turn(
    sources: Sequence[tuple[Collector, Path]],
    read: Callable[[Collector, Path], list[Capture]],
) -> list[Capture]:
    """Return the captures of the sources, read one after another; log the share of bytes read."""
    sizes = [path.stat().st_size if path.is_file() else 0 for _, path in sources]
    captures: list[Capture] = []
    for at, (collector, path) in enumerate(sources):
        if len(sources) > 1:
            text = f"{at + 1:,} of {len(sources):,} sources"
            log_share(
                _LOG,
                Share(sum(sizes[:at]), sum(sizes), is_bytes=True),
                text,
            )
        captures += read(collector, path)
    return captures


def note_skipped(captures: Sequence[Capture], skipped: Sequence[Path]) -> list[Path]:
    """Count the skipped files in the first capture's diagnostics; return the damaged files."""
    damaged = [path for path in skipped if is_damaged(path)]
    others = [path for path in skipped if path not in damaged]
    for severity, code, text, paths in (
        ("warning", SKIPPED, "files of the folder that are not traces were skipped", others),
        ("loss", SOURCE_UNREAD, "sources that could not be read, whose ranks are missing", damaged),
    ):
        names = ", ".join(path.name for path in paths[:_NAMED]) + (
            ", …" if len(paths) > _NAMED else ""
        )
        captures[0].diagnostics.add(severity, code, f"{text}: {names}", len(paths))
    return damaged


def sources_of(
    paths: Paths,
    kind: str | None = None,
    skipped: list[Path] | None = None,
) -> list[tuple[Collector, Path]]:
    """Return the files at the paths, each with its collector.

    In a folder, damaged gzip files and files that do not begin as a trace are appended to
    `skipped`. A file that `paths` names directly is never skipped, even if it is damaged.

    Raises SourceError if a path does not exist, or has nothing that a collector reads.
    """
    given = given_paths(paths)
    if kind is not None and kind not in COLLECTORS:
        raise UsageError(
            f"no collector is called {kind!r}; the collectors are {', '.join(COLLECTORS)}"
        )
    sources: list[tuple[Collector, Path]] = []
    skipped = [] if skipped is None else skipped
    for path in given:
        if path != STANDARD_INPUT and not _is_there(path):
            raise SourceError(
                f"{path}: no such file or directory; give a trace, or what a profiler wrote"
                " (tracelens demo has one)"
            )
        _refuse_endless(path)
        for collector, file in _files_at(path, kind):
            if file == path or collector.begins_as_one(file):
                sources.append((collector, file))
            else:
                skipped.append(file)
        if path.is_dir():
            known = {*skipped, *(file for _, file in sources)}
            others = [file for file in sorted(path.iterdir()) if file not in known]
            skipped += [file for file in others if file.is_file() and is_damaged(file)]
            if not any(file.is_relative_to(path) for _, file in sources):
                raise _nothing_in(path)
    return sources


def _files_at(path: Path, kind: str | None) -> Iterator[tuple[Collector, Path]]:
    """Yield each file that a collector takes from a path, with the collector."""
    for member in _members(path, kind):
        _refuse_endless(member)
        collector = COLLECTORS[kind or detect(member)]
        for file in collector.files_of(member):
            yield collector, file


def _nothing_in(folder: Path) -> SourceError:
    """Return the error for a folder without a source."""
    traces = [file for file in sorted(folder.iterdir()) if is_stored_trace(file)]
    if not traces:
        return SourceError(
            f"{folder}: found a directory with nothing to collect, expected: {_expected()}"
        )
    some = ", ".join(str(file) for file in traces[:_NAMED])
    return SourceError(
        f"{folder}: is a folder with {len(traces):,} traces, not one; name one of them:"
        f" {some}{' …' if len(traces) > _NAMED else ''}"
    )


def is_damaged(file: Path) -> bool:
    """Return whether the file begins as gzip, but not even one byte can be unpacked."""
    try:
        with file.open("rb") as stream:
            head = stream.read(_UNPACKED_BYTES)
        return head.startswith(_GZIP) and not zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(
            head, 1
        )
    except zlib.error:
        return True
    except OSError:  # the error comes when the file is read
        return False


def given_paths(paths: Paths) -> list[Path]:
    """Return the paths as a list. Raises UsageError if there are none."""
    given = (
        [Path(paths)] if isinstance(paths, (str, os.PathLike)) else [Path(path) for path in paths]
    )
    if not given:
        raise UsageError("no source was named; give at least one file or directory")
    return given


def stdin_kind() -> str:
    """Return the kind of the collector that reads standard input."""
    return next(collector.kind for collector in COLLECTORS.values() if collector.reads_stdin)


def detect(path: Path) -> str:
    """Return the kind of the collector that reads a source, found by its content.

    Raises SourceError if no collector reads it.
    """
    if path == STANDARD_INPUT:
        return stdin_kind()
    head = _head(path)
    for collector in COLLECTORS.values():
        if collector.sniff(path, head):
            return collector.kind
    if path.suffix == ".py":
        raise SourceError(
            f"{path} is a program, not a trace; record it: tracelens run python {path}"
        )
    raise SourceError(f"{path}: found {_described(path, head)}, expected one of: {_expected()}")


def _members(path: Path, kind: str | None) -> list[Path]:
    """Return the sources directly in a folder, or the path itself if it is a source.

    A folder is itself a source if `kind` is given, or if a collector reads it as a whole.
    """
    if (
        kind is not None
        or not path.is_dir()
        or any(c.sniff(path, b"") for c in COLLECTORS.values())
    ):
        return [path]
    members = sorted(p for p in path.iterdir() if not p.name.startswith("."))
    return [p for p in members if any(c.sniff(p, _head(p)) for c in COLLECTORS.values())]


def _is_there(path: Path) -> bool:
    """Return whether a file or folder exists.

    Raises PermissionError if the user may not look into the folder that contains `path`.
    """
    # `Path.exists` of Python 3.14 returns False for such a path.
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError as error:
        if error.errno == errno.ELOOP:
            return False
        raise
    return True


def _refuse_endless(path: Path) -> None:
    """Raise SourceError for pipes, sockets and devices, also in a folder."""
    inside = path.iterdir() if path.is_dir() else [path]
    # Reading them may never end.
    strange = next(
        (
            p
            for p in inside
            if p != STANDARD_INPUT and p.exists() and not (p.is_file() or p.is_dir())
        ),
        None,
    )
    if strange is not None:
        raise SourceError(
            f"{strange}: is a pipe, a socket or a device, which is not read; expected:"
            f" {_expected()}"
        )


def _head(path: Path) -> bytes:
    if path.is_dir():
        return b""
    try:
        with path.open("rb") as stream:
            return stream.read(HEAD_BYTES)
    except OSError as error:
        raise SourceError(
            f"{path}: cannot be read: {error.strerror or error}; name a file that you may read"
        ) from error


def _expected() -> str:
    """Return a sentence that lists the readable sources, beginning with profilers' files."""
    by_use = sorted(
        COLLECTORS.values(),
        key=lambda one: (not one.is_profiler, -len(one.fills)),
    )
    listed = "; ".join(collector.expects for collector in by_use)
    return f"{listed}. No trace yet? tracelens run python PROGRAM.py takes one"


def _described(path: Path, head: bytes) -> str:
    if path.is_dir():
        return "a directory"
    if not head.strip():
        return "an empty file"
    if head.startswith(b"\x1f\x8b"):
        return "gzip that is damaged or holds something else"
    return f"a file that starts with {head[:8]!r}"
