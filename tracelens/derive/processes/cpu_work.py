"""Classify a process's ops as arithmetic, memory copies, communication, or calls of other ops."""

from __future__ import annotations

import polars as pl

from tracelens.derive.columns.per_unique import each_pair_once, matching
from tracelens.derive.columns.split_intervals import overlay
from tracelens.derive.events.autograd_nodes import PYTHON_NODE
from tracelens.derive.kernels.recorded_dtypes import element_type, listed
from tracelens.derive.processes.communication import COMMUNICATION, communication_spans

ARITHMETIC, COPY, COMMUNICATES, CALLS = range(4)
"""Kinds of work.

An op of kind CALLS only calls other ops.
"""
_BY_PRIORITY = (ARITHMETIC, COPY, COMMUNICATES, CALLS)
"""Kinds of work in order of precedence: if threads do several at a time, the first counts."""
COLUMNS = ("kind", "name", "parent_id", "process_id", "thread_id", "start_ns", "duration_ns")
SHAPES = ("input_shapes", "input_dtypes")
LOOKUPS = "embedding|index|index_select|gather|take|take_along_dim|masked_select"
"""Pattern for names, without `aten::`, of ops that copy the elements at given indices."""
_COPIES = (
    r"^aten::(?:_?copy_?|clone|contiguous|_to_copy|to|cat|_cat|stack|repeat|fill_|zero_|flip|roll"
    rf"|constant_pad_nd|{LOOKUPS})$"
)
"""Pattern for ops that move or set elements and compute nothing."""
WORKLESS_OPS = (
    "as_strided|select|slice|narrow|view|_unsafe_view|_reshape_alias|expand|expand_as"
    "|unbind|split|chunk|t|transpose|permute|squeeze|unsqueeze|flatten|unflatten|detach_?|alias"
    "|empty|empty_like|empty_strided|item|_local_scalar_dense|is_nonzero|resolve_conj|resolve_neg"
    "|result_type|lift_fresh|set_|resize_"
)
"""Pattern for names, without `aten::`, of ops that read at most one element of a tensor."""
_NO_WORK = rf"^(?:aten::)?(?:{WORKLESS_OPS})$"
_SMALL_BYTES = 16 << 10
"""An op whose inputs have at most this many bytes is work only if it takes long."""
_USUAL_WIDTH = 4
"""Bytes assumed for an element whose type was not recorded."""
SETS = "zeros|zeros_like|zero_?|new_zeros|ones|ones_like|new_ones|full|full_like|new_full|fill_?"
"""Pattern for names, without `aten::`, of ops that only set elements."""
_ADDS_PRODUCT = r"^aten::(?:addmm|addmv|baddbmm|addbmm)$"
"""Pattern for operators that first copy the summand, such as a bias, into the result."""
READS = "aten::item"
"""The op that reads a single value of a tensor, as `.item()` and `float()` do."""
OPTIMIZER_STEP = r"^Optimizer\.step#"
_LEAST_NS = 10_000
"""An operator whose input shapes are unknown is work if its median self time is at least this.

A call that computes nothing takes less.
"""
_LONG_NS = 50_000
"""An op with small inputs is work if the median self time of its calls is at least this.

This limit also holds for an op without shapes whose name does not fit _OPERATOR.
"""
_OPERATOR = r"^\w+::\w+$"
"""Pattern for an operator of a library, such as aten::add.

Names such as `autograd::engine::evaluate_function: …` do not match.
"""


def process_work(spans: pl.DataFrame, process_id: int | None) -> pl.DataFrame:
    """Return the work of a process's threads as disjoint intervals, sorted by start.

    - `start_ns`, `end_ns`
    - `work`: the kind of work
    - `op`: name of the op that does the work, None in communication
    - `call`: name of the op or optimizer step that the program called, None in communication

    `spans` are of one rank, with COLUMNS and SHAPES; parent_id is the parent's row number.
    """
    wanted_process = pl.Series([process_id], dtype=pl.Int64)
    is_own = spans["process_id"].eq_missing(wanted_process)
    ops = _ops(spans, is_own)
    pieces = _innermost(ops)
    kinds = _kinds_and_workers(spans, ops, pieces)
    # Spans of a thread may overlap without nesting. Time that no self-time interval covers counts
    # for the op whose span covers it.
    times_of_ops = ops.select("start_ns", "end_ns", "op")
    whole = times_of_ops.join(kinds, on="op", maintain_order="left")
    work = pieces.join(kinds, on="op", maintain_order="left")
    communication = _communication(spans.filter(is_own))
    by_kind = {kind: work.filter(work=kind) for kind in _BY_PRIORITY}
    by_kind[COMMUNICATES] = communication
    # If threads do several kinds of work at a time, the first of _BY_PRIORITY counts.
    layers = [layer.select(communication.columns) for layer in (*by_kind.values(), whole)]
    intervals = overlay([_disjoint(layer) for layer in layers])
    names = spans["name"].cast(pl.Categorical)
    return intervals.select(
        "start_ns",
        "end_ns",
        "work",
        op=names.gather(intervals["worker"]),
        call=names.gather(intervals["call"]),
    )


def _kinds_and_workers(
    spans: pl.DataFrame,
    ops: pl.DataFrame,
    pieces: pl.DataFrame,
) -> pl.DataFrame:
    """Return one row per op: op, call, work (its kind), worker (the op that the work is part of).

    `pieces` are the ops' self-time intervals.
    """
    length_ns = pl.col("end_ns") - pl.col("start_ns")
    by_op = pieces.group_by("op")
    self_times = by_op.agg(own_ns=length_ns.sum())
    with_own_time = ops.join(
        self_times,
        on="op",
        how="left",
        maintain_order="left",
    )
    kinds = _kinds_of_work(spans, with_own_time)
    with_kind = with_own_time.with_columns(kinds.alias("work"))
    with_worker = _with_copies_of_arithmetic(spans, with_kind)
    return with_worker.select("op", "call", "work", "worker")


def _communication(spans: pl.DataFrame) -> pl.DataFrame:
    """Return the spans in which the process communicates, as intervals of work without an op."""
    end_ns = pl.col("start_ns") + pl.col("duration_ns")
    no_op = pl.lit(None, pl.Int64)
    return communication_spans(spans).select(
        "start_ns",
        end_ns=end_ns,
        op=no_op,
        call=no_op,
        work=pl.lit(COMMUNICATES, pl.Int32),
        worker=no_op,
    )


def _ops(spans: pl.DataFrame, is_own: pl.Series) -> pl.DataFrame:
    """Return the ops of a process: thread_id, start_ns, end_ns, op, above and call.

    - `op`: row of the op in `spans`
    - `above`: row of the nearest op around it, or None
    - `call`: row of the op or optimizer step that the program called
    """
    names = spans["name"].cast(pl.Categorical)
    communicates, is_python_node = matching(names, COMMUNICATION, PYTHON_NODE)
    takes_time = spans["duration_ns"] > 0
    is_only_caller = communicates | is_python_node
    is_op = (spans["kind"] == "op") & is_own & takes_time & ~is_only_caller
    row = is_op.arg_true().cast(pl.Int64)
    parent_rows = spans["parent_id"].cast(pl.Int64)
    above = _nearest(parent_rows, is_op, row)
    # The program called the outermost op. If this op reads a value for an optimizer's step, the
    # program called the step.
    outermost_op = _outermost(row, above)
    steps = steps_around_reads(spans.select("parent_id", name=names))
    step_of_optimizer = steps.gather(outermost_op)
    start_ns = pl.col("start_ns").cast(pl.Int64)
    end_ns = start_ns + pl.col("duration_ns")
    return spans[row].select(
        "thread_id",
        start_ns=start_ns,
        end_ns=end_ns,
        op=row,
        above=above,
        call=step_of_optimizer.fill_null(outermost_op),
    )


def steps_around_reads(spans: pl.DataFrame) -> pl.Series:
    """Return the row of the optimizer step in which each span reads a value, None for other spans.

    `spans` are of one rank and have name and parent_id, the parent's row number.
    """
    names = spans["name"].cast(pl.Categorical)
    reads, is_step = matching(names, rf"^{READS}$", OPTIMIZER_STEP)
    rows = reads.arg_true().cast(pl.Int64)
    no_step = pl.repeat(None, spans.height, dtype=pl.Int64, eager=True)
    if not is_step.any() or rows.is_empty():
        return no_step
    parent_rows = spans["parent_id"].cast(pl.Int64)
    steps_of_reads = _nearest(parent_rows, is_step, rows)
    return no_step.scatter(rows, steps_of_reads)


def _innermost(ops: pl.DataFrame) -> pl.DataFrame:
    """Return the self-time intervals of each op: start_ns, end_ns and op."""
    op = pl.col("op")
    begins = ops.select(
        "thread_id",
        ns="start_ns",
        is_begin=1,
        order=op,
        op=op,
    )
    ends = ops.select(
        "thread_id",
        ns="end_ns",
        is_begin=0,
        order=-op,  # of ops that end together, the innermost ends first
        op="above",
    )
    edges = pl.concat([ends, begins], how="vertical_relaxed")
    in_order = edges.sort("thread_id", "ns", "is_begin", "order")
    next_ns = pl.col("ns").shift(-1)
    until_next = next_ns.over("thread_id")
    pieces = in_order.select(start_ns="ns", end_ns=until_next, op="op")
    has_length = pl.col("end_ns") > pl.col("start_ns")
    return pieces.drop_nulls().filter(has_length)


def _nearest(
    parents: pl.Series,
    flags: pl.Series,
    rows: pl.Series,
) -> pl.Series:
    """Return the row of the nearest flagged ancestor of each row, None for no ancestor."""
    above = parents.gather(rows)
    pending = _without_flag(flags, above)
    while len(pending):
        skipped = above.gather(pending)
        next_above = parents.gather(skipped)
        above = above.scatter(pending, next_above)
        still_pending = _without_flag(flags, next_above)
        pending = pending.gather(still_pending)
    return above


def _without_flag(flags: pl.Series, rows: pl.Series) -> pl.Series:
    """Return the positions in `rows` of row numbers whose flag is False.

    A row number of None has no flag, so its position is left out.
    """
    is_unset = ~flags.gather(rows)
    return is_unset.arg_true()


def _outermost(rows: pl.Series, above: pl.Series) -> pl.Series:
    """Return the outermost op around each op in `rows`, or the op itself if no op is around.

    `above` lists the nearest op around each op.
    """
    positions = pl.int_range(len(rows), eager=True)
    position_of_row = pl.DataFrame({"row": rows, "position": positions})
    above_rows = above.to_frame("row")
    with_position = above_rows.join(
        position_of_row,
        on="row",
        how="left",
        maintain_order="left",
    )
    up = with_position["position"]
    top = positions
    while True:
        higher = up.gather(top)
        if not higher.count():
            return rows.gather(top)
        top = higher.fill_null(top)


def _kinds_of_work(spans: pl.DataFrame, ops: pl.DataFrame) -> pl.Series:
    """Return the kind of work of each op, by its name, shapes, element types and self time."""
    op_names = spans["name"].gather(ops["op"])
    names = op_names.cast(pl.Categorical)
    copies, looks, is_operator = matching(names, _COPIES, _NO_WORK, _OPERATOR)
    shapes, dtypes = (spans[column].gather(ops["op"]) for column in SHAPES)
    n_bytes = input_bytes(shapes, dtypes)
    is_unsized = is_operator & n_bytes.is_null()
    limit = pl.when(is_unsized).then(_LEAST_NS).otherwise(_LONG_NS)
    facts = ops.select(
        pl.col("own_ns").fill_null(0),
        copies=copies,
        looks=looks,
        name=names,
        n_bytes=n_bytes,
        limit=limit,
    )
    # The self time of a call that inner ops cover wholly is 0, which says nothing about its work.
    has_own_time = pl.col("own_ns") > 0
    own_ns = pl.when(has_own_time).then("own_ns")
    median_ns = own_ns.median().over("name", "n_bytes")
    usual_ns = median_ns.fill_null(0)
    is_large = pl.col("n_bytes") > _SMALL_BYTES
    is_long = usual_ns >= pl.col("limit")
    works = is_large.fill_null(value=False) | is_long
    only_calls = pl.col("looks") | ~works
    kind = pl.when(only_calls).then(CALLS).when("copies").then(COPY).otherwise(ARITHMETIC)
    return facts.select(kind.cast(pl.Int32)).to_series()


def _with_copies_of_arithmetic(spans: pl.DataFrame, ops: pl.DataFrame) -> pl.DataFrame:
    """Classify copies that are part of an operator's arithmetic as arithmetic, and add `worker`.

    The `worker` of such a copy is the operator. The `worker` of any other op is the op itself.
    """
    op_names = spans["name"].gather(ops["op"])
    names = op_names.cast(pl.Categorical)
    is_copy, is_operator, has_to_copy = matching(names, _COPIES, _OPERATOR, _ADDS_PRODUCT)
    works_as_copy = ops["work"] == COPY
    rows = works_as_copy.arg_true()
    outermost, around = _outermost_copies(ops, rows, is_copy)
    is_arithmetic = ops["work"] == ARITHMETIC
    # Operators that compute little themselves, such as reshape, do not change the kind of their
    # copies.
    computes = is_arithmetic & is_operator
    lengths_ns = ops["end_ns"] - ops["start_ns"]
    copy_ns = lengths_ns.gather(outermost)
    # The copy is part of the arithmetic if the operator computes for longer than the copy takes, or
    # cannot work without the copy.
    is_shorter = copy_ns < ops["own_ns"].gather(around)
    is_needed = has_to_copy.gather(around)
    is_part = computes.gather(around) & (is_shorter | is_needed)
    parts = is_part.fill_null(value=False).arg_true()
    rows_of_parts = rows.gather(parts)
    rows_of_workers = around.gather(parts)
    workers = ops["op"].gather(rows_of_workers)
    return ops.with_columns(
        work=ops["work"].scatter(rows_of_parts, ARITHMETIC),
        worker=ops["op"].scatter(rows_of_parts, workers),
    )


def _outermost_copies(
    ops: pl.DataFrame,
    rows: pl.Series,
    is_copy: pl.Series,
) -> tuple[pl.Series, pl.Series]:
    """Return the outermost copy around each copy at `rows`, and the op around that outermost copy.

    Both are rows of `ops`. A copy that lies in no other copy is its own outermost copy.
    """
    has_none_above = ops["above"].is_null()
    position_above = ops["op"].search_sorted(ops["above"])
    above = position_above.set(has_none_above, None)
    outermost = rows
    around = above.gather(outermost)
    while is_copy.gather(around).any():
        is_in_copy = is_copy.gather(around).fill_null(value=False)
        outermost = around.zip_with(is_in_copy, outermost)
        around = above.gather(outermost)
    return outermost, around


def input_bytes(shapes: pl.Series, dtypes: pl.Series) -> pl.Series:
    """Return the bytes of all input tensors of each op, None if no shape is known.

    `shapes` and `dtypes` are JSON.
    """
    known_shapes = shapes.fill_null("")
    known_dtypes = dtypes.fill_null("")
    n_bytes = each_pair_once(known_shapes, known_dtypes, _bytes_of_pairs)
    return n_bytes.to_series()


def _bytes_of_pairs(pairs: pl.DataFrame) -> pl.DataFrame:
    n_bytes = [_bytes(*row) for row in pairs.iter_rows()]
    return pl.DataFrame(
        {"n_bytes": n_bytes},
        schema={"n_bytes": pl.Int64},
    )


def _bytes(shapes: str, dtypes: str) -> int | None:
    inputs = listed(shapes)
    if not inputs:
        return None
    types = listed(dtypes) or [""] * len(inputs)
    total = 0
    for shape, word in zip(inputs, types, strict=False):
        if not isinstance(shape, list):
            continue
        is_list_of_tensors = any(isinstance(size, list) for size in shape)
        tensors = shape if is_list_of_tensors else [shape]
        known_type = element_type(word) if isinstance(word, str) else None
        width = _USUAL_WIDTH if known_type is None else known_type[1]
        for sizes in tensors:
            if isinstance(sizes, list) and sizes:
                total += width * _product(sizes)
    return total


def _product(sizes: list[object]) -> int:
    count = 1
    for size in sizes:
        count *= size if isinstance(size, int) else 1
    return count


def _disjoint(pieces: pl.DataFrame) -> pl.DataFrame:
    """Return the intervals sorted by start, without time that an earlier interval covers."""
    ordered = pieces.sort("start_ns", "end_ns", descending=[False, True])
    end_ns = pl.col("end_ns")
    reached = end_ns.cum_max().shift(1)
    start_of_rest = pl.max_horizontal("start_ns", reached)
    trimmed = ordered.with_columns(start_ns=start_of_rest)
    has_length = end_ns > pl.col("start_ns")
    return trimmed.filter(has_length)
