"""Read the measured calls of a model from a trace: operator, shapes, dtype, layout and time."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import polars as pl

from tracelens.derive.calls.constraints import NCHW, layout_of
from tracelens.derive.calls.op_catalog import ATTENTION
from tracelens.errors import SourceError
from tracelens.trace import Trace

NAMES = {
    "_native_batch_norm_legit_no_training": "batch_norm",
    "cudnn_batch_norm": "batch_norm",
    "hardtanh": "relu6",
}
_TENSORS = {
    "conv2d": 3,
    "linear": 3,
    "add": 2,
    "mul": 2,
    "cat": 99,
    "div": 2,
    "matmul": 2,
    ATTENTION: 4,
}
_ARGUED = {
    "softmax": slice(0, 1),
    "gelu": slice(0, 1),
    "layer_norm": slice(0, 1),
    "rms_norm": slice(0, 1),
    "conv2d": slice(0, 4),
    "max_pool2d": slice(0, 3),
    "avg_pool2d": slice(0, 3),
}
_SHAPES = list[list[int | list[int]]]
_DTYPES = {
    "float": "float32",
    "c10::Half": "float16",
    "c10::BFloat16": "bfloat16",
    "double": "float64",
}


def call_key(
    op: str,
    shapes: Sequence[Sequence[int] | None],
    arguments: Sequence[Any] | None,
) -> str:
    """Return, as JSON, all that a call's time depends on: operator, shapes, some arguments.

    An absent tensor has the shape []. Arguments are kept for operators in _ARGUED.
    """
    n = _TENSORS.get(op, 1)
    kept = [list(shape or []) for shape in shapes[:n]]
    kept += [[]] * (n - len(kept)) if n < 9 else []
    argued = list(arguments or [])[_ARGUED[op]] if op in _ARGUED else []
    return json.dumps([op, kept, argued])


def plain_op(name: str) -> str:
    """Return the operator's name without `aten::` and without the suffix of in-place variants.

    Variants of an operator get the same name (NAMES).
    """
    bare = name.removeprefix("aten::")
    bare = bare if bare.startswith("_") else bare.removesuffix("_")
    return NAMES.get(bare, bare)


def measured_calls(
    trace: Trace,
    rank: int,
    kernels: pl.DataFrame,
    chosen: pl.Expr,
) -> pl.DataFrame:
    """Return the rank's measured calls: one row per outermost op, sorted by start.

    - `kernels`: span_id, duration_ns and primitive of the rank's kernels
    - `chosen`: the condition on spans that selects the steps

    The result has columns of the table spans, and two more: device_ns is the time of the op's
    kernels, and transform_ns is the part of that time for transposes and copies. An op with neither
    kernels nor recorded shapes is left out. Raises SourceError if a parent does not precede its
    child.
    """
    columns = (
        "span_id",
        "parent_id",
        "name",
        "module_path",
        "step",
        "start_ns",
        "input_shapes",
        "input_dtypes",
        "input_strides",
        "concrete_inputs",
    )
    ops = trace.select(
        "spans",
        *columns,
        where=chosen & (pl.col("kind") == "op"),
        rank=rank,
    )
    parents = ops.select("span_id", "parent_id").join(
        ops.select(parent_id="span_id"),
        on="parent_id",
        how="semi",
    )
    span_id = pl.col("span_id")
    is_wrong = (pl.col("parent_id") >= span_id) | span_id.is_duplicated()
    if n_wrong := parents.filter(is_wrong).height:
        raise SourceError(
            f"{trace.name}: the parent_id of {n_wrong:,} ops is not an earlier span; collect"
            " it again"
        )
    ns = pl.col("duration_ns")
    moves = pl.col("primitive") == "layout"
    launched = _to_outermost(kernels.drop_nulls("span_id"), parents).group_by("span_id")
    times = launched.agg(device_ns=ns.sum(), transform_ns=ns.filter(moves).sum())
    outermost = ops.join(parents.select("span_id"), on="span_id", how="anti")
    is_known = pl.col("device_ns").is_not_null() | pl.col("input_shapes").is_not_null()
    measured = outermost.join(times, on="span_id", how="left").filter(is_known)
    return measured.sort("start_ns").with_columns(pl.col("device_ns", "transform_ns").fill_null(0))


def _to_outermost(rows: pl.DataFrame, parents: pl.DataFrame) -> pl.DataFrame:
    """Return the rows, with the span_id of the outermost op around each row.

    `parents` has the parent of each nested op.
    """
    while True:  # a parent precedes its children, so this ends
        above = rows.join(parents, on="span_id", how="left", maintain_order="left")
        if above["parent_id"].null_count() == rows.height:
            return rows
        rows = rows.with_columns(span_id=pl.coalesce(above["parent_id"], rows["span_id"]))


def _described(row: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a `Node` for a measured op.

    `shape` is the shape of its first input.
    """
    op = plain_op(row["name"])
    shapes = _recorded(row["input_shapes"], _SHAPES)
    strides = _recorded(row["input_strides"], _SHAPES)
    if op == "cat" and shapes and shapes[0] and isinstance(shapes[0][0], list):
        shapes = shapes[0]
        strides = strides[0] if strides else []
    concrete = [
        value for value in _recorded(row["concrete_inputs"], list[Any]) if value is not None
    ]
    dtypes = _recorded(row["input_dtypes"], list[str]) or [""]
    first = shapes[0] if shapes and all(isinstance(n, int) for n in shapes[0]) else []
    known = layout_of(first, strides[0]) if strides and len(first) == 4 else None
    return {
        "op": op,
        "call": call_key(op, shapes, concrete),
        "shape": tuple(first),
        "layout": known or NCHW,
        "weight": tuple(shapes[1]) if op in ("conv2d", "linear") and len(shapes) > 1 else (),
        "dtype": _DTYPES.get(str(dtypes[0]), str(dtypes[0])),
        "module_path": row["module_path"] or "",
        "device_ns": float(row["device_ns"]),
        "transform_ns": float(row["transform_ns"]),
    }


def _recorded(text: str | None, kind: Any) -> Any:
    """Decode a cell's JSON as `kind`.

    Return an empty list if it has another type.
    """
    try:
        return msgspec.json.decode(text or "[]", type=kind)
    except (msgspec.DecodeError, UnicodeError):
        return []


def one_step(ops: pl.DataFrame, n_steps: int) -> list[dict[str, Any]]:
    """Return the calls of one step in order, as fields of a `Node`.

    If all steps make the same calls, times are means over the steps. Otherwise, the calls and times
    are those of one late step.
    """
    is_unmarked = ops["step"].n_unique() == 1
    if is_unmarked and n_steps > 1 and ops.height % n_steps == 0:
        ops = ops.with_columns(step=pl.int_range(pl.len()) // (ops.height // n_steps))
    same = pl.struct("name", "input_shapes", "module_path").hash()
    steps = ops.group_by("step", maintain_order=True).agg(same.implode().alias("calls"))
    if steps.is_empty():
        return []
    are_equal = steps["calls"].n_unique() == 1
    second_to_last = -2 if steps.height > 2 else -1
    chosen = steps["step"][0 if are_equal else second_to_last]
    ops_of_step = ops.filter(pl.col("step").eq_missing(chosen))
    averaged = ops if are_equal else ops_of_step
    position = pl.int_range(pl.len()).over("step").alias("position")
    times = pl.col("device_ns", "transform_ns")
    means = averaged.group_by(position).agg(times.mean()).sort("position")
    step = ops_of_step.with_columns(means["device_ns"], means["transform_ns"])
    return [_described(row) for row in step.iter_rows(named=True)]
