"""Call stacks from gdb and cuda-gdb: read from what they printed, or taken from a program that is run under them."""

from tracelens.collectors.gdb.limits import Limits
from tracelens.collectors.gdb.live import LiveStacks, run
from tracelens.collectors.gdb.logs import KIND, read, sniff
from tracelens.collectors.gdb.presets import DEFAULT_SYMBOL, PRESETS
from tracelens.collectors.gdb.targets import find_cuda_gdb

__all__ = ["DEFAULT_SYMBOL", "KIND", "PRESETS", "Limits", "LiveStacks", "find_cuda_gdb", "read", "run", "sniff"]
