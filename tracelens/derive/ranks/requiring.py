"""Refusing what needs several ranks on a trace that has not got them."""

from tracelens.derive.ranks.matching import Matched, match_collectives
from tracelens.errors import MissingTableError
from tracelens.trace import Trace


def require_ranks(trace: Trace, analysis: str) -> None:
    """Raise MissingTableError where the trace is of one rank."""
    if len(trace.manifest.ranks) < 2:
        raise MissingTableError(
            f"{analysis} needs several ranks, and this trace is of one; name the files of all"
            " ranks, or their folder, in one tracelens collect"
        )


def require_matched(trace: Trace, analysis: str) -> Matched:
    """The matched collectives.

    Raises MissingTableError where the trace is of one rank, or none match.
    """
    require_ranks(trace, analysis)
    found = match_collectives(trace)
    if found.calls.is_empty():
        why = (*found.stops["text"], *found.remarks, "no rank has communication kernels")[0]
        raise MissingTableError(
            f"{analysis} needs collectives that several ranks have, and none match here:"
            f" {why.rstrip('.')} (they come from tracelens collect of all ranks' files of one run)"
        )
    return found
