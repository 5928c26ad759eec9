"""A trace: what collectors hand over, its directory, and its tables in memory."""

from tracelens.trace.trace import Trace

__all__ = ["Trace"]
