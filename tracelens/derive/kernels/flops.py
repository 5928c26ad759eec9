"""Floating-point operations of an op's call, and its least bytes.

They are counted as torch.utils.flop_counter (2.13) does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeGuard

from tracelens.derive.kernels.recorded_dtypes import element_type, listed

_LARGEST = 1 << 40
"""Sizes above are no sizes, but damage."""


@dataclass(frozen=True, slots=True)
class Work:
    """The work of a call: operations and bytes.

    `flops` is torch's number. `needed_flops` leaves out what torch counts and no kernel has to
    compute: half of causal attention, and of the weights' gradient of a convolution of n groups,
    all but one nth. `least_bytes` is each input's memory read once and each output written once,
    also where the caller hands the output in (`out=`); None where an element type is unknown.
    `dtype` is that of what is multiplied.
    """

    flops: int
    needed_flops: int
    least_bytes: int | None
    dtype: str | None


class _UnknownError(Exception):
    """The recorded inputs do not tell what the op computes."""


@dataclass(frozen=True, slots=True)
class _Call:
    """The recorded inputs of one call, by position."""

    shapes: Sequence[Any]
    strides: Sequence[Any]
    types: Sequence[tuple[str, int] | None]
    values: Sequence[Any]

    def shape(self, position: int, n_least: int = 2) -> list[int]:
        """Return the sizes of a tensor of at least so many dimensions.

        Raises _UnknownError where there is none.
        """
        sizes = self.shapes[position] if position < len(self.shapes) else None
        if not _are_sizes(sizes) or len(sizes) < n_least:
            raise _UnknownError
        return sizes

    def value(self, position: int) -> Any:
        """Return an input that is no tensor; None where it was not recorded."""
        return self.values[position] if position < len(self.values) else None

    def sizes(self, position: int, n: int) -> list[int]:
        """Return a list of n numbers, where one number may stand for all.

        Raises _UnknownError where there is none.
        """
        numbers = self.value(position)
        if not _are_sizes(numbers) or len(numbers) not in {1, n}:
            raise _UnknownError
        return numbers if len(numbers) == n else numbers * n

    def tensor_type(self, position: int) -> tuple[str, int] | None:
        """Return the element type of an input and its bytes; None of one that is no tensor."""
        return self.types[position] if position < len(self.types) else None

    def bytes_of(self, position: int) -> int:
        """Return the memory of an input: 0 of one that is no tensor.

        What is expanded (stride 0) counts once.
        """
        kind = self.tensor_type(position)
        shape = self.shapes[position] if position < len(self.shapes) else None
        if kind is None or not _are_sizes(shape):
            return 0
        strides = self.strides[position] if position < len(self.strides) else None
        if not isinstance(strides, list) or len(strides) != len(shape):
            strides = [1] * len(shape)
        return kind[1] * prod(
            size for size, stride in zip(shape, strides, strict=True) if stride != 0
        )


_Counted = tuple[int, int, Sequence[int], Sequence[int]]
"""FLOPs, those needed, elements of the outputs, and inputs that are not read."""
_Formula = Callable[[_Call], _Counted]


def _are_sizes(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(
        type(size) is int and 0 <= size <= _LARGEST for size in value
    )


def _product(first: int, n_dimensions: int) -> _Formula:
    """Return a product of the matrices, or batches of matrices, at `first` and after it."""

    def count(call: _Call) -> _Counted:
        left, right = call.shape(first), call.shape(first + 1)
        if len(left) != n_dimensions or left[:-2] != right[:-2] or left[-1] != right[-2]:
            raise _UnknownError
        flops = 2 * prod(left) * right[-1]
        return flops, flops, [prod(left[:-1]) * right[-1]], []

    return count


def _convolution(*, padding: int, stride: int, dilation: int, transposed: int | None) -> _Formula:
    """Return a convolution whose arguments have these places."""

    def count(call: _Call) -> _Counted:
        x, weight = call.shape(0, 3), call.shape(1, 3)
        n = len(x) - 2
        steps, pads, spread = (call.sizes(position, n) for position in (stride, padding, dilation))
        is_transposed = False if transposed is None else call.value(transposed)
        if type(is_transposed) is not bool or len(weight) != len(x) or not all(steps):
            raise _UnknownError
        reach = [d * (k - 1) for d, k in zip(spread, weight[2:], strict=True)]
        if is_transposed:
            more, groups = call.sizes(7, n), call.value(8)
            if type(groups) is not int:
                raise _UnknownError
            out = [
                (s - 1) * t - 2 * p + r + m + 1
                for s, t, p, r, m in zip(x[2:], steps, pads, reach, more, strict=True)
            ]
            flops, channels = 2 * prod(x[2:]) * x[0] * prod(weight), weight[1] * groups
        else:
            out = [
                (s + 2 * p - r - 1) // t + 1
                for s, t, p, r in zip(x[2:], steps, pads, reach, strict=True)
            ]
            flops, channels = 2 * prod(out) * x[0] * prod(weight), weight[0]
        if any(size < 0 for size in out):
            raise _UnknownError
        return flops, flops, [x[0] * channels * prod(out)], []

    return count


def _convolution_backward(call: _Call) -> _Counted:
    """Return the gradients that the mask asks for: of the input, of the weights, of the bias."""
    grad, x, weight = call.shape(0, 3), call.shape(1, 3), call.shape(2, 3)
    transposed, groups, mask = call.value(7), call.value(9), call.value(10)
    is_mask = isinstance(mask, list) and len(mask) == 3 and all(type(flag) is bool for flag in mask)
    if type(transposed) is not bool or type(groups) is not int or groups < 1 or not is_mask:
        raise _UnknownError
    if not len(grad) == len(x) == len(weight):
        raise _UnknownError
    # Every number of the smaller image meets every weight of its channel.
    met = prod((x if transposed else grad)[2:]) * x[0]
    of_input = 2 * met * prod(weight) if mask[0] else 0
    of_weight = 2 * met * x[1] * grad[1] * prod(weight[2:]) if mask[1] else 0
    outputs = [
        size
        for size, is_asked in zip((prod(x), prod(weight), grad[1]), mask, strict=True)
        if is_asked
    ]
    unread = [position for position, is_asked in ((1, mask[1]), (2, mask[0])) if not is_asked]
    return of_input + of_weight, of_input + of_weight // groups, outputs, unread


def _attention(*, causal: int, backward: bool = False) -> _Formula:
    """softmax(q kᵀ) v, of queries, keys and values (batch, heads, length, width).

    Keys may have fewer heads. `backward`: the gradients of all three, which come after that of
    the result; the scores are computed anew.
    """

    def count(call: _Call) -> _Counted:
        q, k, v = (call.shape(position + backward, 4) for position in range(3))
        if not len(q) == len(k) == len(v) == 4 or (q[0], q[3]) != (k[0], k[3]) or k[:3] != v[:3]:
            raise _UnknownError
        width = 3 * q[3] + 2 * v[3] if backward else q[3] + v[3]
        flops = 2 * prod(q[:3]) * k[2] * width
        needed = flops // 2 if call.value(causal) is True else flops
        return flops, needed, [prod(q), prod(k), prod(v)] if backward else [prod(q[:3]) * v[3]], []

    return count


_CONVOLUTION = _convolution(padding=4, stride=3, dilation=5, transposed=6)
_FORMULAS: dict[str, tuple[int, _Formula]] = {
    "aten::mm": (0, _product(0, 2)),
    "aten::addmm": (1, _product(1, 2)),
    "aten::bmm": (0, _product(0, 3)),
    "aten::baddbmm": (1, _product(1, 3)),
    "aten::_scaled_mm": (0, _product(0, 2)),
    "aten::convolution": (0, _CONVOLUTION),
    "aten::_convolution": (0, _CONVOLUTION),
    "aten::convolution_overrideable": (0, _CONVOLUTION),
    "aten::cudnn_convolution": (0, _convolution(padding=2, stride=3, dilation=4, transposed=None)),
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
"""For each op, the place of what it multiplies, and its formula."""
_N_READ = {
    "aten::mm": 2,
    "aten::addmm": 3,
    "aten::bmm": 2,
    "aten::baddbmm": 3,
    "aten::_scaled_mm": 6,
    "aten::convolution": 3,
    "aten::_convolution": 3,
    "aten::convolution_overrideable": 3,
    "aten::cudnn_convolution": 2,
    "aten::convolution_backward": 3,
}
"""How many of an op's leading arguments may be tensors that it reads.

A tensor after them is the `out=` of an overload: it is recorded like an input but only written. Ops
of attention have no such overload.
"""
MODELLED = tuple(_FORMULAS)
"""Names of the ops whose operations are counted. Attention by products is counted as these."""


def work_of(
    name: str, shapes: str | None, dtypes: str | None, strides: str | None, values: str | None
) -> Work | None:
    """Return what a call of the op computes and moves, from its recorded inputs (JSON).

    Return None where they do not tell.
    """
    at, formula = _FORMULAS[name]
    types = [element_type(word) if isinstance(word, str) else None for word in listed(dtypes)]
    call = _Call(listed(shapes), listed(strides), types, listed(values))
    try:
        flops, needed, outputs, unread = formula(call)
    except _UnknownError:
        return None
    kind = types[at] if at < len(types) else None
    if kind is None:
        return Work(flops, needed, None, None)
    n_read = _N_READ.get(name, len(call.shapes))
    width = _OUTPUT_WIDTHS.get(call.value(6), kind[1]) if name == "aten::_scaled_mm" else kind[1]
    for given in filter(None, map(call.tensor_type, range(n_read, len(call.shapes)))):
        width = given[1]
    read = sum(call.bytes_of(i) for i in range(min(n_read, len(call.shapes))) if i not in unread)
    return Work(flops, needed, read + width * sum(outputs), kind[0])


_OUTPUT_WIDTHS = {5: 2, 6: 4, 15: 2}
"""Bytes an element of the output type that a scaled product names by torch's number: float16,
float32, bfloat16."""


def tensors_of(shapes: str | None, dtypes: str | None) -> tuple[str, str]:
    """Return sizes and element types of an op's tensors, to be shown.

    They read `32x3x224x224 64x3x7x7` and `float32`.
    """
    pairs = zip(listed(shapes), listed(dtypes) or listed(shapes), strict=False)
    told = [
        (size, kind if isinstance(kind, str) else "") for size, kind in pairs if _are_sizes(size)
    ]
    # Of what has no sizes, tensors have an element type.
    found = [(size, kind) for size, kind in told if size or element_type(kind) is not None]
    words = [(element_type(kind) or (kind,))[0] for _, kind in found if kind]
    return " ".join("x".join(map(str, size)) or "()" for size, _ in found), " ".join(
        dict.fromkeys(words)
    )
