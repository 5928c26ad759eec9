"""Tell whether a program replays device graphs, captures them, or is compiled without them."""

from enum import Enum

import polars as pl

from tracelens.trace import Trace

_CAPTURES = r"^(cuda|hip)Stream(Begin|End)Capture|^cuStream(Begin|End)Capture"
_LEAST_CAPTURED = 0.2
"""Least ratio of captured launches to kernels that ran for these to be the capture's warm-up."""
_COMPILED = r"^Torch-Compiled Region|^## Call CompiledFxGraph|^CompiledFunction$|^CompiledFxGraph$"


class GraphUse(Enum):
    """Ways in which a program uses device graphs."""

    NONE = "none"
    COMPILED = "compiled"
    """The program runs compiled code, which launches kernels one by one."""
    REPLAYED = "replayed"
    CAPTURED = "captured"
    """The program captures a graph and replays none, so launches run nothing on the device."""


def graph_use(trace: Trace) -> GraphUse:
    """Return how the program uses device graphs.

    Replay counts before capture, and capture before code from torch.compile.
    """
    return trace.derived(_graph_use)


def is_capture_alone(trace: Trace) -> bool:
    """Return whether nothing ran because all launches were captured into a graph."""
    return not trace.has("kernels") and graph_use(trace) == GraphUse.CAPTURED


def is_capture(trace: Trace) -> bool:
    """Return whether the trace records the capture of graphs, and besides that only a warm-up.

    No replay is recorded and no step is marked. A server's warm-up before each capture runs about
    as many kernels as it captures.
    """
    if is_capture_alone(trace):
        return True
    if graph_use(trace) != GraphUse.CAPTURED or trace.has("steps"):
        return False
    n_captured = sum(count_captured(trace).values())
    return n_captured > _LEAST_CAPTURED * trace.height("kernels")


def count_captured(trace: Trace) -> dict[int, int]:
    """Return, by rank, how many kernels were launched into a graph and never ran."""
    calls = trace.select(
        "api_calls", "rank", "api_call_id", where=pl.col("kind") == "kernel_launch"
    )
    ran = trace.select("kernels", "rank", "api_call_id").unique()
    calls = calls.join(ran, on=["rank", "api_call_id"], how="anti")
    counts = dict(calls.group_by("rank").len().iter_rows())
    return {rank: counts.get(rank, 0) for rank in trace.manifest.ranks}


def _graph_use(trace: Trace) -> GraphUse:
    calls = trace.select("api_calls", "kind", "api").unique()
    if (calls["kind"] == "graph_launch").any():
        return GraphUse.REPLAYED
    apis = calls["api"].cast(pl.String)
    if apis.str.contains(_CAPTURES).any():
        return GraphUse.CAPTURED
    distinct_names = trace.select("spans", "name")["name"].unique()
    names = distinct_names.cast(pl.String)
    return GraphUse.COMPILED if names.str.contains(_COMPILED).any() else GraphUse.NONE
