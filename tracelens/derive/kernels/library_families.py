"""Define families of products with packed weights, and of experts."""

from collections.abc import Mapping
from math import prod

from tracelens.derive.kernels.bound_call import Bound, Family, no_outputs, result_like
from tracelens.derive.kernels.recorded_call import Tensor, UnknownWorkError, are_sizes


def _by_scales(bound: Bound) -> int:
    """Return the operations of a product with packed weights; the scales have its columns."""
    return 2 * bound.nth(0).n_elements * bound.first("S").shape[-1]


def _result_by_scales(bound: Bound) -> list[int]:
    summed = max(bound.first("t").shape[-1], 1)
    return [_by_scales(bound) // 2 // summed]


def _linear(bound: Bound) -> int:
    """Return the operations of a linear layer: input and weights, in either order.

    The summed dimension is last in both; any dimensions may precede.
    """
    first, second = bound.nth(0), bound.nth(1)
    summed = first.shape[-1] if first.shape else 0
    if summed < 1 or second.shape[-1:] != [summed]:
        raise UnknownWorkError
    return 2 * first.n_elements * (second.n_elements // summed)


def _linear_result(bound: Bound) -> list[int]:
    return [_linear(bound) // 2 // bound.nth(0).shape[-1]]


def _by_rows(bound: Bound) -> int:
    """Return the operations of a product with packed weights, whose columns an argument gives."""
    columns = bound.value("2")
    if type(columns) is not int:
        raise UnknownWorkError
    return 2 * bound.nth(1).n_elements * columns


def _result_by_rows(bound: Bound) -> list[int]:
    return [_by_rows(bound) // 2 // max(bound.nth(1).shape[-1], 1)]


def _by_nibbles(bound: Bound) -> int:
    """Return the operations of a product with weights of four bits: two in each byte."""
    x, packed = bound.nth(0), bound.nth(1)
    summed = x.shape[-1] if x.shape else 0
    return 2 * (x.n_elements // max(summed, 1)) * packed.n_elements * 2 * packed.width


def _result_by_nibbles(bound: Bound) -> list[int]:
    return [_by_nibbles(bound) // 2 // max(bound.nth(0).shape[-1:] or [1])]


def _by_packed_rows(bound: Bound) -> int:
    """Return the operations of a product whose packed weights have a row per result's column."""
    weights = bound.nth(1).shape
    if len(weights) != 2:
        raise UnknownWorkError
    return 2 * bound.nth(0).n_elements * weights[0]


def _result_by_packed_rows(bound: Bound) -> list[int]:
    return [_by_packed_rows(bound) // 2 // max(bound.nth(0).shape[-1:] or [1])]


def _of_streams(bound: Bound) -> int:
    """Return the operations of a product over all dimensions of its input except the first."""
    x, weights = bound.nth(0), bound.nth(1).shape
    if len(weights) != 2 or prod(x.shape[1:]) != weights[1]:
        raise UnknownWorkError
    return 2 * x.n_elements * weights[0]


def _experts_by_rows(bound: Bound) -> int:
    """Return the operations of experts with packed weights; arguments give columns and experts."""
    columns, n_chosen = bound.value("2"), bound.value("q")
    if type(columns) is not int or type(n_chosen) is not int:
        raise UnknownWorkError
    return 2 * bound.nth(0).n_elements * columns * n_chosen


def _experts_by_rows_read(bound: Bound) -> int:
    return _read_with_experts(
        bound,
        bound.nth(0).shape[0] * (bound.value("q") or 1),
    )


def _experts_by_rows_result(bound: Bound) -> list[int]:
    return [_experts_by_rows(bound) // 2 // max(bound.nth(0).shape[-1], 1)]


def _stacks(bound: Bound) -> int:
    """Return the operations of one product per matrix of two stacks, one perhaps transposed."""
    left, right = bound.nth(0).shape, bound.nth(1).shape
    if not len(left) == len(right) == 3 or left[0] != right[0] or left[-1] not in right[1:]:
        raise UnknownWorkError
    return 2 * prod(left) * (prod(right[1:]) // left[-1])


def _stacks_result(bound: Bound) -> list[int]:
    return [_stacks(bound) // 2 // bound.nth(0).shape[-1]]


def _triangular(bound: Bound) -> int:
    """Return the operations of solving triangular systems: half of those of a product."""
    triangle, sides = bound.nth(0), bound.nth(1)
    return sides.n_elements * triangle.shape[-1] if triangle.shape else 0


def _of_expected_rows(bound: Bound) -> int:
    """Return the operations of one product per group; an argument gives a group's expected rows.

    The inputs are (groups, most rows, length) and (groups, columns, length).
    """
    x, weights, n_rows = bound.nth(0).shape, bound.nth(1).shape, bound.value("1")
    if not len(x) == len(weights) == 3 or type(n_rows) is not int:
        raise UnknownWorkError
    return 2 * n_rows * prod(weights)


def _expected_rows_read(bound: Bound) -> int:
    """Return the bytes of all weights, and of the rows that are read and written."""
    x, weights = bound.nth(0), bound.nth(1)
    n_rows = weights.shape[0] * (bound.value("1") or 0)
    of_result = sum(tensor.width for tensor in bound.all("o")) * weights.shape[1]
    return weights.n_bytes + n_rows * (x.shape[-1] * x.width + of_result)


def _by_groups(bound: Bound) -> int:
    """Return the operations of products in groups of rows, whose sizes need not be known.

    Each row of the input meets one of the three-dimensional weights. With a second input of as many
    rows instead, each group of rows is summed to a gradient of weights.
    """
    x, other = bound.nth(0).shape, bound.nth(1).shape
    if len(x) == len(other) == 2 and x[0] == other[0]:
        return 2 * prod(x) * other[1]
    return _rows_of_experts(bound)


def _result_by_groups(bound: Bound) -> list[int]:
    x, other = bound.nth(0).shape, bound.nth(1).shape
    if len(other) == 2:
        return [bound.nth(2).n_elements * x[1] * other[1]]
    return [_rows_of_experts(bound) // 2 // max(x[1], 1)]


def _weights_of_groups(bound: Bound) -> list[Tensor]:
    """Return the weights of the groups: matrices whose last size equals that of the first input."""
    summed = bound.nth(0).shape[-1:]
    return [tensor for tensor in bound.every()[1:] if tensor.shape[1:] == summed]


def _linear_groups(bound: Bound) -> int:
    """Return the operations of linear layers for groups of rows, all of one size."""
    weights = _weights_of_groups(bound)
    if not weights:
        raise UnknownWorkError
    return 2 * bound.nth(0).n_elements * weights[0].shape[0]


def _linear_groups_result(bound: Bound) -> list[int]:
    return [_linear_groups(bound) // 2 // max(bound.nth(0).shape[-1], 1)]


def _linear_groups_read(bound: Bound) -> int:
    return bound.nth(0).n_bytes + sum(weight.n_bytes for weight in _weights_of_groups(bound))


def _of_adapter(bound: Bound) -> int:
    """Return the number of weights of one adapter; its list has (adapters, columns, length)."""
    shapes = bound.call.shapes[bound.arguments.index("L")]
    if not isinstance(shapes, list) or not all(are_sizes(s) and len(s) >= 3 for s in shapes):
        raise UnknownWorkError
    return sum(prod(shape[-2:]) for shape in shapes)


def _adapted(bound: Bound) -> int:
    """Return the operations of one of LoRA's products, for all slices of the layer."""
    return 2 * prod(bound.nth(0).shape[-2:-1]) * _of_adapter(bound)


def _adapted_read(bound: Bound) -> int:
    return bound.nth(0).n_bytes + _of_adapter(bound) * bound.nth(0).width


def _two_linear(bound: Bound) -> int:
    """Return the operations of two successive linear layers: input and both weights."""
    x, *weights = (bound.nth(n) for n in range(3))
    summed = x.shape[-1] if x.shape else 0
    if summed < 1 or any(len(weight.shape) != 2 for weight in weights):
        raise UnknownWorkError
    return 2 * (x.n_elements // summed) * sum(weight.n_elements for weight in weights)


def _rows_of_experts(bound: Bound) -> int:
    """Return the operations of experts' products: each row of the input goes to one expert."""
    x, weights = bound.nth(0).shape, bound.nth(1).shape
    if len(x) != 2 or len(weights) != 3:
        raise UnknownWorkError
    n_in_each = (
        max(
            x[-1] // max(weights[-1], 1),
            1,
        )
        if x[-1] not in weights[1:]
        else 1
    )
    return 2 * x[0] * prod(weights[1:]) * n_in_each


def _pairs_of_experts(bound: Bound) -> int:
    """Return the operations of experts' products if each byte holds two of the summed numbers."""
    return 2 * _rows_of_experts(bound)


def _rows_of_experts_read(bound: Bound) -> int:
    """Return the bytes of the input, and of as many experts as there are rows."""
    return _read_with_experts(bound, bound.nth(0).shape[0])


def _read_with_experts(bound: Bound, n_rows: int) -> int:
    x, weights = bound.nth(0), bound.nth(1)
    n_experts = max(weights.shape[0], 1) if weights.shape else 1
    return x.n_bytes + weights.n_bytes // n_experts * min(n_experts, n_rows)


def _experts_of_sizes(bound: Bound) -> int:
    """Return the operations of experts with packed weights, from sizes and experts per token."""
    numbers = [bound.value(role) for role in "123q"]
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise UnknownWorkError
    return int(2 * prod(numbers))


def _experts_of_sizes_result(bound: Bound) -> list[int]:
    return [_experts_of_sizes(bound) // 2 // max(bound.value("3"), 1)]


def _experts_of_sizes_read(bound: Bound) -> int:
    return _read_with_experts(
        bound,
        bound.value("1") * bound.value("q"),
    )


def _unpacked(bound: Bound) -> list[int]:
    """Return the elements of the result: two for each byte of the input."""
    return [2 * bound.nth(0).n_bytes]


LIBRARY_FAMILIES: Mapping[str, Family] = {
    "product_by_scales": Family(_result_by_scales, flops=_by_scales),
    "product_by_rows": Family(_result_by_rows, flops=_by_rows),
    "product_by_nibbles": Family(_result_by_nibbles, flops=_by_nibbles),
    "product_by_packed_rows": Family(_result_by_packed_rows, flops=_by_packed_rows),
    "product_of_streams": Family(no_outputs, flops=_of_streams),
    "product_by_groups": Family(_result_by_groups, flops=_by_groups),
    "experts_by_rows": Family(
        _experts_by_rows_result, reads=_experts_by_rows_read, flops=_experts_by_rows
    ),
    "product_of_stacks": Family(_stacks_result, flops=_stacks),
    "triangular": Family(result_like(1), flops=_triangular),
    "product_of_expected_rows": Family(
        no_outputs,
        reads=_expected_rows_read,
        flops=_of_expected_rows,
        assumed="groups are assumed to have as many rows as expected_m tells",
    ),
    "linear": Family(_linear_result, flops=_linear),
    "linear_groups": Family(_linear_groups_result, reads=_linear_groups_read, flops=_linear_groups),
    "adapted": Family(
        no_outputs,
        reads=_adapted_read,
        flops=_adapted,
        assumed="all tokens are taken to have one adapter, the same",
    ),
    "two_linear": Family(result_like(0), flops=_two_linear),
    "rows_of_experts": Family(no_outputs, reads=_rows_of_experts_read, flops=_rows_of_experts),
    "pairs_of_experts": Family(
        no_outputs, reads=_rows_of_experts_read, flops=_pairs_of_experts, dtype="float4"
    ),
    "experts_of_sizes": Family(
        _experts_of_sizes_result, reads=_experts_of_sizes_read, flops=_experts_of_sizes
    ),
    "unpacked": Family(_unpacked, 1),
}
"""The families by name."""
