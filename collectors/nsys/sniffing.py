"""Recognise sources from nsys.

Reading them needs pyarrow, which takes 0.03 s to import.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from tracelens.collectors.nsys.tool import RAW_SUFFIX, REPORT_SUFFIXES
from tracelens.errors import UsageError

KIND = "nsys"
MAGIC = b"SQLite format 3\x00"
RANK_BY = ("auto", "process", "file")
"""Choices of what counts as a rank.

With `auto`, each process with kernels is a rank if the processes use different devices. Otherwise
the whole file is one rank.
"""
CHOSEN: ContextVar[str] = ContextVar("rank_by", default="auto")


@contextmanager
def ranked_by(choice: str) -> Iterator[None]:
    """Apply `choice`, a word of RANK_BY, to the files that are read in the `with` block.

    Raises UsageError for a word that is not in RANK_BY.
    """
    if choice not in RANK_BY:
        raise UsageError(f"--rank-by {choice}: what a rank is can be {', '.join(RANK_BY)}")
    token = CHOSEN.set(choice)
    try:
        yield
    finally:
        CHOSEN.reset(token)


def sniff(path: Path, head: bytes) -> bool:
    """Return whether the path may be a source from nsys.

    A source is a SQLite file, a directory with files named like nsys's tables, or a report.
    """
    if path.is_dir():
        return any(
            is_nsys_table(file.stem)
            for suffix in (".parquet", ".arrow")
            for file in path.glob(f"*{suffix}")
        )
    return head.startswith(MAGIC) or path.suffix in (*REPORT_SUFFIXES, RAW_SUFFIX)


def is_nsys_table(name: str) -> bool:
    """Return whether a table with this name must come from nsys."""
    return name in {"StringIds", "NVTX_EVENTS"} or name.startswith(
        ("CUPTI_ACTIVITY_KIND_", "TARGET_INFO_", "META_DATA_")
    )
