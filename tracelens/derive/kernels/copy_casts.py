"""Find casts after a copy to the device. They show that a smaller type could have been copied."""

import polars as pl

from tracelens.derive.columns.intervals import END
from tracelens.derive.columns.per_unique import matching
from tracelens.derive.kernels.grids import SHAPE
from tracelens.derive.kernels.recorded_dtypes import recorded_inputs
from tracelens.trace import Trace

_WINDOW = 8
"""At most this many casts are examined after a copy, on the copy's stream."""

_CAST_NAME = r"direct_copy_kernel|float16_copy_kernel|bfloat16_copy_kernel|LoadWithCast"
# CUPTI through Kineto and nsys demangle differently: `{lambda(float)#1}`, `2ul>, 4` and
# `[lambda(float) (instance 1)]`, `(unsigned long)2>, (int)4`.
_BLOCK_WORK = r"(?:std::array|Array)<char ?\*, (?:\([a-z ]+\))?\d+(?:ul|u)?>, (?:\(int\))?(\d+), "
_TARGET = r"[{\[]lambda\((double|float|c10::Half|c10::BFloat16)\)"
_WIDTHS = {"double": 8, "float": 4, "c10::Half": 2, "c10::BFloat16": 2}
_WIDER = {8: "float64", 4: "float32"}
_STREAM = ["rank", "device_id", "stream_id"]
_PLACE = (*_STREAM, "start_ns")


def casts_after_copies(trace: Trace) -> pl.DataFrame:
    """Return each host-to-device copy that is followed by a narrowing cast.

    - rank, memcpy_id: the copy
    - read_bytes, written_bytes: bytes per element before and after the cast
    - elements: number of elements
    - dtype: type of the copied elements
    - is_recorded: whether an op recorded the dtype, else it is guessed from its size
    """
    return trace.derived(_casts_after_copies)


def _casts_after_copies(trace: Trace) -> pl.DataFrame:
    is_upload = (pl.col("direction") == "h2d") & (pl.col("size_bytes") > 0)
    uploads = trace.memcpys.filter(is_upload).select(
        *_PLACE, "memcpy_id", "size_bytes", "span_id", end=END
    )
    if uploads.is_empty():
        return _SCHEMA.to_frame()
    casts = _casts(trace)
    if casts.is_empty():
        return _SCHEMA.to_frame()
    fitting = _fitting_pairs(_nearby_pairs(uploads, casts))
    agreeing = _as_recorded(_as_recorded(fitting, trace, "copy"), trace, "cast")
    # The first cast counts. Of two possible element sizes, 8 bytes take precedence over 4.
    in_order = agreeing.sort("number", "read_bytes", descending=[False, True])
    first = in_order.unique(["rank", "memcpy_id"], keep="first", maintain_order=True)
    recorded = pl.coalesce("copy_dtype", "cast_dtype")
    float_type = pl.col("read_bytes").replace_strict(_WIDER, default=None, return_dtype=pl.String)
    with_dtype = first.with_columns(
        dtype=recorded.fill_null(float_type),
        is_recorded=recorded.is_not_null(),
    )
    return with_dtype.select(_SCHEMA.names()).cast(_SCHEMA)


def _casts(trace: Trace) -> pl.DataFrame:
    """Return ATen's kernels that copy to another element type, one row per kernel.

    - the columns of _PLACE, and span_id
    - blocks: number of thread blocks
    - threads: threads per block
    - work: elements per thread, 4 if unknown
    - written_bytes: bytes per written element, None if the kernel's name does not show the type
    """
    kernels = trace.select("kernels", *_PLACE, "span_id", "name", *SHAPE)
    casts = kernels.filter(*matching(kernels["name"], _CAST_NAME))
    name = pl.col("name").cast(pl.String)
    work = name.str.extract(_BLOCK_WORK).cast(pl.Int64, strict=False)
    target = name.str.extract(_TARGET)
    written_bytes = target.replace_strict(_WIDTHS, default=None, return_dtype=pl.Int64)
    return casts.select(
        *_PLACE,
        "span_id",
        work=work.fill_null(4),
        written_bytes=written_bytes,
        blocks=pl.col("grid_x").cast(pl.Int64) * pl.col("grid_y") * pl.col("grid_z"),
        threads=pl.col("block_x").cast(pl.Int64) * pl.col("block_y") * pl.col("block_z"),
    )


def _as_recorded(near: pl.DataFrame, trace: Trace, of: str) -> pl.DataFrame:
    """Keep the pairs of copy and cast that agree with the types recorded by ops around them.

    `of` is copy or cast. The added column `{of}_dtype` is the type, None if it was not recorded.
    """
    # Sizes alone may agree by chance.
    span = f"{of}_span_id"
    recorded = recorded_inputs(trace, near.select("rank", span_id=span)).rename({"span_id": span})
    tensor, elements = pl.col("inputs").struct, pl.col("elements")
    fits = (tensor.field("width") == pl.col("read_bytes")) & (
        tensor.field("elements") == elements
    ).fill_null(value=True)
    return (
        near.with_row_index("pair")
        .join(
            recorded,
            on=["rank", span],
            how="left",
            maintain_order="left",
        )
        .explode("inputs")
        .filter(pl.col("inputs").is_null() | fits)
        .unique("pair", keep="first", maintain_order=True)
        .with_columns(tensor.field("dtype").alias(f"{of}_dtype"))
        .drop("pair", "inputs")
    )


def _nearby_pairs(copies: pl.DataFrame, casts: pl.DataFrame) -> pl.DataFrame:
    """Pair each copy with the next casts on its stream, up to the stream's next copy.

    - number: number of the cast on its stream
    - copy_span_id, cast_span_id: spans around the launches of copy and cast
    """
    known = casts.drop_nulls(["written_bytes", "blocks", "threads"]).sort("start_ns")
    in_order = known.with_columns(number=pl.int_range(pl.len()).over(_STREAM))
    with_first = copies.sort("end").join_asof(
        in_order.select(*_PLACE, "number"),
        left_on="end",
        right_on="start_ns",
        by=_STREAM,
        strategy="forward",
        check_sortedness=False,
    )
    next_copy_ns = pl.col("start_ns").sort().shift(-1).over(_STREAM)
    until_next = with_first.sort("start_ns").with_columns(until=next_copy_ns.fill_null(2**62))
    ahead = pl.DataFrame(
        {"ahead": range(_WINDOW)},
        schema={"ahead": pl.Int64},
    )
    near = until_next.join(ahead, how="cross").select(
        *_STREAM,
        "memcpy_id",
        "size_bytes",
        "until",
        copy_span_id="span_id",
        number=pl.col("number") + pl.col("ahead"),
    )
    pairs = near.join(in_order, on=[*_STREAM, "number"])
    return pairs.filter(pl.col("start_ns") < pl.col("until")).rename({"span_id": "cast_span_id"})


def _fitting_pairs(pairs: pl.DataFrame) -> pl.DataFrame:
    """Keep pairs of a copy and a cast in which the cast's grid fits the number of copied elements.

    The cast must also write narrower elements than it reads.
    """
    widths = pl.DataFrame({"read_bytes": [8, 4]})
    elements = pl.col("size_bytes") // pl.col("read_bytes")
    per_block = pl.col("threads") * pl.col("work")
    covered = pl.col("blocks") * per_block
    is_whole = pl.col("size_bytes") % pl.col("read_bytes") == 0
    is_narrower = pl.col("written_bytes") < pl.col("read_bytes")
    counted = pairs.join(widths, how="cross").with_columns(elements=elements)
    # The cast's grid covers all elements, with less than one block to spare.
    spare = covered - pl.col("elements")
    return counted.filter(is_whole, is_narrower, spare >= 0, spare < per_block)


_SCHEMA = pl.Schema(
    {
        "rank": pl.Int32,
        "memcpy_id": pl.Int64,
        "read_bytes": pl.Int64,
        "written_bytes": pl.Int64,
        "elements": pl.Int64,
        "dtype": pl.String,
        "is_recorded": pl.Boolean,
    }
)
