"""Results of analyses that replay a step."""

import polars as pl

from tracelens.schemas.common import RANK
from tracelens.schemas.host import CAUSES
from tracelens.storage.table import Column, Table

STRETCHES = {
    "op": "the host, in an op",
    "python": "the host, outside of ops",
    "api_call": "the host, in a call into the driver",
    "launch": "from a launch to the start of its work on a device that had nothing else to do",
    "kernel": "a kernel",
    "memcpy": "a copy",
    "memset": "a fill of memory",
    "collective": "a kernel that communicates",
    "queue": "the gap between work and the next work on its stream",
    "dependency": "the gap after work of another stream for which it waited",
    "wait": "the return of a call that waits for the device",
    "earlier": "what ran before the replayed steps",
}
"""Kinds of time of a step, with their descriptions."""
STRETCH_WORDS = {
    "python": "Python",
    "api_call": "API call",
    "memcpy": "copy",
    "memset": "fill of memory",
    "queue": "gap between work",
    "dependency": "stream wait",
    "wait": "wait for the device",
    "earlier": "earlier work",
}
"""Words to show for kinds of time. Other kinds are shown by their names."""
EVIDENCE = ("measured", "calibrated", "table", "unknown")
_ERROR = Column(
    "replay_error_frac",
    pl.Float64,
    "Difference of the replayed step from the recorded one, as a share of the latter; above"
    " 0.1 nothing is predicted.",
)

UNPROFILED_STEP = Table(
    "unprofiled_step",
    "A rank's step, as recorded and without the time that the profiler adds.",
    (
        RANK,
        Column(
            "recorded_ns",
            pl.Int64,
            "Median duration of its steps, as recorded; the mean if that differs by over a"
            " quarter, or if long steps come at equal distances.",
        ),
        Column(
            "unprofiled_ns",
            pl.Int64,
            "Duration of a step without the profiler; null if it is not known.",
            nullable=True,
        ),
        Column("low_ns", pl.Int64, "The least that it may be.", nullable=True),
        Column("high_ns", pl.Int64, "The most that it may be.", nullable=True),
        _ERROR,
        Column(
            "evidence",
            pl.String,
            "measured: the capture timed steps without the profiler; calibrated: replayed"
            " with costs that were measured on the machine; table: replayed with costs that"
            " were measured on another machine; unknown: this profiler's costs are not known,"
            " or the replay missed the recorded step.",
            values=EVIDENCE,
        ),
    ),
)
CRITICAL_PATH = Table(
    "critical_path",
    "An interval of a rank's median step on the step's critical path. In order of time, the"
    " intervals add up to the step.",
    (
        RANK,
        Column("step", pl.Int64, "The step; null if none is marked.", nullable=True),
        Column("position", pl.Int64, "Place on the path, from 0."),
        Column(
            "kind",
            pl.String,
            "What took the time: "
            + "; ".join(f"{k}: {what}" for k, what in STRETCHES.items())
            + ".",
            values=tuple(STRETCHES),
        ),
        Column(
            "what",
            pl.String,
            "Kernel, kind of copy, API call, op, or the place in the host's program.",
            nullable=True,
        ),
        Column("op", pl.String, "Outermost op around it, or around its launch.", nullable=True),
        Column("module_path", pl.String, "Module of that op.", nullable=True),
        Column(
            "cause",
            pl.String,
            "What the host did in that time, as in activities; null on a device.",
            nullable=True,
            values=CAUSES,
        ),
        Column("start_ns", pl.Int64, "When it began in the replay."),
        Column("duration_ns", pl.Int64, "How much of the step it takes."),
        Column(
            "is_inferred",
            pl.Boolean,
            "Whether the wait before it was inferred from times, because the source recorded"
            " no waits.",
        ),
    ),
)
SENSITIVITY = Table(
    "sensitivity",
    "An op, a layer or a cause, and how much shorter a step would be if this took a tenth less"
    " time.",
    (
        RANK,
        Column(
            "kind",
            pl.String,
            "What it is.",
            values=("op", "layer", "cause"),
        ),
        Column(
            "what",
            pl.String,
            "Outermost op; module path, up to three parts; or cause: what the host did, as in"
            " activities, or kernels, copies and collectives; without a device ops, not launch.",
        ),
        Column(
            "total_ns", pl.Int64, "Its time in a step, on host and device, without the profiler."
        ),
        Column(
            "saved_ns",
            pl.Int64,
            "How much shorter a step would be; 0 if the step waits for something else.",
        ),
    ),
)
