"""Find facts that the profiler does not record for lists of tensors: element types, some sizes.

The element type is read from the kernel's template arguments. The profiler leaves out the sizes of
a list of more than 30 tensors. If an optimizer's call takes all gradients of its step, the sizes
are those that autograd accumulated in the step. The number of the kernels' blocks confirms this, as
each block takes a chunk of 65,536 elements (kChunkSize in torch's MultiTensorApply.cuh). Otherwise
the number of blocks gives the largest possible number of elements. For the indices of `x[i, j]` no
sizes are recorded either; the grid of the kernel that took the elements gives their number.
"""

import json
import re
from math import prod

import polars as pl
from msgspec import Struct

from tracelens.derive.kernels.recorded_call import are_sizes
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
_INDEXING = ("aten::index", "aten::_unsafe_index")
_BY_ELEMENT = re.compile(r"index_elementwise_kernel<(\d{1,5}), ?(\d{1,3}),")
"""Name of a kernel that takes elements; it contains the threads of a block, and the elements per
thread."""
_BY_ROW = "vectorized_gather_kernel"
"""Name of a kernel that takes rows of the first dimension, one row per block in x.

It is from torch's IndexKernel.cu.
"""
_AT_MOST = "an upper bound: sizes are estimated from the kernels' blocks"


def with_lists(trace: Trace, calls: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    """Return the calls with `list_dtype`, and with sizes of lists if the blocks show them.

    `inputs_assumed` says if the sizes are only the largest possible. `calls` has rank, span_id,
    step, input_shapes and input_dtypes, as text; `kernels` has rank, span_id, name and grid_x of
    the kernels that the calls ran. `list_dtype` is None for a call without a list, and if the
    kernel's name does not contain the type.
    """
    none = pl.lit(None, pl.String)
    is_list = pl.col("input_dtypes").str.contains("TensorList", literal=True)
    lists = calls.filter(is_list)
    if not lists.height:
        return calls.with_columns(list_dtype=none, inputs_assumed=none)
    ran = (
        kernels.join(
            lists.select("rank", "span_id"),
            on=["rank", "span_id"],
            how="semi",
        )
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
            *_filled(
                shapes,
                dtypes,
                gradients.get((rank, step)),
                _chunks(name, n_blocks),
            ),
            _type(name),
        )
        for rank, span, step, shapes, dtypes, n_blocks, name in rows.iter_rows()
    ]
    schema = {
        "rank": calls.schema["rank"],
        "span_id": calls.schema["span_id"],
        "sizes": pl.String(),
        "inputs_assumed": pl.String(),
        "list_dtype": pl.String(),
    }
    known = pl.DataFrame(filled, schema=schema, orient="row")
    joined = calls.join(
        known,
        on=["rank", "span_id"],
        how="left",
        maintain_order="left",
    )
    return joined.with_columns(input_shapes=pl.coalesce("sizes", "input_shapes")).drop("sizes")


class _Gradients(Struct):
    """The sizes of the gradients of a step, and the chunks that they take."""

    sizes: list[list[int]]
    n_chunks: int


def _gradients(trace: Trace) -> dict[tuple[int, int | None], _Gradients]:
    """Return the gradients that each rank accumulated in each step. Each text is parsed once."""
    accumulated = trace.select(
        "spans",
        "rank",
        "step",
        "input_shapes",
        where=pl.col("name") == _GRADIENT,
    ).cast({pl.Categorical: pl.String})
    sizes_of = {
        text: [size for size in listed(text)[:1] if are_sizes(size)]
        for text in accumulated["input_shapes"].unique()
    }
    chunks_of = {text: sum(map(_n_chunks, sizes)) for text, sizes in sizes_of.items()}
    by_step = accumulated.group_by("rank", "step", maintain_order=True).agg("input_shapes")
    return {
        (rank, step): _Gradients(
            [size for text in texts for size in sizes_of[text]],
            sum(chunks_of[text] for text in texts),
        )
        for rank, step, texts in by_step.iter_rows()
    }


def _n_chunks(size: list[int]) -> int:
    """Return how many chunks a tensor takes."""
    return -(-prod(size) // _CHUNK)


def _filled(
    shapes: str,
    dtypes: str,
    gradients: _Gradients | None,
    n_blocks: int | None,
) -> tuple[str, str | None]:
    """Return the shapes with sizes filled in for lists that lack them, and the assumption made.

    The sizes are those of the gradients if the number of blocks agrees. Otherwise the list gets the
    most elements that the blocks can take.
    """
    sizes, words = listed(shapes), listed(dtypes)
    is_unknown = [
        word == "TensorList" and not size for size, word in zip(sizes, words, strict=False)
    ]
    if len(sizes) != len(words) or not any(is_unknown) or not n_blocks:
        return shapes, None
    if gradients is not None and gradients.n_chunks == n_blocks:
        known, assumed = gradients.sizes, None
    else:
        known, assumed = [[n_blocks * _CHUNK]], _AT_MOST
    pairs = zip(sizes, is_unknown, strict=True)
    return json.dumps([known if unknown else size for size, unknown in pairs]), assumed


def _chunks(kernel: str | None, n_blocks: int | None) -> int | None:
    """Return how many chunks a call's kernels took; None for kernels that work without chunks."""
    return n_blocks if "multi_tensor_apply" in (kernel or "") else None


def _type(kernel: str | None) -> str | None:
    match = _TYPE.search(kernel or "")
    return None if match is None else _OPAQUE.get(match[1], match[1])


def with_indexed(calls: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    """Return the calls, with sizes of indices replaced by the number of elements taken.

    `inputs_assumed` says if the last block may have taken fewer. `calls` has rank, span_id, name,
    input_shapes and inputs_assumed; `kernels` has rank, span_id, name and grid_x of the kernels
    that the calls ran.
    """
    wanted = calls.filter(pl.col("name").is_in(_INDEXING)).select("rank", "span_id", "input_shapes")
    if not wanted.height:
        return calls
    ran = kernels.with_columns(kernel=pl.col("name").cast(pl.String)).filter(
        pl.col("kernel").str.contains(f"{_BY_ROW}|index_elementwise_kernel")
    )
    ran = ran.select(
        "rank",
        "span_id",
        "kernel",
        n_blocks=pl.col("grid_x").cast(pl.Int64),
    )
    taken = wanted.join(ran, on=["rank", "span_id"]).unique(["rank", "span_id"], keep="first")
    rows = [
        (rank, span, *_filled_indices(shapes, kernel, n_blocks))
        for rank, span, shapes, kernel, n_blocks in taken.iter_rows()
    ]
    schema = {name: calls.schema[name] for name in ("rank", "span_id")}
    filled = pl.DataFrame(
        rows,
        schema=schema | {"sizes": pl.String(), "at_most": pl.String()},
        orient="row",
    )
    joined = calls.join(
        filled,
        on=["rank", "span_id"],
        how="left",
        maintain_order="left",
    )
    return joined.with_columns(
        input_shapes=pl.coalesce("sizes", "input_shapes"),
        inputs_assumed=pl.coalesce("at_most", "inputs_assumed"),
    ).drop("sizes", "at_most")


def _filled_indices(
    shapes: str, kernel: str, n_blocks: int | None
) -> tuple[str | None, str | None]:
    """Return the inputs' sizes with the indices' size filled in, and the assumption behind it."""
    sizes = listed(shapes)
    if len(sizes) < 2 or sizes[1] != [] or not are_sizes(sizes[0]) or n_blocks is None:
        return None, None
    match = _BY_ELEMENT.search(kernel)
    if match is None:
        return json.dumps(
            [
                sizes[0],
                [n_blocks * prod(sizes[0][1:])],
                *sizes[2:],
            ]
        ), None
    n_most = n_blocks * int(match[1]) * int(match[2])
    return json.dumps([sizes[0], [n_most], *sizes[2:]]), _AT_MOST
