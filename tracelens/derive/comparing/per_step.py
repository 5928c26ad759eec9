"""Compute the values of a run for each step, so that their variation is known."""

from collections.abc import Callable, Iterable, Sequence

import polars as pl

from tracelens.derive.events.call_tree import count_among, nearest_row
from tracelens.derive.events.span_trees import of_rank, span_trees
from tracelens.derive.layers.attribution import layer_step_times
from tracelens.derive.layers.layer_host import layer_host_times
from tracelens.derive.time.memory import allocator_events
from tracelens.derive.time.model import model_for_times
from tracelens.derive.time.program_phases import in_program, program
from tracelens.derive.time.self_time import attribute
from tracelens.derive.time.time_parts import SLOWED
from tracelens.schemas.host import CAUSES
from tracelens.schemas.results.time import PROGRAM
from tracelens.trace import Trace

CAUSE_PARTS = tuple(f"idle_{cause}" for cause in CAUSES)
PARTS = ("window", "compute", "exposed_communication", "exposed_copy", "idle", *CAUSE_PARTS)
"""Parts of a step's time.

`window` is the whole step. The names from CAUSE_PARTS are parts of `idle`, by cause.
"""


def of_runs(
    traces: Iterable[Trace],
    values: Callable[[Trace], pl.DataFrame],
) -> pl.DataFrame:
    """Return the values of several runs in one frame.

    The column `run` counts from 0.
    """
    frames = [
        values(trace).with_columns(run=pl.lit(number, pl.Int64))
        for number, trace in enumerate(traces)
    ]
    return pl.concat([frame for frame in frames if frame.height] or frames[:1])


def in_steps(trace: Trace) -> pl.DataFrame:
    """Return rank and number of each program step that launched kernels, one row per step.

    In a trace without kernels, these are all steps.
    """
    return trace.derived(_in_steps)


def _in_steps(trace: Trace) -> pl.DataFrame:
    if not trace.has("kernels"):
        steps = program(trace).drop_nulls("step")
        return steps.select("rank", "step").unique(maintain_order=True)
    kernels = trace.select("kernels", "rank", "step")
    # Neighbours are mostly of one step, and looking at them takes a tenth of the time of `unique`.
    is_other_step = pl.any_horizontal(pl.all().ne_missing(pl.all().shift()))
    marked = kernels.filter(is_other_step).drop_nulls().unique()
    return marked.filter(in_program(trace)) if marked.height else marked


def each_step(
    measured: pl.DataFrame,
    steps: pl.DataFrame,
    key: Sequence[str],
) -> pl.DataFrame:
    """Sum `value` and `n` for each key and step: one row per key and step.

    `measured` has the columns of `key`, step, value and n. The column rank is in `key`. The result
    has the same columns without step. If a key has no work in a step, the sums are 0. Work outside
    of steps is left out. On a rank without steps, the rows of `measured` are not summed.
    """
    return fill_steps(sum_steps(measured, steps, key), steps, key)


def sum_steps(
    measured: pl.DataFrame,
    steps: pl.DataFrame,
    key: Sequence[str],
) -> pl.DataFrame:
    """Sum as `each_step` does, without rows for steps that have no work: key, step, value, n."""
    has_steps = pl.col("rank").is_in(steps["rank"].unique().implode())
    inside = measured.lazy().filter(has_steps).drop_nulls("step")
    sums = inside.group_by(*key, "step").agg(pl.col("value", "n").sum()).collect()
    calls = measured.filter(~has_steps)
    return pl.concat([sums, calls.select(sums.columns)]) if calls.height else sums


def fill_steps(
    sums: pl.DataFrame,
    steps: pl.DataFrame,
    key: Sequence[str],
) -> pl.DataFrame:
    """Add zeros for steps without work to a result of `sum_steps`, and drop the column step."""
    columns = [*key, "value", "n"]
    has_steps = pl.col("rank").is_in(steps["rank"].unique().implode())
    calls = sums.filter(~has_steps).select(columns)
    inside = sums.filter(has_steps)
    # A key's steps come one after another, so a sum's row is known without joining all rows.
    ordered = steps.sort("step").with_columns(position=pl.int_range(pl.len()).over("rank"))
    n_steps = steps.group_by("rank").agg(n_steps=pl.len().cast(pl.Int64))
    keys = inside.select(key).unique(maintain_order=True)
    sized = keys.join(n_steps, on="rank", maintain_order="left").with_row_index("key_number")
    n_before = pl.col("n_steps").cum_sum() - pl.col("n_steps")
    first_rows = sized.select(*key, first=n_before)
    placed = inside.join(first_rows, on=key, nulls_equal=True).join(ordered, on=["rank", "step"])
    row = placed["first"] + placed["position"]
    key_numbers = sized.select(pl.col("key_number").repeat_by("n_steps").explode()).to_series()
    full = keys[key_numbers.drop_nulls()]
    full = full.with_columns(
        pl.repeat(0, full.height, dtype=sums[name].dtype, eager=True)
        .scatter(row, placed[name])
        .alias(name)
        for name in ("value", "n")
    )
    return pl.concat([full, calls]) if calls.height else full


def layer_values(trace: Trace) -> pl.DataFrame:
    """Return each layer's kernel time by phase, one row per step: rank, layer, phase, value.

    A rank without marked steps has one row for the whole trace.
    """
    return each_step(
        layer_work(trace),
        in_steps(trace),
        ("rank", "layer", "phase"),
    ).drop("n")


def layer_work(trace: Trace) -> pl.DataFrame:
    """Return each layer's kernel time by phase and step: rank, layer, phase, step, value, n (1)."""
    times = layer_step_times(trace)
    value = pl.col("duration_ns").cast(pl.Float64)
    return times.select(
        "rank",
        "layer",
        "phase",
        "step",
        value=value,
        n=pl.lit(1),
    )


def kernel_work(trace: Trace) -> pl.DataFrame:
    """Return every kernel: rank, name, step, value (its duration), n (1)."""
    kernels = trace.select("kernels", "rank", "name", "step", "duration_ns")
    value = pl.col("duration_ns").cast(pl.Float64)
    return kernels.select("rank", "name", "step", value=value, n=pl.lit(1))


def op_work(trace: Trace, *, on_device: bool) -> pl.DataFrame:
    """Return every call of an op: rank, name, step, value, n (1).

    `value` is the op's self time, or with `on_device` the time of the kernels that it launches
    itself.
    """
    columns = ["rank", "span_id", "kind", "name", "step"]
    needs_parents = on_device and not _launch_in_ops(trace)
    if needs_parents:  # reading the parents of millions of spans takes a quarter of the time
        columns.append("parent_id")
    if not on_device:
        columns.append("self_ns")
    spans = trace.select("spans", *columns)
    kernels = trace.select("kernels", "rank", "span_id", "duration_ns")
    frames = []
    for tree in span_trees(spans):
        is_op = tree["kind"] == "op"
        if on_device:
            rank_kernels = of_rank(kernels, tree)
            within = rank_kernels["span_id"]
            if needs_parents:
                within = nearest_row(tree["parent_id"], is_op, within)
            value = attribute(within, rank_kernels["duration_ns"], tree.height)
        else:
            value = tree["self_ns"]
        frames.append(
            tree.select(
                "rank",
                "name",
                "step",
                value=value.cast(pl.Float64),
                n=pl.lit(1),
            ).filter(is_op)
        )
    return pl.concat(frames) if frames else kernel_work(trace).clear()


def _launch_in_ops(trace: Trace) -> bool:
    """Return whether each kernel launch has an op as its innermost span.

    Launches outside of all spans do not count.
    """
    spans = trace.select("spans", "rank", "span_id", "kind")
    kernels = trace.select("kernels", "rank", "span_id")
    for tree in span_trees(spans):
        is_op = (tree["kind"] == "op").fill_null(value=False)
        launched_in = of_rank(kernels, tree)["span_id"].drop_nulls()
        if not is_op.gather(launched_in).all():
            return False
    return True


def layer_host_work(trace: Trace) -> pl.DataFrame:
    """Return the host time of each layer's ops: rank, layer, phase, step, value, n.

    `value` is the self time in ns, `n` the number of ops.
    """
    layers = layer_host_times(trace, by=("step",))
    if layers.is_empty():
        return layer_work(trace).clear()
    value = pl.col("op_self_ns").cast(pl.Float64)
    return layers.select("rank", "layer", "phase", "step", value=value, n="n_ops")


def kernels_below_ops(trace: Trace, ops: Sequence[str]) -> pl.DataFrame:
    """Return kernels that ops or their nested ops launch: rank, kernel, name, step, value, n.

    There is one row per kernel and distinct name of an op around it. `kernel` is the kernel's
    number on its rank, from 0. `value` is its duration in ns.
    """
    spans = trace.select("spans", "rank", "span_id", "parent_id", "kind", "name")
    kernels = trace.select("kernels", "rank", "span_id", "step", "duration_ns")
    parts = []
    for tree in span_trees(spans):
        launched = of_rank(kernels, tree).with_row_index("kernel")
        is_asked = (tree["kind"] == "op") & tree["name"].cast(pl.String).is_in(ops)
        asked_around = _spans_around(launched, tree, is_asked)
        if asked_around is not None:
            pairs = asked_around.unique(maintain_order=True)
            parts.append(pairs.join(launched, on="kernel"))
    if not parts:
        no_kernel = pl.lit(None, pl.Int64)
        return kernel_work(trace).clear().with_columns(kernel=no_kernel)
    kernel = pl.col("kernel").cast(pl.Int64)
    value = pl.col("duration_ns").cast(pl.Float64)
    return pl.concat(parts).select(
        "rank",
        kernel,
        "name",
        "step",
        value=value,
        n=pl.lit(1),
    )


def _spans_around(
    launched: pl.DataFrame,
    tree: pl.DataFrame,
    is_asked: pl.Series,
) -> pl.DataFrame | None:
    """Return the spans that `is_asked` marks around each kernel's launch: kernel, name.

    There is one row per kernel and span. Return None if no kernel was launched in a span.
    """
    around = launched.select("kernel", row="span_id").drop_nulls()
    levels = []
    while around.height:
        asked = around.filter(is_asked.gather(around["row"]))
        levels.append(asked.select("kernel", name=tree["name"].gather(asked["row"])))
        parents = tree["parent_id"].gather(around["row"])
        around = around.with_columns(row=parents).drop_nulls()
    return pl.concat(levels) if levels else None


def outermost_ops(trace: Trace, ops: Sequence[str]) -> pl.DataFrame:
    """Return the calls of `ops` that are nested in no other of these calls.

    Columns: rank, name, step, value (the call's duration on the host), n.
    """
    spans = trace.select(
        "spans", "rank", "span_id", "parent_id", "kind", "name", "step", "duration_ns"
    )
    parts = []
    for tree in span_trees(spans):
        is_asked = (tree["kind"] == "op") & tree["name"].cast(pl.String).is_in(ops)
        is_outermost = is_asked & (count_among(tree["parent_id"], is_asked) == 1)
        parts.append(tree.filter(is_outermost))
    value = pl.col("duration_ns").cast(pl.Float64)
    calls = pl.concat(parts) if parts else spans.clear()
    return calls.select("rank", "name", "step", value=value, n=pl.lit(1))


def time_values(trace: Trace) -> pl.DataFrame:
    """Return the parts of each step's time: rank, device (counted from 0), part, value.

    Values are floats in ns. They do not include time that the profiler is known to add.
    """
    windows = model_for_times(trace).with_added()
    added = {f"idle_{part}_ns": pl.col(f"added_{part}_ns") for part in SLOWED}
    added |= dict.fromkeys(("window_ns", "idle_ns"), pl.sum_horizontal(added.values()))
    return _by_part(windows.with_columns(pl.col(name) - ns for name, ns in added.items()))


def recorded_time_values(trace: Trace) -> pl.DataFrame:
    """Return the columns of `time_values`, with times as recorded under the profiler."""
    return _by_part(model_for_times(trace).device)


def _by_part(windows: pl.DataFrame) -> pl.DataFrame:
    in_program = pl.col("phase") == PROGRAM
    frame = windows.filter(in_program)
    number_of_device = pl.col("device_id").rank("dense").over("rank")
    device = (number_of_device - 1).cast(pl.Int64)
    parts = [pl.col(f"{part}_ns").cast(pl.Float64).alias(part) for part in PARTS]
    wide = frame.sort("step").select("rank", *parts, device=device)
    return wide.unpivot(
        index=["rank", "device"],
        variable_name="part",
        value_name="value",
    )


def memory_values(trace: Trace) -> pl.DataFrame:
    """Return the memory of each step in bytes: rank, device (None for the host), measure, value.

    A rank without marked steps has one value for the whole trace.
    """
    rows = allocator_events(trace).filter(in_program(trace))
    number_of_device = pl.col("device_id").rank("dense").over("rank")
    device = (number_of_device - 1).cast(pl.Int64)
    with_device = rows.with_columns(device=device)
    sums = with_device.group_by("rank", "device", "step", maintain_order=True)
    size_bytes = pl.col("size_bytes")
    wide = sums.agg(
        pl.col("allocated_bytes").max().alias("allocated_peak"),
        pl.col("reserved_bytes").max().alias("reserved_peak"),
        size_bytes.filter(size_bytes > 0).sum().alias("allocated_in_all"),
    )
    values = wide.drop("step").unpivot(
        index=["rank", "device"],
        variable_name="measure",
        value_name="value",
    )
    return values.drop_nulls("value").cast({"value": pl.Float64})
