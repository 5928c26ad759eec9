"""Find element types and sizes that the profiler does not record for lists of tensors.

- The element type is in the kernel's template arguments.
- A list of more than 30 tensors has no recorded sizes. It is taken for the list of gradients that
  autograd accumulated in the step, if these gradients fill as many blocks as the kernel has.
- Otherwise, the kernel's number of blocks bounds the number of elements in the list.
- For the indices of `x[i, j]`, the grid of the indexing kernel shows the number of elements.
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
"""Elements per block of a kernel for lists (kChunkSize in torch's MultiTensorApply.cuh)."""
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
"""Pattern for the kernel that indexes single elements.

Its groups are the threads per block and the elements per thread.
"""
_BY_ROW = "vectorized_gather_kernel"
"""Name of the kernel that indexes rows, one row per block of grid_x (torch's IndexKernel.cu)."""
_AT_MOST = "an upper bound: sizes are estimated from the kernels' blocks"


def with_lists(trace: Trace, calls: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    """Return the calls with the sizes of lists in input_shapes, and with two more columns.

    - list_dtype: element type of the tensors in lists, None if unknown
    - inputs_assumed: text if the sizes are only upper bounds, otherwise None

    A call without lists has None in both columns.

    `calls` has rank, span_id, step, and the texts input_shapes and input_dtypes. `kernels` has
    rank, span_id, name and grid_x of the kernels that the calls launched.
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
    """Holds the sizes of a step's gradients, and the number of chunks in all gradients."""

    sizes: list[list[int]]
    n_chunks: int


def _gradients(trace: Trace) -> dict[tuple[int, int | None], _Gradients]:
    """Return the gradients that autograd accumulated, by rank and step."""
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
    """Return the number of chunks of a tensor of this size."""
    return -(-prod(size) // _CHUNK)


def _filled(
    shapes: str,
    dtypes: str,
    gradients: _Gradients | None,
    n_blocks: int | None,
) -> tuple[str, str | None]:
    """Return the shapes with the sizes of lists filled in, and the text for inputs_assumed.

    The text is None unless the sizes are only upper bounds.
    """
    sizes, words = listed(shapes), listed(dtypes)
    is_unknown = [
        word == "TensorList" and not size for size, word in zip(sizes, words, strict=False)
    ]
    if len(sizes) != len(words) or not any(is_unknown) or not n_blocks:
        return shapes, None
    # A list has the gradients' sizes if they give this number of blocks. Otherwise, the blocks only
    # bound the number of elements.
    if gradients is not None and gradients.n_chunks == n_blocks:
        known, assumed = gradients.sizes, None
    else:
        known, assumed = [[n_blocks * _CHUNK]], _AT_MOST
    pairs = zip(sizes, is_unknown, strict=True)
    return json.dumps([known if unknown else size for size, unknown in pairs]), assumed


def _chunks(kernel: str | None, n_blocks: int | None) -> int | None:
    """Return the number of chunks of a call's kernels, None for kernels without chunks."""
    return n_blocks if "multi_tensor_apply" in (kernel or "") else None


def _type(kernel: str | None) -> str | None:
    match = _TYPE.search(kernel or "")
    return None if match is None else _OPAQUE.get(match[1], match[1])


def with_indexed(calls: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    """Return the calls, with the size of indices set to the number of indexed elements.

    inputs_assumed gets a text if the number is only an upper bound.

    `calls` has rank, span_id, name, input_shapes and inputs_assumed. `kernels` has rank, span_id,
    name and grid_x.
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
    """Return the shapes with the size of the indices filled in, and the text for inputs_assumed.

    The shapes are None if nothing is filled in. The text is None unless the size is only an upper
    bound.
    """
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
    # The last block may compute fewer elements.
    n_most = n_blocks * int(match[1]) * int(match[2])
    return json.dumps([sizes[0], [n_most], *sizes[2:]]), _AT_MOST
