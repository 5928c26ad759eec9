"""Sum the waiting of each rank by the awaited rank, the last to begin a collective."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Scope
from tracelens.derive.ranks.collective_wait import waiting_pairs
from tracelens.derive.ranks.collectives import require_matched
from tracelens.derive.ranks.job_clock import doubt_of
from tracelens.schemas.results.ranks import WAITING_FOR
from tracelens.trace import Trace


def waiting_for(trace: Trace) -> pl.DataFrame:
    """Return one row per pair of a waiting rank and an awaited one, longest exposed waiting first.

    The rows of a rank add up to its waiting. Raises MissingTableError with one rank, or if no
    collectives match.
    """
    require_matched(trace, "waiting_for")
    order = ["exposed_ns", "wait_ns", "rank", "awaited_rank"]
    return WAITING_FOR.conform(
        waiting_pairs(trace).sort(order, descending=[True, True, False, False])
    )


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:  # noqa: ARG001 - every notes function takes both
    """Warn if the hosts' clocks are too uncertain to show for whom ranks wait."""
    doubt = doubt_of(require_matched(trace, "waiting_for").calls)
    return [] if doubt is None else [f"Inconclusive: {doubt}."]


ANALYSIS = Analysis("Who waits for whom?", WAITING_FOR, waiting_for, notes=notes, scope=Scope.RANKS)
