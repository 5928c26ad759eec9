"""Define families of matrix products: with packed weights, in groups, and by experts."""

from collections.abc import Callable, Mapping
from math import prod

from tracelens.derive.kernels.bound_call import Bound, Family, Outputs, no_outputs, result_like
from tracelens.derive.kernels.recorded_call import Tensor, UnknownWorkError, are_sizes


def _results_of(flops: Callable[[Bound], int], position: int = 0) -> Outputs:
    """Return a formula for the number of results of a product, given the formula of its FLOPs.

    The product sums over the last dimension of the input at `position`.
    """

    def results(bound: Bound) -> list[int]:
        n_operations = flops(bound)
        n_summed = max(bound.nth(position).size(-1), 1)
        return [n_operations // (2 * n_summed)]

    return results


def _by_scales(bound: Bound) -> int:
    """Return the FLOPs of a product with packed weights and one scale per column of the result."""
    x = bound.nth(0)
    columns = bound.first("S").shape[-1]
    return 2 * x.n_elements * columns


def _result_by_scales(bound: Bound) -> list[int]:
    n_summed = max(bound.first("t").shape[-1], 1)
    n_operations = _by_scales(bound)
    return [n_operations // (2 * n_summed)]


def _linear(bound: Bound) -> int:
    """Return the FLOPs of a linear layer. Input and weights may be in either order."""
    first = bound.nth(0)
    second = bound.nth(1)
    n_summed = first.size(-1)
    if n_summed < 1 or second.size(-1) != n_summed:
        raise UnknownWorkError
    n_columns = second.n_elements // n_summed
    return 2 * first.n_elements * n_columns


def _by_rows(bound: Bound) -> int:
    """Return the FLOPs of a product with packed weights.

    The number of the result's columns is in the call's argument size_n.
    """
    columns = bound.value("2")
    if type(columns) is not int:
        raise UnknownWorkError
    x = bound.nth(1)
    return 2 * x.n_elements * columns


def _by_nibbles(bound: Bound) -> int:
    """Return the FLOPs of a product with weights of four bits, two per byte."""
    x = bound.nth(0)
    packed = bound.nth(1)
    n_rows = x.n_elements // max(x.size(-1), 1)
    n_weights = 2 * packed.n_elements * packed.width
    return 2 * n_rows * n_weights


def _by_packed_rows(bound: Bound) -> int:
    """Return the FLOPs of a product whose packed weights have one row per column of the result."""
    x = bound.nth(0)
    weights = bound.nth(1).shape
    if len(weights) != 2:
        raise UnknownWorkError
    columns = weights[0]
    return 2 * x.n_elements * columns


def _of_streams(bound: Bound) -> int:
    """Return the FLOPs of a product that sums over all dimensions of its input but the first."""
    x = bound.nth(0)
    weights = bound.nth(1).shape
    if len(weights) != 2:
        raise UnknownWorkError
    columns, n_summed = weights
    if prod(x.shape[1:]) != n_summed:
        raise UnknownWorkError
    return 2 * x.n_elements * columns


def _experts_by_rows(bound: Bound) -> int:
    """Return the FLOPs of experts with packed weights.

    The call's arguments show the number of columns, and the number of experts per token.
    """
    columns = bound.value("2")
    n_chosen = bound.value("q")
    if type(columns) is not int or type(n_chosen) is not int:
        raise UnknownWorkError
    x = bound.nth(0)
    return 2 * x.n_elements * columns * n_chosen


def _experts_by_rows_read(bound: Bound) -> int:
    n_tokens = bound.nth(0).size(0)
    n_chosen = bound.value("q") or 1
    return _read_with_experts(bound, n_tokens * n_chosen)


def _stacks(bound: Bound) -> int:
    """Return the FLOPs of a batched product of two stacks of matrices.

    The second stack may be transposed.
    """
    left = bound.nth(0).shape
    right = bound.nth(1).shape
    if not len(left) == len(right) == 3:
        raise UnknownWorkError
    n_summed = left[-1]
    if left[0] != right[0] or n_summed < 1 or n_summed not in right[1:]:
        raise UnknownWorkError
    columns = prod(right[1:]) // n_summed
    return 2 * prod(left) * columns


def _triangular(bound: Bound) -> int:
    """Return the FLOPs of solving triangular systems.

    Solving takes half the FLOPs of a product with full matrices of the same sizes.
    """
    triangle = bound.nth(0)
    sides = bound.nth(1)
    return sides.n_elements * triangle.size(-1)


def _of_expected_rows(bound: Bound) -> int:
    """Return the FLOPs of one product per group.

    The inputs are (groups, maximal rows, length) and (groups, columns, length). A group does not
    use all rows. The call's argument expected_m is the usual number of used rows per group.
    """
    x = bound.nth(0).shape
    weights = bound.nth(1).shape
    n_rows = bound.value("1")
    if not len(x) == len(weights) == 3 or type(n_rows) is not int:
        raise UnknownWorkError
    return 2 * n_rows * prod(weights)


def _expected_rows_read(bound: Bound) -> int:
    """Return the bytes of all weights, and of the used rows of input and result."""
    x = bound.nth(0)
    weights = bound.nth(1)
    n_groups = weights.size(0)
    columns = weights.size(1)
    n_rows_each = bound.value("1")
    if type(n_rows_each) is not int:
        raise UnknownWorkError
    result_width = sum(tensor.width for tensor in bound.all("o"))
    input_row_bytes = x.size(-1) * x.width
    result_row_bytes = columns * result_width
    row_bytes = input_row_bytes + result_row_bytes
    return weights.n_bytes + n_groups * n_rows_each * row_bytes


def _by_groups(bound: Bound) -> int:
    """Return the FLOPs of a grouped product: every group of rows has its own weight matrix."""
    x = bound.nth(0).shape
    other = bound.nth(1).shape
    # Two matrices with equal numbers of rows: the products are gradients of weights.
    if len(x) == len(other) == 2 and x[0] == other[0]:
        return 2 * prod(x) * other[1]
    return _rows_of_experts(bound)


def _result_by_groups(bound: Bound) -> list[int]:
    other = bound.nth(1).shape
    if len(other) == 2:
        n_groups = bound.nth(2).n_elements
        length = bound.nth(0).size(-1)
        return [n_groups * length * other[1]]
    return [*_results_of_experts(bound)]


def _weights_of_groups(bound: Bound) -> list[Tensor]:
    """Return the weight matrices among the inputs, recognised by the length of their rows."""
    summed = bound.nth(0).shape[-1:]
    return [tensor for tensor in bound.every()[1:] if tensor.shape[1:] == summed]


def _linear_groups(bound: Bound) -> int:
    """Return the FLOPs of linear layers of equal size, one layer per group of rows."""
    weights = _weights_of_groups(bound)
    if not weights:
        raise UnknownWorkError
    x = bound.nth(0)
    columns = weights[0].shape[0]
    return 2 * x.n_elements * columns


def _linear_groups_read(bound: Bound) -> int:
    weights = _weights_of_groups(bound)
    weight_bytes = sum(weight.n_bytes for weight in weights)
    return bound.nth(0).n_bytes + weight_bytes


def _of_adapter(bound: Bound) -> int:
    """Return the number of weights of one adapter.

    Each tensor in the list of weights is (adapters, columns, length).
    """
    shapes = bound.call.shapes[bound.arguments.index("L")]
    if not isinstance(shapes, list):
        raise UnknownWorkError
    n_weights = 0
    for shape in shapes:
        if not are_sizes(shape) or len(shape) < 3:
            raise UnknownWorkError
        n_weights += prod(shape[-2:])
    return n_weights


def _adapted(bound: Bound) -> int:
    """Return the FLOPs of one of LoRA's two products: two per token and weight of an adapter."""
    x = bound.nth(0)
    n_tokens = prod(x.shape[-2:-1])
    return 2 * n_tokens * _of_adapter(bound)


def _adapted_read(bound: Bound) -> int:
    x = bound.nth(0)
    weight_bytes = _of_adapter(bound) * x.width
    return x.n_bytes + weight_bytes


def _two_linear(bound: Bound) -> int:
    """Return the FLOPs of two successive linear layers.

    Inputs are x and two weight matrices.
    """
    x, *weights = (bound.nth(n) for n in range(3))
    n_summed = x.size(-1)
    are_matrices = all(len(weight.shape) == 2 for weight in weights)
    if n_summed < 1 or not are_matrices:
        raise UnknownWorkError
    n_rows = x.n_elements // n_summed
    n_weights = sum(weight.n_elements for weight in weights)
    return 2 * n_rows * n_weights


def _rows_of_experts(bound: Bound) -> int:
    """Return the FLOPs of a product of each row of the input with the weights of one expert."""
    x = bound.nth(0).shape
    weights = bound.nth(1).shape
    if len(x) != 2 or len(weights) != 3:
        raise UnknownWorkError
    n_rows, length = x
    weights_of_expert = prod(weights[1:])
    if length in weights[1:]:
        return 2 * n_rows * weights_of_expert
    n_in_each = length // max(weights[-1], 1)
    return 2 * n_rows * weights_of_expert * max(n_in_each, 1)


_results_of_experts = _results_of(_rows_of_experts)


def _pairs_of_experts(bound: Bound) -> int:
    """Return the FLOPs of a product of each row of the input with the weights of one expert.

    Each byte of both inputs holds two four-bit numbers.
    """
    return 2 * _rows_of_experts(bound)


def _rows_of_experts_read(bound: Bound) -> int:
    """Return the bytes of the input, and of the weights of at most one expert per row."""
    return _read_with_experts(bound, bound.nth(0).size(0))


def _read_with_experts(bound: Bound, n_rows: int) -> int:
    x = bound.nth(0)
    weights = bound.nth(1)
    n_experts = max(weights.shape[0], 1) if weights.shape else 1
    expert_bytes = weights.n_bytes // n_experts
    n_read = min(n_experts, n_rows)
    return x.n_bytes + expert_bytes * n_read


def _experts_of_sizes(bound: Bound) -> int:
    """Return the FLOPs of one product of experts with packed weights.

    The call has the three sizes of this product and the number of experts per token as arguments.
    """
    numbers = [bound.value(role) for role in "123q"]
    for number in numbers:
        if type(number) is not int or number < 0:
            raise UnknownWorkError
    return int(2 * prod(numbers))


def _experts_of_sizes_result(bound: Bound) -> list[int]:
    n_operations = _experts_of_sizes(bound)
    n_summed = max(bound.value("3"), 1)
    return [n_operations // (2 * n_summed)]


def _experts_of_sizes_read(bound: Bound) -> int:
    n_tokens = bound.value("1")
    n_chosen = bound.value("q")
    return _read_with_experts(bound, n_tokens * n_chosen)


def _unpacked(bound: Bound) -> list[int]:
    """Return the number of elements of the result, two per byte of the input."""
    return [2 * bound.nth(0).n_bytes]


LIBRARY_FAMILIES: Mapping[str, Family] = {
    "product_by_scales": Family(_result_by_scales, flops=_by_scales),
    "product_by_rows": Family(_results_of(_by_rows, 1), flops=_by_rows),
    "product_by_nibbles": Family(_results_of(_by_nibbles), flops=_by_nibbles),
    "product_by_packed_rows": Family(_results_of(_by_packed_rows), flops=_by_packed_rows),
    "product_of_streams": Family(no_outputs, flops=_of_streams),
    "product_by_groups": Family(_result_by_groups, flops=_by_groups),
    "experts_by_rows": Family(
        _results_of(_experts_by_rows),
        reads=_experts_by_rows_read,
        flops=_experts_by_rows,
    ),
    "product_of_stacks": Family(_results_of(_stacks), flops=_stacks),
    "triangular": Family(result_like(1), flops=_triangular),
    "product_of_expected_rows": Family(
        no_outputs,
        reads=_expected_rows_read,
        flops=_of_expected_rows,
        assumed="groups are assumed to have as many rows as expected_m tells",
    ),
    "linear": Family(_results_of(_linear), flops=_linear),
    "linear_groups": Family(
        _results_of(_linear_groups),
        reads=_linear_groups_read,
        flops=_linear_groups,
    ),
    "adapted": Family(
        no_outputs,
        reads=_adapted_read,
        flops=_adapted,
        assumed="all tokens are taken to have one adapter, the same",
    ),
    "two_linear": Family(result_like(0), flops=_two_linear),
    "rows_of_experts": Family(no_outputs, reads=_rows_of_experts_read, flops=_rows_of_experts),
    "pairs_of_experts": Family(
        no_outputs,
        reads=_rows_of_experts_read,
        flops=_pairs_of_experts,
        dtype="float4",
    ),
    "experts_of_sizes": Family(
        _experts_of_sizes_result,
        reads=_experts_of_sizes_read,
        flops=_experts_of_sizes,
    ),
    "unpacked": Family(_unpacked, 1),
}
"""The families by their names in op_signatures.json and custom_ops.toml."""
