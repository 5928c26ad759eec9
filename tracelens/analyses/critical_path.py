"""Find the critical path of a step: the intervals that determine how long it takes."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Bars, Chart, Parallel, named
from tracelens.derive.columns.time_text import duration
from tracelens.derive.replay.critical import critical_path_of
from tracelens.derive.replay.replay import replays
from tracelens.derive.time.step_table import require_time
from tracelens.schemas.results.replay import CRITICAL_PATH, STRETCH_WORDS, STRETCHES
from tracelens.trace import Trace

_LARGEST = 3
_WORDS = {
    "python": "Python",
    "op": "ops",
    "api_call": "API calls",
    "launch": "launches",
    "kernel": "kernels",
    "memcpy": "copies",
    "memset": "fills of memory",
    "collective": "collectives",
    "queue": "gaps between pieces of work",
    "dependency": "another stream's work",
    "wait": "the return of calls that wait for the device",
    "earlier": "earlier work",
}


def critical_path(trace: Trace) -> pl.DataFrame:
    """List the critical path of each rank's median step, in order of time: one row per interval.

    Shortening anything that is not on the path leaves the step as long as it is. A replay computes
    the length of the step from the dependencies of calls and work. The durations of the intervals
    add up to this length. The recorded length may differ. Raises MissingTableError without kernels
    and ops.
    """
    require_time(trace, "critical_path")
    parts = [critical_path_of(replay) for replay in replays(trace).values()]
    return CRITICAL_PATH.conform(pl.concat([CRITICAL_PATH.empty(), *parts]))


def notes(_trace: Trace, frame: pl.DataFrame) -> list[str]:
    """Name the kinds of time that take most of each rank's step."""
    if not frame.height:
        return [
            (
                "No step is replayed: the trace records no host, or is too long without"
                " marked steps (mark them with profiler.step(), or name their spans with --step)."
            )
        ]
    sentences = []
    for (rank,), rows in frame.group_by("rank", maintain_order=True):
        total = max(int(rows["duration_ns"].sum()), 1)
        sums = rows.group_by("kind").agg(pl.col("duration_ns").sum())
        largest = sums.sort("duration_ns", "kind", descending=[True, False]).head(_LARGEST)
        parts = ", ".join(
            f"{_WORDS.get(kind, kind)} {duration(ns)}" for kind, ns in largest.iter_rows()
        )
        subject = f"Rank {rank}: a" if frame["rank"].n_unique() > 1 else "A"
        sentences.append(f"{subject} step takes {duration(total)}. On its critical path: {parts}.")
    if frame["is_inferred"].any():
        sentences.append(
            "The trace does not record what calls and streams waited for: that was inferred from"
            " when they ran."
        )
    return sentences


def _charts(frame: pl.DataFrame) -> list[Chart]:
    key = [name for name in ("rank", "kind") if name in frame.columns]
    sums = frame.group_by(key, maintain_order=True).agg(pl.col("duration_ns").sum())
    words = sums.with_columns(
        stretch=pl.col("kind").replace(STRETCHES),
        kind=pl.col("kind").replace(STRETCH_WORDS),
    )
    return [Bars("What the step waits for", words, named(words, "stretch"), "duration_ns", "kind")]


ANALYSIS = Analysis(
    "What does a step wait for?",
    CRITICAL_PATH,
    critical_path,
    notes=notes,
    shown=("rank", "position", "kind", "what", "op", "module_path", "duration_ns"),
    words={"kind": STRETCH_WORDS},
    charts=_charts,
    parallel=Parallel.BY_RANK,
)
