"""A trace: the collectors' captures, its directory, and its tables in memory."""

from tracelens.trace.trace import Trace

__all__ = ["Trace"]
