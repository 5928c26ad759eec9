"""Infer the number of experts per token for ops that do not record the weights of experts.

- vLLM's moe_forward takes tokens and the experts' scores.
- An op inside it has a matrix of the chosen experts' indices, with one column per chosen expert.
- The kernels' names show the bytes per weight.
"""

import re
from typing import Any

import polars as pl

from tracelens.derive.columns.lookup import by_value
from tracelens.derive.events.call_tree import nearest_row
from tracelens.derive.events.span_trees import with_trees
from tracelens.derive.kernels.recorded_call import are_sizes
from tracelens.derive.kernels.recorded_dtypes import element_type, listed
from tracelens.trace import Trace

_UNSEEN = {"n_chosen": pl.Int64(), "weight_bytes": pl.Float64()}
_CALL_INPUTS = ("input_shapes_call", "input_dtypes_call")
OPS = ("vllm::moe_forward", "vllm::moe_forward_shared")
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
_WIDTHS = ((r"mxfp4|nvfp4|fp4|int4|w4a", 0.5), (r"fp8|e4m3|e5m2|int8|w8a8", 1.0))
"""Patterns for kernel names, each with the bytes per weight.

If no pattern matches, a weight is as wide as an element of the tokens.
"""


def with_experts(trace: Trace, calls: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    """Return the calls with `n_chosen` (experts per token) and `weight_bytes` (per weight).

    Both are None if unknown, and for ops that are not in OPS. `calls` has rank, span_id, and the
    texts name, input_shapes and input_dtypes. `kernels` has rank, span_id and name.
    """
    expert_calls = calls.filter(pl.col("name").is_in(OPS))
    if expert_calls.is_empty():
        unknown = [pl.lit(None, dtype).alias(name) for name, dtype in _UNSEEN.items()]
        return calls.with_columns(unknown)
    calls_by_rank = dict(by_value(expert_calls, "rank"))
    spans = trace.select("spans", "rank", "span_id", "parent_id")
    rows: list[tuple[object, ...]] = []
    for tree, events in with_trees(spans, _ops_and_kernels(trace, kernels)):
        rank = tree["rank"][0] if tree.height else None
        if rank not in calls_by_rank:
            continue
        inside = _inside_calls(tree, calls_by_rank[rank], events)
        for (call, shapes, dtypes), part in inside.group_by("call", *_CALL_INPUTS):
            n_chosen, weight_bytes = _seen(str(shapes), str(dtypes), part)
            rows.append((rank, call, n_chosen, weight_bytes))
    schema = pl.Schema(
        {
            "rank": calls.schema["rank"],
            "span_id": pl.Int64(),
            **_UNSEEN,
        }
    )
    seen = pl.DataFrame(rows, schema=schema, orient="row")
    return calls.join(
        seen,
        on=["rank", "span_id"],
        how="left",
        maintain_order="left",
    )


def _ops_and_kernels(trace: Trace, kernels: pl.DataFrame) -> pl.DataFrame:
    """Return one row per kernel, and one row per op that has recorded input types.

    - rank, span_id
    - input_shapes, input_dtypes: inputs of an op, None for a kernel
    - kernel: name of a kernel, None for an op
    """
    is_op = pl.col("kind") == "op"
    has_types = pl.col("input_dtypes").is_not_null()
    columns = ("rank", "span_id", "input_shapes", "input_dtypes")
    ops = trace.select("spans", *columns, where=is_op & has_types)
    ops = ops.cast({pl.Categorical: pl.String})
    name = pl.col("name").cast(pl.String)
    named_kernels = kernels.select("rank", "span_id", kernel=name)
    return pl.concat([ops, named_kernels], how="diagonal_relaxed")


def _inside_calls(
    tree: pl.DataFrame,
    calls: pl.DataFrame,
    events: pl.DataFrame,
) -> pl.DataFrame:
    """Return the events inside the calls of a rank, with `call` and _CALL_INPUTS.

    `call` is the span id of the call around the event.
    """
    no_flags = pl.repeat(False, tree.height, dtype=pl.Boolean, eager=True)
    is_call = no_flags.scatter(calls["span_id"], True)
    span = events["span_id"].cast(pl.Int64)
    call = nearest_row(tree["parent_id"], is_call, span).cast(pl.Int64)
    inside = events.with_columns(call=call).drop_nulls("call")
    call_id = pl.col("span_id").cast(pl.Int64)
    inputs = calls.select("input_shapes", "input_dtypes", call=call_id)
    return inside.join(inputs, on="call", suffix="_call")


def _seen(shapes: str, dtypes: str, inside: pl.DataFrame) -> tuple[int | None, float | None]:
    """Return the number of experts per token and the bytes per weight, None if unknown.

    `shapes` and `dtypes` are the call's inputs, `inside` are the events inside the call.
    """
    sizes = listed(shapes)
    words = listed(dtypes) or [""]
    token_type = element_type(str(words[0]))
    if token_type is None or len(sizes) < 2:
        return None, None
    tokens, scores = sizes[:2]
    if not (_is_matrix(tokens) and _is_matrix(scores)):
        return None, None
    n_chosen = _integer_width(inside, n_tokens=tokens[0], n_experts=scores[1])
    kernels = " ".join(inside["kernel"].drop_nulls().unique())
    for pattern, width in _WIDTHS:
        if re.search(pattern, kernels):
            return n_chosen, width
    return n_chosen, float(token_type[1])


def _integer_width(inside: pl.DataFrame, *, n_tokens: int, n_experts: int) -> int | None:
    """Return the least width of the integer matrices with one row per token.

    Return None if there is no such matrix.
    """
    widths = []
    for shapes, dtypes in inside.select("input_shapes", "input_dtypes").unique().iter_rows():
        for size, word in zip(listed(shapes), listed(dtypes), strict=False):
            # A list of chosen experts is shorter than the list of all experts.
            if not _is_matrix(size) or size[0] != n_tokens or size[1] >= n_experts:
                continue
            element = element_type(str(word))
            if element is not None and element[0] in _INTEGERS:
                widths.append(size[1])
    return min(widths, default=None)


def _is_matrix(size: Any) -> bool:
    return are_sizes(size) and len(size) == 2
