"""Define families of matrix products in libraries other than torch."""

from collections.abc import Mapping
from math import prod

from tracelens.derive.kernels.bound_call import Bound, Family
from tracelens.derive.kernels.recorded_call import UnknownWorkError


def _sizes(bound: Bound) -> tuple[int, int, int]:
    """Return rows, columns and summed length of the product of the first two tensors.

    The second tensor may be transposed.
    """
    left, right = bound.nth(0).shape, bound.nth(1).shape
    if len(left) < 2 or len(right) != 2 or left[-1] not in right:
        raise UnknownWorkError
    columns = right[1] if right[0] == left[-1] else right[0]
    return prod(left[:-1]), columns, left[-1]


def _product(bound: Bound) -> int:
    rows, columns, summed = _sizes(bound)
    return 2 * rows * columns * summed


def _result(bound: Bound) -> list[int]:
    rows, columns, _ = _sizes(bound)
    return [rows * columns]


def _product_of_pairs(bound: Bound) -> int:
    """Return the FLOPs of a product of matrices with two four-bit numbers per byte."""
    return 2 * _product(bound)


def _product_of_sizes(bound: Bound) -> int:
    """Return the FLOPs of a product with packed weights, from its size arguments."""
    sizes = [bound.value(role) for role in "123"]
    if not all(type(size) is int and size >= 0 for size in sizes):
        raise UnknownWorkError
    return int(2 * prod(sizes))


def _result_of_sizes(bound: Bound) -> list[int]:
    return [_product_of_sizes(bound) // 2 // max(bound.value("3"), 1)]


def _product_of_groups(bound: Bound) -> int:
    """Return the FLOPs of products in groups, as torch's grouped_mm computes them.

    An input is a stack with one matrix per group, or one matrix of which each group has a part.
    """
    left, right = bound.nth(0).shape, bound.nth(1).shape
    if not {len(left), len(right)} <= {2, 3} or left[-1] != right[-2]:
        raise UnknownWorkError
    n_groups = left[0] if len(left) == len(right) == 3 else 1
    return 2 * n_groups * left[-2] * left[-1] * right[-1]


def _result_of_groups(bound: Bound) -> list[int]:
    """Return the number of results of products in groups."""
    left, right = bound.nth(0).shape, bound.nth(1).shape
    if len(left) == len(right) == 2:  # one result per group
        return [bound.nth(2).n_elements * left[0] * right[1]]
    return [_product_of_groups(bound) // 2 // max(left[-1], 1)]


PRODUCTS: Mapping[str, Family] = {
    "product": Family(_result, flops=_product),
    "product_of_pairs": Family(_result, flops=_product_of_pairs, dtype="float4"),
    "product_of_sizes": Family(_result_of_sizes, flops=_product_of_sizes),
    "product_of_groups": Family(_result_of_groups, flops=_product_of_groups),
}
"""The families by their names in op_signatures.json and custom_ops.toml."""
