"""Whether a program replays device graphs, captures them, or is compiled without them."""

from enum import Enum

import polars as pl

from tracelens.trace import Trace

_CAPTURES = r"^(cuda|hip)Stream(Begin|End)Capture|^cuStream(Begin|End)Capture"
_COMPILED = r"^Torch-Compiled Region|^## Call CompiledFxGraph|^CompiledFunction$|^CompiledFxGraph$"


class GraphUse(Enum):
    """What a program does with device graphs."""

    NONE = "none"
    COMPILED = "compiled"
    """The program runs compiled code, which launches kernels one by one."""
    REPLAYED = "replayed"
    CAPTURED = "captured"
    """The program captures a graph and replays none, so launches run nothing on the device."""


def graph_use(trace: Trace) -> GraphUse:
    """Say how the program uses device graphs: replayed, else captured, else torch.compile's."""
    return trace.derived(_graph_use)


def is_capture_alone(trace: Trace) -> bool:
    """Return whether nothing ran, as all launches were captured into a graph."""
    return not trace.has("kernels") and graph_use(trace) == GraphUse.CAPTURED


def count_captured(trace: Trace) -> dict[int, int]:
    """Return by rank how many kernels were launched, of a trace that is a capture alone."""
    calls = trace.select("api_calls", "rank", where=pl.col("kind") == "kernel_launch")
    counts = dict(calls.group_by("rank").len().iter_rows())
    return {rank: counts.get(rank, 0) for rank in trace.manifest.ranks}


def _graph_use(trace: Trace) -> GraphUse:
    calls = trace.select("api_calls", "kind", "api").unique()
    if (calls["kind"] == "graph_launch").any():
        return GraphUse.REPLAYED
    if calls["api"].cast(pl.String).str.contains(_CAPTURES).any():
        return GraphUse.CAPTURED
    names = trace.select("spans", "name")["name"].unique().cast(pl.String)
    return GraphUse.COMPILED if names.str.contains(_COMPILED).any() else GraphUse.NONE
