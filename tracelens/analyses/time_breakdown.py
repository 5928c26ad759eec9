"""Each device's time: computing, communicating, copying, or idle for a cause."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Chart, Parallel, SplitBars, named
from tracelens.derive.time.cpu_only import process_sentences
from tracelens.derive.time.model import time_model
from tracelens.derive.time.phase_sentences import phase_sentences
from tracelens.derive.time.rank_time import step_sentences, with_shares
from tracelens.derive.time.step_table import require_time
from tracelens.schemas.host import CAUSES
from tracelens.schemas.results.time import PROGRAM, TIME_BREAKDOWN
from tracelens.trace import Trace


def time_breakdown(trace: Trace) -> pl.DataFrame:
    """Break each device's time down by step, and by phase: start-up, the program, tear-down.

    Compute, exposed communication, exposed copies and the causes of idle time add up to each row's
    window. Lengths are of interval unions, so overlapping work counts once; exposed time is what no
    other work hides. The definitions of compute and idle are those of HTA's temporal breakdown.
    Raises MissingTableError without kernels and ops.
    """
    require_time(trace, "time_breakdown")
    return with_shares(time_model(trace))


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:  # noqa: ARG001 - every notes function takes both
    """Say how long steps take, how long the program's time is, and what is left out of it."""
    model = time_model(trace)
    return (
        step_sentences(model) + phase_sentences(model) + process_sentences(trace, model.processes)
    )


def _charts(frame: pl.DataFrame) -> list[Chart]:
    frame = frame.filter(pl.col("phase") == PROGRAM)
    is_process = frame["device_id"].null_count() == frame.height
    idle = "" if is_process else "idle: "
    parts = {
        "compute_ns": "compute",
        "exposed_communication_ns": "exposed communication",
        "exposed_copy_ns": "exposed copy",
        **{f"idle_{cause}_ns": f"{idle}{cause}" for cause in CAUSES},
    }
    title = "What the process did" if is_process else "What the GPU did"
    return [SplitBars(title, frame, named(frame, "step"), parts, in_order=True)]


ANALYSIS = Analysis(
    "Where did the time go?",
    TIME_BREAKDOWN,
    time_breakdown,
    notes=notes,
    shown=(
        "rank",
        "device_id",
        "step",
        "phase",
        "window_ns",
        "compute_frac",
        "idle_frac",
        "exposed_copy_frac",
        "exposed_communication_frac",
        *(f"idle_{cause}_ns" for cause in CAUSES),
        "collective_wait_ns",
    ),
    charts=_charts,
    parallel=Parallel.OF_TIME,
)
