"""Reading large sources in separate processes, as many at a time as a memory limit allows."""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from tracelens.errors import SourceError
from tracelens.trace.capture import Capture

Read: TypeAlias = Callable[[Path, Path], list[Capture]]
"""A function that reads a file, and stores its large tables in a folder."""

WORTH_A_PROCESS = 32 << 20
"""A smaller file is read faster than a process starts."""

# Peak memory of a process that reads a torch trace: measured at 30 MB to 2 GB, and rounded up.
_BASE_BYTES, _BYTES_A_BYTE = 400_000_000, 0.2
_GZIP_FACTOR = 20


@dataclass(frozen=True, slots=True)
class Plan:
    """The number of files read at a time, the memory that one may take, and the limit for all together."""

    n_workers: int
    bytes_each: int
    limit_bytes: int


def plan(files: Sequence[Path], limit_bytes: int | None = None) -> Plan:
    """The plan that fits into the limit: at least one file at a time, at most one a core; default: half the memory."""
    limit = limit_bytes or _memory_bytes() // 2
    each = max(map(needs_bytes, files))
    n_workers = max(1, min(len(files), os.cpu_count() or 1, limit // each))
    return Plan(n_workers, each, limit)


def needs_bytes(file: Path) -> int:
    """The estimated peak memory of reading a torch trace of this size; gzip files end with their uncompressed size."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        if stream.read(2) == b"\x1f\x8b" and size > 4:
            stream.seek(-4, os.SEEK_END)
            size = max(int.from_bytes(stream.read(4), "little"), size * _GZIP_FACTOR)
    return _BASE_BYTES + int(_BYTES_A_BYTE * size)


def large_files(files: Sequence[Path]) -> list[Path]:
    """The files that are each worth a process; none if there is only one."""
    large = [file for file in files if str(file) != "-" and file.stat().st_size >= WORTH_A_PROCESS]
    return large if len(large) > 1 else []


def read_several(
    read: Read, files: Sequence[Path], folder: Path, limit_bytes: int | None, tell: Callable[[str], None]
) -> list[list[Capture]]:
    """The captures of each file, their tables stored in the folder; large files are read in separate processes.

    `tell` is called with the number that are read at a time.
    """
    large = large_files(files)
    found: Iterator[list[Capture]] = iter(())
    if large:
        chosen = plan(large, limit_bytes)
        each, allowed = (f"{size / 1e9:.1f} GB" for size in (chosen.bytes_each, chosen.limit_bytes))
        tell(f"reading {len(large)} traces, {chosen.n_workers} at a time: up to {each} each, {allowed} allowed")
        found = iter(read_apart(read, large, folder / "apart", chosen.n_workers))
    return [next(found) if file in large else read(file, folder / str(i)) for i, file in enumerate(files)]


def read_apart(read: Read, files: Sequence[Path], folder: Path, n_workers: int) -> list[list[Capture]]:
    """The captures in each of the torch traces, their tables stored in a folder that lives as long as they do.

    Errors of reading are raised here, and SourceError if a process is killed. The processes end with this one, however
    it ends.
    """
    # As Python has it by itself: Polars (2.1) has an interrupted wait for a lock go on, and Ctrl-C would be heard once
    # everything is read. Windows has no such choice.
    if hasattr(signal, "siginterrupt"):
        signal.siginterrupt(signal.SIGINT, True)
    pool = ProcessPoolExecutor(n_workers, multiprocessing.get_context("spawn"), initializer=_follow_parent)
    try:
        begun = [pool.submit(read, file, folder / str(i)) for i, file in enumerate(files)]
        return [future.result() for future in begun]
    except BrokenProcessPool as error:
        raise SourceError(
            "a process that read one of the sources was killed, perhaps for want of memory; give a smaller --max-memory"
        ) from error
    except BaseException:
        for child in multiprocessing.active_children():
            child.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _follow_parent() -> None:
    """End with the parent; only the parent is interrupted from the keyboard."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _memory_bytes() -> int:
    """Memory of this machine, or of the container in which this runs."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    with contextlib.suppress(OSError, ValueError):
        found.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(found)
