"""What the profiler does not record of lists of tensors: element types, and sizes of long lists.

The element type is read from the kernel's template arguments. Sizes of a list of more than 30
tensors are left out by the profiler. Where the call is an optimizer's over all gradients of its
step, they are those that autograd accumulated there; the kernels' blocks prove it, as each block
takes a chunk of 65,536 elements (kChunkSize in torch's MultiTensorApply.cuh). Else the blocks tell
how many elements there are at most.
"""

import json
import re
from math import prod

import polars as pl

from tracelens.derive.kernels.recorded_dtypes import listed
from tracelens.trace import Trace

_CHUNK = 65_536
_TYPE = re.compile(
    r"(?:Functor|OpaqueType|CatArrayBatchedCopy\w*)<\s*(?:at::native::[\w() :]*OpaqueType<)?"
    r"(c10::BFloat16|c10::Half|float|double|long|int|short|bool|unsigned char|signed char|\d+)"
)
_OPAQUE = {
    "1": "unsigned char",
    "2": "short",
    "4": "int",
    "8": "long",
    "16": "c10::complex<double>",
}
_GRADIENT = "torch::autograd::AccumulateGrad"


def with_lists(trace: Trace, calls: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    """Return the calls with `list_dtype`, and with sizes of lists where blocks tell them.

    `list_assumed` says so where the sizes are only as many elements as the blocks take at most.

    `calls`: rank, span_id, step, input_shapes and input_dtypes, as text; `kernels`: rank, span_id,
    name and grid_x of what they ran. `list_dtype` is None of a
    call without a list, and where the kernel's name tells no type.
    """
    none = pl.lit(None, pl.String)
    is_list = pl.col("input_dtypes").str.contains("TensorList", literal=True)
    lists = calls.filter(is_list)
    if not lists.height:
        return calls.with_columns(list_dtype=none, list_assumed=none)
    ran = (
        kernels.join(lists.select("rank", "span_id"), on=["rank", "span_id"], how="semi")
        .group_by("rank", "span_id")
        .agg(
            kernel=pl.col("name").cast(pl.String).first(),
            n_blocks=pl.col("grid_x").cast(pl.Int64).sum(),
        )
    )
    lists = lists.join(ran, on=["rank", "span_id"], how="left")
    gradients = _gradients(trace) if lists["input_shapes"].str.contains(r"\[\]").any() else {}
    rows = lists.select(
        "rank", "span_id", "step", "input_shapes", "input_dtypes", "n_blocks", "kernel"
    )
    filled = [
        (
            *(rank, span),
            *_filled(shapes, dtypes, gradients.get((rank, step)), _chunks(name, n_blocks)),
            _type(name),
        )
        for rank, span, step, shapes, dtypes, n_blocks, name in rows.iter_rows()
    ]
    schema = {
        "rank": calls.schema["rank"],
        "span_id": calls.schema["span_id"],
        "sizes": pl.String(),
        "list_assumed": pl.String(),
        "list_dtype": pl.String(),
    }
    known = pl.DataFrame(filled, schema=schema, orient="row")
    joined = calls.join(known, on=["rank", "span_id"], how="left", maintain_order="left")
    return joined.with_columns(input_shapes=pl.coalesce("sizes", "input_shapes")).drop("sizes")


def _gradients(trace: Trace) -> dict[tuple[int, int | None], list[list[int]]]:
    """Return the sizes of the gradients that each rank accumulated in each step."""
    accumulated = trace.select(
        "spans", "rank", "step", "input_shapes", where=pl.col("name") == _GRADIENT
    )
    sizes: dict[tuple[int, int | None], list[list[int]]] = {}
    for rank, step, shapes in accumulated.cast({pl.Categorical: pl.String}).iter_rows():
        sizes.setdefault((rank, step), []).extend(listed(shapes)[:1])
    return sizes


def _filled(
    shapes: str, dtypes: str, gradients: list[list[int]] | None, n_blocks: int | None
) -> tuple[str, str | None]:
    """Return the recorded shapes, with sizes for lists of none, and what these take for granted.

    They are the gradients' where the blocks agree, else as many elements as the blocks take.
    """
    sizes, words = listed(shapes), listed(dtypes)
    is_unknown = [
        word == "TensorList" and not size for size, word in zip(sizes, words, strict=False)
    ]
    if len(sizes) != len(words) or not any(is_unknown) or not n_blocks:
        return shapes, None
    assumed = None
    if not gradients or n_blocks != sum(-(-prod(size) // _CHUNK) for size in gradients):
        gradients, assumed = [[n_blocks * _CHUNK]], "at most: sizes by the kernels' blocks"
    pairs = zip(sizes, is_unknown, strict=True)
    return json.dumps([gradients if unknown else size for size, unknown in pairs]), assumed


def _chunks(kernel: str | None, n_blocks: int | None) -> int | None:
    """Return how many chunks kernels took; None of kernels that take none."""
    return n_blocks if "multi_tensor_apply" in (kernel or "") else None


def _type(kernel: str | None) -> str | None:
    match = _TYPE.search(kernel or "")
    return None if match is None else _OPAQUE.get(match[1], match[1])
