"""Calls of ops whose work is known: operations, and bytes that have to move.

Each is counted once, with the kernels that ran in it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from tracelens.derive.columns.lookup import by_value
from tracelens.derive.columns.per_unique import matching
from tracelens.derive.events.call_tree import nearest_row
from tracelens.derive.events.span_trees import with_trees
from tracelens.derive.kernels.list_inputs import with_lists
from tracelens.derive.kernels.op_work import modelled_names, tensors_of, work_of
from tracelens.derive.kernels.triton_work import TRITON
from tracelens.errors import MissingTableError
from tracelens.trace import Trace

_INPUTS = ("name", "input_shapes", "input_dtypes", "input_strides", "concrete_inputs")
_IS_TF32 = r"(?i)tf32|_s1688"
"""CUTLASS names a product after its instruction.

The instruction of 16x8x8 with sums in float32 takes float32 as TF32.
"""
_PRECISIONS = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "float8": "fp8"}
_WORK = pl.Schema(
    {
        "op": pl.String(),
        "shapes": pl.String(),
        "dtypes": pl.String(),
        "dtype": pl.String(),
        "flops": pl.Float64(),
        "needed_flops": pl.Float64(),
        "least_bytes": pl.Float64(),
    }
)


@dataclass(frozen=True, slots=True)
class Modelled:
    """The modelled calls that ran kernels, and the kernels of a trace with what they belong to.

    `calls`: rank, device_id, step, op, shapes, dtypes, precision (None for one without a peak),
    flops, needed_flops, least_bytes, duration_ns and n_kernels of its kernels. `rest`: rank,
    device_id, step and duration_ns of kernels in no such call.
    """

    calls: pl.DataFrame
    rest: pl.DataFrame


def modelled(trace: Trace) -> Modelled:
    """Return the trace's kernels, split into modelled calls and the rest.

    Ops nest (conv2d, convolution, _convolution, cudnn_convolution): the innermost whose operations
    can be counted is the call. Raises MissingTableError where the trace has no kernels, or no
    shapes.
    """
    trace.require("roofline", "kernels")
    name = pl.col("name").cast(pl.String)
    is_known = (
        (pl.col("kind") == "op")
        & (name.is_in(modelled_names()) | name.str.starts_with(TRITON))
        & pl.col("input_shapes").is_not_null()
    )
    found = trace.select("spans", "rank", "span_id", "step", *_INPUTS, where=is_known)
    if (
        not found.height
        and not trace.scan("spans").select(pl.col("input_shapes").count()).collect().item()
    ):
        raise MissingTableError(
            "roofline needs the shapes of the ops' inputs, and this trace has none: profile with"
            " record_shapes=True (tracelens collect torch records them with --shapes)"
        )
    works = _works(with_lists(trace, found.cast({pl.Categorical: pl.String})))
    kernels = trace.select("kernels", "rank", "device_id", "span_id", "step", "name", "duration_ns")
    kernels = kernels.with_columns(matching(kernels["name"], _IS_TF32)[0].alias("is_tf32"))
    spans = trace.select("spans", "rank", "span_id", "parent_id")
    parts = list(_of_ranks(spans, kernels, works))
    calls = pl.concat([calls for calls, _ in parts])
    is_tf32 = (pl.col("dtype") == "float32") & pl.col("is_tf32")
    precision = pl.col("dtype").replace_strict(_PRECISIONS, default=None, return_dtype=pl.String)
    # Kernels that are no products compute in float32, whatever they read, and not by tensor cores.
    is_vector = (pl.col("flops") == 0) & precision.is_not_null()
    calls = calls.with_columns(
        precision=pl.when(is_vector)
        .then(pl.lit("fp32"))
        .when(is_tf32)
        .then(pl.lit("tf32"))
        .otherwise(precision)
    )
    return Modelled(calls, pl.concat([rest for _, rest in parts]))


def _works(found: pl.DataFrame) -> pl.DataFrame:
    """rank, span_id and work of the spans whose work is known.

    Each distinct input is looked at once.
    """
    keys = (*_INPUTS, "list_dtype")
    distinct = found.lazy().group_by(keys, maintain_order=True).agg("rank", "span_id").collect()
    rows: list[tuple[object, ...]] = []
    for name, *texts, list_dtype in distinct.select(keys).iter_rows():
        work = work_of(name, texts, list_dtype)
        if work is None:
            rows.append((None,) * len(_WORK))
            continue
        size = None if work.least_bytes is None else float(work.least_bytes)
        numbers = float(work.flops), float(work.needed_flops), size
        rows.append((name, *tensors_of(*texts[:2]), work.dtype, *numbers))
    known = (
        distinct.select("rank", "span_id")
        .hstack(pl.DataFrame(rows, schema=_WORK, orient="row"))
        .drop_nulls("op")
    )
    return known.explode("rank", "span_id")


def _of_ranks(
    spans: pl.DataFrame, kernels: pl.DataFrame, works: pl.DataFrame
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield of each rank its calls, and the kernels in none."""
    known = dict(by_value(works, "rank"))
    for tree, of_tree in with_trees(spans, kernels):
        parent = tree["parent_id"]
        of_rank = known.get(tree["rank"][0], works.clear()) if tree.height else works.clear()
        none = pl.repeat(False, tree.height, dtype=pl.Boolean, eager=True)
        is_call = none.clone().scatter(of_rank["span_id"], True)
        call = nearest_row(parent, is_call, of_tree["span_id"].cast(pl.Int64)).cast(pl.Int64)
        # A product above another one counts the same operations; kernels in it alone are in none
        # that counts. What only moves memory takes its own kernels, whatever is around it.
        products = of_rank.filter(pl.col("flops") > 0)["span_id"]
        is_product = none.clone().scatter(products, True)
        is_inner = is_product.clone().scatter(
            nearest_row(parent, is_product, parent.gather(products)).drop_nulls().unique(), False
        )
        is_double = is_product & ~is_inner
        own = of_tree.with_columns(call=call.set(is_double.gather(call).fill_null(False), None))
        n = pl.len().cast(pl.Int64)
        calls = (
            own.drop_nulls("call")
            .group_by("rank", "device_id", "call", maintain_order=True)
            .agg(
                pl.col("step").first(),
                pl.col("duration_ns").sum(),
                pl.col("is_tf32").any(),
                n_kernels=n,
            )
            .join(of_rank.drop("rank"), left_on="call", right_on="span_id", maintain_order="left")
        )
        yield (
            calls,
            own.filter(pl.col("call").is_null()).select("rank", "device_id", "step", "duration_ns"),
        )
