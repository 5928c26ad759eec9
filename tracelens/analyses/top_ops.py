"""List the ops that take the most time of host and device."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Chart, Parallel, SplitBars, named
from tracelens.derive.time.op_times import op_times
from tracelens.errors import MissingTableError
from tracelens.schemas.results.calls import TOP_OPS
from tracelens.trace import Trace


def top_ops(trace: Trace) -> pl.DataFrame:
    """Return one row per op name and rank.

    Rows are sorted by rank, then by device time and host time, longest first. CPU self, CUDA self
    and CUDA total are torch.profiler's measures. But time of an op inside an op of the same name is
    in CUDA total once, not twice. Raises MissingTableError if the trace has no op.
    """
    trace.require("top_ops", "spans")
    times = op_times(trace)
    if not times:
        raise MissingTableError(
            "top_ops needs op spans, and this trace has none; tracelens collect torch gives them"
        )
    ordered = pl.concat(times, how="diagonal").sort(
        "rank",
        "cuda_total_ns",
        "cpu_self_ns",
        "name",
        descending=[False, True, True, False],
    )
    return TOP_OPS.conform(ordered)


def _charts(frame: pl.DataFrame) -> list[Chart]:
    parts = {"cuda_self_ns": "GPU work it launched itself", "cpu_self_ns": "CPU time in itself"}
    return [
        SplitBars(
            "Self time by op",
            frame,
            named(frame, "name"),
            parts,
            stacked=False,
        )
    ]


ANALYSIS = Analysis(
    "Which ops take the host's and the device's time?",
    TOP_OPS,
    top_ops,
    shown=(
        "rank",
        "name",
        "n_calls",
        "cuda_total_ns",
        "cuda_self_ns",
        "cpu_self_ns",
        "duration_total_ns",
    ),
    charts=_charts,
    parallel=Parallel.BY_RANK,
)
