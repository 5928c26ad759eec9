"""Find out how a program uses CUDA graphs, and if the shapes of its ops change."""

from enum import Enum

import polars as pl

from tracelens.derive.columns.lookup import rows_of
from tracelens.derive.time.thread_axis import LAUNCHES
from tracelens.trace import Trace

_CAPTURES = r"^(cuda|hip)Stream(Begin|End)Capture|^cuStream(Begin|End)Capture"
_LEAST_CAPTURED = 0.2
"""Captured launches, over kernels that ran. Above this ratio, these kernels are the warm-up."""
_COMPILED = r"^Torch-Compiled Region|^## Call CompiledFxGraph|^CompiledFunction$|^CompiledFxGraph$"


class GraphUse(Enum):
    """Ways in which a program may use device graphs."""

    NONE = "none"
    COMPILED = "compiled"
    """The program runs compiled code, which launches kernels one by one."""
    REPLAYED = "replayed"
    CAPTURED = "captured"
    """The program captures a graph and replays none, so launches run nothing on the device."""


def graph_use(trace: Trace) -> GraphUse:
    """Return how the program uses device graphs.

    Replay takes precedence over capture, and capture over compiled code.
    """
    return trace.derived(_graph_use)


def is_capture_alone(trace: Trace) -> bool:
    """Return whether all launches were captured into a graph, so that no kernel ran."""
    return not trace.has("kernels") and graph_use(trace) == GraphUse.CAPTURED


def is_capture(trace: Trace) -> bool:
    """Return whether the trace records only the capture of graphs and the warm-up before it.

    Such a trace has no replay and no marked step. A server's warm-up before each capture runs about
    as many kernels as the capture records.
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
        "api_calls",
        "rank",
        "api_call_id",
        where=pl.col("kind") == "kernel_launch",
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


def op_of_changing_sizes(trace: Trace) -> str | None:
    """Name the op whose input shapes change from step to step and which launches most.

    The shapes of an op change if even the most frequent ones occur in less than half of the steps.
    One odd first or last step does not count, as the others can share a graph. Only steps in which
    the op launches equally often are compared. The result is None without steps or shapes, and if
    no shapes change.
    """
    return trace.derived(_op_of_changing_sizes)


def _op_of_changing_sizes(trace: Trace) -> str | None:
    is_launch = pl.col("kind").is_in(LAUNCHES) & pl.col("step").is_not_null()
    calls = trace.select("api_calls", "rank", "step", "span_id", where=is_launch)
    spans = trace.uncached().select("spans", "rank", "span_id", "name", "input_shapes")
    rows = rows_of(
        spans["rank"],
        spans["span_id"],
        calls.select("rank", "span_id"),
    )
    of_span = spans.select(pl.col("name", "input_shapes").gather(rows))
    launches = calls.lazy().select("rank", "step").with_columns(of_span).drop_nulls("input_shapes")
    # The codes of equal strings are equal, so sizes are compared by code.
    code = pl.col("input_shapes").to_physical()
    by_op = launches.group_by("rank", "step", "name")
    sizes = by_op.agg(
        n=pl.len(),
        sizes=code.sort().cast(pl.String).str.join(";"),
    ).collect()
    changing = (
        sizes.group_by(["rank", "name", "n"])
        .agg(
            most_frequent=pl.col("sizes").unique_counts().max(),
            n_steps=pl.len(),
            launches=pl.col("n").sum(),
        )
        .filter(2 * pl.col("most_frequent") < pl.col("n_steps"))
        .sort("launches", "name", descending=[True, False])
    )
    return None if changing.is_empty() else str(changing["name"][0])
