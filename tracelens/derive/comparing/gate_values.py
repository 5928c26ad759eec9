"""Compute the value per step that a gate judges, and the names that its pattern matches."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

import polars as pl

from tracelens.derive.comparing.expressions import BYTES, COUNT, DIRECTIONS, Expression
from tracelens.derive.comparing.per_step import (
    PARTS,
    each_step,
    in_steps,
    kernel_work,
    kernels_below_ops,
    layer_host_work,
    layer_work,
    memory_values,
    op_work,
    outermost_ops,
    recorded_time_values,
)
from tracelens.trace import Trace

MEMORY = {"memory_peak": "allocated_peak", "memory_reserved": "reserved_peak"}
"""Metrics of memory, each with its measure in `memory_values`."""
NEEDS_DEVICE = (
    "gpu_time",
    "kernels",
    "exposed_communication",
    "exposed_copy",
    *(f"{direction}_{what}" for direction in DIRECTIONS for what in ("bytes", "time")),
)
"""Metrics that do not exist for a run without a GPU."""
_STEP_PARTS = {"step_time": "window"}
_TABLES = {
    "layer": ("layers", "module_path"),
    "kernel": ("kernels", "name"),
    "op": ("spans", "name"),
}
_VALUES = pl.Schema({"rank": pl.Int32, "what": pl.String, "value": pl.Float64})


def names_of(kind: str, traces: Iterable[Trace]) -> list[str]:
    """Return the names of all layers, kernels or ops in the traces, sorted."""
    table, column = _TABLES[kind]
    where = pl.col("kind") == "op" if kind == "op" else None
    names: set[str] = set()
    for trace in traces:
        texts_of_rows = trace.select(table, column, where=where)[column]
        texts = texts_of_rows.unique().drop_nulls()
        names |= set(texts.cast(pl.String))
        if kind == "layer":
            names |= set(_layers(trace)["layer"])
    return sorted(names)


def matching_names(expression: Expression, names: Iterable[str]) -> list[str]:
    """Return the names that the pattern of an expression matches."""
    return [name for name in names if fnmatchcase(name, expression.name)]


def launching_ops(traces: Iterable[Trace]) -> set[str]:
    """Return the names of ops that launch a kernel, themselves or in an op that they call."""
    names: set[str] = set()
    for trace in traces:
        if trace.has("kernels"):
            below = trace.derived(_launches_by_op)
            names |= set(below["name"].unique().cast(pl.String))
    return names


def asked_values(trace: Trace, expression: Expression, names: Sequence[str]) -> pl.DataFrame:
    """Return the values that a gate judges, one row per value: rank, what, value.

    Each step has one value per rank and `what`. `names` are the layers, kernels or ops of all runs.
    `what` depends on the gate:

    - on a layer: the layer and its phase
    - on memory or a part of the step: the device
    - with `expression.each`: the name of the kernel or op
    - otherwise: None
    """
    return _values(trace, expression, names).select(list(_VALUES)).cast(_VALUES)


def _values(trace: Trace, expression: Expression, names: Sequence[str]) -> pl.DataFrame:
    part = _STEP_PARTS.get(expression.name, expression.name)
    if expression.name in MEMORY:
        measured = memory_values(trace) if trace.has("allocations") else _no_memory()
        return _by_device(measured.filter(measure=MEMORY[expression.name]))
    if expression.kind == "metric" and part in PARTS:
        return _by_device(recorded_time_values(trace).filter(part=part))
    matches = [name for name in matching_names(expression, names) if not name.startswith("(")]
    if expression.kind == "layer":
        return _of_layers(trace, matches)
    work = _work(trace, expression, matches)
    if expression.each:
        return _of_names(trace, expression, work, matches)
    return _counted(expression, _summed(trace, work)).with_columns(what=pl.lit(None, pl.String))


def _of_layers(trace: Trace, layers: Sequence[str]) -> pl.DataFrame:
    """Return the time of each layer and phase, one row per rank, step and `what`."""
    work = _layers(trace).filter(pl.col("layer").is_in(layers))
    what = pl.concat_str("layer", "phase", separator=" ", ignore_nulls=True)
    return each_step(
        work.with_columns(what=what),
        in_steps(trace),
        ["rank", "what"],
    )


def _of_names(
    trace: Trace,
    expression: Expression,
    work: pl.DataFrame,
    names: Sequence[str],
) -> pl.DataFrame:
    """Return the gated value of kernels or ops: one row per rank, step and name (`what`)."""
    named = work.with_columns(what=pl.col("name").cast(pl.String))
    recorded = each_step(named, in_steps(trace), ["rank", "what"])
    if expression.form == "share":  # without a base value there is no share
        return _counted(expression, recorded)
    absent = _zeros(trace, named, names)
    return _counted(
        expression,
        pl.concat([recorded, absent], how="diagonal_relaxed"),
    )


def _zeros(trace: Trace, work: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return the value 0 for each name without work in the trace, one row per rank and step."""
    without_work = sorted({*names} - {*work["what"]})
    absent = pl.DataFrame(
        {"what": without_work},
        schema={"what": pl.String},
    )
    return _summed(trace, work.clear()).join(absent, how="cross")


def _counted(expression: Expression, sums: pl.DataFrame) -> pl.DataFrame:
    return sums.with_columns(value=pl.col("n" if expression.counted_in == COUNT else "value"))


def _by_device(values: pl.DataFrame) -> pl.DataFrame:
    return values.with_columns(what=pl.format("device {}", "device"))


def _no_memory() -> pl.DataFrame:
    schema = {"rank": pl.Int32, "device": pl.Int64, "measure": pl.String, "value": pl.Float64}
    return pl.DataFrame(schema=schema)


def _layers(trace: Trace) -> pl.DataFrame:
    """Return the GPU time of layers, or their host time if no kernel was recorded."""
    return trace.derived(layer_work if trace.has("kernels") else layer_host_work)


def _launches_by_op(trace: Trace) -> pl.DataFrame:
    is_op = pl.col("kind") == "op"
    ops = trace.select("spans", "name", where=is_op)["name"].unique()
    return kernels_below_ops(trace, ops.cast(pl.String).to_list())


def _work(trace: Trace, expression: Expression, names: Sequence[str]) -> pl.DataFrame:
    """Return the kernels, ops or copies that the expression names: rank, name, step, value, n."""
    if expression.kind == "metric":
        is_of_kernels = expression.name in ("gpu_time", "kernels")
        return kernel_work(trace) if is_of_kernels else _copies(trace, expression)
    is_named = pl.col("name").is_in(names)
    if expression.kind != "op":
        return kernel_work(trace).filter(is_named)
    if expression.counted_in == COUNT:
        return op_work(trace, on_device=False).filter(is_named)
    # An op's duration is the time of kernels launched in it, or without kernels its time on the
    # host.
    if not trace.has("kernels"):
        return _host_times(trace, expression, names)
    below = kernels_below_ops(trace, names)
    return below if expression.each else below.unique(["rank", "kernel"], maintain_order=True)


def _copies(trace: Trace, expression: Expression) -> pl.DataFrame:
    """Return the copies in the metric's direction: rank, step, name, value (bytes or ns), n."""
    direction, _, _ = expression.name.partition("_")
    column = "size_bytes" if expression.counted_in == BYTES else "duration_ns"
    copies = trace.select("memcpys", "rank", "step", "direction", column)
    copies = copies.filter(pl.col("direction") == direction)
    name = pl.col("direction").cast(pl.String)
    value = pl.col(column).cast(pl.Float64)
    return copies.select(
        "rank",
        "step",
        name=name,
        value=value,
        n=pl.lit(1),
    )


def _host_times(trace: Trace, expression: Expression, names: Sequence[str]) -> pl.DataFrame:
    """Return the host time of the named ops' outermost calls: rank, name, step, value, n.

    A call is left out if it lies in a call of any of these ops. With `expression.each`, a call is
    left out only if it lies in a call of the same name.
    """
    if expression.each and names:
        return pl.concat(outermost_ops(trace, [name]) for name in names)
    return outermost_ops(trace, names)


def _summed(trace: Trace, work: pl.DataFrame) -> pl.DataFrame:
    """Sum value and n by rank and step, 0 for a step without work.

    A rank without marked steps has one row for all its work, with the step None.
    """
    steps = in_steps(trace)
    unmarked = [rank for rank in trace.manifest.ranks if rank not in set(steps["rank"])]
    no_step = pl.DataFrame(
        {"rank": unmarked, "step": [None] * len(unmarked)},
        schema=steps.schema,
    )
    work = work.select("rank", "step", "value", "n")
    known = work.join(steps, on=["rank", "step"], how="semi") if steps.height else work.clear()
    is_unmarked = pl.col("rank").is_in(unmarked)
    no_step_number = pl.lit(None, pl.Int64)
    whole = work.filter(is_unmarked).with_columns(step=no_step_number)
    totals = pl.col("value", "n").sum()
    both = pl.concat([known, whole])
    sums = both.group_by("rank", "step").agg(totals)
    every = pl.concat([steps, no_step])
    joined = every.join(
        sums,
        on=["rank", "step"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    return joined.with_columns(pl.col("value", "n").fill_null(0))
