"""List advised changes: one row per change, with its cause, saving and where to look."""

from typing import Any

import polars as pl

from tracelens.analyses.analysis import Analysis
from tracelens.derive.replay.advised import Advised, advised_changes
from tracelens.derive.time.model import time_model
from tracelens.derive.time.step_table import require_time
from tracelens.storage.table import Column, Table
from tracelens.trace import Trace

CHANGES = Table(
    "changes",
    "A change that would help if it were the only one, with the part of the time that shrinks and"
    " the saving in a step.",
    (
        Column(
            "rank",
            pl.Int32,
            "Rank; null if the change is for all ranks of a job.",
            nullable=True,
        ),
        Column("change", pl.String, "What to do."),
        Column("cause", pl.String, "Part of the time that shrinks, named as in the verdict."),
        Column(
            "step_ns",
            pl.Int64,
            "Duration of the step before the change; without marked steps, all judged time.",
        ),
        Column(
            "saving_ns",
            pl.Int64,
            "Time saved; null if the profiler hides how much.",
            nullable=True,
        ),
        Column("low_ns", pl.Int64, "Least time that it saves, if there is a range.", nullable=True),
        Column("high_ns", pl.Int64, "Most time that it saves, if there is a range.", nullable=True),
        Column("saved_frac", pl.Float64, "Share of the step saved.", nullable=True),
        Column(
            "evidence",
            pl.String,
            "Source of the saving: a replay of the trace with the change, or recorded times,"
            " which show the most that can be saved.",
            values=("replay", "recorded"),
        ),
        Column("place", pl.String, "Code in which most of this time is spent.", nullable=True),
        Column(
            "example_start_ns",
            pl.Int64,
            "Start of an idle gap of this cause, as an example.",
            nullable=True,
        ),
        Column("example_ns", pl.Int64, "Length of that gap.", nullable=True),
        Column("section", pl.String, "Analyses that show the cause, most useful first."),
        Column("whatif", pl.String, "The change as an argument of whatif.", nullable=True),
        Column("sql", pl.String, "A query that shows examples."),
    ),
)

_CALLS = (
    "SELECT rank, api, COUNT(*) AS n_calls, SUM(duration_ns) AS sum_ns FROM api_calls WHERE {}"
    " GROUP BY rank, api ORDER BY sum_ns DESC LIMIT 20"
)
_SPANS = (
    "SELECT rank, kind, name, COUNT(*) AS n_calls, SUM(self_ns) AS sum_ns FROM spans"
    " GROUP BY rank, kind, name ORDER BY sum_ns DESC LIMIT 20"
)
_KERNELS = (
    "SELECT rank, name, COUNT(*) AS n_calls, SUM(duration_ns) AS sum_ns FROM kernels WHERE {}"
    " GROUP BY rank, name ORDER BY sum_ns DESC LIMIT 20"
)
_SQL = {
    "compute": _KERNELS.format("NOT is_communication"),
    "communication": _KERNELS.format("is_communication"),
    "waiting": _KERNELS.format("is_communication"),
    "copy": (
        "SELECT rank, direction, source_memory, COUNT(*) AS n_calls, SUM(size_bytes) AS sum_bytes,"
        " SUM(duration_ns) AS sum_ns FROM memcpys GROUP BY rank, direction, source_memory"
        " ORDER BY sum_ns DESC LIMIT 20"
    ),
    "sync": _CALLS.format("kind = 'sync'"),
    "allocation": _CALLS.format("kind = 'memory'"),
    "launch": _CALLS.format("kind IN ('kernel_launch', 'graph_launch')"),
    "loading": _CALLS.format("kind = 'other'"),
}
"""SQL queries that show examples, by cause.

For other causes, a query shows the spans with most self time.
"""


def changes(trace: Trace) -> pl.DataFrame:
    """List the changes that would help, the largest saving first: one row per change.

    Each saves at least 2 % of a step. The savings of several changes do not add up. Raises
    MissingTableError without kernels and ops.
    """
    require_time(trace, "changes")
    ranks = trace.manifest.ranks
    rank = ranks[0] if len(ranks) == 1 else None
    rows = [{"rank": rank} | _row(trace, advised) for advised in advised_changes(trace)]
    return CHANGES.conform(pl.DataFrame(rows, schema=CHANGES.schema))


def _row(trace: Trace, advised: Advised) -> dict[str, Any]:
    change, prediction = advised.change, advised.prediction
    place = change.places[0][0] if change.places else None
    saving: dict[str, Any] = {
        "step_ns": change.step_ns,
        "saving_ns": change.saving_ns,
        "low_ns": change.low_ns,
        "high_ns": change.high_ns,
        "evidence": "recorded",
    }
    if prediction is not None:
        saving = {
            "step_ns": prediction.before_ns,
            "saving_ns": prediction.before_ns - prediction.after_ns,
            "low_ns": prediction.least_saving_ns,
            "high_ns": prediction.most_saving_ns,
            "evidence": "replay",
        }
    return saving | {
        "change": change.text,
        "cause": change.cause,
        "saved_frac": advised.saved_frac,
        "place": place,
        "section": change.section,
        "whatif": change.expression,
        "sql": _SQL.get(change.cause, _SPANS),
        **_example(trace, change.cause, place),
    }


def _example(trace: Trace, cause: str, place: str | None) -> dict[str, int]:
    """Return start and length of the longest idle interval that `cause` explains.

    An interval at `place`, a line or call of the program, is preferred to a longer one elsewhere.
    The result is empty if `cause` explains no interval.
    """
    gaps = time_model(trace).idle.filter(pl.col("cause") == cause)
    here = gaps.filter(pl.col("what").eq_missing(pl.lit(place, pl.String)))
    longest = (gaps if here.is_empty() else here).sort("longest_ns", descending=True).head(1)
    rows = longest.select(example_start_ns="example_ns", example_ns="longest_ns").to_dicts()
    return rows[0] if rows else {}


ANALYSIS = Analysis(
    "What would help, and which query shows it?",
    CHANGES,
    changes,
    shown=("rank", "change", "cause", "saving_ns", "low_ns", "high_ns", "saved_frac", "place"),
)
