"""A trace: the collectors' captures, its directory on disk, and its tables in memory."""

from tracelens.trace.trace import Trace

__all__ = ["Trace"]
