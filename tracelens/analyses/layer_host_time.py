"""Sum the host time of each layer: the self time of its ops, forward and backward."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Bars, Chart, Parallel, Scope, named
from tracelens.derive.columns.ratios import over
from tracelens.derive.layers.layer_host import layer_host_times
from tracelens.errors import MissingTableError
from tracelens.schemas.results.work import LAYER_HOST_TIME
from tracelens.trace import Trace


def layer_host_time(trace: Trace) -> pl.DataFrame:
    """Attribute host time: one row per rank, layer, phase and evidence.

    An op belongs to the innermost module around it. In the backward pass, it belongs to the module
    of the forward op that made the autograd node. Ops outside of modules, or directly in a model's
    root, have no layer. Rows are sorted by rank, then by time, longest first. They sum to the ops'
    self time. Raises MissingTableError when the trace has no op.
    """
    trace.require("layer_host_time", "spans")
    times = layer_host_times(trace)
    if not times.height:
        raise MissingTableError(
            "layer_host_time needs op spans, and this trace has none; tracelens collect torch gives"
            " them"
        )
    total = pl.col("op_self_ns").sum().over("rank")
    times = times.with_columns(share_frac=over(pl.col("op_self_ns"), total, 0.0))
    order = ["rank", "op_self_ns", "layer", "phase", "evidence"]
    return LAYER_HOST_TIME.conform(
        times.sort(
            order,
            descending=[False, True, False, False, False],
        )
    )


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:
    """Give the share of host time that has a layer, and a way to attribute the rest."""
    sentences = []
    for (rank,), part in frame.group_by("rank", maintain_order=True):
        placed = part.filter(~pl.col("layer").str.starts_with("("))["share_frac"].sum()
        sentences.append(
            f"Rank {rank}: {placed:.1%} of the ops' self time on the host has a layer."
        )
    is_known = (~frame["layer"].str.starts_with("(")).any()
    if not is_known and not trace.has("layers"):
        sentences.append(
            "The trace has no module calls, so layers are unknown; profile with with_stack=True,"
            " with_modules=True, or run the program under tracelens collect torch."
        )
    if trace.has("kernels"):
        sentences.append(
            "With a GPU this is the time to launch the layers' work; layer_attribution has what the"
            " GPU takes."
        )
    return sentences


def _charts(frame: pl.DataFrame) -> list[Chart]:
    frame = frame.with_columns(pl.col("phase").fill_null("no phase"))
    return [
        Bars(
            "Self time of each layer's ops",
            frame,
            named(frame, "layer", "phase"),
            "op_self_ns",
            "phase",
        )
    ]


ANALYSIS = Analysis(
    "What does each layer cost on the host?",
    LAYER_HOST_TIME,
    layer_host_time,
    notes=notes,
    shown=("rank", "layer", "class_name", "phase", "op_self_ns", "share_frac", "n_ops", "evidence"),
    charts=_charts,
    scope=Scope.HOST,
    parallel=Parallel.BY_RANK,
)
