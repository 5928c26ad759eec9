"""What Polars' allocator is told before Polars is imported, and what the system's is told; imports nothing heavy."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_VARIABLE = "_RJEM_MALLOC_CONF"
# It keeps freed memory for ten seconds, longer than most collects take. Keeping none of it halves their peak and takes
# a tenth more time; a tenth of a second is nearly as good, except of large files, of which it is most of the peak.
_SOON, _AT_ONCE = "dirty_decay_ms:100,muzzy_decay_ms:0", "dirty_decay_ms:0,muzzy_decay_ms:0"
# Most of an nsys collect's peak are tables held whole: giving back sooner saves little, and takes a sixth more time.
_LATER = "dirty_decay_ms:500,muzzy_decay_ms:0"
_LARGE_BYTES, _LARGE_GZIP_BYTES = 800_000_000, 40_000_000


@contextmanager
def gives_back_soon(words: Sequence[str]) -> Iterator[None]:
    """Where Polars is imported within, or in a process started within, memory that is freed is given back soon.

    The words are those of the command line that follow `collect`, files among them. Programs that are started later on
    are told nothing; whoever set the variable is left alone.
    """
    if _VARIABLE in os.environ:
        yield
        return
    keeps = _LATER if "nsys" in words[:1] else _AT_ONCE if any(map(_is_large, words)) else _SOON
    os.environ[_VARIABLE] = keeps
    try:
        yield
    finally:
        os.environ.pop(_VARIABLE, None)


def _is_large(file: str) -> bool:
    try:
        return Path(file).stat().st_size >= (_LARGE_GZIP_BYTES if file.endswith(".gz") else _LARGE_BYTES)
    except (OSError, ValueError):
        return False


def give_back() -> None:
    """Have glibc return freed memory to the system, of which it keeps for later all but the end; others need not."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
