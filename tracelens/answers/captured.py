"""Name ops and layers in the answer to replayed CUDA graphs, from a trace of their capture."""

import polars as pl
from msgspec.structs import replace

from tracelens.answers.answer import LEAST_SHARE, Answer
from tracelens.derive.layers.attribution import attribute_kernels
from tracelens.derive.layers.kernel_origins import kernel_origins
from tracelens.trace import Trace

_MOST_NAMES = 3
_SECTIONS = {"layers": "layer_attribution", "ops": "roofline"}
"""The report's section with all layers, and the one with all ops."""


def with_capture(answer: Answer, trace: Trace, capture: Trace) -> Answer:
    """Return the answer to a trace, with ops and layers from the capture of its CUDA graphs."""
    durations = trace.select("kernels", "rank", "kernel_id", "duration_ns")
    ops = kernel_origins(trace, capture).join(durations, on=["rank", "kernel_id"])
    layers = attribute_kernels(trace, base=capture)
    shares = {
        "layers": _largest(layers.select(name="class_name", ns="duration_total_ns")),
        "ops": _largest(ops.select(name="op", ns="duration_ns")),
    }
    named = [what for what in shares if shares[what]]
    origin = f"{' and '.join(named)} are from there" if named else "it names no ops or layers"
    return replace(
        answer,
        details=(*answer.details, *(f"{what}: {shares[what]}" for what in named)),
        doubts=(
            f"{capture.name}: the capture of these CUDA graphs, not a run to compare with; {origin}",
            *answer.doubts,
        ),
        sections=(*(_SECTIONS[what] for what in named), *answer.sections),
    )


def _largest(times: pl.DataFrame) -> str:
    """List the names with the largest shares of time; empty if no row has a name."""
    sums = times.group_by("name").agg(pl.col("ns").sum())
    shares = sums.select(
        "name",
        share=pl.col("ns") / pl.col("ns").sum(),
    ).drop_nulls("name")
    largest = shares.filter(pl.col("share") >= LEAST_SHARE).sort("share", "name", descending=True)
    rows = largest.head(_MOST_NAMES).iter_rows()
    return ", ".join(f"{name} {share * 100:.0f} %" for name, share in rows)
