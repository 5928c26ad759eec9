"""Estimate how long a step takes without the profiler."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Parallel
from tracelens.derive.columns.time_text import duration, span_text
from tracelens.derive.replay.unprofiled import LARGEST_ERROR, UnprofiledStep, unprofiled_steps
from tracelens.derive.time.program_phases import program_steps
from tracelens.derive.time.step_table import require_time
from tracelens.schemas.results.replay import UNPROFILED_STEP
from tracelens.trace import Trace

_FIRST_RANKS = 4


def unprofiled_step(trace: Trace) -> pl.DataFrame:
    """Return a step's time as recorded and without the profiler: one row per rank that marks steps.

    The time without the profiler is measured if the capture timed steps without it. Otherwise, the
    trace is replayed as a dependency graph, less the profiler's cost of each op, Python call and
    API call. Raises MissingTableError without kernels and ops.
    """
    require_time(trace, "unprofiled_step")
    steps = unprofiled_steps(trace).values()
    rows = [
        (
            step.rank,
            step.recorded_ns,
            step.unprofiled_ns,
            step.low_ns,
            step.high_ns,
            step.replay_error_frac,
            step.evidence,
        )
        for step in steps
    ]
    return pl.DataFrame(rows, UNPROFILED_STEP.schema, orient="row")


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:
    """Describe the step of each of the first ranks, or say why it is unknown."""
    if not frame.height:
        return [
            (
                "The trace marks no steps, so it is not known how long one takes without the"
                " profiler (mark them with profiler.step(), or name their spans with --step)."
            )
        ]
    several = len(trace.manifest.ranks) > 1
    steps = list(unprofiled_steps(trace).values())[:_FIRST_RANKS]
    judged = program_steps(trace)
    medians = dict(judged.group_by("rank").agg(pl.col("duration_ns").median()).iter_rows())
    sentences = []
    for step in steps:
        # If step times differ much, this is their mean, while other sections give their median.
        is_mean = round(medians[step.rank]) != step.recorded_ns
        subject = "a step took on average" if is_mean else "the median step took"
        sentences.append(_sentence(step, f"Rank {step.rank}: {subject}" if several else subject))
    return sentences


def _sentence(step: UnprofiledStep, subject: str) -> str:
    recorded = f"{subject[0].upper()}{subject[1:]} {duration(step.recorded_ns)} under the profiler"
    if step.unprofiled_ns is None or step.low_ns is None or step.high_ns is None:
        if step.replay_error_frac > LARGEST_ERROR:
            return (
                f"{recorded}; a replay misses that by {step.replay_error_frac:.0%}, too far to say"
                " how long one takes without it."
            )
        return f"{recorded}; how much of that this profiler adds is not known."
    if step.evidence == "measured":
        return f"{recorded}; without it, a step took {duration(step.unprofiled_ns)}, as measured."
    return (
        f"{recorded}. Without it, a step would take {span_text(step.low_ns, step.high_ns)}, by"
        " a replay of the trace."
    )


ANALYSIS = Analysis(
    "How long does a step take without the profiler?",
    UNPROFILED_STEP,
    unprofiled_step,
    notes=notes,
    words={"evidence": {"table": "typical costs", "calibrated": "costs of this machine"}},
    parallel=Parallel.BY_RANK,
)
