"""What the allocators of Polars, Arrow and the system are told, before the first two are imported; imports little."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_POLARS, _ARROW = "_RJEM_MALLOC_CONF", "MIMALLOC_PURGE_DELAY"
# Polars' allocator keeps freed memory for ten seconds, longer than most collects take. Keeping none of it halves their
# peak and takes a tenth more time; a tenth of a second is nearly as good, except of large files, of which it is most of
# the peak. Of an nsys collect most of the peak are tables held whole: giving back sooner, Arrow's allocator after ten
# milliseconds, saves little, and takes a quarter more time. There Polars' allocator is also kept from giving back large
# columns at once, as it does by itself, and from keeping what each thread freed for that thread only.
_SOON = {_POLARS: "dirty_decay_ms:100,muzzy_decay_ms:0"}
_AT_ONCE = {_POLARS: "dirty_decay_ms:0,muzzy_decay_ms:0"}
_LATER = {_POLARS: "dirty_decay_ms:5000,muzzy_decay_ms:0,oversize_threshold:0,narenas:1", _ARROW: "3000"}
_LARGE_BYTES, _LARGE_GZIP_BYTES = 800_000_000, 40_000_000
# What importing Polars writes into the environment, before what it finds there; processes started later inherit it.
_BY_POLARS = re.compile(r"dirty_decay_ms:500,muzzy_decay_ms:(?:1000|-1)(?:,thp:always,metadata_thp:always)?(?:,|$)")


@contextmanager
def gives_back_soon(words: Sequence[str]) -> Iterator[None]:
    """Where Polars and Arrow are imported within, or in a process started within, freed memory is given back soon.

    The words are those of the command line that follow `collect`, files among them. Programs that are started later on
    are told nothing; whoever set a variable is left alone, unless it was Polars in the program that started this one.
    """
    chosen = _LATER if "nsys" in words[:1] else _AT_ONCE if any(map(_is_large, words)) else _SOON
    found = {name: os.environ.get(name, "") for name in chosen}
    told = {name: value for name, value in chosen.items() if not _BY_POLARS.sub("", found[name])}
    os.environ.update(told)
    try:
        yield
    finally:
        for name in told:
            if found[name]:
                os.environ[name] = found[name]
            else:
                os.environ.pop(name, None)


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
