"""Read large sources in separate processes, as many at a time as a memory limit allows."""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from tracelens.errors import SourceError
from tracelens.storage.limits import memory_bytes
from tracelens.trace.capture import Capture
from tracelens.trace.collector import Collector, Tell
from tracelens.trace.sources import read_in_turn

Read: TypeAlias = Callable[[Path, Path], list[Capture]]
"""A function of a file and a folder, which reads the file and stores large tables in the folder."""

WORTH_A_PROCESS = 32 << 20
"""Reading a smaller file takes less time than starting a process."""
MANY = 12
"""From this number of files on, small files are also read in processes.

Starting a process takes 0.25 s.
"""

# Peak memory of a process that reads a torch trace, measured at 30 MB to 2 GB and rounded up.
_BASE_BYTES, _BYTES_A_BYTE = 400_000_000, 0.2
_GZIP_FACTOR = 20


class Plan(Struct, frozen=True):
    """The number of processes, the estimated memory of each, and the limit for all together."""

    n_workers: int
    bytes_each: int
    limit_bytes: int


def plan(needs: Sequence[int], limit_bytes: int | None = None) -> Plan:
    """Return the number of processes for reading files, and their memory.

    `needs` has the estimated memory of each file in bytes. The default limit is half of the
    machine's memory.
    """
    limit = limit_bytes or memory_bytes() // 2
    each = max(needs)
    n_workers = max(1, min(len(needs), os.cpu_count() or 1, limit // each))
    return Plan(n_workers, each, limit)


def needs_of_size(size_bytes: int, name: str) -> int:
    """Return the estimated peak memory in bytes of reading a torch trace of this size and name."""
    return _BASE_BYTES + int(
        _BYTES_A_BYTE * size_bytes * (_GZIP_FACTOR if name.endswith(".gz") else 1)
    )


def needs_bytes(file: Path) -> int:
    """Return the estimated peak memory in bytes of reading a file.

    The uncompressed size of a gzip file is in its last bytes.
    """
    size = file.stat().st_size
    with file.open("rb") as stream:
        if stream.read(2) == b"\x1f\x8b" and size > 4:
            stream.seek(-4, os.SEEK_END)
            size = max(int.from_bytes(stream.read(4), "little"), size * _GZIP_FACTOR)
    return needs_of_size(size, "")


def chosen_files(files: Sequence[Path]) -> list[Path]:
    """Return the files to read in processes: all files if they are many, else the large files.

    A single large file is left out, because one process saves no time.
    """
    least = 0 if len(files) >= MANY else WORTH_A_PROCESS
    chosen = [file for file in files if str(file) != "-" and file.stat().st_size >= least]
    return chosen if len(chosen) > 1 else []


def read_sources(
    sources: Sequence[tuple[Collector, Path]],
    folder: Path,
    limit_bytes: int | None,
    tell: Tell,
) -> list[Capture]:
    """Return the captures of all sources, with large tables in files of the folder.

    Large or many files are read in processes that together take at most `limit_bytes`. `tell` gets
    a message with the number of processes and their memory.
    """
    read: dict[str, Iterator[list[Capture]]] = {}
    for collector in dict.fromkeys(collector for collector, _ in sources):
        files = [path for other, path in sources if other is collector]
        read[collector.kind] = (
            map(collector.read, files)
            if collector.read_stored is None
            else iter(
                _read_stored(
                    collector.read_stored,
                    files,
                    folder / collector.kind,
                    limit_bytes,
                    tell,
                )
            )
        )
    return read_in_turn(sources, lambda collector, _: next(read[collector.kind]))


def _read_stored(
    read: Read,
    files: Sequence[Path],
    folder: Path,
    limit_bytes: int | None,
    tell: Tell,
) -> list[list[Capture]]:
    """Return the captures of each file, with large tables in files of the folder."""
    chosen = chosen_files(files)
    read_captures: Iterator[list[Capture]] = iter(())
    if chosen:
        planned = plan([*map(needs_bytes, chosen)], limit_bytes)
        each, allowed = (
            f"{size / 1e9:.1f} GB" for size in (planned.bytes_each, planned.limit_bytes)
        )
        tell(
            f"reading {len(chosen)} traces, {planned.n_workers} at a time: up to {each} each,"
            f" {allowed} allowed"
        )
        read_captures = iter(read_apart(read, chosen, folder / "apart", planned.n_workers))
    return [
        next(read_captures) if file in chosen else read(file, folder / str(i))
        for i, file in enumerate(files)
    ]


def read_apart(
    read: Read,
    files: Sequence[Path],
    folder: Path,
    n_workers: int,
) -> list[list[Capture]]:
    """Return the captures of each file, read in processes, with large tables in the folder.

    Raises the error of a file that cannot be read, and SourceError if a process is killed.
    """
    try:
        with processes(n_workers) as pool:
            begun = [pool.submit(read, file, folder / str(i)) for i, file in enumerate(files)]
            return [future.result() for future in begun]
    except BrokenProcessPool as error:
        raise SourceError(
            "a process that read one of the sources was killed, perhaps for want of memory; give a"
            " smaller --max-memory"
        ) from error


@contextlib.contextmanager
def processes(n_workers: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of processes, and kill them if the body fails or this process ends."""
    # Restores Python's own behaviour: with Polars (2.1), an interrupted wait for a lock continues,
    # so Ctrl-C would take effect only once everything is read. Windows has no such choice.
    if hasattr(signal, "siginterrupt"):
        signal.siginterrupt(signal.SIGINT, True)
    pool = ProcessPoolExecutor(
        n_workers, multiprocessing.get_context("spawn"), initializer=_follow_parent
    )
    try:
        yield pool
    except BrokenProcessPool:
        raise
    except BaseException:
        for child in multiprocessing.active_children():
            child.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _follow_parent() -> None:
    """Ignore Ctrl-C, because the parent process handles it, and end when the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
