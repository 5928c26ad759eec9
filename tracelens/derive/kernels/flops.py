"""Count the FLOPs of a call of an op, and the least bytes that it moves.

The counts equal those of torch.utils.flop_counter (2.13). More ops are counted: products with a
vector, products of 8-bit integers, and fused convolutions.
"""

from collections.abc import Callable, Sequence
from math import prod

from msgspec import Struct

from tracelens.derive.kernels.recorded_call import RecordedCall, UnknownWorkError


class Work(Struct, frozen=True):
    """Holds the operations and bytes of a call."""

    flops: int  # as torch's FLOP counter counts, 0 for memory-bound ops
    needed_flops: int  # FLOPs that any kernel has to compute; all operations of a memory-bound op
    least_bytes: int | None  # size of all inputs and outputs, None if an element type is unknown
    dtype: str | None  # element type in which the op computes
    # Attention to a cache of unrecorded length has further work per pair of query and key, and per
    # cached token.
    pair_flops: int = 0
    key_bytes: int = 0
    assumed: str | None = None  # what was assumed
    most_flops: int | None = None  # upper bound, None if the inputs do not bound the work
    most_bytes: int | None = None


_Counted = tuple[int, int, Sequence[int], Sequence[int]]
"""A call's work in four parts.

They are the FLOPs as torch counts them, the FLOPs that no kernel can avoid, the number of elements
of each output, and the positions of the inputs that are not read.
"""
_Formula = Callable[[RecordedCall], _Counted]


def _product(first: int, n_dimensions: int) -> _Formula:
    """Return the formula for a product of two matrices or two batches of matrices.

    `first` is the position of the left matrix among the inputs.
    """

    def count(call: RecordedCall) -> _Counted:
        left, right = call.shape(first), call.shape(first + 1)
        if len(left) != n_dimensions or left[:-2] != right[:-2] or left[-1] != right[-2]:
            raise UnknownWorkError
        flops = 2 * prod(left) * right[-1]
        return flops, flops, [prod(left[:-1]) * right[-1]], []

    return count


def _vector_product(first: int) -> _Formula:
    """Return the formula for a product of a matrix, at position `first`, and a vector."""

    def count(call: RecordedCall) -> _Counted:
        matrix, vector = call.shape(first), call.shape(first + 1, 1)
        if len(matrix) != 2 or vector != matrix[1:]:
            raise UnknownWorkError
        return 2 * prod(matrix), 2 * prod(matrix), matrix[:1], []

    return count


def _convolution(
    *,
    padding: int,
    stride: int,
    dilation: int | None,
    transposed: int | None = None,
) -> _Formula:
    """Return the formula for a convolution.

    The parameters are positions of its arguments.
    """

    def count(call: RecordedCall) -> _Counted:
        x, weight = call.shape(0, 3), call.shape(1, 3)
        n = len(x) - 2
        strides, paddings = call.sizes(stride, n), call.sizes(padding, n)
        dilations = [1] * n if dilation is None else call.sizes(dilation, n)
        is_transposed = False if transposed is None else call.value(transposed)
        if type(is_transposed) is not bool or len(weight) != len(x) or not all(strides):
            raise UnknownWorkError
        reaches = [d * (size - 1) for d, size in zip(dilations, weight[2:], strict=True)]
        dimensions = [
            *zip(
                x[2:],
                strides,
                paddings,
                reaches,
                strict=True,
            )
        ]
        if is_transposed:
            output_paddings, groups = call.sizes(7, n), call.value(8)
            if type(groups) is not int:
                raise UnknownWorkError
            image = [
                (size - 1) * step - 2 * pad + reach + more + 1
                for (size, step, pad, reach), more in zip(dimensions, output_paddings, strict=True)
            ]
            n_channels = weight[1] * groups
        else:
            image = [
                (size + 2 * pad - reach - 1) // step + 1 for size, step, pad, reach in dimensions
            ]
            n_channels = weight[0]
        if any(size < 0 for size in image):
            raise UnknownWorkError
        # Every element of the smaller image is multiplied by every weight of its channel.
        smaller_image = x[2:] if is_transposed else image
        flops = 2 * prod(smaller_image) * x[0] * prod(weight)
        return flops, flops, [x[0] * n_channels * prod(image)], []

    return count


def _convolution_backward(call: RecordedCall) -> _Counted:
    """Count the work of the gradients of input, weights and bias, if the mask requests them."""
    grad, x, weight = call.shape(0, 3), call.shape(1, 3), call.shape(2, 3)
    transposed, groups, mask = call.value(7), call.value(9), call.value(10)
    is_mask = isinstance(mask, list) and len(mask) == 3 and all(type(flag) is bool for flag in mask)
    if type(transposed) is not bool or type(groups) is not int or groups < 1 or not is_mask:
        raise UnknownWorkError
    if not len(grad) == len(x) == len(weight):
        raise UnknownWorkError
    input_asked, weight_asked, _ = mask
    # Every element of the smaller image is multiplied by every weight of its channel.
    smaller_image = x if transposed else grad
    n_met = x[0] * prod(smaller_image[2:])
    of_input = 2 * n_met * prod(weight) if input_asked else 0
    of_weight = 2 * n_met * x[1] * grad[1] * prod(weight[2:]) if weight_asked else 0
    n_results = (prod(x), prod(weight), grad[1])
    outputs = [n for n, is_asked in zip(n_results, mask, strict=True) if is_asked]
    # The input's gradient does not depend on the input, nor the weights' gradient on the weights.
    unread = [] if weight_asked else [1]
    if not input_asked:
        unread.append(2)
    # With n groups, torch counts n times as many FLOPs of the weights' gradient as are needed.
    return of_input + of_weight, of_input + of_weight // groups, outputs, unread


def _attention(*, causal: int, backward: bool = False) -> _Formula:
    """Return the formula for softmax(q kᵀ) v with tensors of (batch, heads, length, width).

    `causal` is the position of the argument is_causal. With `backward`, the formula is for the
    gradients, and the first input is the result's gradient.
    """

    def count(call: RecordedCall) -> _Counted:
        shapes = [call.shape(position + backward, 4) for position in range(3)]
        if not all(len(shape) == 4 for shape in shapes):
            raise UnknownWorkError
        (batch, n_heads, n_queries, width), keys, values = shapes
        key_batch, _, n_keys, key_width = keys
        value_width = values[-1]
        if (batch, width) != (key_batch, key_width) or keys[:3] != values[:3]:
            raise UnknownWorkError
        n_rows = batch * n_heads * n_queries
        # The backward pass computes the scores again.
        widths = 3 * width + 2 * value_width if backward else width + value_width
        flops = 2 * n_rows * n_keys * widths
        needed = flops // 2 if call.value(causal) is True else flops
        written = [prod(shape) for shape in shapes] if backward else [n_rows * value_width]
        return flops, needed, written, []

    return count


_CONVOLUTION = _convolution(padding=4, stride=3, dilation=5, transposed=6)
_FORMULAS: dict[str, tuple[int, _Formula]] = {
    "aten::mm": (0, _product(0, 2)),
    "aten::addmm": (1, _product(1, 2)),
    "aten::addmm_": (1, _product(1, 2)),
    "aten::bmm": (0, _product(0, 3)),
    "aten::baddbmm": (1, _product(1, 3)),
    "aten::baddbmm_": (1, _product(1, 3)),
    "aten::_scaled_mm": (0, _product(0, 2)),
    "aten::_int_mm": (0, _product(0, 2)),
    "aten::_addmm_activation": (1, _product(1, 2)),
    "aten::mv": (0, _vector_product(0)),
    "aten::addmv": (1, _vector_product(1)),
    "aten::addmv_": (1, _vector_product(1)),
    "aten::convolution": (0, _CONVOLUTION),
    "aten::_convolution": (0, _CONVOLUTION),
    "aten::convolution_overrideable": (0, _CONVOLUTION),
    "aten::cudnn_convolution": (0, _convolution(padding=2, stride=3, dilation=4)),
    "aten::cudnn_convolution_relu": (0, _convolution(padding=4, stride=3, dilation=5)),
    "aten::cudnn_convolution_add_relu": (0, _convolution(padding=6, stride=5, dilation=7)),
    "aten::miopen_convolution": (0, _convolution(padding=3, stride=4, dilation=5)),
    "aten::miopen_depthwise_convolution": (0, _convolution(padding=3, stride=4, dilation=5)),
    "aten::_conv_depthwise2d": (0, _convolution(padding=5, stride=4, dilation=6)),
    "aten::conv_depthwise3d": (0, _convolution(padding=5, stride=4, dilation=6)),
    "aten::_slow_conv2d_forward": (0, _convolution(padding=5, stride=4, dilation=None)),
    "aten::convolution_backward": (0, _convolution_backward),
    "aten::_scaled_dot_product_flash_attention": (0, _attention(causal=4)),
    "aten::_scaled_dot_product_efficient_attention": (0, _attention(causal=6)),
    "aten::_scaled_dot_product_cudnn_attention": (0, _attention(causal=6)),
    "aten::_scaled_dot_product_flash_attention_backward": (0, _attention(causal=11, backward=True)),
    "aten::_scaled_dot_product_efficient_attention_backward": (
        0,
        _attention(causal=11, backward=True),
    ),
    "aten::_scaled_dot_product_cudnn_attention_backward": (0, _attention(causal=14, backward=True)),
}
"""By op: the position of an input whose element type the op computes in, and the formula."""
_N_READ = {
    "aten::mm": 2,
    "aten::addmm": 3,
    "aten::addmm_": 3,
    "aten::bmm": 2,
    "aten::baddbmm": 3,
    "aten::baddbmm_": 3,
    "aten::_scaled_mm": 6,
    "aten::_int_mm": 2,
    "aten::_addmm_activation": 3,
    "aten::mv": 2,
    "aten::addmv": 3,
    "aten::addmv_": 3,
    "aten::convolution": 3,
    "aten::_convolution": 3,
    "aten::convolution_overrideable": 3,
    "aten::cudnn_convolution": 2,
    "aten::cudnn_convolution_relu": 3,
    "aten::cudnn_convolution_add_relu": 5,
    "aten::miopen_convolution": 3,
    "aten::miopen_depthwise_convolution": 3,
    "aten::_conv_depthwise2d": 4,
    "aten::conv_depthwise3d": 4,
    "aten::_slow_conv2d_forward": 4,
    "aten::convolution_backward": 3,
}
"""By op: how many arguments, from the first one on, may be tensors that the op reads.

A tensor after them is the `out=` argument of an overload, which is recorded like an input but only
written. Ops of attention have no such overload.
"""
MODELLED = tuple(_FORMULAS)
"""Names of the ops whose FLOPs are counted here."""


def counted_work(name: str, call: RecordedCall) -> Work:
    """Return the work of a call of an op in MODELLED.

    Raises UnknownWorkError if the recorded inputs do not show the work.
    """
    first, formula = _FORMULAS[name]
    flops, needed, outputs, unread = formula(call)
    kind = call.tensor_type(first)
    if kind is None:
        return Work(flops, needed, None, None)
    n_read = _N_READ.get(name, len(call.shapes))
    if kind[0].startswith("complex"):
        needed *= _OF_COMPLEX
    read = sum(call.bytes_of(i) for i in range(min(n_read, len(call.shapes))) if i not in unread)
    written = _output_width(name, call, kind, n_read) * sum(outputs)
    return Work(
        flops,
        needed,
        read + written,
        kind[0],
    )


def _output_width(name: str, call: RecordedCall, kind: tuple[str, int], n_read: int) -> int:
    """Return the bytes per element of a call's outputs.

    - `kind`: element type of the inputs, and bytes per element of the inputs
    - `n_read`: number of arguments that are inputs; tensors after them are outputs
    """
    outputs = [*filter(None, map(call.tensor_type, range(n_read, len(call.shapes))))]
    if outputs:
        _, width = outputs[-1]
        return width
    # Products of 8-bit integers are summed in 32 bits.
    usual_width = 4 if kind[0] == "int8" else kind[1]
    if name != "aten::_scaled_mm":
        return usual_width
    return _OUTPUT_WIDTHS.get(call.value(6), usual_width)


_OF_COMPLEX = 4
"""Real products per complex product.

Torch counts a complex operation once.
"""
_OUTPUT_WIDTHS = {5: 2, 6: 4, 15: 2}
"""Bytes per element of a scaled product's output.

The keys are torch's numbers for the types float16, float32 and bfloat16.
"""
