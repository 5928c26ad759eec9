"""A trace: what collectors hand over, its directory, and its tables in memory."""

from tracelens.trace.trace import Parts, Trace

__all__ = ["Parts", "Trace"]
