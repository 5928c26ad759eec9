"""Infer strides and paddings of convolutions and poolings in traces without argument values.

1. The size of a call's result is not recorded, but the op that reads the result shows it.
2. This op is taken to be the thread's next op with an input of a size that the call can produce.
3. Stride and padding follow from the sizes of input, weights and result.
"""

import json
from collections.abc import Sequence

import polars as pl

from tracelens.derive.kernels.recorded_call import are_sizes
from tracelens.derive.kernels.recorded_dtypes import listed
from tracelens.trace import Trace

ASSUMED = "results and their sizes are taken from the ops that read them"
_CONVOLUTIONS = {
    "aten::convolution": (3, 4, 5, 6),
    "aten::_convolution": (3, 4, 5, 6),
    "aten::cudnn_convolution": (3, 2, 4, None),
    "aten::_conv_depthwise2d": (4, 5, 6, None),
}
"""Positions of each op's arguments stride, padding, dilation and transposed.

The position of transposed is None if the op has no such argument.
"""
_POOLINGS = ("aten::max_pool2d_with_indices", "aten::avg_pool2d")
_ADAPTIVE = ("aten::_adaptive_avg_pool2d", "aten::adaptive_avg_pool2d", "aten::adaptive_max_pool2d")
_BACKWARD = "aten::convolution_backward"
_OPS = (*_CONVOLUTIONS, *_POOLINGS, *_ADAPTIVE, _BACKWARD)
_LONGEST_STRIDE = 1024
_THREAD = ["rank", "process_id", "thread_id"]
_TEXT = ["name", "input_shapes"]


def with_values(trace: Trace, calls: pl.DataFrame) -> pl.DataFrame:
    """Infer the missing concrete_inputs of calls whose op is in _OPS; return all calls.

    `calls` has rank, span_id, and the texts name, input_shapes, concrete_inputs and inputs_assumed.
    """
    is_open = pl.col("name").is_in(_OPS) & pl.col("concrete_inputs").is_null()
    open_calls = calls.filter(is_open).select("rank", "span_id", *_TEXT)
    if open_calls.is_empty():
        return calls
    columns = ("span_id", *_THREAD, "start_ns", "duration_ns", *_TEXT)
    has_shapes = pl.col("input_shapes").is_not_null()
    ops = trace.select(
        "spans",
        *columns,
        where=(pl.col("kind") == "op") & has_shapes,
    )
    ops = ops.with_columns(pl.col("start_ns", "span_id").cast(pl.Int64)).sort("start_ns")
    timed = open_calls.cast({"span_id": pl.Int64}).join(ops.drop(_TEXT), on=["rank", "span_id"])
    timed = timed.with_columns(end_ns=pl.col("start_ns") + pl.col("duration_ns"))
    read = _tensors(ops)
    is_backward = pl.col("name") == _BACKWARD
    # Several values may give one size: a stride of 1 without padding may be inferred for a dilation
    # with padding.
    values = pl.concat(
        [
            _values_of_results(timed.filter(~is_backward), read),
            _values_of_gradients(timed.filter(is_backward), read),
        ]
    )
    key = ["rank", "span_id"]
    values = values.cast({name: calls.schema[name] for name in key})
    filled = calls.join(values, on=key, how="left", maintain_order="left")
    assumed = pl.when(pl.col("values").is_not_null()).then(pl.lit(ASSUMED))
    return filled.with_columns(
        concrete_inputs=pl.coalesce("concrete_inputs", "values"),
        inputs_assumed=pl.coalesce("inputs_assumed", assumed),
    ).drop("values")


def _tensors(ops: pl.DataFrame) -> pl.DataFrame:
    """Return the input tensors of ops, one row per tensor: thread, start_ns, op, shape as text."""
    texts = ops["input_shapes"].unique().cast(pl.String)
    shapes = [[json.dumps(shape) for shape in _shapes(text)] for text in texts]
    by_text = pl.DataFrame({"input_shapes": texts, "shape": shapes}).explode("shape").drop_nulls()
    as_text = ops.select(
        *_THREAD,
        "start_ns",
        pl.col("input_shapes").cast(pl.String),
        op=pl.col("name").cast(pl.String),
    )
    return as_text.join(by_text, on="input_shapes", maintain_order="left_right").drop(
        "input_shapes"
    )


def _shapes(text: str) -> list[list[int]]:
    """Return the shapes of an op's tensors, including tensors in lists."""
    shapes = []
    for item in listed(text):
        if are_sizes(item):
            shapes += [item] if item else []
        elif isinstance(item, list):
            shapes += [shape for shape in item if are_sizes(shape) and shape]
    return shapes


def _values_of_results(calls: pl.DataFrame, read: pl.DataFrame) -> pl.DataFrame:
    """Return rank, span_id and inferred values of calls with a later op that reads their result."""
    texts = calls.select(_TEXT).unique().rows()
    shapes = read["shape"].unique().to_list()
    by_batch: dict[tuple[int, int], list[list[int]]] = {}
    for shape in map(json.loads, shapes):
        by_batch.setdefault((len(shape), shape[0]), []).append(shape)
    fitting = []
    for name, text in texts:
        inputs = _shapes(text)
        if inputs:
            for shape in by_batch.get((len(inputs[0]), inputs[0][0]), []):
                values = _values(name, inputs, shape)
                if values is not None:
                    fitting.append((name, text, json.dumps(shape), json.dumps(values)))
    schema = [*_TEXT, "shape", "values"]
    results = pl.DataFrame(
        fitting,
        dict.fromkeys(schema, pl.String),
        orient="row",
    )
    readers = read.join(results, on="shape", maintain_order="left_right")
    readers = readers.unique(
        [*_THREAD, *_TEXT, "start_ns"],
        keep="first",
        maintain_order=True,
    )
    return (
        _next(calls, readers, [*_THREAD, *_TEXT]).select("rank", "span_id", "values").drop_nulls()
    )


def _next(
    calls: pl.DataFrame,
    readers: pl.DataFrame,
    by: list[str],
) -> pl.DataFrame:
    """Return each call with the first reader that starts after the call's end."""
    return calls.sort("end_ns").join_asof(
        readers.sort("start_ns", maintain_order=True).rename({"start_ns": "read_ns"}),
        left_on="end_ns",
        right_on="read_ns",
        by=by,
        strategy="forward",
        check_sortedness=False,
    )


def _values(
    name: str,
    inputs: Sequence[list[int]],
    result: list[int],
) -> list[object] | None:
    """Return argument values that give a result of this size, None if no values do."""
    if name in _CONVOLUTIONS:
        weight = inputs[1] if len(inputs) > 1 else []
        return _values_of_convolution(name, inputs[0], weight, result)
    return _values_of_pooling(name, inputs[0], result)


def _values_of_pooling(name: str, x: list[int], result: list[int]) -> list[object] | None:
    """Return values for a pooling with a stride of 1 and without padding."""
    sizes = [*zip(x[2:], result[2:], strict=True)]
    is_smaller = all(pooled <= size for size, pooled in sizes)
    if len(x) < 3 or result[1] != x[1] or not is_smaller:
        return None
    if name in _ADAPTIVE:
        return [None, result[2:]]
    windows = [size - pooled + 1 for size, pooled in sizes]
    ones, zeros = [1] * len(windows), [0] * len(windows)
    rest = [ones, False] if name == _POOLINGS[0] else [False, True, None]
    return [None, windows, ones, zeros, *rest]


def _values_of_convolution(
    name: str,
    x: list[int],
    weight: list[int],
    result: list[int],
) -> list[object] | None:
    """Return values for a convolution without dilation."""
    if len(weight) != len(x) or len(x) < 3 or result[1] != weight[0]:
        return None
    sizes = zip(
        x[2:],
        weight[2:],
        result[2:],
        strict=True,
    )
    steps = [_stride_and_padding(*dimension) for dimension in sizes]
    if None in steps:
        return None
    strides, paddings = map(
        list,
        zip(*filter(None, steps), strict=True),
    )
    values: list[object] = [None] * 9
    for position, value in zip(
        _CONVOLUTIONS[name],
        (strides, paddings, [1] * len(steps), False),
        strict=True,
    ):
        if position is not None:
            values[position] = value
    return values


def _stride_and_padding(size: int, kernel_size: int, n_results: int) -> tuple[int, int] | None:
    """Return the least stride for which a padding gives `n_results` windows, and this padding.

    Return None if no stride gives this number of windows. `size` and `kernel_size` are lengths in
    one dimension. Padding is shorter than `kernel_size`.
    """
    for stride in range(
        1,
        min(max(kernel_size, 2), _LONGEST_STRIDE) + 1,
    ):
        missing = (n_results - 1) * stride + kernel_size - size
        padding = max((missing + 1) // 2, 0)
        if padding < kernel_size and (size + 2 * padding - kernel_size) // stride + 1 == n_results:
            return stride, padding
    return None


def _values_of_gradients(calls: pl.DataFrame, read: pl.DataFrame) -> pl.DataFrame:
    """Return rank, span_id and inferred values of convolutions' backward passes.

    A gradient was requested if a later op of the thread reads a tensor of its size.
    """
    texts = calls["input_shapes"].unique().to_list()
    rows = [(text, *_of_gradients(text)) for text in texts]
    names = ("input_shapes", "x", "weight", "n_groups")
    schema = dict(
        zip(
            names,
            (pl.String, pl.String, pl.String, pl.Int64),
            strict=True,
        )
    )
    sized = calls.join(
        pl.DataFrame(rows, schema, orient="row").drop_nulls(),
        on="input_shapes",
        maintain_order="left",
    )
    # Other backward passes have inputs of the same sizes.
    others = read.filter(pl.col("op") != _BACKWARD)
    for gradient in ("x", "weight"):
        readers = others.rename({"shape": gradient}).drop("op")
        read_next = _next(sized, readers, [*_THREAD, gradient])
        is_asked = pl.col("read_ns").is_not_null()
        sized = read_next.with_columns(is_asked.alias(f"asks_{gradient}")).drop("read_ns")
    wanted = sized.filter(pl.col("asks_x") | pl.col("asks_weight"))
    values = [
        json.dumps([None] * 7 + [False, None, n_groups, [asks_x, asks_weight, False]])
        for n_groups, asks_x, asks_weight in wanted.select(
            "n_groups", "asks_x", "asks_weight"
        ).iter_rows()
    ]
    return wanted.select(
        "rank",
        "span_id",
        values=pl.Series(values, dtype=pl.String),
    )


def _of_gradients(text: str) -> tuple[str | None, str | None, int | None]:
    """Return the shapes of input and weights as JSON, and the number of groups.

    All three are None if the shapes do not fit a plain convolution.
    """
    shapes = _shapes(text)
    if len(shapes) < 3 or not 3 <= len(shapes[0]) == len(shapes[1]) == len(shapes[2]):
        return None, None, None
    gradient, x, weight = shapes[:3]
    is_larger = any(
        size > given
        for size, given in zip(
            gradient[2:],
            x[2:],
            strict=True,
        )
    )
    # The result of a transposed convolution is larger than its input.
    if gradient[1] != weight[0] or is_larger or not weight[1] or x[1] % weight[1]:
        return None, None, None
    return json.dumps(x), json.dumps(weight), x[1] // weight[1]
