"""Collectors read one kind of source each and hand over a Capture a rank.

A new collector is a module with KIND, sniff and read, its test, and one line in COLLECTORS.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracelens.collectors import gdb, nsys, provenance, torch, trace_log
from tracelens.errors import SourceError, UsageError
from tracelens.trace import Trace
from tracelens.trace.capture import Capture
from tracelens.trace.combine import combine

_HEAD_BYTES = 1 << 16
_NAMED = 3
SKIPPED = "file_skipped"
"""Code of the diagnostic that counts files of a folder that are no traces."""


@dataclass(frozen=True, slots=True)
class Collector:
    """`sniff(path, head)`: could this be one? `read(path)`: the captures in it. `expects`: what it reads, in words."""

    kind: str
    sniff: Callable[[Path, bytes], bool]
    read: Callable[[Path], list[Capture]]
    expects: str


COLLECTORS: dict[str, Collector] = {
    collector.kind: collector
    for collector in (
        Collector(nsys.KIND, nsys.sniff, nsys.read, "an nsys export (SQLite, parquetdir, arrowdir, .nsys-rep)"),
        Collector(gdb.KIND, gdb.sniff, gdb.read, "a gdb log with the frames that bt prints"),
        Collector(
            provenance.KIND, provenance.sniff, provenance.read, "a sidecar of --compile-provenance (.json, .json.gz)"
        ),
        Collector(trace_log.KIND, trace_log.sniff, trace_log.read, "a structured log of torch (TORCH_TRACE)"),
        Collector(torch.KIND, torch.sniff, torch.read, "a torch.profiler Chrome trace (.json, .json.gz)"),
    )
}
"""Collectors by kind, asked in this order what a file is."""


def collect(
    paths: Sequence[str | os.PathLike[str]] | str | os.PathLike[str],
    *,
    kind: str | None = None,
    ranks: Sequence[int] = (),
    events: str = "torch",
) -> Trace:
    """Read sources of one program straight into a Trace in memory.

    `kind` (torch, nsys, gdb, provenance, trace_log) says what they are; where null, their content does. `ranks` gives
    each source's rank, `events` the profiler whose events are kept where two captured the same rank. Raises SourceError
    for a source that cannot be read, UsageError for a request that does not fit.
    """
    return combine(read_captures(paths, kind), ranks=ranks, events=events)


def read_captures(
    paths: Sequence[str | os.PathLike[str]] | str | os.PathLike[str], kind: str | None = None
) -> list[Capture]:
    """What each source holds, before `combine` makes a trace of it; the same errors as `collect`."""
    skipped: list[Path] = []
    sources = sources_of(paths, kind, skipped)
    captures = [capture for found, path in sources for capture in COLLECTORS[found].read(path)]
    note_skipped(captures, skipped)
    return captures


def note_skipped(captures: Sequence[Capture], skipped: Sequence[Path]) -> None:
    """Count, with the first capture, the files of folders that were left out."""
    names = ", ".join(path.name for path in skipped[:_NAMED]) + (", …" if len(skipped) > _NAMED else "")
    text = f"files of the folder that are no traces were skipped: {names}"
    captures[0].diagnostics.add("warning", SKIPPED, text, len(skipped))


def sources_of(
    paths: Sequence[str | os.PathLike[str]] | str | os.PathLike[str],
    kind: str | None = None,
    skipped: list[Path] | None = None,
) -> list[tuple[str, Path]]:
    """The sources that the paths stand for, one by one, each with the kind of its collector.

    Files of a folder that are no traces are left out, and put into `skipped`; one that is named itself is an error.
    """
    given = [Path(paths)] if isinstance(paths, (str, os.PathLike)) else [Path(path) for path in paths]
    if not given:
        raise UsageError("no source was named; give at least one file or directory")
    if kind is not None and kind not in COLLECTORS:
        raise UsageError(f"no collector is called {kind!r}; the collectors are {', '.join(COLLECTORS)}")
    sources: list[tuple[str, Path]] = []
    skipped = [] if skipped is None else skipped
    for path in given:
        if str(path) != "-" and not path.exists():
            raise SourceError(f"{path}: no such file or directory")
        _refuse_endless(path)
        for member in _members(path, kind):
            _refuse_endless(member)
            found = kind or detect(member)
            files = torch.trace_files(member) if found == torch.KIND else [member]
            kept = [file for file in files if file == path or found != torch.KIND or torch.begins_as_trace(file)]
            skipped += [file for file in files if file not in kept]
            sources += [(found, file) for file in kept]
        if path.is_dir() and not any(file.is_relative_to(path) for _, file in sources):
            raise SourceError(f"{path}: found a directory with nothing to collect, expected: {_expected()}")
    return sources


def detect(path: Path) -> str:
    """Which collector reads the source, judged by content. Raises SourceError when none does."""
    head = _head(path)
    for collector in COLLECTORS.values():
        if collector.sniff(path, head):
            return collector.kind
    raise SourceError(f"{path}: found {_described(path, head)}, expected one of: {_expected()}")


def _members(path: Path, kind: str | None) -> list[Path]:
    """The sources a path stands for: itself, or for a plain directory every file and export in it."""
    if kind is not None or not path.is_dir() or any(c.sniff(path, b"") for c in COLLECTORS.values()):
        return [path]
    members = sorted(p for p in path.iterdir() if not p.name.startswith("."))
    return [p for p in members if any(c.sniff(p, _head(p)) for c in COLLECTORS.values())]


def _refuse_endless(path: Path) -> None:
    """Raise SourceError for what is neither file nor folder, or a folder with such in it: a pipe may never end."""
    inside = path.iterdir() if path.is_dir() else [path]
    strange = next((p for p in inside if str(p) != "-" and p.exists() and not (p.is_file() or p.is_dir())), None)
    if strange is not None:
        raise SourceError(f"{strange}: is a pipe, a socket or a device, which is not read; expected: {_expected()}")


def _head(path: Path) -> bytes:
    if str(path) == "-" or path.is_dir():
        return b"{" if str(path) == "-" else b""
    try:
        with path.open("rb") as stream:
            return stream.read(_HEAD_BYTES)
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror or error}") from error


def _expected() -> str:
    return "; ".join(collector.expects for collector in COLLECTORS.values())


def _described(path: Path, head: bytes) -> str:
    if path.is_dir():
        return "a directory"
    if not head.strip():
        return "an empty file"
    return f"a file that starts with {head[:24]!r}"


__all__ = ["COLLECTORS", "SKIPPED", "Collector", "collect", "detect", "note_skipped", "read_captures", "sources_of"]
