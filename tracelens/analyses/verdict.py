"""What limits the program, and the number that says so."""

from __future__ import annotations

from typing import Any

import polars as pl

from tracelens.derive.breakdown import break_down
from tracelens.schemas.results.time import VERDICT
from tracelens.trace import Trace

_BUSY = 0.8
"""A device that computes for this share of the time has little else to win."""
_LITTLE = 0.1
"""Nor has one where nothing else takes this share."""

_LIMITS = {
    "launch": ("starved_ns", "the device waits for the host to launch work"),
    "copy": ("exposed_copy_ns", "the device only copies"),
    "communication": ("exposed_communication_ns", "the device only communicates"),
    "unknown": ("other_idle_ns", "the device is idle though its next work was launched already"),
}


def verdict(trace: Trace) -> pl.DataFrame:
    """A row a rank: launch-, copy-, communication- or compute-bound.

    Shares are of the time between each step's first and last GPU event (of the whole trace where no step is marked).
    A device that computes at least 80 % of it, or where nothing else takes 10 %, is compute-bound; else the largest
    share of the rest names the limit, `unknown` where that is idle time no launch explains. Raises MissingTableError
    without kernels.
    """
    trace.require("verdict", "kernels")
    sums = (
        break_down(trace, in_steps=True)
        .group_by("rank")
        .agg(
            pl.col(
                "window_ns", "compute_ns", "starved_ns", "exposed_copy_ns", "exposed_communication_ns", "idle_ns"
            ).sum()
        )
        .with_columns(other_idle_ns=pl.col("idle_ns") - pl.col("starved_ns"))
    )
    return VERDICT.conform(pl.DataFrame([_judged(row) for row in sums.sort("rank").iter_rows(named=True)]))


def _judged(row: dict[str, Any]) -> dict[str, Any]:
    """The verdict on one rank's sums."""
    window = max(row["window_ns"], 1)
    computing = row["compute_ns"] / window
    bound = max(_LIMITS, key=lambda name: row[_LIMITS[name][0]])
    if computing >= _BUSY or row[_LIMITS[bound][0]] < _LITTLE * window:
        return {
            "rank": row["rank"], "bound": "compute", "value": computing, "unit": "1",
            "evidence": f"the device computes {computing:.1%} of the time",
        }  # fmt: skip
    column, words = _LIMITS[bound]
    share = row[column] / window
    return {
        "rank": row["rank"], "bound": bound, "value": share, "unit": "1",
        "evidence": f"{words} {share:.1%} of the time; it computes {computing:.1%}",
    }  # fmt: skip


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:
    """What to look at next, and what makes the verdict doubtful."""
    advice = {
        "launch": "Launch-bound: look at dispatch_depth and launch_delay; CUDA graphs, torch.compile, larger batches.",
        "copy": "Copy-bound: look at copy_cost.",
        "communication": "Communication-bound: look at time_breakdown, rank by rank.",
        "compute": "Compute-bound: look at layer_attribution, kernel_grids and top_kernels.",
        "unknown": "Idle without a cause the trace shows: look at launch_delay and the synchronizations table.",
    }
    found = [advice[bound] for bound in frame["bound"].unique(maintain_order=True)]
    if any((part["kind"] == "python").any() for part in trace.groups("spans", "kind")):
        found.append(
            "The profiler recorded Python calls, which slows the host by several times: a run without with_stack may "
            "not be launch-bound at all."
        )
    if not trace.manifest.complete:
        found.append("The trace is cut off; this judges the part that is there.")
    return found
