"""A trace: what collectors captured, its directory on disk, and its tables in memory."""

from tracelens.trace.trace import Trace

__all__ = ["Trace"]
