"""Limit the memory and time that hostile input can take.

The limits are far above anything that a profiler writes. Input above a limit is refused or counted,
and the message names the environment variable that raises the limit.
"""

import contextlib
import os
from functools import cache
from pathlib import Path

from msgspec import Struct

from tracelens.errors import UsageError


class Limit(Struct, frozen=True):
    """A limit with its environment variable and default; `doc` names the limited quantity."""

    variable: str
    default: int
    doc: str

    @property
    def value(self) -> int:
        """The limit in force; raises UsageError if the variable is no whole number above 0."""
        text = os.environ.get(self.variable, "").strip()
        if not text:
            return self.default
        if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text)):
            raise UsageError(
                f"{self.variable}={text!r}: expected a whole number above 0, such as {self.default}"
            )
        return int(text)

    @property
    def how_to_raise(self) -> str:
        """The end of a message on how to raise this limit."""
        return f"set {self.variable} above {self.value} to read it all the same"


EXPANSION = Limit(
    "TRACELENS_MAX_EXPANSION",
    200,
    "How many times larger a gzip file, a table of an nsys export or a trace directory may get. Below"
    " an eighth of the memory, any size is allowed.",
)
EVENT_MIB = Limit("TRACELENS_MAX_EVENT_MIB", 16, "Size of one event of a torch trace, in MiB.")
NESTING = Limit(
    "TRACELENS_MAX_NESTING", 10_000, "Depth of lists and objects inside one event of a torch trace."
)
LOG_MIB = Limit("TRACELENS_MAX_LOG_MIB", 64, "Size of a log of gdb, in MiB; it is held in memory.")
TRACES = Limit(
    "TRACELENS_MAX_TRACES",
    256,
    "Traces that one file may hold, one after another; each takes a while.",
)
MODULES = Limit(
    "TRACELENS_MAX_MODULES",
    1_000,
    "Depth of module calls inside each other; paths are as long as that.",
)
QUERY_MIB = Limit(
    "TRACELENS_MAX_QUERY_MIB",
    4_096,
    "Memory that an SQL query may take beside the tables, in MiB. The limit works on Linux only, where"
    " /proc shows the memory of a process.",
)
NAMES = Limit(
    "TRACELENS_MAX_NAMES",
    100_000,
    "Names that results list: of kernels, of ops, of ranges and of Python functions, those with the"
    " most time. All others share one row, such as `(2,900,000 other ops)`.",
)
SHARE_OF_MEMORY = 8
"""Any file's content may take the memory divided by this number."""
LIMITS = (EXPANSION, EVENT_MIB, NESTING, LOG_MIB, TRACES, MODULES, QUERY_MIB, NAMES)


def may_become(size_bytes: int) -> int:
    """Return the limit in bytes for the unpacked content of a file of this size.

    It is a share of the memory or a multiple of the file's size, whichever is larger, and at least
    64 MiB.
    """
    # Traces of repetitive programs grow a thousandfold when unpacked. That is harmless if they fit
    # into memory.
    return max(64 << 20, memory_bytes() // SHARE_OF_MEMORY, EXPANSION.value * size_bytes)


@cache
def memory_bytes() -> int:
    """Return the memory of the machine or of its container, in bytes."""
    amounts = [1 << 30]  # the system does not say, as on Windows
    with contextlib.suppress(AttributeError, OSError, ValueError):
        amounts = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    with contextlib.suppress(OSError, ValueError):
        amounts.append(int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return min(amounts)
