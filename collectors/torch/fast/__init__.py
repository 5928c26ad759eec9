"""The fast path of the torch reader: the slow path's frames, from a parser in C that reads the bytes of a trace.

Where the native library is not there, `read_fast` reads nothing and the slow path does everything.
"""

from __future__ import annotations

from tracelens.collectors.torch.fast.reader import read_fast

__all__ = ["read_fast"]
