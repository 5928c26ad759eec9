"""Call stacks from gdb and cuda-gdb: read from what they printed, or taken from a program that is run under them."""

from tracelens.collectors.gdb.limits import Limits
from tracelens.collectors.gdb.live import LiveStacks, run
from tracelens.collectors.gdb.logs import KIND, read, sniff
from tracelens.collectors.gdb.presets import DEFAULT_SYMBOL, PRESETS
from tracelens.collectors.gdb.targets import find_cuda_gdb
from tracelens.trace.collector import Collector

COLLECTOR = Collector(
    kind=KIND,
    expects="a gdb log with the frames that bt prints",
    sniff=sniff,
    read=read,
    fills={"stacks": "", "frames": ""},
    run=run,
)

__all__ = [
    "COLLECTOR",
    "DEFAULT_SYMBOL",
    "KIND",
    "PRESETS",
    "Limits",
    "LiveStacks",
    "find_cuda_gdb",
    "read",
    "run",
    "sniff",
]
