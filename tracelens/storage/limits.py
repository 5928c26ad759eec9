"""Limit what hostile input can take of memory and time; the environment can raise each limit.

The limits are far above anything a profiler writes. Input above one is refused or counted, and the
message names its variable.
"""

import os
from dataclasses import dataclass

from tracelens.errors import UsageError


@dataclass(frozen=True, slots=True)
class Limit:
    """An environment variable, the limit where it is not set, and what it limits."""

    variable: str
    default: int
    doc: str

    @property
    def value(self) -> int:
        """The limit in force. Raises UsageError where the variable is no whole number above 0."""
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
        """Advice for a message about this limit."""
        return f"set {self.variable} above {self.value} to read it all the same"


EXPANSION = Limit(
    "TRACELENS_MAX_EXPANSION",
    200,
    "How many times larger a gzip file, a table of an nsys export or a trace directory may get; one"
    " that stays below 64 MiB always may.",
)
ANY_EXPANSION_BYTES = 64 << 20
"""Any file may expand to this size, however small it is."""
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
    "Memory that an SQL query may take beside the tables, in MiB. Only Linux, whose /proc says what"
    " a process holds, has this limit.",
)
NAMES = Limit(
    "TRACELENS_MAX_NAMES",
    100_000,
    "Names of kernels, and of ops, ranges and Python functions, that results list, those with the"
    " most time; all others are one row, such as `(2,900,000 other ops)`.",
)
LIMITS = (EXPANSION, EVENT_MIB, NESTING, LOG_MIB, TRACES, MODULES, QUERY_MIB, NAMES)
