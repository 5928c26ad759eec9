"""Find the number of experts per token of ops that record no weights of their experts.

vLLM's moe_forward takes only tokens and the experts' scores. An op inside chooses experts by
integers: the width of that tensor is the number of experts per token. The kernels' names show how
wide a weight is.
"""

import re

import polars as pl

from tracelens.derive.columns.lookup import by_value
from tracelens.derive.events.call_tree import nearest_row
from tracelens.derive.events.span_trees import with_trees
from tracelens.derive.kernels.recorded_call import are_sizes
from tracelens.derive.kernels.recorded_dtypes import element_type, listed
from tracelens.trace import Trace

OPS = ("vllm::moe_forward", "vllm::moe_forward_shared")
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
_WIDTHS = ((r"mxfp4|nvfp4|fp4|int4|w4a", 0.5), (r"fp8|e4m3|e5m2|int8|w8a8", 1.0))
"""Bytes of a weight by a word of the kernels' names; without one, weights are as wide as tokens."""


def with_experts(trace: Trace, calls: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    """Return the calls with `n_chosen` and `weight_bytes`; None for other ops and where unknown.

    `calls` has rank, span_id, name, input_shapes and input_dtypes, as text; `kernels` has rank,
    span_id and name.
    """
    wanted = calls.filter(pl.col("name").is_in(OPS))
    unseen = {"n_chosen": pl.Int64(), "weight_bytes": pl.Float64()}
    if not wanted.height:
        return calls.with_columns(pl.lit(None, dtype).alias(name) for name, dtype in unseen.items())
    is_op = (pl.col("kind") == "op") & pl.col("input_dtypes").is_not_null()
    columns = ("rank", "span_id", "input_shapes", "input_dtypes")
    inner = trace.select("spans", *columns, where=is_op).cast({pl.Categorical: pl.String})
    rows = pl.concat(
        [inner, kernels.select("rank", "span_id", kernel=pl.col("name").cast(pl.String))],
        how="diagonal_relaxed",
    )
    spans = trace.select("spans", "rank", "span_id", "parent_id")
    known = dict(by_value(wanted, "rank"))
    found: list[tuple[object, ...]] = []
    for tree, of_tree in with_trees(spans, rows):
        if not tree.height or tree["rank"][0] not in known:
            continue
        of_rank = known[tree["rank"][0]].with_columns(call=pl.col("span_id").cast(pl.Int64))
        none = pl.repeat(False, tree.height, dtype=pl.Boolean, eager=True)
        is_call = none.scatter(of_rank["span_id"], True)
        call = nearest_row(tree["parent_id"], is_call, of_tree["span_id"].cast(pl.Int64))
        inside = of_tree.with_columns(call=call.cast(pl.Int64)).drop_nulls("call")
        inputs = of_rank.select("call", "input_shapes", "input_dtypes")
        for (span, shapes, dtypes), part in inside.join(inputs, on="call", suffix="_call").group_by(
            "call", "input_shapes_call", "input_dtypes_call"
        ):
            found.append((tree["rank"][0], span, *_seen(str(shapes), str(dtypes), part)))
    schema = pl.Schema({"rank": calls.schema["rank"], "span_id": pl.Int64(), **unseen})
    seen = pl.DataFrame(found, schema=schema, orient="row")
    return calls.join(seen, on=["rank", "span_id"], how="left", maintain_order="left")


def _seen(shapes: str, dtypes: str, inside: pl.DataFrame) -> tuple[int | None, float | None]:
    """Return the number of experts per token, and the bytes of a weight."""
    sizes, kind = listed(shapes), element_type(str((listed(dtypes) or [""])[0]))
    if kind is None or len(sizes) < 2 or not all(are_sizes(s) and len(s) == 2 for s in sizes[:2]):
        return None, None
    n_tokens, n_experts = sizes[0][0], sizes[1][1]
    widths = [
        size[1]
        for row in inside.select("input_shapes", "input_dtypes").unique().iter_rows()
        for size, word in zip(listed(row[0]), listed(row[1]), strict=False)
        if are_sizes(size) and len(size) == 2 and size[0] == n_tokens and size[1] < n_experts
        if (element_type(str(word)) or ("",))[0] in _INTEGERS
    ]
    kernels = " ".join(inside["kernel"].drop_nulls().unique())
    named = (width for words, width in _WIDTHS if re.search(words, kernels))
    return min(widths, default=None), next(named, float(kind[1]))
