"""Split each device's time: computing, communicating, copying, or idle for a cause."""

import re

import polars as pl

from tracelens.analyses.analysis import Analysis, Chart, Parallel, SplitBars, named
from tracelens.derive.columns.ratios import over
from tracelens.derive.time.bounds import PART_WORDS, PROCESS_WORDS
from tracelens.derive.time.model import time_model
from tracelens.derive.time.phase_sentences import phase_sentences
from tracelens.derive.time.process_facts import process_sentences
from tracelens.derive.time.step_sentences import step_sentences
from tracelens.derive.time.step_table import require_time
from tracelens.derive.time.time_parts import SLOWED, TimeModel
from tracelens.schemas.host import CAUSES
from tracelens.schemas.results.time import PROGRAM, TIME_BREAKDOWN
from tracelens.trace import Trace

_SHARES = ("compute", "exposed_communication", "exposed_copy", "idle")


def time_breakdown(trace: Trace) -> pl.DataFrame:
    """Break each device's time down by step, and by phase: start-up, the program, tear-down.

    Compute, exposed communication, exposed copies and the causes of idle time add up to each row's
    window. Overlapping work counts once. Exposed time is time that no other work hides. Compute and
    idle are defined as in HTA's temporal breakdown. Raises MissingTableError without kernels and
    ops.
    """
    require_time(trace, "time_breakdown")
    return _with_shares(time_model(trace))


def _with_shares(model: TimeModel) -> pl.DataFrame:
    """Return the model's windows with all columns of TIME_BREAKDOWN.

    Shares are of the time without the profiler's work.
    """
    added_ns = pl.sum_horizontal(f"added_{part}_ns" for part in SLOWED)
    windows = model.with_added().with_columns(profiler_ns=added_ns)
    profiler_ns = pl.col("profiler_ns")
    unprofiled = pl.col("window_ns") - profiler_ns
    measures = {name: pl.col(f"{name}_ns") for name in _SHARES}
    measures["idle"] -= profiler_ns
    shares = {f"{name}_frac": over(ns, unprofiled) for name, ns in measures.items()}
    return TIME_BREAKDOWN.conform(windows.with_columns(**shares))


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:  # noqa: ARG001 - every notes function takes both
    """Describe the length of the steps, the phases of the run, and the processes."""
    model = time_model(trace)
    return (
        step_sentences(model) + phase_sentences(model) + process_sentences(trace, model.processes)
    )


def _charts(frame: pl.DataFrame) -> list[Chart]:
    frame = frame.filter(pl.col("phase") == PROGRAM)
    is_process = frame["device_id"].null_count() == frame.height
    parts = {
        "compute_ns": "compute",
        "exposed_communication_ns": "exposed communication",
        "exposed_copy_ns": "exposed copy",
        **{f"idle_{cause}_ns": f"idle: {PART_WORDS[cause]}" for cause in CAUSES},
    }
    if is_process:  # with the words of the answer for a process
        parts = {
            column: PROCESS_WORDS[re.sub(r"^(?:exposed|idle)_|_ns$", "", column)]
            for column in parts
        }
    title = "What the process did" if is_process else "What the GPU did"
    return [
        SplitBars(
            title,
            frame,
            named(frame, "step"),
            parts,
            in_order=True,
        )
    ]


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
